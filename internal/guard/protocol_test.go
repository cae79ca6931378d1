package guard

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// babbler is a pipe's other end that never ends its word. It counts what is read.
type babbler struct{ read int }

func (b *babbler) Read(p []byte) (int, error) {
	const enough = 1 << 20
	if b.read > enough {
		return 0, errors.New("read more than a word can have")
	}
	for i := range p {
		p[i] = 'x'
	}
	b.read += len(p)
	return len(p), nil
}

// TestWordsAreBounded: neither side keeps more of the other's word than a word can have.
func TestWordsAreBounded(t *testing.T) {
	var krund, guard babbler
	put := 0
	err := watch(&krund, io.Discard, func(expected bool) error {
		if expected {
			t.Error("takes any word for one of krund's")
		}
		put++
		return nil
	})
	if err != nil || put != 1 || krund.read > 1<<16 {
		t.Errorf("the guard: %v, put back %d times, read %d bytes", err, put, krund.read)
	}
	if err := hear(&guard); err == nil || len(err.Error()) > 1000 || guard.read > 1<<16 {
		t.Errorf("krund: read %d bytes, error %.200v", guard.read, err)
	}
}

// FuzzProtocol: the guard puts back unless krund has said that this is done, and krund goes on for
// one answer only.
func FuzzProtocol(f *testing.F) {
	for _, word := range []string{
		"", done, done + "\n", restarting + "\n", ready + "\n", done + "\nmore", "\n", "\x00\xff\n",
	} {
		f.Add([]byte(word))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		var says strings.Builder
		put, announced := 0, false
		err := watch(bytes.NewReader(said), &says, func(expected bool) error {
			put++
			announced = expected
			return nil
		})
		isDone := bytes.HasPrefix(said, []byte(done+"\n"))
		isRestarting := bytes.HasPrefix(said, []byte(restarting+"\n"))
		if err != nil || says.String() != ready+"\n" || put == 1 == isDone || announced != isRestarting {
			t.Errorf("krund said %q: put back %d times, announced %t, said %q, error %v",
				said, put, announced, &says, err)
		}
		if err := hear(bytes.NewReader(said)); (err == nil) != bytes.HasPrefix(said, []byte(ready+"\n")) {
			t.Errorf("the guard said %q: error %v", said, err)
		}
	})
}

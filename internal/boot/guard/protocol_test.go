package guard

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"krund/rig/must"
)

// babbler is the other end of a pipe that sends a message without end. It counts what is read.
type babbler struct{ read int }

func (b *babbler) Read(p []byte) (int, error) {
	const enough = 1 << 20
	if b.read > enough {
		return 0, errors.New("read more than the longest message")
	}
	for i := range p {
		p[i] = 'x'
	}
	b.read += len(p)
	return len(p), nil
}

// TestMessagesAreBounded: neither side reads more than the longest message.
func TestMessagesAreBounded(t *testing.T) {
	var krund, guard babbler
	put := 0
	err := watch(&krund, io.Discard, func(expected bool) error {
		must.Be(t, !expected, "accepts any message as one of krund's")
		put++
		return nil
	})
	must.Be(t, err == nil && put == 1 && krund.read <= 1<<16, "the guard", err, "restored", put,
		"times, read", krund.read, "bytes")
	if err := hear(&guard); err == nil || len(err.Error()) > 1000 || guard.read > 1<<16 {
		t.Errorf("krund: read %d bytes, error %.200v", guard.read, err)
	}
}

// FuzzProtocol: the guard restores the machine unless krund has said "done", and krund continues
// only after "ready".
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
		must.Be(t, err == nil && says.String() == ready+"\n" && put == 1 != isDone &&
			announced == isRestarting, "krund said", said, "restored", put, "times, announced", announced,
			"said", &says, err)
		err = hear(bytes.NewReader(said))
		must.Equal(t, (err == nil), bytes.HasPrefix(said, []byte(ready+"\n")), "the guard said", said, err)
	})
}

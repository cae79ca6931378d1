package results

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/rig/must"
)

func TestFormatIsReadFromTheFirstBytes(t *testing.T) {
	dir := t.TempDir()
	reader := NewReader(durable.OS(), dir)
	put := func(slot int, text string) Name {
		t.Helper()
		packed := must.Get(compress([]byte(text)))(t)
		n := Name{Slot: slot, Attempt: 1}
		must.Do(t, os.WriteFile(filepath.Join(dir, n.String()), packed, 0o644))
		return n
	}
	for want, text := range map[int]string{1: `{"format":1,"key":"a:b:c"}`,
		2:       `{"format":2,"key":{"a":1},"x":[` + strings.Repeat("1,", 9999) + `1]}`,
		9999999: `{"format":9999999,"key":0}`} {
		got, err := reader.Format(put(want, text))
		must.Be(t, err == nil && got == want, text, "format", got, err, "want", want)
	}
	for i, text := range []string{"", "{}", `{"key":"a:b:c","format":1}`, `{"format":0,`, `{"format":-1,`,
		`{"format":"1",`, "[1]"} {
		got, err := reader.Format(put(100+i, text))
		must.Be(t, err != nil, text, "format", got, "want an error")
	}
	_, err := reader.Format(Name{Slot: 7, Attempt: 3})
	must.Fail(t, err, fs.ErrNotExist, "no such record")
}

// compress compresses a text as Encode does.
func compress(text []byte) ([]byte, error) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, err := zip.Write(text)
	err = errors.Join(err, zip.Close())
	return packed.Bytes(), err
}

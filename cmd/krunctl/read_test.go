package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"testing"

	"krund/rig/must"
)

// TestShowJSONIsTheDocument: byte for byte what krund has written.
func TestShowJSONIsTheDocument(t *testing.T) {
	b := mixed(t)
	packed, err := os.ReadFile(b.recordPath(3, 2))
	b.must(err)
	z, err := gzip.NewReader(bytes.NewReader(packed))
	b.must(err)
	want, err := io.ReadAll(z)
	b.must(err)
	for _, args := range [][]string{{b.dir(), "3"}, {b.toml, "3-2"}, {b.recordPath(3, 2)}} {
		r := krunctl(t, append([]string{"show", "--format", "json"}, args...)...)
		must.Be(t, r.code == exitOK && r.stdout == string(want), args, r.text(), "want", want)
	}
}

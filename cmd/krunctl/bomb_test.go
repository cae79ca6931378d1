package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dsnet/compress/bzip2"

	"krund/internal/durable"
	"krund/rig/must"
)

// bzipped compresses head followed by n MiB of blanks.
func bzipped(t *testing.T, head string, times int) []byte {
	t.Helper()
	stream := func(text []byte) []byte {
		var out bytes.Buffer
		z := must.Get(bzip2.NewWriter(&out, nil))(t)
		must.Get(z.Write(text))(t)
		must.Do(t, z.Close())
		return out.Bytes()
	}
	return append(stream([]byte(head)), bytes.Repeat(stream(bytes.Repeat([]byte(" "), 1<<20)), times)...)
}

// gzipped compresses head followed by n MiB of blanks.
func gzipped(t *testing.T, head string, times int) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	must.Do(t, err)
	blanks := bytes.Repeat([]byte(" "), 1<<20)
	_, err = z.Write([]byte(head))
	for range times {
		if err == nil {
			_, err = z.Write(blanks)
		}
	}
	must.Do(t, err)
	must.Do(t, z.Close())
	return out.Bytes()
}

// TestBombs: a small file that unpacks to a large one is refused with its name, the limit and what
// to do, long before all of it was unpacked.
func TestBombs(t *testing.T) {
	must.Long(t)
	b := complete(t)
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		t.Helper()
		file := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(file, content, 0o644))
		return file
	}
	// 40 MiB of blanks in 2 kB.
	krun := write("x.json.bz2", bzipped(t, `{"wallclock_times":`, 40))
	uoptime := write("x.csv.gz", gzipped(t, "b_name,ir_pos,sr_pos,it_pos,bed_pos,ns_per_op\n", 64))
	record := write("0000000-001.json.gz", gzipped(t, `{"format":1,"key":`, 64))
	limit := fmt.Sprintf("decompresses to more than %d", durable.SmallUnpacked)
	for _, args := range [][]string{
		{"convert", "--to", "csv", krun}, // and all that read the same way
		{"enough", "optimize", uoptime}, {"show", record}, {"show", "--format", "json", record},
	} {
		r := krunctl(t, args...)
		advice := "; if you trust it, unpack it ("
		if args[0] == "show" {
			advice = "damaged"
		}
		must.Be(t, r.code == exitError && r.stdout == "" && strings.Contains(r.stderr, limit) &&
			strings.Contains(r.stderr, dir) && strings.Contains(r.stderr, advice) && len(r.stderr) <= 1000,
			args, r.text())
	}
	// And in an experiment's directory.
	content, err := os.ReadFile(record)
	b.must(err)
	b.must(os.WriteFile(b.recordPath(0, 1), content, 0o644))
	for _, args := range [][]string{{"show"}, {"convert", "--to", "csv"}, {"check"}} {
		r := krunctl(t, append(args, b.dir())...)
		must.Be(t, r.code != exitOK && strings.Contains(r.stdout+r.stderr, "0000000-001.json.gz") &&
			strings.Contains(r.stdout+r.stderr, limit), args, r.text())
	}
}

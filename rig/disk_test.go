package rig

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"krund/rig/must"
)

func TestParseList(t *testing.T) {
	// debugfs -R 'ls -p /srv/cut' (e2fsprogs 1.47.0)
	const out = "/12/040755/0/0/.//\n/2/040755/0/0/..//\n/14/100644/0/0/plain/3/\n/15/104755/1000/50/with " +
		"space/0/\n\n"
	want := []Entry{{"plain", 0o100644, 0, 0, 3}, {"with space", 0o104755, 1000, 50, 0}}
	got, err := parseList(out)
	must.Be(t, err == nil && reflect.DeepEqual(got, want), "parseList", got, err, want)
	for _, bad := range []string{"x", "/1/2/3/4/5/6", "/1/9/0/0/a/1/", "/1/100644/a/0/a/1/",
		"/1/100644/0/0/a/x/"} {
		got, err := parseList(bad)
		must.Be(t, err != nil, "parseList", bad, got, "want an error")
	}
}

func TestQuoteDebugfs(t *testing.T) {
	got, err := quoteDebugfs(`/a "b"/c`)
	must.Be(t, err == nil && got == `"/a ""b""/c"`, "quoteDebugfs =", got, err)
	got, err = quoteDebugfs("/a\nrm /b")
	must.Be(t, err != nil, "quoteDebugfs accepted a line end", got)
}

func TestNeedsRecoveryReadsTheSuperblock(t *testing.T) {
	image := func(magic uint16, incompat byte, size int) string {
		b := make([]byte, 4096)
		b[offMagic], b[offMagic+1], b[offIncompat] = byte(magic), byte(magic>>8), incompat
		name := filepath.Join(t.TempDir(), "image")
		must.Do(t, os.WriteFile(name, b[:size], 0o600))
		return name
	}
	for _, c := range []struct {
		name        string
		file        string
		dirty, fail bool
	}{
		{"clean", image(ext4Magic, 0x42, 4096), false, false},
		{"dirty", image(ext4Magic, 0x46, 4096), true, false},
		{"not ext4", image(0, 4, 4096), false, true},
		{"too short", image(ext4Magic, 4, 1100), false, true},
		{"missing", "/no/such/image", false, true},
	} {
		dirty, err := needsRecovery(c.file)
		must.Be(t, dirty == c.dirty && (err != nil) == c.fail, c.name, dirty, err)
	}
}

func FuzzParseList(f *testing.F) {
	f.Add("/14/100644/0/0/plain/3/\n")
	f.Fuzz(func(t *testing.T, out string) {
		entries, err := parseList(out)
		for _, e := range entries {
			must.Be(t, err == nil && e.Name != "." && e.Name != "..", out, entries, err)
		}
	})
}

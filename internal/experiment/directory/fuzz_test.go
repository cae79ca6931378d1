package directory

import (
	"strings"
	"testing"
	"unicode"

	"krund/rig/must"
)

// FuzzHolder parses the text of a lock file, which is printed when a second krund starts.
func FuzzHolder(f *testing.F) {
	for _, text := range []string{
		"", "4711 bencher7\n", "-1 x", "1 a b", "99999999999999999999 x", "7 \x1b[2J", "7 \u202ehost",
		"7 \xff",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		pid, host := parseHolder(text)
		must.Be(t, pid >= 0 && (pid == 0) == (host == ""), text, "process", pid, "on", host)
		odd := func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsGraphic(r) }
		must.Be(t, !strings.ContainsFunc(host, odd), text, "a host of the name", host)
		again := string(formatHolder(pid, host))
		must.Equal(t, len(again), holderBytes, "is of", "bytes")
		// a long one is truncated
		if p, h := parseHolder(again); p != pid || h != host && len(host) < holderBytes/2 {
			t.Errorf("%q: process %d on %q; written and read again %d, %q", text, pid, host, p, h)
		}
	})
}

// FuzzListsLock searches arbitrary text for a lock.
func FuzzListsLock(f *testing.F) {
	f.Add("1: FLOCK  ADVISORY  WRITE 4711 08:01:1312 0 EOF\n", 4711)
	f.Add("1: -> FLOCK  ADVISORY  WRITE 4712 08:01:1312 0 EOF\n", 4712)
	f.Fuzz(func(t *testing.T, list string, pid int) {
		must.Be(t, !listsLock(list, pid) || strings.Contains(list, "FLOCK"), "process", pid, "in", list)
	})
}

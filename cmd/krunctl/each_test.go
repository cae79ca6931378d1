package main

import (
	"strings"
	"testing"

	"krund/internal/experiment/results"
)

// TestNothingJudged: a command whose output has no judgment exits with 3, so that a script does not
// take it for success; one key that can be judged is enough.
func TestNothingJudged(t *testing.T) {
	experiment := func(executions int) string {
		return seriesDirectory(t, executions, func(slot int) ([]int64, string) {
			wall := make([]int64, 400)
			for i := range wall {
				wall[i] = 1e8 + int64(slot*1000+i%7)
			}
			return wall, results.RebootNone
		})
	}
	none, one, two := experiment(0), experiment(1), experiment(2)
	for _, c := range []struct {
		command string // its words
		dirs    []string
		code    int
	}{
		{"analyze --similarity", []string{one}, exitLeftOut},
		{"analyze --similarity", []string{two}, exitOK},
		{"analyze --similarity", []string{one, two}, exitOK},
		{"analyze --similarity", []string{none}, exitError},
		{"enough stability", []string{one}, exitOK}, // its warm-up can be judged
		{"enough stability", []string{two}, exitOK},
		{"enough stability", []string{none}, exitError},
		{"analyze", []string{none}, exitError},
		{"analyze", []string{two}, exitOK},
	} {
		ran := krunctl(t, append(strings.Fields(c.command), c.dirs...)...)
		if ran.code != c.code || c.code == exitLeftOut && !strings.Contains(ran.stderr, "cannot be judged") {
			t.Errorf("%s %q: exit status %d, want %d\n%s", c.command, c.dirs, ran.code, c.code, ran.text())
		}
	}
}

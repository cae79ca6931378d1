package rig

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

func TestConsoleKeepsCompleteLinesPerBoot(t *testing.T) {
	c := newConsole()
	c.startBoot()
	for _, portion := range []string{"one\r", "\ntw", "o\n\n", "cut in ha"} {
		n, err := c.Write([]byte(portion))
		must.Need(t, n == len(portion) && err == nil, "Write", portion, n, err)
	}
	lines, _ := c.snapshot(0)
	must.EqualList(t, lines, []Line{{1, "one"}, {1, "two"}, {1, ""}}, "lines", "want the three complete ones")
	c.startBoot()
	_, _ = c.Write([]byte("\xffnew\n"))
	if lines, _ := c.snapshot(3); !slices.Equal(lines, []Line{{1, "cut in ha"}, {2, "\uFFFDnew"}}) {
		t.Errorf("lines %+v: want the rest of boot 1, then boot 2", lines)
	}
	got, want := c.tail(2), "  boot 1| cut in ha\n  boot 2| \uFFFDnew\n"
	must.Equal(t, got, want, "tail is")
}

func TestConsoleWaitFindsLinesPrintedBeforeAndAfter(t *testing.T) {
	c := newConsole()
	c.startBoot()
	_, _ = c.Write([]byte("step 1\nstep 2\n"))
	match := regexp.MustCompile(`^step (\d+)$`)
	next := 0
	for i, want := range []string{"1", "2", "3"} {
		if i == 2 {
			go func() { _, _ = c.Write([]byte("noise\nstep 3\n")) }()
		}
		groups, n, err := c.wait(t.Context(), next, match)
		must.Need(t, err == nil && groups[1] == want, "wait", i, groups, err, want)
		next = n
	}
	must.Equal(t, next, 4, "next line", "want 4")
}

func TestConsoleWaitEndsWithItsContextButSeesTheLastLines(t *testing.T) {
	c := newConsole()
	_, _ = c.Write([]byte("last words\n"))
	cause := errors.New("went off")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, next, err := c.wait(ctx, 0, regexp.MustCompile("^last"))
	must.Be(t, err == nil && next == 1, "a line that was there: next", next, "error", err)
	_, _, err = c.wait(ctx, 0, regexp.MustCompile("^never"))
	must.Be(t, errors.Is(err, errNotSeen) && errors.Is(err, cause), "a line that never came", err,
		"want both", errNotSeen, cause)
}

func TestPanicFindsTheReason(t *testing.T) {
	reason, ok := Panic([]Line{{1, "[    1.0] fine"},
		{1, "[    5.7] Kernel panic - not syncing: sysrq triggered crash"}})
	must.Be(t, ok && reason == "sysrq triggered crash", "Panic", reason, ok)
	reason, ok = Panic([]Line{{1, "reboot: Restarting system"}})
	must.Be(t, !ok, "an ordinary reboot: Panic =", reason, "true")
}

// FuzzConsolePortions: any division of the output into chunks gives the same lines.
func FuzzConsolePortions(f *testing.F) {
	f.Add([]byte("a\r\nb\n\nc"), uint8(2))
	f.Fuzz(func(t *testing.T, out []byte, size uint8) {
		whole, portions := newConsole(), newConsole()
		_, _ = whole.Write(out)
		for p := range slices.Chunk(out, int(size)+1) {
			_, _ = portions.Write(p)
		}
		a, _ := whole.snapshot(0)
		b, _ := portions.snapshot(0)
		must.EqualList(t, a, b, out, "in portions of", size+1)
		must.Equal(t, len(a), strings.Count(string(out), "\n"), "lines")
	})
}

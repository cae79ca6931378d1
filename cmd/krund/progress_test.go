package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"krund/internal/boot"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
	"krund/internal/schedule"
	"krund/rig/must"
)

// ticks is a clock on which a second passes when the test says so.
type ticks struct {
	now   time.Time
	tick  chan struct{} // a second passes
	drawn chan struct{} // its consequences were drawn: the sleeper sleeps again
}

func newTicks() *ticks {
	return &ticks{now: time.Unix(0, 0), tick: make(chan struct{}), drawn: make(chan struct{})}
}

func (c *ticks) Now() time.Time { return c.now }

func (c *ticks) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case c.drawn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-c.tick:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pass lets a second pass.
func (c *ticks) pass() {
	<-c.drawn
	c.now = c.now.Add(time.Second)
	c.tick <- struct{}{}
}

func slotOf(index, attempt int, vm string) schedule.Slot {
	return schedule.Slot{Index: index, Attempts: attempt, Pexec: 2, Key: key.Key{Benchmark: "nbody",
		VM: vm, Variant: "so"}}
}

// lines replays what was written to a terminal and returns each state of its line, and the lines
// that stayed.
func lines(text string) (states, stayed []string) {
	line := ""
	for text != "" {
		switch {
		case strings.HasPrefix(text, "\r\x1b[K"):
			line, text = "", text[len("\r\x1b[K"):]
			continue
		case text[0] == '\n':
			stayed, line = append(stayed, line), ""
			text = text[1:]
			continue
		}
		part := text
		if i := strings.IndexAny(text[1:], "\r\n"); i >= 0 {
			part = text[:i+1]
		}
		line, text = line+part, text[len(part):]
		states = append(states, line)
	}
	return states, stayed
}

func TestProgressInAFile(t *testing.T) {
	var b bytes.Buffer
	p := &progress{screen: newScreen(&b)}
	p.Step("waiting", time.Minute)
	p.Begin(slotOf(0, 1, "C"), boot.Count{Slots: 12, Left: 12})
	p.Step(boot.Running, 0)
	p.End(slotOf(0, 1, "C"), boot.Count{Slots: 12, Left: 11}, results.Completed, nil, 2*time.Second)
	p.Begin(slotOf(10, 3, "C"), boot.Count{Slots: 12, Left: 2})
	p.End(slotOf(10, 3, "C"), boot.Count{Slots: 12, Left: 1}, results.Error,
		[]string{"it said last: \x1b[31mred\nline", "second"}, 4*time.Second)
	p.Begin(slotOf(11, 1, "C"), boot.Count{Slots: 12, Left: 1})
	p.End(slotOf(11, 1, "C"), boot.Count{Slots: 12}, results.Timeout, nil, time.Minute)
	const plain = "[ 1/12] nbody:C:so, execution 2                 completed    2.0 s  left 22s\n" +
		"[11/12] nbody:C:so, execution 2, attempt 3      error        4.0 s  left 3s\n" +
		"    it said last: \uFFFD[31mred\uFFFDline\n    second\n" +
		"[12/12] nbody:C:so, execution 2                 timeout     60.0 s  \n"
	must.Equal(t, b.String(), plain, "not on a terminal")
}

// TestProgressOnATerminal: each step is named, waits are counted, the line is never wider than the
// terminal, messages are above it, and it is gone at the end.
func TestProgressOnATerminal(t *testing.T) {
	const columns = 60
	var b bytes.Buffer
	clock := newTicks()
	s := &screen{w: &b, clock: clock, width: func() int { return columns }, stop: func() {}, color: true}
	p := &progress{screen: s}
	p.Step("waiting to read the base temperatures", 90*time.Second)
	clock.pass()
	<-clock.drawn // it sleeps again
	p.Begin(slotOf(0, 1, "C"), boot.Count{Slots: 12, Left: 12})
	p.Step("settling", 30*time.Second)
	clock.pass()
	clock.pass()
	<-clock.drawn
	_, _ = s.above(&b).Write([]byte("krund: a warning\n"))
	p.Step(boot.Running, 0)
	p.End(slotOf(0, 1, "C"), boot.Count{Slots: 12, Left: 11}, results.Completed, nil, 2*time.Second)
	p.Begin(slotOf(1, 1, strings.Repeat("long", 12)), boot.Count{Slots: 12, Left: 11})
	p.Step(boot.Running, 0)
	s.clear()
	states, stayed := lines(b.String())
	all := strings.Join(states, "\n")
	for _, want := range []string{
		"waiting to read the base temperatures 1.0s of 1m 30s",
		"[ 1/12] nbody:C:so, execution 2  settling 0.0s of 30s",
		"[ 1/12] nbody:C:so, execution 2  settling 2.0s of 30s",
		"[ 1/12] nbody:C:so, execution 2  running",
		"longlonglong:so, execution 2  running, left 22s",
	} {
		must.Contain(t, all, want, "no line")
	}
	must.Be(t, len(stayed) == 2 && stayed[0] == "krund: a warning" &&
		strings.Contains(stayed[1], "\x1b[32mcompleted\x1b[0m    2.0 s  left 22s"), "stayed", stayed)
	plain := strings.NewReplacer("\x1b[2m", "", "\x1b[0m", "")
	for _, line := range states {
		n := utf8.RuneCountInString(plain.Replace(line))
		must.Be(t, n < columns || slices.Contains(stayed, line), n, "columns", line)
	}
	must.Be(t, strings.HasSuffix(b.String(), "\r\x1b[K"), "the line is not gone", b.String())
}

// TestProgressRests: nothing is redrawn while a benchmark runs.
func TestProgressRests(t *testing.T) {
	var b bytes.Buffer
	clock := newTicks()
	p := &progress{screen: &screen{w: &b, clock: clock, width: func() int { return 80 }, stop: func() {}}}
	p.Begin(slotOf(0, 1, "C"), boot.Count{Slots: 1, Left: 1})
	<-clock.drawn // a goroutine draws
	p.Step(boot.Running, 0)
	select {
	case <-clock.drawn:
		t.Error("a goroutine sleeps during the run")
	default: // Step waited for its end
	}
	must.Be(t, !strings.Contains(b.String(), "\x1b[2m"), "colors without color", b.String())
}

func TestShortened(t *testing.T) {
	for most, want := range map[int]string{20: "nbody:C:so", 10: "nbody:C:so", 8: "...:C:so", 4: "...o",
		3: "", -5: ""} {
		must.Equal(t, shortened("nbody:C:so", most), want)
	}
}

// TestQuiet: --quiet prints no progress, and a file is no terminal.
func TestQuiet(t *testing.T) {
	file := must.Get(os.Create(filepath.Join(t.TempDir(), "out")))(t)
	defer file.Close()
	for _, quiet := range []bool{false, true} {
		p := &progress{screen: newScreen(file), quiet: quiet}
		p.Begin(schedule.Slot{}, boot.Count{Slots: 1, Left: 1})
		p.End(schedule.Slot{}, boot.Count{Slots: 1}, results.Completed, nil, time.Second)
	}
	text, err := os.ReadFile(file.Name())
	must.Be(t, err == nil && strings.Count(string(text), "\n") == 1 &&
		!strings.Contains(string(text), "\x1b"), text, err, "want the one line that was not quiet")
	must.Equal(t, newScreen(file).above(io.Discard), io.Discard, "messages do not go through")
}

var _ sysroot.Clock = (*ticks)(nil)

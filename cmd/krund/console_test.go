package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"krund/internal/boot"
	"krund/internal/durable"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig/must"
)

func TestConsole(t *testing.T) {
	for _, test := range []struct {
		name    string
		journal bool
		level   slog.Level
		log     func(*slog.Logger)
		want    string
	}{
		{"words and values", false, slog.LevelInfo,
			func(l *slog.Logger) { l.Info("began", "slot", 3, "took", 2*time.Second) },
			"krund: began: slot 3, took 2s\n"},
		{"no values", false, slog.LevelInfo, func(l *slog.Logger) { l.Info("began") }, "krund: began\n"},
		{"an error needs no name", false, slog.LevelWarn,
			func(l *slog.Logger) { l.Error("hook", "error", errors.New("no disk"), "argv", "x") },
			"krund: hook: no disk, argv x\n"},
		{"too unimportant", false, slog.LevelWarn, func(l *slog.Logger) { l.Info("began") }, ""},
		{"with", false, slog.LevelInfo,
			func(l *slog.Logger) { l.With("slot", 1).With("key", "a:b:c").Warn("x", "y", 2) },
			"krund: x: slot 1, key a:b:c, y 2\n"},
		{"group", false, slog.LevelInfo,
			func(l *slog.Logger) { l.WithGroup("g").Info("x", "y", 2) }, "krund: x: y 2\n"},
		{"control characters", false, slog.LevelInfo,
			func(l *slog.Logger) { l.Info("x", "y", "\x1b[2J\u009b\x7fé\r\u202e\u2028") },
			"krund: x: y \uFFFD[2J\uFFFD\uFFFDé\uFFFD\uFFFD\uFFFD\n"},
		{
			"several errors stay on one line", false, slog.LevelInfo,
			func(l *slog.Logger) { l.Error("x", "error", errors.Join(errors.New("a"), errors.New("b"))) },
			"krund: x: a; b\n",
		},
		{"journal", true, slog.LevelInfo, func(l *slog.Logger) {
			l.Error("a")
			l.Warn("b")
			l.Info("c")
			l.Debug("d")
		}, "<3>a\n<4>b\n<6>c\n"},
		{"journal takes more than a terminal", true, slog.LevelError,
			func(l *slog.Logger) { l.Info("c") }, "<6>c\n"},
		{"journal, verbose", true, slog.LevelDebug, func(l *slog.Logger) { l.Debug("d") }, "<7>d\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			test.log(slog.New(newConsole(&b, test.level, test.journal)))
			must.Equal(t, b.String(), test.want)
		})
	}
}

func TestIsJournal(t *testing.T) {
	file := must.Get(os.Create(filepath.Join(t.TempDir(), "stream")))(t)
	t.Cleanup(func() { _ = file.Close() })
	info := must.Get(file.Stat())(t)
	stat, ok := info.Sys().(*syscall.Stat_t)
	must.Need(t, ok, "no device and inode")
	own := fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
	for _, test := range []struct {
		name   string
		w      io.Writer
		stream string
		want   bool
	}{
		{"the journal", file, own, true},
		{"no journal", file, "", false},
		{"inherited from a service, and redirected", file, "8:1", false},
		{"no file", &bytes.Buffer{}, own, false},
	} {
		must.Equal(t, isJournal(test.w, test.stream), test.want, test.name)
	}
}

// TestLog: everything is in the file, and on stderr what the flags ask for.
func TestLog(t *testing.T) {
	for _, test := range []struct {
		name string
		o    runOptions
		want string
	}{
		{"usual", runOptions{}, "krund: warning\nkrund: error\n"},
		{"quiet", runOptions{quiet: true}, "krund: error\n"},
		{"verbose", runOptions{verbose: true}, "krund: debug\nkrund: info\nkrund: warning\nkrund: error\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			for range 2 { // the second krund writes behind the first
				var stderr bytes.Buffer
				log, done := must.Get2(newLog(durable.OS(), path, test.o, &stderr))(t)
				log.Debug("debug")
				log.Info("info")
				log.Warn("warning")
				log.Error("error")
				done()
				must.Equal(t, stderr.String(), test.want, "stderr")
			}
			text := must.Get(os.ReadFile(path))(t)
			for _, message := range []string{"debug", "info", "warning", "error"} {
				must.Equal(t, strings.Count(string(text), "msg="+message), 2, "times in the log, want 2")
			}
		})
	}
	_, _, err := newLog(durable.OS(), filepath.Join(t.TempDir(), "no", "log"), runOptions{}, io.Discard)
	must.Refuse(t, err, "open the log")
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

// TestProgressOnATerminal: each step is named, with its limit, the line is never wider than the
// terminal, messages are above it, and it is gone at the end.
func TestProgressOnATerminal(t *testing.T) {
	const columns = 60
	var b bytes.Buffer
	s := &screen{w: &b, width: func() int { return columns }, color: true}
	p := &progress{screen: s}
	p.Step("waiting to read the base temperatures", 90*time.Second)
	p.Begin(slotOf(0, 1, "C"), boot.Count{Slots: 12, Left: 12})
	p.Step("settling", 30*time.Second)
	_, _ = s.above(&b).Write([]byte("krund: a warning\n"))
	p.Step(boot.Running, 0)
	p.End(slotOf(0, 1, "C"), boot.Count{Slots: 12, Left: 11}, results.Completed, nil, 2*time.Second)
	p.Begin(slotOf(1, 1, strings.Repeat("long", 12)), boot.Count{Slots: 12, Left: 11})
	p.Step(boot.Running, 0)
	s.show("")
	states, stayed := lines(b.String())
	all := strings.Join(states, "\n")
	for _, want := range []string{
		"waiting to read the base temperatures, at most 1m 30s",
		"[ 1/12] nbody:C:so, execution 2  settling, at most 30s",
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

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"krund/internal/durable"
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

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"

	"krund/internal/display"
)

// talk is a log handler for people: a line of words and values, without time and level, which the
// terminal's reader does not need and the journal adds itself. Under systemd each line begins with
// its priority, as sd-daemon(3) has it.
type talk struct {
	mu      *sync.Mutex
	w       io.Writer
	level   slog.Level
	journal bool
	attrs   []slog.Attr
}

// newTalk writes messages of at least this level to w; when that is the journal, which sorts them
// itself, of at least slog.LevelInfo.
func newTalk(w io.Writer, level slog.Level, journal bool) *talk {
	if journal {
		level = min(level, slog.LevelInfo)
	}
	return &talk{mu: new(sync.Mutex), w: w, level: level, journal: journal}
}

// isJournal says whether w leads to systemd's journal. The variable alone does not: whatever a
// service starts inherits it, a terminal as well.
func isJournal(w io.Writer, stream string) bool {
	file, ok := w.(*os.File)
	if !ok || stream == "" {
		return false
	}
	info, err := file.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stream == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino) // as systemd.exec(5) has it
}

func (t *talk) Enabled(_ context.Context, level slog.Level) bool { return level >= t.level }

func (t *talk) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	if t.journal {
		b.WriteString(priority(r.Level))
	} else {
		b.WriteString("krund: ")
	}
	b.WriteString(r.Message)
	separator := ": "
	write := func(a slog.Attr) bool {
		b.WriteString(separator)
		if a.Key != "error" {
			b.WriteString(a.Key + " ")
		}
		// errors.Join gives a line per error
		b.WriteString(display.PlainLine(strings.ReplaceAll(a.Value.String(), "\n", "; ")))
		separator = ", "
		return true
	}
	for _, a := range t.attrs {
		write(a)
	}
	r.Attrs(write)
	b.WriteByte('\n')
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := io.WriteString(t.w, b.String())
	return err
}

// priority is the prefix for the journal.
func priority(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return "<3>"
	case level >= slog.LevelWarn:
		return "<4>"
	case level >= slog.LevelInfo:
		return "<6>"
	}
	return "<7>"
}

func (t *talk) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *t
	c.attrs = append(append([]slog.Attr{}, t.attrs...), attrs...)
	return &c
}

// WithGroup does not group: krund has no groups.
func (t *talk) WithGroup(string) slog.Handler { return t }

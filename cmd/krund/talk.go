package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
)

// talk is a log handler for people: a line of words and values, without time and level, which the terminal's reader does not need and the journal
// adds itself. Under systemd each line begins with its priority, as sd-daemon(3) has it.
type talk struct {
	mu      *sync.Mutex
	w       io.Writer
	level   slog.Level
	journal bool
	attrs   []slog.Attr
}

func newTalk(w io.Writer, level slog.Level) *talk {
	journal := os.Getenv("JOURNAL_STREAM") != ""
	if journal {
		level = min(level, slog.LevelInfo)
	}
	return &talk{mu: new(sync.Mutex), w: w, level: level, journal: journal}
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
		b.WriteString(printable(strings.ReplaceAll(a.Value.String(), "\n", "; "))) // errors.Join gives a line per error
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

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

// console is a log handler for people. It writes a line of words and values without time and level:
// a person at a terminal does not need them, and the journal adds them. Under systemd each line
// begins with its priority (sd-daemon(3)).
type console struct {
	mu      *sync.Mutex
	w       io.Writer
	level   slog.Level
	journal bool
	attrs   []slog.Attr
}

// newConsole returns a handler that writes messages of at least this level to w. If w is the
// journal, which filters by level itself, it writes messages of at least slog.LevelInfo.
func newConsole(w io.Writer, level slog.Level, journal bool) *console {
	if journal {
		level = min(level, slog.LevelInfo)
	}
	return &console{mu: new(sync.Mutex), w: w, level: level, journal: journal}
}

// isJournal reports whether w is systemd's journal. The variable alone does not decide: all
// programs that a service starts inherit it, even on a terminal.
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
	return ok && stream == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino) // see systemd.exec(5)
}

func (h *console) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

func (h *console) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	if h.journal {
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
		// errors.Join writes one line per error
		b.WriteString(display.PlainLine(strings.ReplaceAll(a.Value.String(), "\n", "; ")))
		separator = ", "
		return true
	}
	for _, a := range h.attrs {
		write(a)
	}
	r.Attrs(write)
	b.WriteByte('\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.w, b.String())
	return err
}

// priority returns the prefix for the journal.
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

func (h *console) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = append(append([]slog.Attr{}, h.attrs...), attrs...)
	return &c
}

// WithGroup ignores the group: krund uses none.
func (h *console) WithGroup(string) slog.Handler { return h }

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
	"time"

	"krund/internal/boot"
	"krund/internal/display"
	"krund/internal/execution/watcher"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
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

// A screen is a terminal whose last line changes while krund works. Other text goes above that line
// and is never glued to it. In a file or a pipe there is no such line.
type screen struct {
	mu    sync.Mutex
	w     io.Writer
	width func() int // of the terminal in columns; nil: w is not a terminal
	color bool
	text  string // of the line; "" for none
	drawn bool
}

// newScreen returns the screen of krund's output.
func newScreen(stdout io.Writer) *screen {
	s := &screen{w: stdout}
	file, ok := stdout.(*os.File)
	if !ok || !isTerminal(file) || os.Getenv("TERM") == "dumb" {
		return s
	}
	s.width = func() int { return terminalWidth(file) }
	_, plain := os.LookupEnv("NO_COLOR") // no-color.org
	s.color = !plain
	return s
}

// columns returns the width of the terminal; 0 if there is none.
func (s *screen) columns() int {
	if s.width == nil {
		return 0
	}
	return s.width()
}

// terminal returns the terminal; nil if there is none, or nothing is to be shown on it.
func (s *screen) terminal(quiet bool) *os.File {
	if s.width == nil || quiet {
		return nil
	}
	file, _ := s.w.(*os.File)
	return file
}

// Colors are SGR parameters (ECMA-48).
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	dim    = "2"
)

// paint colors a text, if the terminal has colors.
func (s *screen) paint(color, text string) string {
	if !s.color || color == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// show replaces the line; "" removes it.
func (s *screen) show(text string) {
	if s.width == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.text = text
	s.draw()
}

// print writes text above the line. The text ends with a line end.
func (s *screen) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	_, _ = io.WriteString(s.w, text) // an error here cannot be reported anywhere
	s.draw()
}

// erase and draw are called with mu held.

func (s *screen) erase() {
	if s.drawn {
		_, _ = io.WriteString(s.w, "\r\x1b[K") // see print
		s.drawn = false
	}
}

func (s *screen) draw() {
	if s.text == "" {
		return
	}
	line := []rune(display.PlainLine(s.text))
	line = line[:min(len(line), max(s.width()-1, 0))]
	_, _ = io.WriteString(s.w, s.paint(dim, string(line))) // see print
	s.drawn = true
}

// above returns a writer for messages that appear above the line, such as standard error. Each
// write is a whole message.
func (s *screen) above(w io.Writer) io.Writer {
	if s.width == nil {
		return w
	}
	return aboveLine{s, w}
}

type aboveLine struct {
	s *screen
	w io.Writer
}

func (a aboveLine) Write(text []byte) (int, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.s.erase()
	n, err := a.w.Write(text)
	a.s.draw()
	return n, err
}

// progress prints a line per process execution. On a terminal a further line names the present
// step and the time left. It stands still while a benchmark runs, because krund does nothing then.
type progress struct {
	screen *screen
	quiet  bool
	ran    int           // executions in this process
	spent  time.Duration // on them

	slot  schedule.Slot // the present one
	count boot.Count
	begun bool
}

// Begin notes which execution the next steps belong to.
func (p *progress) Begin(slot schedule.Slot, n boot.Count) {
	p.slot, p.count, p.begun = slot, n, true
	p.Step("preparing", 0)
}

// Step shows a step, and how long it takes at most.
func (p *progress) Step(name string, most time.Duration) {
	if p.quiet || p.screen.width == nil {
		return
	}
	text := name
	if most >= time.Second {
		text += ", at most " + display.Duration(most)
	}
	if p.begun {
		if left := p.eta(p.count.Left); left != "" {
			text += ", " + left
		}
		number, execution := p.place()
		text = number + shortened(execution, p.screen.width()-1-len(number)-len("  ")-len(text)) + "  " + text
	}
	p.screen.show(text)
}

// around returns the line of the running execution without the number of iterations, which another
// process adds (package watcher).
func (p *progress) around(iterations int) watcher.Line {
	number, execution := p.place()
	l := watcher.Line{Before: "  " + boot.Running, After: p.eta(p.count.Left), Width: p.screen.width(),
		Dim: p.screen.color}
	if l.After != "" {
		l.After = ", " + l.After
	}
	rest := len(number) + len(l.Before) + watcher.CountWidth(iterations) + len(l.After)
	l.Before = number + shortened(execution, l.Width-1-rest) + l.Before
	return l
}

// shortened returns a name in at most this many columns, without its start, which is the least
// specific part.
func shortened(name string, most int) string {
	const gap = "..."
	runes := []rune(name)
	switch {
	case len(runes) <= most:
		return name
	case most <= len(gap):
		return ""
	}
	return gap + string(runes[len(runes)-most+len(gap):])
}

// End prints the line of an execution.
func (p *progress) End(slot schedule.Slot, n boot.Count, outcome results.Outcome, reasons []string,
	took time.Duration) {
	p.ran++
	p.spent += took
	if p.quiet {
		return
	}
	p.slot, p.count = slot, n
	place, name := p.place()
	colors := map[results.Outcome]string{results.Completed: green, results.Rerun: yellow, results.Error: red,
		results.Timeout: red}
	rest := fmt.Sprintf("%6.1f s  %s", took.Seconds(), p.eta(n.Left))
	const outcomeWidth = 9
	width := p.screen.columns()
	if width > 0 {
		name = shortened(name, width-len(place)-len("  ")-outcomeWidth-len(" ")-len(rest))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-46s  %s %s\n", place+name,
		p.screen.paint(colors[outcome], fmt.Sprintf("%-*s", outcomeWidth, outcome)), rest)
	for _, reason := range reasons {
		fmt.Fprintf(&b, "%s\n", display.Wrap("    "+printable(reason), width, "    "))
	}
	p.screen.show("")
	p.screen.print(b.String())
}

// place returns the number of the slot and the name of the execution.
func (p *progress) place() (number, name string) {
	digits := len(fmt.Sprint(p.count.Slots))
	number = fmt.Sprintf("[%*d/%d] ", digits, p.slot.Index+1, p.count.Slots)
	name = fmt.Sprintf("%s, execution %d", p.slot.Key, p.slot.Pexec)
	if p.slot.Attempts > 1 {
		name += fmt.Sprintf(", attempt %d", p.slot.Attempts)
	}
	return number, name
}

// eta returns the time left, from the mean of the executions so far.
func (p *progress) eta(left int) string {
	if p.ran == 0 || left <= 0 {
		return ""
	}
	return "left " + (p.spent / time.Duration(p.ran) * time.Duration(left)).Round(time.Second).String()
}

// messageBytes bounds one message, or a part of it: it may quote output of a benchmark of any
// length.
const messageBytes = 8 << 10

// printable bounds a text and replaces characters that control a terminal.
func printable(s string) string { return display.PlainLine(display.Clip(s, messageBytes)) }

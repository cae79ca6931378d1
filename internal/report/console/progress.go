package console

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// Progress shows the progress of an analysis and the remaining time, if it writes to a terminal.
type Progress struct {
	w      io.Writer
	now    func() time.Time
	what   string
	shows  bool // w is a terminal
	begun  time.Time
	shown  time.Time
	length int // of the line on the screen
}

// progressEvery is the interval at which the bar is drawn.
const progressEvery = 200 * time.Millisecond

// NewProgress returns the progress of what.
func NewProgress(w io.Writer, now func() time.Time, what string) *Progress {
	f, ok := w.(*os.File)
	return &Progress{w: w, now: now, what: what, shows: ok && term.IsTerminal(int(f.Fd())), begun: now()}
}

// Show draws the bar, at most every progressEvery.
func (b *Progress) Show(p warmup.Progress) {
	b.draw(func(spent time.Duration) string { return progressLine(b.what, p, spent) })
}

// ShowKeys is show for the progress in keys.
func (b *Progress) ShowKeys(done, of int) {
	b.draw(func(spent time.Duration) string { return barLine(b.what, "keys", done, done, of, spent) })
}

// Line shows a line of text, at most as wide as the terminal.
func (b *Progress) Line(text string) {
	if !b.shows {
		return
	}
	line := display.Terminal(text)
	if most := TerminalWidth(b.w) - 1; utf8.RuneCountInString(line) > most {
		line = string([]rune(line)[:most])
	}
	length := utf8.RuneCountInString(line)
	_, _ = fmt.Fprintf(b.w, "\r%s%s", line, strings.Repeat(" ", max(0, b.length-length))) // only a message
	b.length = length
}

func (b *Progress) draw(text func(spent time.Duration) string) {
	now := b.now()
	if !b.shows || now.Sub(b.shown) < progressEvery {
		return
	}
	b.shown = now
	b.Line(text(now.Sub(b.begun)))
}

// Clear removes the bar from the screen.
func (b *Progress) Clear() {
	if b.length > 0 {
		_, _ = fmt.Fprintf(b.w, "\r%s\r", strings.Repeat(" ", b.length)) // only a message
	}
}

// progressLine is the text of the bar. The estimate ignores executions whose analysis was reused.
func progressLine(what string, p warmup.Progress, spent time.Duration) string {
	return barLine(what, "executions", p.Executions, p.Executions-p.Reused, p.Of, spent)
}

// barLine is the text of a bar: done of the things are done, and worked of those took the time
// spent.
func barLine(what, things string, done, worked, of int, spent time.Duration) string {
	const width = 20
	full := 0
	if of > 0 {
		full = width * done / of
	}
	line := fmt.Sprintf("%s [%s%s] %d of %d %s", what, strings.Repeat("#", full),
		strings.Repeat(".", width-full), done, of, things)
	if worked > 0 && done < of {
		line += ", " + display.Duration(spent/time.Duration(worked)*time.Duration(of-done)) + " left"
	}
	return line
}

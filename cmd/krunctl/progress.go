package main

import (
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"krund/internal/analysis/warmup"
	"krund/internal/display"
	"krund/internal/report/console"
)

// progressBar shows the progress of an analysis and the remaining time on standard error, if that
// is a terminal.
type progressBar struct {
	app    *app
	what   string
	shows  bool // standard error is a terminal
	begun  time.Time
	shown  time.Time
	length int // of the line on the screen
}

// progressEvery is the interval at which the bar is drawn.
const progressEvery = 200 * time.Millisecond

func newProgressBar(a *app, what string) *progressBar {
	f, ok := a.stderr.(*os.File)
	return &progressBar{app: a, what: what, shows: ok && term.IsTerminal(int(f.Fd())), begun: a.now()}
}

// show draws the bar, at most every progressEvery.
func (b *progressBar) show(p warmup.Progress) {
	b.draw(func(spent time.Duration) string { return progressLine(b.what, p, spent) })
}

// showKeys is show for the progress in keys.
func (b *progressBar) showKeys(done, of int) {
	b.draw(func(spent time.Duration) string { return barLine(b.what, "keys", done, done, of, spent) })
}

// write shows a line of text, at most as wide as the terminal.
func (b *progressBar) write(text string) {
	if !b.shows {
		return
	}
	line := display.Terminal(text)
	if most := console.TerminalWidth(b.app.stderr) - 1; utf8.RuneCountInString(line) > most {
		line = string([]rune(line)[:most])
	}
	_, _ = fmt.Fprintf(b.app.stderr, "\r%s%s", line,
		strings.Repeat(" ", max(0, b.length-utf8.RuneCountInString(line)))) // only a message
	b.length = utf8.RuneCountInString(line)
}

func (b *progressBar) draw(text func(spent time.Duration) string) {
	now := b.app.now()
	if !b.shows || now.Sub(b.shown) < progressEvery {
		return
	}
	b.shown = now
	line := display.Terminal(text(now.Sub(b.begun)))
	_, _ = fmt.Fprintf(b.app.stderr, "\r%s%s", line,
		strings.Repeat(" ", max(0, b.length-len(line)))) // only a message
	b.length = len(line)
}

// clear removes the bar from the screen.
func (b *progressBar) clear() {
	if b.length > 0 {
		_, _ = fmt.Fprintf(b.app.stderr, "\r%s\r", strings.Repeat(" ", b.length)) // only a message
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

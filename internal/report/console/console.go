// Package console writes what krunctl prints for people: records, progress, plans, answers; a
// [Server] shows a status in a browser. It computes nothing. Start reading at [New]; each document
// has a method.
package console

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// Console writes to a file or a terminal.
type Console struct {
	w io.Writer
	style
}

// style is how a text looks: plain in a pipe, with NO_COLOR, or where there are no blocks.
type style struct {
	bold, dim, yellow, reset string
	levels                   []rune // of a plot, from low to high
	width                    int    // of the terminal; 0: not a terminal
}

// New returns a console that writes to w. terminal is what w writes to in the end; it determines
// width and colors.
func New(w, terminal io.Writer) *Console {
	out := &Console{w, style{levels: []rune("_.-=+*#@")}}
	f, ok := terminal.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return out
	}
	out.levels, out.width = []rune("▁▂▃▄▅▆▇█"), TerminalWidth(f)
	if _, plain := os.LookupEnv("NO_COLOR"); !plain && os.Getenv("TERM") != "dumb" {
		out.bold, out.dim, out.yellow, out.reset = "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[0m"
	}
	return out
}

// TerminalWidth is the width of a terminal in columns; 80 if it is unknown.
func TerminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// Width is that of the terminal in columns; 0 if the text goes elsewhere.
func (out *Console) Width() int { return out.width }

// wrap breaks a text into lines for the terminal.
func (s style) wrap(indent, text string) string {
	return display.Wrap(indent+text, s.width, indent+"  ")
}

// warning returns the lines of a warning.
func (s style) warning(indent, text string) string {
	const mark = "warning:"
	wrapped := s.wrap(indent, mark+" "+display.Terminal(text))
	return strings.Replace(wrapped, mark, s.yellow+mark+s.reset, 1)
}

// Line writes a value with its name, fit for a terminal.
func (out *Console) Line(name, format string, args ...any) {
	out.print("%s\n", strings.TrimRight(fmt.Sprintf("%-12s %s", name,
		display.Terminal(fmt.Sprintf(format, args...))), " "))
}

func (out *Console) list(sentences []string) {
	for _, s := range sentences {
		out.Line("", "%s", s)
	}
}

// print writes text. The buffer behind it keeps write errors.
func (out *Console) print(format string, args ...any) {
	_, _ = fmt.Fprintf(out.w, format, args...)
}

// Painter fits a text for people to a terminal: sentences are broken, the first line, the answer,
// is bold, and what it warns of yellow. Elsewhere it changes nothing.
type Painter struct {
	to io.Writer
	style
	line    []byte // that is not complete
	started bool
}

// NewPainter returns a painter that writes to w. terminal is what w writes to in the end.
func NewPainter(w, terminal io.Writer) *Painter {
	return &Painter{to: w, style: New(w, terminal).style}
}

func (p *Painter) Write(text []byte) (int, error) {
	if p.bold == "" && p.width == 0 {
		p.started = p.started || len(text) > 0
		return p.to.Write(text)
	}
	p.line = append(p.line, text...)
	for {
		end := bytes.IndexByte(p.line, '\n')
		if end < 0 {
			return len(text), nil
		}
		_, err := io.WriteString(p.to, p.paint(string(p.line[:end]))+"\n")
		p.line = p.line[end+1:]
		if err != nil {
			return 0, err
		}
	}
}

// Width is that of the terminal in columns; 0 if the text goes elsewhere.
func (p *Painter) Width() int { return p.width }

// Started reports whether a line was written.
func (p *Painter) Started() bool { return p.started }

// Close writes what is left of a line.
func (p *Painter) Close() error {
	_, err := p.to.Write(p.line)
	p.line = nil
	return err
}

// fit breaks a line between words; what follows "name    value" stands below the value. Rows of
// tables, commands, and lines that have colors of their own, stay whole.
func (p *Painter) fit(line string) string {
	const widest = 40 // of a name
	value := strings.TrimLeft(line, " ")
	indent := len(line) - len(value) + 2
	if _, after, ok := strings.Cut(value, "  "); ok {
		value = strings.TrimLeft(after, " ")
		indent = len(line) - len(value)
	}
	if p.width == 0 || indent > widest || strings.Contains(value, "  ") ||
		strings.HasPrefix(value, "krunctl ") || strings.Contains(line, "\x1b") {
		return line
	}
	name := len(line) - len(value)
	broken := display.Wrap(strings.Repeat(" ", name)+value, p.width, strings.Repeat(" ", indent))
	return line[:name] + broken[name:]
}

func (p *Painter) paint(line string) string {
	line = p.fit(line)
	first := !p.started && line != ""
	p.started = p.started || first
	switch word := strings.TrimLeft(line, " "); {
	case strings.Contains(line, "\x1b"): // it has colors of its own
	case strings.HasPrefix(word, "warning:"), strings.HasPrefix(word, "Warnings:"),
		strings.HasPrefix(word, "problem:"):
		mark, rest, _ := strings.Cut(line, ":")
		return p.yellow + mark + ":" + p.reset + rest
	case first:
		return p.bold + line + p.reset
	}
	return line
}

// Progress shows the progress of an analysis and the remaining time, if it writes to a terminal.
type Progress struct {
	w     io.Writer
	now   func() time.Time
	what  string
	shows bool // w is a terminal
	begun time.Time
	shown time.Time
}

// progressEvery is the interval at which the bar is drawn.
const progressEvery = 200 * time.Millisecond

// NewProgress returns the progress of what.
func NewProgress(w io.Writer, now func() time.Time, what string) *Progress {
	f, ok := w.(*os.File)
	return &Progress{w: w, now: now, what: what, shows: ok && term.IsTerminal(int(f.Fd())), begun: now()}
}

// Show draws the bar, at most every progressEvery. The estimate ignores executions whose analysis
// was reused.
func (b *Progress) Show(p warmup.Progress) {
	b.draw("executions", p.Executions, p.Executions-p.Reused, p.Of)
}

// ShowKeys is Show for the progress in keys.
func (b *Progress) ShowKeys(done, of int) { b.draw("keys", done, done, of) }

func (b *Progress) draw(things string, done, worked, of int) {
	if now := b.now(); b.shows && now.Sub(b.shown) >= progressEvery {
		b.shown = now
		b.Line(barLine(b.what, things, done, worked, of, now.Sub(b.begun)))
	}
}

// Line shows a line of text, at most as wide as the terminal.
func (b *Progress) Line(text string) {
	if b.shows {
		line := []rune(display.Terminal(text))
		b.replace(string(line[:min(len(line), TerminalWidth(b.w)-1)]))
	}
}

// Clear removes the bar from the screen.
func (b *Progress) Clear() {
	if b.shows {
		b.replace("")
	}
}

// replace writes a text in the place of the line that the cursor is in.
func (b *Progress) replace(text string) {
	_, _ = io.WriteString(b.w, "\r\x1b[K"+text) // only a message
}

// barLine is the text of a bar: done of the things are done, and worked of those took the time
// spent.
func barLine(what, things string, done, worked, of int, spent time.Duration) string {
	const width = 20
	full := width * done / max(of, 1)
	line := fmt.Sprintf("%s [%s%s] %d of %d %s", what, strings.Repeat("#", full),
		strings.Repeat(".", width-full), done, of, things)
	if worked > 0 && done < of {
		line += ", " + display.Duration(spent/time.Duration(worked)*time.Duration(of-done)) + " left"
	}
	return line
}

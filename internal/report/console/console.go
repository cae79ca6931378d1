// Package console writes what krunctl prints for people: records, progress, plans, answers. It
// computes nothing. Start reading at [New]; each document has a method.
package console

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

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

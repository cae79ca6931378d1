package console

import (
	"bytes"
	"io"
	"strings"

	"krund/internal/display"
)

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

// Plain returns it without colors, for help texts.
func (p *Painter) Plain() *Painter {
	p.bold, p.dim, p.yellow, p.reset = "", "", "", ""
	return p
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

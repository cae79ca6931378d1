package console

import (
	"bytes"
	"io"
	"strings"
)

// Painter colors a text for people on a terminal: its first line, the answer, is bold, and what it
// warns of yellow. Elsewhere it changes nothing.
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
	if p.bold == "" {
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

// Started reports whether a line was written.
func (p *Painter) Started() bool { return p.started }

// Close writes what is left of a line.
func (p *Painter) Close() error {
	_, err := p.to.Write(p.line)
	p.line = nil
	return err
}

func (p *Painter) paint(line string) string {
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

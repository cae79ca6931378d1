package main

import (
	"context"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"krund/internal/display"
	"krund/internal/machine/sysroot"
)

// A screen is a terminal whose last line changes while krund works. Other text goes above that line
// and is never glued to it. In a file or a pipe there is no such line.
type screen struct {
	mu    sync.Mutex
	w     io.Writer
	clock sysroot.Clock
	width func() int // of the terminal in columns; nil: w is not a terminal
	color bool

	line string // on the screen now
	text func(passed time.Duration) string
	from time.Time
	stop func() // ends the goroutine that redraws the line
}

// newScreen returns the screen of krund's output.
func newScreen(stdout io.Writer) *screen {
	s := &screen{w: stdout, clock: sysroot.RealClock{}, stop: func() {}}
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

// show replaces the line by the text that text returns for the time passed since now. With moving,
// the line is redrawn every second until it is replaced or cleared.
func (s *screen) show(moving bool, text func(passed time.Duration) string) {
	if s.width == nil {
		return
	}
	s.still()
	s.mu.Lock()
	s.text, s.from = text, s.clock.Now()
	s.draw()
	s.mu.Unlock()
	if !moving {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for s.clock.Sleep(ctx, time.Second) == nil {
			s.mu.Lock()
			s.draw()
			s.mu.Unlock()
		}
	}()
	s.stop = func() { cancel(); <-ended }
}

// still ends the redrawing. When it returns, nothing of the screen runs.
func (s *screen) still() {
	s.stop()
	s.stop = func() {}
}

// clear removes the line.
func (s *screen) clear() {
	s.still()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.text = nil
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
	if s.line != "" {
		_, _ = io.WriteString(s.w, "\r\x1b[K") // see print
		s.line = ""
	}
}

func (s *screen) draw() {
	if s.text == nil {
		return
	}
	line := display.PlainLine(s.text(s.clock.Now().Sub(s.from)))
	if most := s.width() - 1; utf8.RuneCountInString(line) > most {
		line = string([]rune(line)[:max(most, 0)])
	}
	if line != s.line {
		_, _ = io.WriteString(s.w, "\r\x1b[K"+s.paint(dim, line)) // see print
		s.line = line
	}
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

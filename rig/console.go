package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Line is one complete line on a machine's console, without the line end.
type Line struct {
	Boot int // number of the start, from 1
	Text string
}

// console stores everything that a machine has printed in all its starts, and lets a test wait for
// a line. Only complete lines count: a line truncated by a power cut was never printed. It is safe
// for concurrent use.
type console struct {
	mu      sync.Mutex
	boot    int
	lines   []Line
	partial []byte
	changed chan struct{} // closed and replaced with every new line
}

func newConsole() *console { return &console{changed: make(chan struct{})} }

// startBoot starts the lines of the next boot. Incomplete output of the previous boot becomes its
// last line.
func (c *console) startBoot() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.partial) > 0 {
		c.add(c.partial)
		c.partial = nil
	}
	c.boot++
	return c.boot
}

// Write accepts console output in arbitrary chunks. It never fails.
func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.partial = append(c.partial, p...)
	for {
		i := bytes.IndexByte(c.partial, '\n')
		if i < 0 {
			return len(p), nil
		}
		c.add(c.partial[:i])
		c.partial = c.partial[i+1:]
	}
}

// add appends a line; the caller holds mu.
func (c *console) add(text []byte) {
	c.lines = append(c.lines, Line{Boot: c.boot, Text: strings.ToValidUTF8(string(bytes.Trim(text, "\r")),
		"\uFFFD")})
	close(c.changed)
	c.changed = make(chan struct{})
}

// snapshot returns the lines from index from, and a channel that is closed when there are more.
func (c *console) snapshot(from int) ([]Line, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	from = min(from, len(c.lines))
	return c.lines[from:len(c.lines):len(c.lines)], c.changed
}

// len returns the number of complete lines so far.
func (c *console) len() int {
	lines, _ := c.snapshot(0)
	return len(lines)
}

// errNotSeen is wrapped in the error of wait if the context ends first.
var errNotSeen = errors.New("not seen on the console")

// wait returns the submatches of the first matching line from index from, and the index after that
// line. Lines that existed when the context ended still count.
func (c *console) wait(ctx context.Context, from int, match *regexp.Regexp) (groups []string, next int,
	err error) {
	for {
		ended := ctx.Err() != nil // checked before reading the lines, so that none is missed
		lines, changed := c.snapshot(from)
		for i, line := range lines {
			if groups = match.FindStringSubmatch(line.Text); groups != nil {
				return groups, from + i + 1, nil
			}
		}
		from += len(lines)
		if ended {
			return nil, from, fmt.Errorf("%w: %s (%w)", errNotSeen, match, context.Cause(ctx))
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// tail returns the last n lines as text, for a failure message.
func (c *console) tail(n int) string {
	lines, _ := c.snapshot(0)
	var b strings.Builder
	for _, line := range lines[max(0, len(lines)-n):] {
		fmt.Fprintf(&b, "  boot %d| %s\n", line.Boot, line.Text)
	}
	return b.String()
}

// Panic returns the kernel's reason if the lines contain a kernel panic.
func Panic(lines []Line) (reason string, ok bool) {
	for _, line := range lines {
		if _, after, found := strings.Cut(line.Text, "Kernel panic - not syncing: "); found {
			return after, true
		}
	}
	return "", false
}

package rig

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
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

// qmpMessage is any line that QEMU sends over the QEMU Machine Protocol (QMP): greeting, event,
// return or error.
type qmpMessage struct {
	QMP    *json.RawMessage `json:"QMP"`
	Event  string           `json:"event"`
	Data   json.RawMessage  `json:"data"`
	Return *json.RawMessage `json:"return"`
	Error  *qmpError        `json:"error"`
}

// qmpError is QEMU's error for a command.
type qmpError struct {
	Class string `json:"class"`
	Desc  string `json:"desc"`
}

func (e *qmpError) Error() string { return e.Class + ": " + e.Desc }

// qmpCommand encodes one command with its line end. args may be nil.
func qmpCommand(name string, args any) ([]byte, error) {
	line, err := json.Marshal(struct {
		Execute   string `json:"execute"`
		Arguments any    `json:"arguments,omitempty"`
	}{name, args})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	return append(line, '\n'), nil
}

// parseQMP decodes one line. A line of any other kind is an error.
func parseQMP(line []byte) (qmpMessage, error) {
	var m qmpMessage
	if err := json.Unmarshal(line, &m); err != nil {
		return m, fmt.Errorf("parse QMP line %.80q: %w", line, err)
	}
	if m.QMP == nil && m.Event == "" && m.Return == nil && m.Error == nil {
		return m, fmt.Errorf("parse QMP line %.80q: neither greeting, event, return nor error", line)
	}
	return m, nil
}

// shutdownReason returns why the machine stopped, from a SHUTDOWN event: guest-reset,
// guest-shutdown, guest-panic, host-qmp-quit, ...
func shutdownReason(m qmpMessage) (string, bool) {
	var data struct {
		Reason string `json:"reason"`
	}
	if m.Event != "SHUTDOWN" || json.Unmarshal(m.Data, &data) != nil {
		return "", false
	}
	return data.Reason, true
}

// parsePort parses the monitor's reply to "i /b 0x81": portb[0x0081] = 0x10.
func parsePort(answer string) (byte, error) {
	_, value, found := strings.Cut(answer, " = ")
	n, err := strconv.ParseUint(strings.TrimSpace(value), 0, 8)
	if !found || err != nil {
		return 0, fmt.Errorf("parse port answer %q", answer)
	}
	return byte(n), nil
}

// errQMPClosed is the error of commands to a machine that has ended.
var errQMPClosed = errors.New("the machine is off")

// qmpClient sends one command at a time and records why the machine ended.
type qmpClient struct {
	conn    io.ReadWriteCloser
	command sync.Mutex // held during one command and its reply
	answers chan qmpMessage
	ended   chan struct{} // closed when QEMU has closed its side
	reason  string        // valid after ended
	err     error         // valid after ended: the failure; nil for a normal end
}

// newQMP starts to read from conn. The caller negotiates with its first command: qmp_capabilities.
func newQMP(conn io.ReadWriteCloser) *qmpClient {
	c := &qmpClient{conn: conn, answers: make(chan qmpMessage, 1), ended: make(chan struct{})}
	go c.read()
	return c
}

func (c *qmpClient) read() {
	defer close(c.ended)
	lines := bufio.NewReader(c.conn)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return // the machine has ended, whatever the error is
		}
		m, err := parseQMP(line)
		switch reason, stopped := shutdownReason(m); {
		case err != nil:
			c.err = err
			return
		case stopped:
			c.reason = reason
		case m.Return != nil || m.Error != nil:
			select {
			case c.answers <- m:
			default: // the reply to a command that was given up
			}
		}
	}
}

// execute sends a command and decodes its return value into result, which may be nil.
func (c *qmpClient) execute(ctx context.Context, name string, args, result any) error {
	line, err := qmpCommand(name, args)
	if err != nil {
		return err
	}
	c.command.Lock()
	defer c.command.Unlock()
	if _, err := c.conn.Write(line); err != nil {
		return fmt.Errorf("%s: %w (%w)", name, errQMPClosed, err)
	}
	m, err := c.answer(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case m.Error != nil:
		return fmt.Errorf("%s: %w", name, m.Error)
	case result == nil:
		return nil
	}
	return json.Unmarshal(*m.Return, result)
}

// answer waits for the reply to the last command. A reply that arrived before the end of the
// machine counts.
func (c *qmpClient) answer(ctx context.Context) (qmpMessage, error) {
	select {
	case m := <-c.answers:
		return m, nil
	case <-c.ended:
		select {
		case m := <-c.answers:
			return m, nil
		default:
			return qmpMessage{}, errors.Join(errQMPClosed, c.err)
		}
	case <-ctx.Done():
		_ = c.conn.Close() // the reply may still arrive and would be mistaken for that of the next command
		return qmpMessage{}, fmt.Errorf("no answer: %w", context.Cause(ctx))
	}
}

// monitor runs one line of the human monitor and returns its output.
func (c *qmpClient) monitor(ctx context.Context, line string) (string, error) {
	var out string
	err := c.execute(ctx, "human-monitor-command", map[string]string{"command-line": line}, &out)
	return out, err
}

// outb writes a byte to an I/O port of the machine.
func (c *qmpClient) outb(ctx context.Context, port uint16, value byte) error {
	answer, err := c.monitor(ctx, fmt.Sprintf("o /b %#x %#x", port, value))
	if err == nil && strings.TrimSpace(answer) != "" {
		err = fmt.Errorf("write %#x to port %#x: %s", value, port, strings.TrimSpace(answer))
	}
	return err
}

// inb reads a byte from an I/O port of the machine.
func (c *qmpClient) inb(ctx context.Context, port uint16) (byte, error) {
	answer, err := c.monitor(ctx, fmt.Sprintf("i /b %#x", port))
	if err != nil {
		return 0, err
	}
	return parsePort(answer)
}

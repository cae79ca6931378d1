package rig

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

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

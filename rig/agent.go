package rig

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The command channel. Its other side is image/root/usr/local/rig/agent.

// Up is the guest's message once per boot, as soon as it accepts commands. That is early: services
// may still be starting.
type Up struct {
	BootID string
	Uptime float64 // seconds since the kernel started, in guest time
}

// reply is the result of one command.
type reply struct {
	Output string // stdout and stderr, interleaved
	Status int    // exit status; 128 + n if signal n killed it
}

// agentLine is a decoded line; exactly one field is set.
type agentLine struct {
	up    *Up
	reply *reply
}

// Exit statuses of timeout(1) for a command that it killed, by SIGTERM or, seconds later, by
// SIGKILL.
const (
	statusTimedOut = 124
	statusKilled   = 128 + 9
)

// agentCommand encodes a shell command, which may have several lines. The guest kills it after
// limit, in guest time and whole seconds; 0 means no limit.
func agentCommand(limit time.Duration, command string) []byte {
	encoded := base64.StdEncoding.EncodeToString([]byte(command))
	return fmt.Appendf(nil, "%d %s\n", int(limit.Seconds()), encoded)
}

// parseAgent decodes one line from the guest, without its line end.
func parseAgent(line string) (agentLine, error) {
	line = strings.TrimSuffix(line, "\r")
	if rest, ok := strings.CutPrefix(line, "RIG-UP "); ok {
		id, text, _ := strings.Cut(rest, " ")
		uptime, err := strconv.ParseFloat(text, 64)
		if err != nil || id == "" {
			return agentLine{}, fmt.Errorf("parse agent line %.80q", line)
		}
		return agentLine{up: &Up{BootID: id, Uptime: uptime}}, nil
	}
	rest, ok := strings.CutPrefix(line, "\x01")
	encoded, status, found := strings.Cut(rest, "\x02")
	n, err := strconv.ParseUint(status, 10, 8)
	output, err2 := base64.StdEncoding.DecodeString(encoded)
	if !ok || !found || err != nil || err2 != nil {
		return agentLine{}, fmt.Errorf("parse agent line %.80q", line)
	}
	return agentLine{reply: &reply{Output: string(output), Status: int(n)}}, nil
}

// errAgentLost is the error if the machine ends or the command never answers.
var errAgentLost = errors.New("no answer from the guest")

// agent is the host's side of the channel, for one start of the machine. It is not safe for
// concurrent use.
type agent struct {
	conn   net.Conn
	buffer []byte
}

// next returns the next line that parses. It drops other lines, which are output of the firmware.
func (a *agent) next(ctx context.Context) (agentLine, error) {
	stop := context.AfterFunc(ctx, func() { _ = a.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	chunk := make([]byte, 64<<10)
	for {
		if i := bytes.IndexByte(a.buffer, '\n'); i >= 0 {
			line, err := parseAgent(string(a.buffer[:i]))
			a.buffer = a.buffer[i+1:]
			if err == nil {
				return line, nil
			}
			continue
		}
		n, err := a.conn.Read(chunk)
		a.buffer = append(a.buffer, chunk[:n]...)
		if err != nil {
			return agentLine{}, fmt.Errorf("%w: %w", errAgentLost, errors.Join(err, context.Cause(ctx)))
		}
	}
}

// waitUp waits for the first line of the boot.
func (a *agent) waitUp(ctx context.Context) (Up, error) {
	for {
		line, err := a.next(ctx)
		if err != nil {
			return Up{}, err
		}
		if line.up != nil {
			return *line.up, nil
		}
	}
}

// run sends a command and waits for its result.
func (a *agent) run(ctx context.Context, limit time.Duration, command string) (reply, error) {
	if err := a.send(limit, command); err != nil {
		return reply{}, err
	}
	for {
		line, err := a.next(ctx)
		if err != nil {
			return reply{}, err
		}
		if line.reply != nil {
			return *line.reply, nil
		}
	}
}

// send sends a command without waiting for the result.
func (a *agent) send(limit time.Duration, command string) error {
	if _, err := a.conn.Write(agentCommand(limit, command)); err != nil {
		return fmt.Errorf("%w: %w", errAgentLost, err)
	}
	return nil
}

// announceUnit runs when an announced service has stopped. It is a separate unit because the
// sandbox of a service may deny access to the console. While the machine shuts down it is not
// started, or sees the state stopping.
const announceUnit = `[Unit]
Description=Tell the rig that %i has stopped

[Service]
Type=oneshot
ExecStart=/usr/local/rig/announce %i
`

const announceScript = `#!/bin/bash
result=$(systemctl show --value -p Result "$1")
status=$(systemctl show --value -p ExecMainStatus "$1")
echo "RIG-UNIT $1 $result $status $(systemctl is-system-running)" >/dev/ttyS0
`

// Announce makes systemd print a line on the console whenever the service has stopped, for
// RunToEnd. unit is the full name; a template name, with the at sign, covers all instances.
func (p *Payload) Announce(unit string) {
	p.Script("/usr/local/rig/announce", announceScript)
	p.Unit("rig-announce@.service", announceUnit)
	p.Text("/etc/systemd/system/"+unit+".d/rig-announce.conf",
		"[Unit]\nOnSuccess=rig-announce@%n.service\nOnFailure=rig-announce@%n.service\n")
}

// Ended is how a service ended, in systemd's terms.
type Ended struct {
	Result string // success, exit-code, signal, timeout, ...
	Status int    // exit status, or number of the signal
}

// RunToEnd lets the machine reboot itself, up to boots times, until the service has ended and the
// machine stays up. The service must be announced (Announce).
func (m *Machine) RunToEnd(unit string, boots int) Ended {
	m.tb.Helper()
	groups := m.RunUntil(announced(unit), boots)
	status, err := strconv.Atoi(groups[2])
	m.check(err)
	return Ended{Result: groups[1], Status: status}
}

// WaitOffOrEnded waits until the machine is off, or until the service has ended while the machine
// stays up (ended). The service must be announced (Announce).
func (m *Machine) WaitOffOrEnded(unit string) (off Off, ended bool) {
	m.tb.Helper()
	return m.WaitOffOr(announced(unit))
}

// Execution performs a start in which the service must end with a restart of the machine.
func (m *Machine) Execution(unit string) {
	m.tb.Helper()
	m.PowerOn()
	if off, ended := m.WaitOffOrEnded(unit); ended || off.Reason != OffRebooted {
		m.fatal(fmt.Errorf("off by %q, ended %v; want a restart", off.Reason, ended))
	}
}

// announced returns the pattern of the line of a service that ends while the system stays up. The
// only state of systemd that means a shutdown is stopping; a service that ends before start-up is
// complete sees one of the first two states.
func announced(unit string) string {
	return fmt.Sprintf(`^RIG-UNIT %s (\S+) (\d+) (?:initializing|starting|running|degraded|maintenance)$`,
		regexp.QuoteMeta(unit))
}

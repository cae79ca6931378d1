package rig

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
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

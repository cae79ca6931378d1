package rig

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"krund/rig/must"
)

func TestParseAgent(t *testing.T) {
	line, err := parseAgent("RIG-UP 7dab8aae-71f4-46e9-9c27-b804f2fe216a 2.38\r")
	must.Be(t, err == nil && line.up != nil && *line.up == (Up{"7dab8aae-71f4-46e9-9c27-b804f2fe216a", 2.38}),
		"up line", line.up, err)
	line, err = parseAgent("\x01" + base64.StdEncoding.EncodeToString([]byte("two\nlines\x02\n")) + "\x02130")
	must.Be(t, err == nil && line.reply != nil && *line.reply == (reply{"two\nlines\x02\n", 130}), "reply",
		line.reply, err)
	line, err = parseAgent("\x01\x020")
	must.Be(t, err == nil && line.reply != nil && *line.reply == (reply{"", 0}), "empty reply", line.reply,
		err)
	for _, bad := range []string{"", "RIG-UP", "RIG-UP  2.3", "RIG-UP id soon", "\x01aGk=", "\x01aGk=\x02256",
		"\x01a\x020", "aGk=\x020", "SeaBIOS"} {
		line, err := parseAgent(bad)
		must.Be(t, err != nil, bad, "parsed as", line, "want an error")
	}
}

// guest is the other side of the channel: it prints the given text, then answers every command with
// the command's own text and status 7.
func guest(t *testing.T, says string) *agent {
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	go func() {
		defer func() { _ = theirs.Close() }()
		_, _ = io.WriteString(theirs, says)
		lines := bufio.NewScanner(theirs)
		for lines.Scan() {
			_, command, _ := strings.Cut(lines.Text(), " ")
			_, _ = fmt.Fprintf(theirs, "\x01%s\x027\n", command)
		}
	}()
	return &agent{conn: ours}
}

func TestAgentRunsCommandsAfterNoise(t *testing.T) {
	a := guest(t, "\x1bc\x00firmware\r\n\nRIG-UP id 1.5\n")
	up, err := a.waitUp(t.Context())
	must.Need(t, err == nil && up == (Up{"id", 1.5}), "waitUp =", up, err)
	for _, command := range []string{"echo 1\necho 2", "true"} {
		r, err := a.run(t.Context(), time.Minute, command)
		must.Be(t, err == nil && r == (reply{command, 7}), "run", command, r, err)
	}
}

func TestAgentTellsALostGuest(t *testing.T) {
	a := guest(t, "")
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("too late")
	cancel(late)
	_, err := a.waitUp(ctx)
	must.Be(t, errors.Is(err, errAgentLost) && errors.Is(err, late), "no guest in time", err)
	_ = a.conn.Close()
	_, err = a.run(t.Context(), time.Minute, "true")
	must.Fail(t, err, errAgentLost, "guest is gone")
}

func FuzzParseAgent(f *testing.F) {
	f.Add("RIG-UP id 2.5")
	f.Add("\x01aGk=\x023")
	f.Fuzz(func(t *testing.T, text string) {
		line, err := parseAgent(text)
		must.Be(t, (err == nil) == (line.up != nil || line.reply != nil), text, line, err)
	})
}

package rig

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

func TestConsoleKeepsCompleteLinesPerBoot(t *testing.T) {
	c := newConsole()
	c.startBoot()
	for _, portion := range []string{"one\r", "\ntw", "o\n\n", "cut in ha"} {
		n, err := c.Write([]byte(portion))
		must.Need(t, n == len(portion) && err == nil, "Write", portion, n, err)
	}
	lines, _ := c.snapshot(0)
	must.EqualList(t, lines, []Line{{1, "one"}, {1, "two"}, {1, ""}}, "lines", "want the three complete ones")
	c.startBoot()
	_, _ = c.Write([]byte("\xffnew\n"))
	if lines, _ := c.snapshot(3); !slices.Equal(lines, []Line{{1, "cut in ha"}, {2, "\uFFFDnew"}}) {
		t.Errorf("lines %+v: want the rest of boot 1, then boot 2", lines)
	}
	got, want := c.tail(2), "  boot 1| cut in ha\n  boot 2| \uFFFDnew\n"
	must.Equal(t, got, want, "tail is")
}

func TestConsoleWaitFindsLinesPrintedBeforeAndAfter(t *testing.T) {
	c := newConsole()
	c.startBoot()
	_, _ = c.Write([]byte("step 1\nstep 2\n"))
	match := regexp.MustCompile(`^step (\d+)$`)
	next := 0
	for i, want := range []string{"1", "2", "3"} {
		if i == 2 {
			go func() { _, _ = c.Write([]byte("noise\nstep 3\n")) }()
		}
		groups, n, err := c.wait(t.Context(), next, match)
		must.Need(t, err == nil && groups[1] == want, "wait", i, groups, err, want)
		next = n
	}
	must.Equal(t, next, 4, "next line", "want 4")
}

func TestConsoleWaitEndsWithItsContextButSeesTheLastLines(t *testing.T) {
	c := newConsole()
	_, _ = c.Write([]byte("last words\n"))
	cause := errors.New("went off")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, next, err := c.wait(ctx, 0, regexp.MustCompile("^last"))
	must.Be(t, err == nil && next == 1, "a line that was there: next", next, "error", err)
	_, _, err = c.wait(ctx, 0, regexp.MustCompile("^never"))
	must.Be(t, errors.Is(err, errNotSeen) && errors.Is(err, cause), "a line that never came", err,
		"want both", errNotSeen, cause)
}

func TestPanicFindsTheReason(t *testing.T) {
	reason, ok := Panic([]Line{{1, "[    1.0] fine"},
		{1, "[    5.7] Kernel panic - not syncing: sysrq triggered crash"}})
	must.Be(t, ok && reason == "sysrq triggered crash", "Panic", reason, ok)
	reason, ok = Panic([]Line{{1, "reboot: Restarting system"}})
	must.Be(t, !ok, "an ordinary reboot: Panic =", reason, "true")
}

// FuzzConsolePortions: any division of the output into chunks gives the same lines.
func FuzzConsolePortions(f *testing.F) {
	f.Add([]byte("a\r\nb\n\nc"), uint8(2))
	f.Fuzz(func(t *testing.T, out []byte, size uint8) {
		whole, portions := newConsole(), newConsole()
		_, _ = whole.Write(out)
		for p := range slices.Chunk(out, int(size)+1) {
			_, _ = portions.Write(p)
		}
		a, _ := whole.snapshot(0)
		b, _ := portions.snapshot(0)
		must.EqualList(t, a, b, out, "in portions of", size+1)
		must.Equal(t, len(a), strings.Count(string(out), "\n"), "lines")
	})
}

func TestParseQMP(t *testing.T) {
	for _, c := range []struct {
		name, line string
		check      func(qmpMessage) bool
	}{
		{"greeting", `{"QMP": {"version": {}, "capabilities": ["oob"]}}`,
			func(m qmpMessage) bool { return m.QMP != nil }},
		{"event", `{"timestamp": {"seconds": 1}, "event": "RESET", "data": {"guest": true}}`,
			func(m qmpMessage) bool { return m.Event == "RESET" }},
		{"empty return", `{"return": {}}`, func(m qmpMessage) bool {
			return m.Return != nil &&
				m.Error == nil
		}},
		{"text return", `{"return": "portb[0x0081] = 0x10\r\n"}`,
			func(m qmpMessage) bool { return m.Return != nil }},
		{"error", `{"error": {"class": "CommandNotFound", "desc": "no x"}}`,
			func(m qmpMessage) bool { return m.Error.Error() == "CommandNotFound: no x" }},
	} {
		m, err := parseQMP([]byte(c.line))
		must.Be(t, err == nil && c.check(m), c.name, m, err)
	}
	for _, line := range []string{``, `{}`, `[]`, `{"return": {}`, `qemu: bad option`} {
		m, err := parseQMP([]byte(line))
		must.Be(t, err != nil, line, "parsed as", m, "want an error")
	}
}

func TestShutdownReason(t *testing.T) {
	m := must.Get(
		parseQMP([]byte(`{"event": "SHUTDOWN", "data": {"guest": true, "reason": "guest-reset"}}`)))(t)
	reason, ok := shutdownReason(m)
	must.Be(t, ok && reason == OffRebooted, "reason is", reason, ok)
	reason, ok = shutdownReason(qmpMessage{Event: "RESET", Data: []byte(`{"reason": "guest-reset"}`)})
	must.Be(t, !ok, "a RESET event has reason", reason)
}

func TestParsePort(t *testing.T) {
	v, err := parsePort("portb[0x0081] = 0x28\r\n")
	must.Be(t, err == nil && v == 0x28, "parsePort =", v, err, "want 0x28")
	for _, answer := range []string{"", "portb[0x0081]", "portb[0x0081] = ", "portw[0x81] = 0x1234",
		"unknown command: 'i'"} {
		v, err := parsePort(answer)
		must.Be(t, err != nil, "parsePort", answer, v, "want an error")
	}
}

// qmpServer replies to each line with the next of answers, and closes the connection after the last
// one.
func qmpServer(t *testing.T, answers ...string) *qmpClient {
	ours, theirs := net.Pipe()
	go func() {
		defer func() { _ = theirs.Close() }()
		_, _ = io.WriteString(theirs, `{"QMP": {}}`+"\n")
		lines := bufio.NewScanner(theirs)
		for _, answer := range answers {
			if !lines.Scan() {
				return
			}
			_, _ = io.WriteString(theirs, answer+"\n")
		}
	}()
	c := newQMP(ours)
	t.Cleanup(func() { _ = ours.Close(); <-c.ended })
	return c
}

func TestClientSkipsEventsAndReadsAnswers(t *testing.T) {
	c := qmpServer(t, `{"event": "RESUME"}`+"\n"+`{"return": "portb[0x0081] = 0x18\r\n"}`, `{"return": ""}`,
		`{"return": "invalid char"}`, `{"error": {"class": "GenericError", "desc": "no"}}`)
	v, err := c.inb(t.Context(), 0x81)
	must.Be(t, err == nil && v == 0x18, "inb =", v, err, "want 0x18")
	must.Do(t, c.outb(t.Context(), 0x89, 150), "outb")
	must.Refuse(t, c.outb(t.Context(), 0x89, 150), "", "outb hid a complaint of the monitor")
	var refused *qmpError
	err = c.execute(t.Context(), "x", nil, nil)
	must.Be(t, errors.As(err, &refused) && refused.Desc == "no", "refused command", err)
}

func TestClientTellsThatTheMachineEnded(t *testing.T) {
	c := qmpServer(t, `{"event": "SHUTDOWN", "data": {"reason": "guest-shutdown"}}`)
	must.Fail(t, c.execute(t.Context(), "x", nil, nil), errQMPClosed, "command to a machine that ends")
	<-c.ended
	must.Be(t, c.reason == OffShutdown && c.err == nil, "reason", c.reason, "error", c.err)
	must.Fail(t, c.execute(t.Context(), "x", nil, nil), errQMPClosed, "command to a machine that ended")
}

func TestClientGivesUpWithItsContext(t *testing.T) {
	ours, theirs := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, theirs) }() // accepts everything, never replies
	c := newQMP(ours)
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("too late")
	cancel(late)
	must.Fail(t, c.execute(ctx, "x", nil, nil), late, "command without answer")
	<-c.ended
}

func TestClientStopsAtNonsense(t *testing.T) {
	c := qmpServer(t, "Segmentation fault")
	err := c.execute(t.Context(), "x", nil, nil)
	must.Be(t, errors.Is(err, errQMPClosed) && c.err != nil, "nonsense from the emulator", err, c.err)
}

func FuzzParseQMP(f *testing.F) {
	for _, seed := range []string{`{"QMP": {}}`, `{"event": "SHUTDOWN", "data": {"reason": "guest-reset"}}`,
		`{"return": {}}`, `{"error": {}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := parseQMP(line)
		must.Be(t, err != nil || m.QMP != nil || m.Event != "" || m.Return != nil || m.Error != nil, line,
			"no kind, no error")
		shutdownReason(m)
	})
}

func FuzzParsePort(f *testing.F) {
	f.Add(byte(0x28))
	f.Fuzz(func(t *testing.T, v byte) {
		got, err := parsePort(fmt.Sprintf("portb[0x0081] = %#x\r\n", v))
		must.Be(t, err == nil && got == v, v, "came back as", got, err)
	})
}

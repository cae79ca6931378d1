package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Guard is a process that brings the machine back when krund cannot: it outlives krund, notices its end however that comes about, and
// restores from the journal. It is what keeps a machine whose network is down from being lost.
//
// It sleeps in one read of a pipe that krund holds open. The pipe says three things, a line each:
//
//	until SECONDS   krund speaks again within so many seconds; after that restore
//	done            krund has put everything back itself; go away
//	(end of file)   krund is dead; restore
//
// Under systemd the guard dies with its unit's control group. A unit therefore has `ExecStopPost=` run the restore, which systemd does after
// any end of krund; the guard is for everywhere else, and for a krund that hangs.
type Guard struct {
	process *exec.Cmd
	pipe    *os.File
}

// StartGuard starts argv as the guard: the same program in a mode in which it calls Watch on its standard input. It gets a session of its
// own, so that signals to krund's terminal or process group pass it by. What it prints goes to log, which may be nil.
func StartGuard(argv []string, log *os.File) (*Guard, error) {
	if len(argv) == 0 {
		return nil, errors.New("start guard: no program named")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	// The guard must live on when this context's owner is gone: it has no deadline.
	cmd := exec.CommandContext(context.Background(), argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	err = errors.Join(err, r.Close())
	if err != nil {
		return nil, fmt.Errorf("start guard: %w", errors.Join(err, w.Close()))
	}
	return &Guard{process: cmd, pipe: w}, nil
}

// Expect tells the guard to restore unless it hears from krund again within d (rounded up to seconds): call it before a run with the
// longest that the run may take.
func (g *Guard) Expect(d time.Duration) error {
	seconds := int64((d + time.Second - 1) / time.Second)
	if _, err := fmt.Fprintf(g.pipe, "until %d\n", seconds); err != nil {
		return fmt.Errorf("tell the guard: %w", err)
	}
	return nil
}

// Release sends the guard away and waits for it to go: everything has been put back.
func (g *Guard) Release() error {
	_, err := io.WriteString(g.pipe, "done\n")
	err = errors.Join(err, g.pipe.Close(), g.process.Wait())
	if err != nil {
		return fmt.Errorf("release guard: %w", err)
	}
	return nil
}

// Watch is the guard's life: it reads r (standard input) until krund is done, dead or overdue, and calls restore in the latter two cases. It
// returns restore's error. after is time.After; a test gives its own.
func Watch(r io.Reader, after func(time.Duration) <-chan time.Time, restore func() error) error {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(r); s.Scan(); {
			lines <- s.Text()
		}
	}()
	var overdue <-chan time.Time
	for {
		select {
		case line, alive := <-lines:
			if !alive {
				return restore()
			}
			if line == "done" {
				return nil
			}
			if d, ok := parseUntil(line); ok {
				overdue = after(d)
			}
		case <-overdue:
			return restore()
		}
	}
}

// parseUntil reads "until SECONDS".
func parseUntil(line string) (time.Duration, bool) {
	text, found := strings.CutPrefix(line, "until ")
	seconds, err := strconv.ParseInt(text, 10, 64)
	const most = 1 << 31 // 68 years; more would overflow a Duration
	if !found || err != nil || seconds < 0 || seconds > most {
		return 0, false
	}
	return time.Duration(seconds) * time.Second, true
}

// Package command runs the small programs around a measurement (hooks, sendmail, useradd, systemctl): an argument vector, never a shell;
// a process group of its own; a deadline; bounded output. It never runs the measured process, which is internal/child's.
//
// Hooks are the commands that a configuration names before and after each process execution. A Notifier tells people by mail, a command or a webhook
// what happened to an experiment; it is used only between executions, and its failures never stop an experiment. Start reading at Run.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/trust"
)

// outputLimit is how much of a command's output is kept, in bytes. Output beyond it is read and thrown away, so that a talkative
// command neither blocks nor fills memory.
const outputLimit = 64 << 10

// A Cmd is one program to run to its end.
type Cmd struct {
	Argv    []string      // program and arguments; must not be empty
	Env     []string      // "NAME=value"; nil means the environment of this process
	Stdin   string        // text on standard input
	Timeout time.Duration // the whole process group is killed after it; 0 means one minute

	// Trust, for root, judges the path of the program, which must be absolute then. The program is
	// opened once: what is judged is what runs. nil runs whatever is there.
	Trust func(trust.Verdict) error
}

// ErrTimeout is in the error of a command that outlived its deadline and was killed.
var ErrTimeout = errors.New("killed at its deadline")

// Run runs c and returns what it printed on stdout and stderr together, at most 64 KiB. The error says which program failed and how, and
// quotes the last line that it printed. When ctx ends first the process group is killed and the error wraps ctx's.
func Run(ctx context.Context, c Cmd) (string, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return "", errors.New("run command: no program named")
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = time.Minute
	}
	limited, cancel := context.WithTimeoutCause(ctx, timeout, ErrTimeout)
	defer cancel()

	var out limitedBuffer
	program, file, err := c.program()
	if err != nil {
		return "", fmt.Errorf("run %s: %w", display.ShellJoin(c.Argv), err)
	}
	if file != nil {
		defer file.Close() //nolint:errcheck // nothing was written
	}
	cmd := exec.CommandContext(limited, program, c.Argv[1:]...)
	cmd.Args[0] = c.Argv[0]
	cmd.Env = c.Env
	cmd.Stdout, cmd.Stderr = &out, &out
	if c.Stdin != "" {
		cmd.Stdin = strings.NewReader(c.Stdin)
	}
	ownGroup(cmd)
	// A grandchild may keep the pipes open after the program itself ended: do not wait for it for ever.
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	killGroup(cmd)
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the program ended well; only a leftover held its output open, and that is dead now
	}
	if err == nil {
		return out.String(), nil
	}
	if cause := context.Cause(limited); cause != nil {
		err = cause
	}
	if line := lastLine(out.String()); line != "" {
		return out.String(), fmt.Errorf("run %s: %w: %s", display.ShellJoin(c.Argv), err, line)
	}
	return out.String(), fmt.Errorf("run %s: %w", display.ShellJoin(c.Argv), err)
}

// program returns the path to execute, and the open file that it leads to, if any, which must stay
// open until then.
func (c Cmd) program() (string, *os.File, error) {
	if c.Trust == nil || os.Geteuid() != 0 {
		return c.Argv[0], nil, nil
	}
	if !filepath.IsAbs(c.Argv[0]) {
		return "", nil, exec.ErrNotFound
	}
	file, verdict, err := trust.Open(c.Argv[0])
	if err != nil {
		return "", nil, err
	}
	if err := c.Trust(verdict); err != nil {
		return "", nil, errors.Join(err, file.Close())
	}
	return byDescriptor(file, filepath.Clean(c.Argv[0])), file, nil // clean, as it was judged
}

// limitedBuffer keeps the first outputLimit bytes and swallows the rest.
type limitedBuffer struct{ buf bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := outputLimit - b.buf.Len(); room > 0 {
		b.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (b *limitedBuffer) String() string { return b.buf.String() }

func lastLine(s string) string {
	s = strings.TrimRight(s, "\n\r\t ")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// Package command runs helper programs around a measurement: hooks, sendmail, useradd, systemctl,
// modprobe. It is the one way to do that: an argument vector, never a shell; a process group of its
// own; a deadline; bounded output. The measured process is started by internal/execution/child.
//
// Hooks are the commands that a configuration names before and after each process execution. A
// Notifier reports events of an experiment by mail, a command or a webhook; it is used only between
// executions, and its failures never stop an experiment. System runs the system's own programs.
// Start reading at Cmd and Run.
package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"krund/internal/display"
	"krund/internal/durable/trust"
)

const (
	defaultOutput  = 64 << 10 // bytes
	defaultTimeout = time.Minute
	interruptTime  = 10 * time.Second // see Cmd.Interrupt
)

// A Cmd is one program to run to its end.
type Cmd struct {
	Argv []string // program and arguments; must not be empty
	Path string   // file to execute, when Argv[0] is only a name for it; "" means Argv[0]

	// Search are the directories in which a program without a slash is searched, in this order. Nil
	// means the PATH of this process.
	Search []string

	Env     []string      // whole environment, "NAME=value"; nil means that of this process
	Dir     string        // working directory; "" means that of this process
	Stdin   string        // text on standard input
	Timeout time.Duration // the whole process group is killed after it; 0 means one minute

	// Output is how many bytes of the output are kept; 0 means 64 KiB. The rest is read and
	// dropped, so a talkative program neither blocks nor fills memory.
	Output int
	// StdoutOnly returns standard output only, and quotes the last line of standard error in the
	// error. Otherwise Run returns both streams as one text.
	StdoutOnly bool
	// Tee also gets the standard output as it arrives; nil for nothing.
	Tee io.Writer
	// Interrupt: when the context ends, the group gets SIGINT and ten seconds to end in order.
	Interrupt bool
	// WithParent is the signal that the program gets when this process is killed; 0 for none. On
	// Linux only.
	WithParent syscall.Signal
	// KeepGroup leaves running what the program has started in its process group, such as a
	// service. Otherwise the group is killed when the program has ended.
	KeepGroup bool

	// Trust judges the path of the program before root executes it; the path must be absolute. The
	// file is opened once, so the file judged is the file executed. Nil executes any file.
	Trust func(trust.Verdict) error
}

// ErrTimeout is in the error of a program that was killed at its deadline.
var ErrTimeout = errors.New("killed at its deadline")

// Run runs c to its end and returns its output. The error names the program, says how it failed and
// quotes the last line it printed. It wraps exec.ErrNotFound when no program of that name is found,
// ErrTimeout after Cmd.Timeout, and ctx's cause when ctx ended first.
func Run(ctx context.Context, c Cmd) (string, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return "", errors.New("run command: no program named")
	}
	out, err := c.run(ctx)
	if err != nil {
		err = fmt.Errorf("run %s: %w", display.ShellJoin(c.Argv), err)
	}
	return out, err
}

func (c Cmd) run(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(max(c.Timeout, 0), defaultTimeout), ErrTimeout)
	defer cancel()
	program, file, err := c.program()
	if err != nil {
		return "", err
	}
	if file != nil {
		defer file.Close() //nolint:errcheck // nothing was written
	}
	out := &limitedBuffer{limit: cmp.Or(c.Output, defaultOutput)}
	diagnostics := out
	if c.StdoutOnly {
		diagnostics = &limitedBuffer{limit: defaultOutput}
	}
	cmd := exec.CommandContext(ctx, program, c.Argv[1:]...)
	cmd.Args[0] = c.Argv[0]
	cmd.Env, cmd.Dir = c.Env, c.Dir
	cmd.Stdout, cmd.Stderr = out, diagnostics
	if c.Tee != nil {
		cmd.Stdout = io.MultiWriter(out, c.Tee)
	}
	if c.Stdin != "" {
		cmd.Stdin = strings.NewReader(c.Stdin)
	}
	ownGroup(cmd)
	// A process that the program has started may hold the pipes open: bound the wait for it.
	cmd.WaitDelay = time.Second
	if c.Interrupt {
		interruptGroup(cmd)
		cmd.WaitDelay = interruptTime
	}
	if c.WithParent != 0 {
		defer signalWithParent(cmd, c.WithParent)()
	}
	if err = cmd.Start(); err == nil {
		Expendable(cmd.Process.Pid)
		err = cmd.Wait()
	}
	if !c.KeepGroup {
		killGroup(cmd)
	}
	if err == nil || errors.Is(err, exec.ErrWaitDelay) { // the latter: the program itself succeeded
		return out.String(), nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if line := lastLine(diagnostics.String()); line != "" {
		err = fmt.Errorf("%w: %s", err, line)
	}
	return out.String(), err
}

// program returns the path to execute and, with Trust, the open file it leads to, which must stay
// open until then.
func (c Cmd) program() (string, *os.File, error) {
	path := cmp.Or(c.Path, c.Argv[0])
	if c.Search != nil && !strings.Contains(path, "/") {
		var err error
		if path, err = find(path, c.Search); err != nil {
			return "", nil, err
		}
	}
	if c.Trust == nil || os.Geteuid() != 0 {
		return path, nil, nil
	}
	if !filepath.IsAbs(path) {
		return "", nil, exec.ErrNotFound
	}
	file, verdict, err := trust.Open(path)
	if err != nil {
		return "", nil, err
	}
	if err := c.Trust(verdict); err != nil {
		return "", nil, errors.Join(err, file.Close())
	}
	return byDescriptor(file, filepath.Clean(path)), file, nil // clean, as it was judged
}

// find returns the path of a program. That a directory cannot be read matters only if no other one
// has the program.
func find(name string, dirs []string) (string, error) {
	var unread error
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		switch {
		case err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0:
			return path, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist) && unread == nil:
			unread = err
		}
	}
	if unread != nil {
		return "", fmt.Errorf("search %s: %w", name, unread)
	}
	return "", fmt.Errorf("%s is not installed: %w", name, exec.ErrNotFound)
}

// limitedBuffer keeps the first limit bytes written to it and drops the rest. The buffer is not
// embedded: its ReadFrom, which io.Copy prefers, has no limit.
type limitedBuffer struct {
	buf   bytes.Buffer
	limit int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := b.limit - b.buf.Len(); room > 0 {
		b.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (b *limitedBuffer) String() string { return b.buf.String() }

// lastLine returns the last line of a program's output, short enough for a message.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return display.Clip(s[strings.LastIndexByte(s, '\n')+1:], display.MaxMessage)
}

// systemDirs are the directories of the system's programs.
var systemDirs = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// System runs programs of the system, such as systemctl or sysctl. They are searched in fixed
// directories, never in the PATH of the process that started krund, and get a plain environment. A
// service that one starts keeps running.
type System struct {
	Dirs    []string      // nil means the system's directories
	Timeout time.Duration // 0 means two minutes: stopping a service may take 90 seconds
}

// Output runs a program and returns its standard output, at most 16 MiB: the longest is a kernel
// log of a few MiB. The error quotes the last line of standard error; see Run.
func (s System) Output(ctx context.Context, name string, args ...string) ([]byte, error) {
	dirs, timeout := s.Dirs, s.Timeout
	if dirs == nil {
		dirs = systemDirs
	}
	if timeout == 0 {
		timeout = 2 * time.Minute
	}
	out, err := Run(ctx, Cmd{
		Argv: append([]string{name}, args...), Search: dirs, Env: PlainEnv(dirs),
		Timeout: timeout, Output: 16 << 20, StdoutOnly: true, KeepGroup: true,
	})
	return []byte(out), err
}

// PlainEnv is the environment of a program of the system: messages in English, and a PATH of dirs.
func PlainEnv(dirs []string) []string {
	return []string{"LC_ALL=C", "PATH=" + strings.Join(dirs, ":")}
}

// Hooks are the hooks of one configuration.
type Hooks struct {
	BeforeArgv [][]string
	AfterArgv  [][]string
	// Environ is the commands' whole environment, the same however krund was started; nil is that
	// of this process.
	Environ []string
	Timeout time.Duration // per command
	Log     *slog.Logger
	Trust   func(trust.Verdict) error // judges the path of each program before each run, for root; see Cmd
}

// Before runs the hooks in order and stops at the first that fails. Its error names the command and
// quotes the last line it printed. variables are added to the environment.
func (s Hooks) Before(ctx context.Context, variables []string) error {
	for i, argv := range s.BeforeArgv {
		if err := s.run(ctx, "before", argv, variables); err != nil {
			return fmt.Errorf("hook %d before the execution: %w", i+1, err)
		}
	}
	return nil
}

// After runs every hook, even after a failure, and joins their errors. Its hooks restore the
// machine (network, services), so after an interruption the caller passes a context of its own.
// variables are added to the environment.
func (s Hooks) After(ctx context.Context, variables []string) error {
	var errs []error
	for i, argv := range s.AfterArgv {
		if err := s.run(ctx, "after", argv, variables); err != nil {
			errs = append(errs, fmt.Errorf("hook %d after the execution: %w", i+1, err))
		}
	}
	return errors.Join(errs...)
}

func (s Hooks) run(ctx context.Context, when string, argv, variables []string) error {
	environ := s.Environ
	if environ == nil {
		environ = os.Environ()
	}
	out, err := Run(ctx, Cmd{Argv: argv, Env: slices.Concat(environ, variables),
		Timeout: s.Timeout, Trust: s.Trust})
	if err != nil {
		return err
	}
	s.Log.Debug("hook ran", "when", when, "argv", argv, "output", out)
	return nil
}

// Package guard restores the machine when krund cannot. A guard is a process that outlives krund,
// notices its end, however it ends, and restores what krund has changed. Without it, a killed krund
// would leave a machine whose network is down.
//
// The guard is a copy of krund that sleeps in one read of a pipe that krund holds open. krund
// writes "done" to the pipe when everything has been restored. If the pipe ends without that word,
// krund is dead, because only the kernel closes the pipe in that case.
//
// krund starts the guard in two steps, like a daemon: the first copy prepares what the second one
// inherits, starts it and ends. Therefore the guard is not a child of krund: krund need not wait
// for it, and does not find it among its children when it looks for processes that a benchmark has
// left. The guard has a session of its own, so that signals to krund's terminal or process group do
// not reach it. It ignores the signals that ask a process to end, because it ends when krund does.
// It runs on the CPUs that benchmarks do not use, and the kernel does not kill it when memory runs
// out.
//
// The guard does not survive a SIGKILL to all processes of krund's control group, which systemd
// sends when the main process of a unit ends. Therefore the units also run
// `krunctl repair --machine` afterwards (ExecStopPost=), however krund ended. If both happen, one
// waits for the other: the journal is locked, and restoring twice does nothing.
//
// Start reading at Start, which is krund's side, and Stage, which is the guard's side.
package guard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"krund/internal/experiment/directory"
	"krund/internal/machine/command"
)

// The messages on the two pipes. A newline ends a message.
const (
	ready = "ready" // guard to krund: krund may change the machine now
	done  = "done"  // krund to guard: everything has been restored; end

	restarting = "restarting" // krund to guard: krund ends in order, the machine is about to restart
)

// startTime bounds how long a guard may take to start. It takes milliseconds; a slower machine is
// not fit to measure.
const startTime = 30 * time.Second

// A Guard is a process that waits for the end of this one.
type Guard struct {
	word *os.File // krund's end of the pipe that the guard reads
	gone *os.File // ends when the guard does
}

// Options are the parameters of a guard.
type Options struct {
	About []string // what to restore: passed to the function that Stage was given
	CPUs  []int    // the guard runs on these if possible; nil: on any
	Log   *os.File // its standard error; nil: none
	Lock  *os.File // stays open, and so locked, until the guard has ended; nil: none

	hasLock bool // in the guard: lockDescriptor is Lock
}

// Start starts a guard and returns when it is ready. The program must call Stage first in main.
func Start(ctx context.Context, o Options) (*Guard, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	g, err := start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("start the guard that restores the machine when krund is killed: %w", err)
	}
	return g, nil
}

func start(ctx context.Context, o Options) (*Guard, error) {
	hears, word, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	gone, says, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, hears.Close(), word.Close())
	}
	g := &Guard{word: word, gone: gone}
	err = g.launch(ctx, o, hears, says)
	err = errors.Join(err, hears.Close(), says.Close())
	if err == nil {
		err = g.wait(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// launch runs the first copy to its end. By then it has started the second one.
func (g *Guard) launch(ctx context.Context, o Options, hears, says *os.File) error {
	program, err := command.Self()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Args = arguments(first, o)
	cmd.Env = environment(os.Environ())
	cmd.Dir = "/" // so that no file system stays busy
	cmd.Stdin, cmd.Stdout = hears, says
	if o.Log != nil {
		cmd.Stderr = o.Log
	}
	if o.Lock != nil {
		cmd.ExtraFiles = []*os.File{o.Lock}
	}
	return cmd.Run()
}

// wait returns when the guard has reported that it is ready.
func (g *Guard) wait(ctx context.Context) error {
	if limit, ok := ctx.Deadline(); ok {
		if err := g.gone.SetReadDeadline(limit); err != nil {
			return err
		}
	}
	if err := hear(g.gone); err != nil {
		return err
	}
	return g.gone.SetReadDeadline(time.Time{})
}

// hear reads the guard's message.
func hear(gone io.Reader) error {
	word, err := readWord(gone)
	switch {
	case errors.Is(err, io.EOF) && word == "":
		return errors.New("it ended immediately")
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case word != ready+"\n":
		return fmt.Errorf("unexpected message %q", word)
	}
	return nil
}

// longestWord bounds the length of a message, in bytes.
const longestWord = 64

// readWord reads one message with its newline. The error is io.EOF if the pipe ended, or the
// message became too long, before the newline.
func readWord(pipe io.Reader) (string, error) {
	return bufio.NewReader(io.LimitReader(pipe, longestWord)).ReadString('\n')
}

// Dismiss ends the guard because everything has been restored, and waits for its end. The error is
// io.ErrUnexpectedEOF or EPIPE if the guard had ended before: then nothing would have restored the
// machine.
func (g *Guard) Dismiss() error {
	_, err := io.WriteString(g.word, done+"\n")
	if err == nil {
		_, err = io.Copy(io.Discard, g.gone)
	}
	if err = errors.Join(err, g.close()); err != nil {
		return fmt.Errorf("dismiss the guard: %w", err)
	}
	return nil
}

// HandOver makes the guard restore what is still changed, as soon as this process releases the
// journal, by ending or earlier.
func (g *Guard) HandOver() error { return g.close() }

// AnnounceRestart is HandOver for a krund that ends in order because the machine is about to
// restart, which resets all settings. The restart may still be delayed, so the guard restores the
// settings, but does not report them.
func (g *Guard) AnnounceRestart() error {
	_, err := io.WriteString(g.word, restarting+"\n")
	if err = errors.Join(err, g.close()); err != nil {
		return fmt.Errorf("announce the restart to the guard: %w", err)
	}
	return nil
}

func (g *Guard) close() error { return errors.Join(g.word.Close(), g.gone.Close()) }

// name is the guard's name in lists of processes. It differs from krund's, so that a search for a
// running krund does not find its guard.
const name = directory.GuardName

// The two steps, which are the second argument.
const (
	first  = "start" // prepares and starts the guard
	second = "watch" // is the guard
)

// inherited is the fourth argument of a guard that inherits Options.Lock.
const inherited = "lock"

// lockDescriptor is the first of exec.Cmd.ExtraFiles.
const lockDescriptor = 3

func arguments(part string, o Options) []string {
	cpus := make([]string, len(o.CPUs))
	for i, n := range o.CPUs {
		cpus[i] = strconv.Itoa(n)
	}
	lock := ""
	if o.Lock != nil || o.hasLock {
		lock = inherited
	}
	return append([]string{name, part, strings.Join(cpus, ","), lock}, o.About...)
}

// parse is the inverse of arguments. ok is false for any other command line.
func parse(args []string) (part string, o Options, ok bool) {
	if len(args) < 4 || args[0] != name || args[1] != first && args[1] != second {
		return "", Options{}, false
	}
	o.About = args[4:]
	o.hasLock = args[3] == inherited
	for text := range strings.SplitSeq(args[2], ",") {
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return "", Options{}, false
		}
		o.CPUs = append(o.CPUs, n)
	}
	return args[1], o, true
}

// environment returns the environment of a guard: what the programs that it runs need, and settings
// for a quiet Go runtime. GOCOVERDIR and GORACE are for test binaries.
func environment(of []string) []string {
	env := slices.DeleteFunc(slices.Clone(of), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !slices.Contains([]string{"PATH", "HOME", "TZ", "GOCOVERDIR", "GORACE"}, name)
	})
	return append(env, "LC_ALL=C", "GOMAXPROCS=1", "GOGC=off")
}

// Stage must be called first in main. It returns at once unless this process was started by Start.
// In that case it becomes the guard and never returns. It calls restore when krund has ended
// without dismissing the guard; about is Options.About, and expected reports whether krund
// announced its end (AnnounceRestart).
func Stage(restore func(about []string, expected bool) error) {
	part, o, ok := parse(os.Args)
	if !ok {
		return
	}
	var err error
	if o.hasLock {
		syscall.CloseOnExec(lockDescriptor) // the programs that the guard runs do not inherit it
	}
	if part == first {
		err = prepare(o)
	} else {
		err = watch(os.Stdin, os.Stdout, func(expected bool) error { return restore(o.About, expected) })
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// prepare starts the guard and does not wait for it. The guard inherits the properties of the
// thread that starts it.
func prepare(o Options) error {
	runtime.LockOSThread()
	settle(o.CPUs)
	program, err := command.Self()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(context.Background(), program) // it has no deadline: it lives as long as krund
	cmd.Args = arguments(second, o)
	cmd.Env = os.Environ()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if o.hasLock {
		cmd.ExtraFiles = []*os.File{os.NewFile(lockDescriptor, "lock")}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

// watch waits for krund's end. It returns restore's error.
func watch(hears io.Reader, says io.Writer, restore func(expected bool) error) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	if _, err := io.WriteString(says, ready+"\n"); err != nil {
		return err // krund has ended already, without having changed anything
	}
	line, err := readWord(hears)
	switch {
	case err == nil && line == done+"\n":
		return nil
	case err == nil && line == restarting+"\n":
		return restore(true)
	case err != nil && !errors.Is(err, io.EOF):
		return errors.Join(fmt.Errorf("listen to krund: %w", err), restore(false))
	}
	return restore(false)
}

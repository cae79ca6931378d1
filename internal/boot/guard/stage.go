package guard

import (
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

	"krund/internal/experiment/directory"
	"krund/internal/machine/command"
)

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

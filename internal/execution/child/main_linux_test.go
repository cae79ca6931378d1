package child

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"krund/internal/execution/account"
	"krund/rig/must"
)

// partName is Args[0] of a copy of the test binary that plays another part than that of the tests;
// Args[1] says which.
const partName = "krund-test-part"

// parts are what the test binary can play, besides the stage.
var parts = map[string]func(args []string) int{
	"fds":     partFDs,
	"group":   partGroup,
	"daemon":  partDaemon,
	"unusual": partUnusual,
	"keys":    partKeys,
}

func TestMain(m *testing.M) {
	Stage()
	account.Stage()
	if os.Args[0] == partName {
		os.Exit(parts[os.Args[1]](os.Args[2:]))
	}
	os.Exit(m.Run())
}

// partEnv is the environment of parts. The race detector otherwise waits a second before it lets a
// program end.
var partEnv = []string{"PATH=/usr/bin:/bin", "GORACE=atexit_sleep_ms=0"}

// part is the Command that plays a part.
func part(name string, args ...string) Command {
	return Command{Path: "/proc/self/exe", Args: append([]string{partName, name}, args...), Env: partEnv}
}

// shell is the Command of a line of sh.
func shell(line string, args ...string) Command {
	return Command{
		Path: "/bin/sh", Args: append([]string{"sh", "-c", line, "sh"},
			args...), Env: []string{"PATH=/usr/bin:/bin"},
	}
}

// mustRun runs c and fails the test when krund itself could not, or when something of c is left.
func mustRun(t *testing.T, c Command) Run {
	t.Helper()
	run := must.Get(Runner{}.Run(t.Context(), c))(t)
	checkGone(t, run)
	return run
}

// mustSucceed is mustRun for a c that has to exit with 0.
func mustSucceed(t *testing.T, c Command) Run {
	t.Helper()
	run := mustRun(t, c)
	must.Need(t, run.NotStarted == nil && run.Exit != nil && *run.Exit == 0, c.Args, "did not end well",
		describe(run))
	return run
}

func describe(run Run) string {
	text, err := json.MarshalIndent(run, "", "  ")
	return fmt.Sprintf("%s %v", text, err)
}

// markers number the processes of the tests, so that each test finds its own on the machine.
var markers atomic.Int64

// newMarker returns an argument for sleep(1) that is unique and outlasts the test.
func newMarker() string { return fmt.Sprintf("%d.%d", 100000+os.Getpid(), markers.Add(1)) }

// living returns the processes of the machine that have marker among their arguments.
func living(t *testing.T, marker string) []string {
	t.Helper()
	files := must.Get(filepath.Glob("/proc/[0-9]*/cmdline"))(t)
	var found []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil && bytes.Contains(text, []byte(marker)) {
			found = append(found, fmt.Sprintf("%s %q", f, text))
		}
	}
	return found
}

// checkGone looks for children, dead ones too.
func checkGone(t *testing.T, run Run) {
	t.Helper()
	must.Be(t, noChildren(), "children are left", describe(run))
}

func checkDead(t *testing.T, marker string) {
	t.Helper()
	found := living(t, marker)
	must.Be(t, len(found) == 0, "still alive", found)
}

func needRoot(t *testing.T) {
	t.Helper()
	must.Root(t, "only root can change the user")
}

// partFDs prints its descriptors and what they are, one per line.
func partFDs([]string) int {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return 1
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 1
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err != nil || fd == int(dir.Fd()) {
			continue
		}
		link, err := os.Readlink("/proc/self/fd/" + name)
		if err != nil {
			continue
		}
		fmt.Fprintln(os.Stdout, name, link)
	}
	return 0
}

// partGroup starts children as its arguments say, each sleeping for ever with marker as its
// argument, reports on descriptor 3 that all are there, and sleeps as well. The kinds: plain;
// session (setsid); double (its parent ends); deaf (ignores what can be ignored); stopped. With
// "leave" it ends instead of sleeping.
func partGroup(args []string) int {
	marker, leave := args[0], false
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	for _, kind := range args[1:] {
		line, sys := "sleep "+marker, &syscall.SysProcAttr{}
		switch kind {
		case "plain":
		case "session":
			sys.Setsid = true
		case "double":
			sys.Setsid = true
			line = "sleep " + marker + " & exit 0"
		case "deaf":
			line = "trap '' TERM INT HUP QUIT; sleep " + marker
		case "stopped":
			line = "kill -STOP $$; sleep " + marker
		case "leave":
			leave = true
			continue
		}
		cmd := exec.Command("/bin/sh", "-c", line)
		cmd.SysProcAttr = sys
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // keeps the pipes open
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if kind == "double" && cmd.Wait() != nil {
			return 1
		}
	}
	if _, err := os.NewFile(3, "ready").Write([]byte("r")); err != nil {
		return 1
	}
	if leave {
		return 7
	}
	for {
		time.Sleep(time.Hour)
	}
}

// partDaemon is a daemon that runs the Command given as JSON and prints the Run as JSON. A second
// argument is the most stack in bytes that it and its benchmarks may have.
func partDaemon(args []string) int {
	var c Command
	if err := json.Unmarshal([]byte(args[0]), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if len(args) > 1 {
		limit, err := strconv.ParseUint(args[1], 10, 64)
		if err == nil {
			err = unix.Setrlimit(unix.RLIMIT_STACK, &unix.Rlimit{Cur: limit, Max: limit})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	run, err := Runner{}.Run(context.Background(), c)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(run); err != nil {
		return 1
	}
	return 0
}

// partUnusual is partDaemon with an umask, a limit on core files, a policy and a priority of its
// own.
func partUnusual(args []string) int {
	runtime.LockOSThread() // the policy is that of a thread: execve gives it to the whole program
	unix.Umask(0o027)
	err := errors.Join(unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 4096, Max: 8192}),
		unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH,
			Nice: 5}, 0))
	if err == nil {
		err = unix.Exec("/proc/self/exe", append([]string{partName, "daemon"}, args...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// asJSON is the argument of partDaemon.
func asJSON(t *testing.T, c Command) string {
	t.Helper()
	text := must.Get(json.Marshal(c))(t)
	return string(text)
}

// lines splits text that ends in a line end.
func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// pidfd opens a process that is not a child.
func pidfd(pid int) (*os.File, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "pidfd"), nil
}

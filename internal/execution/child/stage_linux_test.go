package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"krund/rig/must"
)

// keyTest is the description of the keys that executions leave.
const keyTest = "krund-test"

// keyrings are those that outlive a process: of its session, of its user, and the persistent one.
var keyrings = []struct {
	name string
	id   func() (int, error)
}{
	{"session", func() (int, error) { return unix.KEY_SPEC_SESSION_KEYRING, nil }},
	{"user", func() (int, error) { return unix.KEY_SPEC_USER_KEYRING, nil }},
	{"user session", func() (int, error) { return unix.KEY_SPEC_USER_SESSION_KEYRING, nil }},
	{"persistent", func() (int, error) {
		return unix.KeyctlInt(unix.KEYCTL_GET_PERSISTENT, -1, unix.KEY_SPEC_PROCESS_KEYRING, 0, 0)
	}},
}

// partKeys prints which keyrings have a key of an earlier execution, and leaves one in each. With
// "lock" it then takes all rights but that to read from its user's keyring.
func partKeys(args []string) int {
	var rings []int
	for _, k := range keyrings {
		ring, err := k.id()
		if err != nil {
			fmt.Fprintf(os.Stdout, "%s: %v\n", k.name, err)
		}
		rings = append(rings, ring)
		if _, err := unix.KeyctlSearch(ring, "user", keyTest, 0); err == nil {
			fmt.Fprintf(os.Stdout, "found in %s\n", k.name)
		}
	}
	for i, ring := range rings {
		if _, err := unix.AddKey("user", keyTest, []byte("secret"), ring); err != nil {
			fmt.Fprintf(os.Stdout, "%s: %v\n", keyrings[i].name, err)
		}
	}
	if len(args) > 0 {
		const ownerReads = 0x0003_0000 // KEY_USR_VIEW | KEY_USR_READ
		if err := unix.KeyctlSetperm(unix.KEY_SPEC_USER_KEYRING, ownerReads); err != nil {
			fmt.Fprintln(os.Stdout, err)
		}
	}
	return 0
}

func needKeyrings(t *testing.T) {
	t.Helper()
	_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		t.Skipf("no keyrings: %v", err)
	}
}

// TestKeyrings: what one execution leaves in the kernel's keyrings the next one does not find.
func TestKeyrings(t *testing.T) {
	needRoot(t)
	needKeyrings(t)
	for i := range 2 {
		c := part("keys")
		c.User = User{Name: "keys", UID: 54322, GID: 54322, Own: true}
		run := mustSucceed(t, c)
		must.Be(t, run.Stdout.Text == "" && len(run.Findings) == 0, "execution", i+1, run.Stdout.Text,
			"findings", run.Findings)
	}
}

// TestLockedKeyring: a keyring that not even root may clear is reported.
func TestLockedKeyring(t *testing.T) {
	needRoot(t)
	needKeyrings(t)
	uid := 60_000_000 + os.Getpid() // its keyring stays locked until the machine restarts
	c := part("keys", "lock")
	c.User = User{Name: "keys", UID: uid, GID: uid, Own: true}
	mustSucceed(t, c)
	const want = "refused, continued without: clear the user's keyrings, " +
		"where keys of the last execution stay until the machine restarts: required key not available"
	run := mustSucceed(t, c)
	must.Be(t, len(run.Findings) == 1 && run.Findings[0] == want, "findings", run.Findings, "want", want)
}

func TestLimitsAsSeen(t *testing.T) {
	// What a program started by a shell gets, and what the Go runtime of this one has raised.
	out := must.Get(exec.Command("/bin/sh", "-c", "cat /proc/self/limits").Output())(t)
	files := statusLimit(string(out), "Max open files")
	c := Command{Path: "/bin/cat", Args: []string{"cat", "/proc/self/limits"}}
	c.Limits.Heap, c.Limits.Stack = 64<<20, 1<<20
	run := mustSucceed(t, c)
	for name, want := range map[string]string{
		"Max data size": "67108864 67108864", "Max stack size": "1048576 1048576",
		"Max core file size": "0 0",
		"Max open files":     files,
	} {
		must.Equal(t, statusLimit(run.Stdout.Text, name), want)
	}
	soft, _, _ := strings.Cut(files, " ")
	s := run.Seen
	must.Be(t, s.Heap == 64<<20 && s.Stack == 1<<20 && s.Core == 0 && strconv.FormatInt(s.Files, 10) == soft,
		"seen", s, "want", soft, "descriptors")
	run = mustSucceed(t, Command{Path: "/bin/cat", Args: []string{"cat", "/proc/self/limits"}})
	for _, name := range []string{"Max data size", "Max stack size"} {
		got, want := statusLimit(run.Stdout.Text, name), statusLimit(string(out), name)
		must.Equal(t, got, want, "unlimited", name)
	}
}

// statusLimit returns soft and hard limit of a line of /proc/PID/limits.
func statusLimit(text, name string) string {
	for _, line := range lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.Join(strings.Fields(rest)[:2], " ")
		}
	}
	return "no such line"
}

// TestForkBomb: a benchmark that forks without end is refused more processes than it may have, when
// it has a user of its own.
func TestForkBomb(t *testing.T) {
	needRoot(t)
	const most = 16
	c := shell("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 60 & done; echo " +
		"all of them")
	c.Limits.Processes = most
	c.User = User{Name: "bomb", UID: 54321, GID: 54321, Own: true}
	run := mustRun(t, c)
	must.Be(t, run.Processes == most && run.Seen.Processes == most && run.Exit != nil && *run.Exit != 0 &&
		strings.Contains(run.Stderr.Text, "fork"), "limit", run.Processes, "seen", run.Seen.Processes,
		describe(run))
	must.Be(t, run.Strays != 0 && run.Strays < most, run.Strays,
		"processes besides the benchmark, want some, but fewer than", most)
	c.User.Own = false // whose other processes would count, too
	if run = mustSucceed(t, c); run.Processes != 0 || run.Stdout.Text != "all of them\n" {
		t.Errorf("limit %d: %s", run.Processes, describe(run))
	}
}

// TestGroupLimit: the group's limit is the one of this run, and what it has refused is counted.
func TestGroupLimit(t *testing.T) {
	g := &cgroup{dir: t.TempDir()}
	must.Be(t, !g.limitProcesses(10) && g.refusals() == 0 && (*cgroup)(nil).refusals() == 0,
		"limited, although processes cannot be counted")
	file := filepath.Join(g.dir, "pids.max")
	for n, want := range map[int64]string{4096: "4096", 0: "max"} {
		err := os.WriteFile(file, []byte("17 as an earlier run had it"), 0o644)
		must.Be(t, g.limitProcesses(n) && err == nil, n, "not limited", err)
		text, err := os.ReadFile(file)
		must.Be(t, string(text) == want && err == nil, n, text, err)
	}
	err := os.WriteFile(filepath.Join(g.dir, "pids.events"), []byte("max 7\n"), 0o644)
	must.Be(t, err == nil && g.refusals() == 7, g.refusals(), "refusals", err)
}

// TestSmallHeap goes down to limits at which no Go program could live, and where most programs
// cannot be loaded.
func TestSmallHeap(t *testing.T) {
	c := Command{Path: "/bin/dd", Args: []string{"dd", "if=/dev/zero", "of=/dev/null", "bs=64M", "count=1"}}
	c.Limits.Heap = 16 << 20
	run := mustRun(t, c)
	must.Be(t, run.Exit != nil && *run.Exit == 1 && strings.Contains(run.Stderr.Text, "memory exhausted"),
		"64 MiB in 16 MiB: got", describe(run))
	c.Args[3] = "bs=1M"
	mustSucceed(t, c)
	for _, heap := range []int64{1 << 20, 64 << 10, 4096, 1} {
		c.Limits.Heap = heap
		run := mustRun(t, c)
		must.Be(t, !strings.Contains(run.Stderr.Text, "goroutine") && (run.NotStarted == nil ||
			run.NotStarted.Step == "exec"), "heap of", heap, "bytes: the stage died of it", describe(run))
		must.Be(t, run.Exit != nil || run.Signal != "" || run.NotStarted != nil, "heap of", heap,
			"bytes: no end", describe(run))
	}
}

// TestLimitAboveHardLimit asks for more stack than the daemon's own hard limit allows its
// benchmarks.
func TestLimitAboveHardLimit(t *testing.T) {
	needRoot(t)
	inner := Command{Path: "/bin/true", Limits: Limits{Stack: 64 << 20}}
	daemon := part("daemon", asJSON(t, inner), strconv.Itoa(4<<20))
	daemon.User = User{Name: "nobody", UID: 65534, GID: 65534}
	run := mustSucceed(t, daemon)
	var got Run
	must.Do(t, json.Unmarshal([]byte(run.Stdout.Text), &got))
	f := got.NotStarted
	must.Be(t, f != nil && f.Step == "limits" && f.Errno == "EPERM" && strings.Contains(f.Text, "ulimit -H"),
		describe(got))
}

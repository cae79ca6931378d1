package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"krund/internal/execution/account"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

func TestSignalsAreData(t *testing.T) {
	for _, name := range []string{"SEGV", "ABRT", "KILL", "TERM", "FPE", "RTMIN"} {
		run := mustRun(t, shell("kill -"+name+" $$"))
		want := "SIG" + name
		if name == "RTMIN" {
			want = "signal 34"
		}
		must.Be(t, run.NotStarted == nil && run.Exit == nil && run.Signal == want && !run.TimedOut &&
			!run.Interrupted, name, describe(run))
		must.Equal(t, len(run.Findings) > 0, (name == "KILL"), name, "findings", run.Findings)
	}
}

// everyKind is what a benchmark can do with its children to get away.
var everyKind = []string{"plain", "session", "double", "deaf", "stopped"}

// runUntilReady runs part "group" with these kinds until it reports that all are running, and then
// cancels.
func runUntilReady(t *testing.T, c Command, cancel bool, kinds ...string) (run Run, marker string) {
	t.Helper()
	ready, writeEnd := must.Get2(os.Pipe())(t)
	defer ready.Close()
	defer writeEnd.Close()
	marker = newMarker()
	c.Path, c.Args = "/proc/self/exe", append([]string{partName, "group", marker}, kinds...)
	c.Env, c.Files = partEnv, []*os.File{writeEnd}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said := make(chan error, 1)
	go func() {
		_, err := ready.Read(make([]byte, 1))
		if cancel {
			stop()
		}
		said <- err
	}()
	run = must.Get(Runner{}.Run(ctx, c))(t)
	writeEnd.Close()
	must.Do(t, <-said, "the part did not get ready", describe(run))
	checkGone(t, run)
	checkDead(t, marker)
	return run, marker
}

func TestCancelEndsAll(t *testing.T) {
	run, _ := runUntilReady(t, Command{}, true, everyKind...)
	must.Be(t, run.Interrupted && !run.TimedOut && run.Signal == "SIGKILL" && run.NotStarted == nil,
		describe(run))
	// Each kind but "plain", which may exec at once, has at least its sleep, and the shells
	// besides.
	must.Be(t, run.Strays >= len(everyKind), run.Strays, "strays, want at least", len(everyKind))
}

func TestStraysOfAnOrdinaryEnd(t *testing.T) {
	for _, kind := range everyKind {
		run, _ := runUntilReady(t, Command{}, false, kind, "leave")
		must.Be(t, run.Exit != nil && *run.Exit == 7 && !run.Interrupted, kind, describe(run))
		must.Be(t, run.Strays >= 1 && len(run.Findings) == 1, kind, run.Strays, "strays, findings",
			run.Findings)
	}
}

func TestTimeLimit(t *testing.T) {
	const limit = 200 * time.Millisecond
	marker := newMarker()
	for name, line := range map[string]string{
		"sleeps":          "exec sleep $1",
		"spins":           "while :; do :; done",
		"ignores SIGTERM": "trap '' TERM INT HUP; sleep $1; sleep $1",
		"stops itself":    "kill -STOP $$; sleep $1",
		"has children":    "sleep $1 & setsid sleep $1 & (setsid sleep $1 &); sleep $1",
		"floods":          "exec cat /dev/zero",
	} {
		c := shell(line, marker)
		c.Limits.Timeout = limit
		run := mustRun(t, c)
		checkDead(t, marker)
		// On a machine that is busy enough the limit passes while the stage is still at work.
		early := run.NotStarted != nil && run.NotStarted.Step == "stage"
		must.Be(t, run.TimedOut && !run.Interrupted && (run.Signal == "SIGKILL" || early) && run.Exit == nil,
			name, describe(run))
		must.Be(t, time.Duration(run.WallNS) >= limit, name, "killed after", run.WallNS, "before the limit")
	}
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	run, err := Runner{}.Run(ctx, shell("exit 0"))
	must.Be(t, err == nil && run.Interrupted && run.NotStarted != nil && run.PID == 0, describe(run), err)
}

// TestPipeHeldOpen has the output's other end outlive the benchmark, in a process and nowhere at
// all.
func TestPipeHeldOpen(t *testing.T) {
	run := mustSucceed(t, shell("sleep $1 & echo early; (sleep $1 >&2 &) ; echo late", newMarker()))
	must.Be(t, run.Stdout.Text == "early\nlate\n" && run.Strays == 2, describe(run))
	run = mustRun(t, shell("exec <&- >&- 2>&-; kill -0 $$ && exit 3"))
	must.Be(t, run.Exit != nil && *run.Exit == 3, "closed descriptors: got", describe(run))
}

// TestChain runs a process that repeatedly continues in a new session, faster than krund can look.
// It ends by itself after some generations, so that a failure does no harm.
func TestChain(t *testing.T) {
	const line = `n=$1; m=$2; [ $n -gt 0 ] || exit 0; setsid sh -c "$0" "$0" $((n-1)) $m & exit 0`
	const uid = 54323 // of no one: tests of other packages run processes as nobody meanwhile
	own := account.Account{Name: "chain", UID: uid, GID: uid, Own: true}
	for _, user := range []User{{}, {Name: "chain", UID: uid, GID: uid, Own: true}} {
		marker := newMarker()
		c := Command{
			Path: "/bin/sh", Args: []string{"sh", "-c", line, line, "2000", marker},
			Env: []string{"PATH=/usr/bin:/bin"}, User: user,
		}
		if !user.IsCaller() {
			if os.Geteuid() != 0 {
				continue
			}
			c.KillUser = own.KillProcesses
		}
		mustRun(t, c)
		checkDead(t, marker)
	}
}

// TestOtherChildrenLive has the daemon run other programs, before and during the benchmark.
func TestOtherChildrenLive(t *testing.T) {
	before := exec.Command("sleep", newMarker())
	must.Do(t, before.Start())
	during := exec.Command("sleep", newMarker())
	during.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dead := exec.Command("true")
	ready, writeEnd := must.Get2(os.Pipe())(t)
	started := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, err := ready.Read(make([]byte, 1))
		if err == nil {
			err = dead.Start()
		}
		if err == nil {
			err = during.Start()
		}
		started <- err
		cancel()
	}()
	marker := newMarker()
	c := part("group", append([]string{marker}, everyKind...)...)
	c.Env, c.Files = partEnv, []*os.File{writeEnd}
	run, err := Runner{}.Run(ctx, c)
	must.Need(t, err == nil && run.Interrupted, err, describe(run))
	must.Do(t, <-started)
	checkDead(t, marker)
	for _, cmd := range []*exec.Cmd{before, during} {
		must.Do(t, cmd.Process.Kill(), "another child of the daemon was harmed")
		must.Refuse(t, cmd.Wait(), "killed", "another child of the daemon was reaped")
	}
	must.Do(t, dead.Wait(), "another child of the daemon was reaped")
}

// TestDaemonKilled kills a daemon in the middle of a run.
func TestDaemonKilled(t *testing.T) {
	ready, writeEnd := must.Get2(os.Pipe())(t)
	defer ready.Close()
	// The benchmark cannot get the pipe through JSON, so that it opens it by its name in the
	// daemon.
	c := shell("echo $$ >/proc/$PPID/fd/3; exec sleep 100000")
	daemon := exec.Command("/proc/self/exe")
	daemon.Args = []string{partName, "daemon", asJSON(t, c)}
	daemon.ExtraFiles = []*os.File{writeEnd}
	must.Do(t, daemon.Start())
	writeEnd.Close()
	var pid int
	must.Get(fmt.Fscan(ready, &pid))(t)
	fd := must.Get(pidfd(pid))(t)
	defer fd.Close()
	must.Do(t, daemon.Process.Kill())
	_ = daemon.Wait() // killed
	must.Be(t, readable(int(fd.Fd()), now()+int64(5*time.Minute)), "process", pid, "outlives its daemon")
}

// TestNothingLeaks runs a hundred benchmarks and counts.
func TestNothingLeaks(t *testing.T) {
	mustSucceed(t, shell("exit 0")) // opens what stays open
	fds, threads := countFDs(t), runtime.NumGoroutine()
	for range 30 {
		mustSucceed(t, shell("exit 0"))
	}
	mustRun(t, Command{Path: "/nonexistent"})
	must.Equal(t, countFDs(t), fds, "descriptors, were")
	must.Equal(t, runtime.NumGoroutine(), threads, "goroutines, were")
	is, err := subreaper()
	must.Be(t, !is && err == nil, "still the reaper of orphans", is, err)
}

func countFDs(t *testing.T) int {
	t.Helper()
	list := must.Get(os.ReadDir("/proc/self/fd"))(t)
	return len(list)
}

// TestCrowdOfStrays: a benchmark that leaves thousands of processes which cannot be killed does not
// fill the record with them.
func TestCrowdOfStrays(t *testing.T) {
	s := &execution{tree: &processTree{reaped: true}, remarks: []string{"a remark"}}
	for pid := range 4096 {
		s.tree.unkillable = append(s.tree.unkillable, proc{PID: 4_000_000 + pid, Name: "sh", State: 'D'})
	}
	list := s.findings(Run{Process: results.Process{Strays: 4096}}, report{})
	all := strings.Join(list, "\n")
	must.Be(t, len(list) <= 100 && len(all) <= 20_000, len(list), "findings", len(all), "bytes")
	for _, want := range []string{"a remark", "4096 further processes", "process 4000000 (sh)",
		"4086 more processes"} {
		must.Contain(t, all, want)
	}
}

// testGroup returns the name of a control group of the test's own, and skips the test where there
// can be none.
func testGroup(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("krund-test-%d-%s", os.Getpid(), t.Name())
	g, err := openGroup(name)
	if err != nil {
		t.Skip("no control groups:", err)
	}
	t.Cleanup(func() {
		must.Do(t, os.Remove(g.dir), "the group is not empty")
	})
	return name
}

func TestGroupHoldsAll(t *testing.T) {
	name := testGroup(t)
	for range 2 { // the second time it has been killed before
		c := shell("setsid cat /proc/self/cgroup")
		c.Cgroup = name
		run := mustSucceed(t, c)
		must.Be(t, strings.HasSuffix(run.Cgroup, "/"+name) && run.CgroupReason == "" &&
			strings.Contains(run.Stdout.Text, "0::"+run.Cgroup+"\n"), describe(run))
		run, _ = runUntilReady(t, Command{Cgroup: name}, true, everyKind...)
		must.Be(t, run.Interrupted && run.Strays >= len(everyKind), describe(run))
	}
}

func TestRemoveGroup(t *testing.T) {
	name := testGroup(t)
	c := shell("true")
	c.Cgroup = name
	mustSucceed(t, c)
	g := must.Get(findGroup(name))(t)
	for range 2 { // the second time it is gone already
		must.Do(t, RemoveGroup(name))
	}
	must.Refused(os.Stat(g.dir))(t, "", g.dir, "is still there")
	mustSucceed(t, c) // and it can be made again
}

// TestGroupIsCleared starts with a group in which a killed daemon has left something.
func TestGroupIsCleared(t *testing.T) {
	name := testGroup(t)
	g := must.Get(openGroup(name))(t)
	marker := newMarker()
	old := exec.Command("sh", "-c", "echo 0 >"+g.dir+"/cgroup.procs && echo in && exec sleep "+marker)
	out := must.Get(old.StdoutPipe())(t)
	must.Do(t, old.Start())
	must.Get(out.Read(make([]byte, 3)))(t)
	c := shell("exit 0")
	c.Cgroup = name
	run := must.Get(Runner{}.Run(t.Context(), c))(t)
	checkDead(t, marker)
	must.Refuse(t, old.Wait(), "", "the old process was not killed")
	must.Be(t, len(run.Findings) == 1 &&
		strings.Contains(run.Findings[0], "killed 1 processes of an earlier run"), "findings", run.Findings)
}

// TestOldKernel ends a group as kernels without cgroup.kill must.
func TestOldKernel(t *testing.T) {
	g := must.Get(openGroup(testGroup(t)))(t)
	old := exec.Command("sh", "-c", "echo 0 >"+g.dir+"/cgroup.procs && echo in && sleep 100000 & wait")
	out := must.Get(old.StdoutPipe())(t)
	must.Do(t, old.Start())
	must.Get(out.Read(make([]byte, 3)))(t)
	for limit := now() + int64(5*time.Minute); !g.empty() && now() < limit; {
		g.killEach()
		pause(nil)
	}
	must.Be(t, g.empty(), "not empty")
	err := old.Process.Kill()
	must.Be(t, err == nil || errors.Is(err, os.ErrProcessDone), err)
	_ = old.Wait() // killed or not: it had left its child in the group
}

func TestNoGroup(t *testing.T) {
	for _, name := range []string{"a/../b", "/"} {
		c := shell("exit 0")
		c.Cgroup = name
		run := mustSucceed(t, c)
		must.Be(t, run.Cgroup == "" && run.CgroupReason != "", name, describe(run))
	}
}

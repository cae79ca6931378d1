package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"krund/rig/must"
)

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

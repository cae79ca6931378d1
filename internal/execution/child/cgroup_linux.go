package child

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"krund/internal/machine/sysroot"
)

// cgroup is the benchmark's control group. A nil cgroup stands for one that is not available: it
// kills nothing and is empty.
type cgroup struct {
	name string
	dir  string
}

// openGroup creates the group want if needed. The group is kept between runs, because creating and
// removing groups takes a lock that the whole machine shares.
func openGroup(want string) (*cgroup, error) {
	g, err := findGroup(want)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(g.dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the control group: %w", err)
	}
	return g, nil
}

// RemoveGroup removes the control group that runs with Command.Cgroup = want have used, at the end
// of an experiment. A missing group, or a system without groups, is no error.
func RemoveGroup(want string) error {
	g, err := findGroup(want)
	if err != nil {
		return nil //nolint:nilerr // without groups none was made
	}
	if err := os.Remove(g.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the control group: %w", err)
	}
	return nil
}

// findGroup returns where the group want is or would be.
func findGroup(want string) (*cgroup, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	mount, root, err := groupMount(mounts)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	own, found := sysroot.ParseGroup(string(text), "")
	if !found {
		return nil, errNoHierarchy
	}
	g := &cgroup{}
	if g.name, err = groupName(own, want); err != nil {
		return nil, err
	}
	if g.dir, err = groupDir(mount, root, g.name); err != nil {
		return nil, err
	}
	return g, nil
}

// enterGroup moves this process into the group at dir. The stage calls it: a process cannot be
// started inside the group (CLONE_INTO_CGROUP), because some kernels, such as 6.18, kill what is
// started in a group that cgroup.kill was ever used on.
func enterGroup(dir string) error {
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0)
}

// kill ends every process in the group and below it at once.
func (g *cgroup) kill() {
	if g == nil || g.empty() {
		return
	}
	if g.write("cgroup.kill", "1") == nil {
		return
	}
	g.killEach()
}

// killEach does the same on Linux before 5.14: freeze the group, so that no process can fork, and
// kill the processes one by one. A frozen process can be killed.
func (g *cgroup) killEach() {
	_ = g.write("cgroup.freeze", "1") // if this fails, the caller tries again
	for _, pid := range g.processes() {
		_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
	}
	_ = g.write("cgroup.freeze", "0")
}

// empty reports whether no process is left in the group or below it. A zombie does not count.
func (g *cgroup) empty() bool {
	if g == nil {
		return true
	}
	n, ok := g.number("cgroup.events", "populated")
	return ok && n == 0
}

// clear kills what an earlier daemon, killed during a run, left in the group. It returns the number
// of processes.
func (g *cgroup) clear() (int, error) {
	n := len(g.processes())
	limit := now() + int64(killTime)
	for !g.empty() {
		if now() >= limit {
			return n, fmt.Errorf("control group %s: processes %v of an earlier run cannot be killed",
				g.name, g.processes())
		}
		g.kill()
		pause(nil)
	}
	return n, nil
}

func (g *cgroup) processes() []int {
	text, err := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
	if err != nil {
		return nil
	}
	var pids []int
	for _, f := range bytes.Fields(text) {
		if pid, err := strconv.Atoi(string(f)); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// limitProcesses limits the group to n processes and threads; 0 means no limit. It reports whether
// the group can be limited: the controller pids must be enabled in the groups above
// (cgroup.subtree_control).
func (g *cgroup) limitProcesses(n int64) bool {
	value := "max"
	if n > 0 {
		value = strconv.FormatInt(n, 10)
	}
	f, err := os.OpenFile(filepath.Join(g.dir, "pids.max"), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return false
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close()) == nil
}

// number reads a count of the group; not ok when that is not counted.
func (g *cgroup) number(file, name string) (n int64, ok bool) {
	if g == nil {
		return 0, false
	}
	text, err := os.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		return 0, false
	}
	return number(text, name)
}

// refusals returns how often the limit refused a process or thread; 0 when that is not counted.
func (g *cgroup) refusals() int64 {
	n, _ := g.number("pids.events", "max")
	return n
}

// processorTime returns the processor time of all processes that were in the group, in nanoseconds;
// 0 when that is not counted.
func (g *cgroup) processorTime() int64 {
	n, _ := g.number("cpu.stat", "usage_usec")
	return n * int64(time.Microsecond)
}

func (g *cgroup) write(file, value string) error {
	err := os.WriteFile(filepath.Join(g.dir, file), []byte(value), 0)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: this kernel has none: %w", file, err)
	}
	return err
}

// memoryKills returns how many processes the OOM killer has killed: in the group when it counts
// them (with the memory controller), else on the whole machine.
func memoryKills(g *cgroup) (int64, bool) {
	if n, ok := g.number("memory.events", "oom_kill"); ok {
		return n, true
	}
	text, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0, false
	}
	return number(text, "oom_kill")
}

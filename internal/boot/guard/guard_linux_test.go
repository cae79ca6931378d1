package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"krund/internal/experiment/directory"
	"krund/rig/must"
)

// TestApart: the guard is no child of krund, has a session of its own, is where the benchmark is
// not, and shrugs off signals that ask it to end.
func TestApart(t *testing.T) {
	var allowed unix.CPUSet
	must.Do(t, unix.SchedGetaffinity(0, &allowed))
	cpu := 0
	for !allowed.IsSet(cpu) {
		cpu++
	}
	subject := t.TempDir()
	g := must.Get(Start(t.Context(), Options{About: []string{subject}, CPUs: []int{cpu}}))(t)
	pid := find(t, subject)
	stat := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))(t)
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest) // state, parent, group, session
	parent := fields[1]
	must.Be(t, parent != strconv.Itoa(os.Getpid()), "the guard is a child of krund")
	must.Equal(t, fields[3], strconv.Itoa(pid), "session", "want its own")
	var on unix.CPUSet
	must.Do(t, unix.SchedGetaffinity(pid, &on))
	must.Be(t, on.Count() == 1 && on.IsSet(cpu), "runs on", on.Count(), "CPUs, want CPU", cpu, "alone")
	for _, s := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
		must.Do(t, unix.Kill(pid, s))
	}
	must.Be(t, directory.IsGuard(pid) && !directory.IsGuard(os.Getpid()) && !directory.IsGuard(0), "guard",
		directory.IsGuard(pid), "this process", directory.IsGuard(os.Getpid()), "no process",
		directory.IsGuard(0))
	must.Do(t, g.Dismiss())
}

// find returns the process number of the guard of a subject.
func find(t *testing.T, subject string) int {
	t.Helper()
	list := must.Get(filepath.Glob("/proc/[0-9]*/cmdline"))(t)
	for _, file := range list {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), subject) && strings.HasPrefix(string(text),
			name+"\x00"+second+"\x00") {
			return must.Get(strconv.Atoi(filepath.Base(filepath.Dir(file))))(t)
		}
	}
	t.Fatal("there is no guard")
	return 0
}

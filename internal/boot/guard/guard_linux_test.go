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
)

// TestApart: the guard is no child of krund, has a session of its own, is where the benchmark is
// not, and shrugs off signals that ask it to end.
func TestApart(t *testing.T) {
	var allowed unix.CPUSet
	must(t, unix.SchedGetaffinity(0, &allowed))
	cpu := 0
	for !allowed.IsSet(cpu) {
		cpu++
	}
	subject := t.TempDir()
	g, err := Start(t.Context(), Options{About: []string{subject}, CPUs: []int{cpu}})
	must(t, err)
	pid := find(t, subject)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	must(t, err)
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest) // state, parent, group, session
	if parent := fields[1]; parent == strconv.Itoa(os.Getpid()) {
		t.Error("the guard is a child of krund")
	}
	if session := fields[3]; session != strconv.Itoa(pid) {
		t.Errorf("session %s, want its own, %d", session, pid)
	}
	var on unix.CPUSet
	must(t, unix.SchedGetaffinity(pid, &on))
	if on.Count() != 1 || !on.IsSet(cpu) {
		t.Errorf("runs on %d CPUs, want CPU %d alone", on.Count(), cpu)
	}
	for _, s := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
		must(t, unix.Kill(pid, s))
	}
	if !directory.IsGuard(pid) || directory.IsGuard(os.Getpid()) || directory.IsGuard(0) {
		t.Errorf("guard %t, this process %t, no process %t", directory.IsGuard(pid),
			directory.IsGuard(os.Getpid()), directory.IsGuard(0))
	}
	must(t, g.Dismiss())
}

// find returns the process number of the guard of a subject.
func find(t *testing.T, subject string) int {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, file := range list {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), subject) && strings.HasPrefix(string(text),
			name+"\x00"+second+"\x00") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			must(t, err)
			return pid
		}
	}
	t.Fatal("there is no guard")
	return 0
}

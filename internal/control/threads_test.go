package control

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// statText is /proc/PID/stat of a thread with these flags and start time; its name is an ugly one.
func statText(flags, start int) string {
	return fmt.Sprintf("7 (a) b) (c) S 2 0 0 0 -1 %d 0 0 0 0 0 1 0 0 20 0 1 0 %d 0 0 18446744073709551615 0\n", flags, start)
}

func TestParseThread(t *testing.T) {
	const status = "Name:\ta) b) (c\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n"
	for _, tt := range []struct {
		name, stat, status string
		ok                 bool
	}{
		{"one", statText(0x208040, 31), status, true},
		{"bound for ever by the kernel", statText(0x4208060, 31), status, false},
		{"short", "7 (x) S 2 0", status, false},
		{"no name", "7 S 2", status, false},
		{"no CPUs", statText(0, 31), "Name:\tx\n", false},
		{"none at all", statText(0, 31), "Cpus_allowed_list:\t\n", false},
		{"rubbish", statText(0, 31), "Cpus_allowed_list:\tx\n", false},
	} {
		got, ok := parseThread(tt.stat, tt.status)
		if ok != tt.ok || ok && (got.start != 31 || got.cpus.String() != "0-1") {
			t.Errorf("%s: %+v, %v", tt.name, got, ok)
		}
	}
}

func FuzzParseThread(f *testing.F) {
	f.Add(statText(0, 31), "Cpus_allowed_list:\t0-1\n")
	f.Add("7 (x", "Cpus_allowed_list:")
	f.Fuzz(func(t *testing.T, stat, status string) {
		if got, ok := parseThread(stat, status); ok && len(got.cpus) == 0 {
			t.Errorf("a thread that may run nowhere: %+v", got)
		}
	})
}

// TestThreadsAreBoundAgain: a partition of CPUs sets all threads free; those that were bound before are bound again afterwards.
func TestThreadsAreBoundAgain(t *testing.T) {
	m, k := fakeMachine(t, "arm64")
	write := func(id, flags, start int, cpus string) {
		dir := filepath.Join(k.dir, "proc", fmt.Sprint(id), "task", fmt.Sprint(id))
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "stat"), []byte(statText(flags, start)), 0o644),
			os.WriteFile(filepath.Join(dir, "status"), []byte("Cpus_allowed_list:\t"+cpus+"\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	online, err := m.online()
	if err != nil {
		t.Fatal(err)
	}
	all := online.String()
	for id, cpus := range map[int]string{2: "0", 3: all, 4: "0", 5: "0", 6: "0"} {
		write(id, 0, id, cpus)
	}
	write(7, 0x4000000, 7, "0")
	if steps := noteThreads(m); steps != nil {
		t.Errorf("steps %v without a way to bind", steps)
	}
	var bound []string
	m.Bind = func(id int, cpus CPUs) error {
		if id == 6 {
			return syscall.EINVAL
		}
		bound = append(bound, fmt.Sprintf("%d to %s", id, cpus))
		write(id, 0, id, cpus.String())
		return nil
	}
	steps := noteThreads(m)
	if len(steps) != 1 || strings.Count(steps[0].Data, "\n") != 3 {
		t.Fatalf("steps %+v, want one with four threads", steps)
	}
	write(2, 0, 2, all)
	write(4, 0, 99, all) // another one of the same number
	if err := os.RemoveAll(filepath.Join(k.dir, "proc/5")); err != nil {
		t.Fatal(err)
	}
	write(6, 0, 6, all) // refuses
	for _, want := range []Outcome{Restored, Already} {
		if got, err := (threadActor{m}).undo(t.Context(), steps[0]); got != want || err != nil {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	if got := strings.Join(bound, ", "); got != "2 to 0" {
		t.Errorf("bound %s, want 2 to 0 and nothing else", got)
	}
	m.Bind = func(int, CPUs) error { return syscall.EPERM }
	write(2, 0, 2, all)
	if got, err := (threadActor{m}).undo(t.Context(), steps[0]); got != Failed || !errors.Is(err, syscall.EPERM) {
		t.Errorf("not allowed: %s, %v", got, err)
	}
}

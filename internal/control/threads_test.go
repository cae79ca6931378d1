package control

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"krund/internal/machine/host"
	"krund/rig/must"
)

// statText is /proc/PID/stat of a thread with these flags and start time; its name is an ugly one.
func statText(flags, start int) string {
	return fmt.Sprintf(
		"7 (a) b) (c) S 2 0 0 0 -1 %d 0 0 0 0 0 1 0 0 20 0 1 0 %d 0 0 18446744073709551615 0\n", flags, start)
}

// TestThreadsAreBoundAgain: a partition of CPUs sets all threads free; those that were bound before
// are bound again afterwards.
func TestThreadsAreBoundAgain(t *testing.T) {
	m, k := fakeMachine(t, "arm64")
	write := func(id, flags, start int, cpus string) {
		dir := filepath.Join(k.dir, "proc", fmt.Sprint(id), "task", fmt.Sprint(id))
		must.Do(t, errors.Join(os.MkdirAll(dir, 0o755),
			os.WriteFile(filepath.Join(dir, "stat"), []byte(statText(flags, start)), 0o644),
			os.WriteFile(filepath.Join(dir, "status"), []byte("Cpus_allowed_list:\t"+cpus+"\n"), 0o644)))
	}
	online := must.Get(m.Online())(t)
	all := online.String()
	for id, cpus := range map[int]string{2: "0", 3: all, 4: "0", 5: "0", 6: "0"} {
		write(id, 0, id, cpus)
	}
	write(7, 0x4000000, 7, "0")
	steps := noteThreads(m)
	must.Be(t, steps == nil, "steps", steps, "without a way to bind")
	var bound []string
	m.Bind = func(id int, cpus host.CPUs) error {
		if id == 6 {
			return syscall.EINVAL
		}
		bound = append(bound, fmt.Sprintf("%d to %s", id, cpus))
		write(id, 0, id, cpus.String())
		return nil
	}
	steps = noteThreads(m)
	must.Need(t, len(steps) == 1 && strings.Count(steps[0].Data, "\n") == 3, "steps", steps,
		"want one with four threads")
	write(2, 0, 2, all)
	write(4, 0, 99, all) // another one of the same number
	must.Do(t, os.RemoveAll(filepath.Join(k.dir, "proc/5")))
	write(6, 0, 6, all) // rejected
	for _, want := range []Restoration{Restored, Already} {
		got, err := (threadApplier{m}).restore(t.Context(), steps[0])
		must.Be(t, got == want && err == nil, got, err, "want", want)
	}
	must.Equal(t, strings.Join(bound, ", "), "2 to 0", "bound", "want 2 to 0 and nothing else")
	m.Bind = func(int, host.CPUs) error { return syscall.EPERM }
	write(2, 0, 2, all)
	got, err := (threadApplier{m}).restore(t.Context(), steps[0])
	must.Be(t, got == Failed && errors.Is(err, syscall.EPERM), "not allowed", got, err)
}

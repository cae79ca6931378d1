package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"krund/internal/machine/host"
)

// noteThreads returns a step that changes nothing and records which threads are bound, none if
// there are none. When a cpuset partition is created or removed, every thread gets all CPUs of its
// control group: kernels before 6.2 discard the affinity set by sched_setaffinity(2), and all
// kernels discard the affinity that nohz_full= gives to kernel threads.
func noteThreads(m *Machine) []Step {
	all, err := m.Online()
	if err != nil || m.Bind == nil {
		return nil
	}
	var lines []string
	for _, t := range m.Threads() {
		if !t.CPUs.Equal(all) {
			lines = append(lines, fmt.Sprintf("%d %d %s", t.ID, t.Start, t.CPUs))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return []Step{{Kind: KindThreads, Target: "/proc", Old: fmt.Sprintf("%d threads bound", len(lines)),
		New: "wherever their group may run", Data: strings.Join(lines, "\n")}}
}

// threadApplier restores the CPU affinity of threads.
type threadApplier struct{ m *Machine }

// do does nothing: the steps that follow change the threads.
func (threadApplier) do(context.Context, Step) (string, error) { return "", nil }

// restore binds the threads that still exist and are bound differently. It skips a thread that has
// just ended, or that the kernel does not bind (EINVAL: its group has none of the CPUs).
func (a threadApplier) restore(_ context.Context, s Step) (Restoration, error) {
	now := map[int]host.Thread{}
	for _, t := range a.m.Threads() {
		now[t.ID] = t
	}
	outcome := Already
	var errs []error
	for line := range strings.Lines(s.Data) {
		var was host.Thread
		var list string
		if _, err := fmt.Sscan(line, &was.ID, &was.Start, &list); err != nil {
			errs = append(errs, fmt.Errorf("journal: %q is not a thread", clip(line)))
			continue
		}
		cpus, err := host.ParseCPUList(list)
		is, there := now[was.ID]
		if err != nil || !there || is.Start != was.Start || is.CPUs.Equal(cpus) {
			continue
		}
		switch err := a.m.Bind(was.ID, cpus); {
		case err == nil:
			outcome = Restored
		case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ESRCH):
		default:
			errs = append(errs, fmt.Errorf("bind thread %d to CPU %s: %w", was.ID, cpus, err))
		}
	}
	if len(errs) > 0 {
		return Failed, errors.Join(errs...)
	}
	return outcome, nil
}

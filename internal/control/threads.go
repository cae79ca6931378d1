package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"krund/internal/host"
)

// noteThreads returns a step that changes nothing and remembers which threads are bound, none when
// there are none. A cpuset partition that comes or goes gives every thread all CPUs of its control
// group: kernels before 6.2 forget what was asked for by sched_setaffinity(2), and all of them
// forget where nohz_full= has kept the kernel's own threads.
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

// threadApplier binds threads again.
type threadApplier struct{ m *Machine }

// do does nothing: what comes next changes the threads.
func (threadApplier) do(context.Context, Step) (string, error) { return "", nil }

// undo binds those threads again that are still there and bound otherwise. One that the kernel does
// not let itself be told about (EINVAL: none of the CPUs is its group's) or that has just ended is
// passed over.
func (a threadApplier) undo(_ context.Context, s Step) (Outcome, error) {
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
			errs = append(errs, fmt.Errorf("journal: %q is no thread", clip(line)))
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

package msr

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	libkrun "krund/cgo"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
)

// eventOptions are the attributes of an event that do not depend on what it counts.
type eventOptions struct {
	core    int      // libkrun.NoCore: the calling thread
	leader  *os.File // nil: this event leads a group
	inherit bool     // children count too, from their next exec on; this thread itself does not
}

// opener is perf_event_open(2), replaced in tests.
type opener func(event, eventOptions) (*os.File, error)

// opened is a group with its events; the first file leads it.
type opened struct {
	plan    groupPlan
	events  []event
	files   []*os.File
	refused []string // extra events that the kernel refused
	why     error    // the first of these refusals
}

func (o *opened) close() error {
	var errs []error
	for _, f := range o.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// openPerf opens all groups of a plan, or none.
func openPerf(open opener, plans []groupPlan) (groups []opened, err error) {
	defer func() {
		if err != nil {
			for i := range groups {
				_ = groups[i].close() // the first error says more
			}
			groups = nil
		}
	}()
	var why error
	for _, p := range plans {
		g, err := openTried(open, p)
		if err != nil {
			return groups, err
		}
		if len(g.events) > 0 {
			groups = append(groups, g)
		} else if why == nil {
			why = g.why
		}
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("there is nothing to count: %w", cmp.Or(why, errors.New("no core is known")))
	}
	return groups, nil
}

// openTried opens a group after a trial in which it counted: all of it or, if that does not fit
// into the hardware, the essential events only.
func openTried(open opener, p groupPlan) (opened, error) {
	task := p.core == libkrun.NoCore
	try := p
	for {
		g, err := openGroup(open, try, false)
		if err == nil && len(g.files) > 0 && !p.partial { // this thread may be on the other kind of core
			err = counting(g.files[0], len(g.events))
		}
		if err == nil && task && len(g.files) > 0 {
			// That was this thread itself. The real group waits for the exec of a child.
			if err = g.close(); err == nil {
				refused := g.refused
				g, err = openGroup(open, try, true)
				g.refused = refused
			}
		}
		if err == nil {
			return g, nil
		}
		_ = g.close() // the error says more
		smaller := lesser(try)
		if len(smaller.essential)+len(smaller.extra) == len(try.essential)+len(try.extra) {
			return opened{}, err
		}
		try = smaller
	}
}

// lesser is the group to try when p does not fit into the hardware: its essential events or, if it
// has none, those that need no hardware.
func lesser(p groupPlan) groupPlan {
	p.extra = slices.DeleteFunc(slices.Clone(p.extra), func(e event) bool {
		return e.kind == typeHardware || len(p.essential) > 0
	})
	return p
}

// openGroup opens those events of a group that the kernel accepts.
func openGroup(open opener, p groupPlan, inherit bool) (opened, error) {
	g := opened{plan: p}
	add := func(e event) error {
		o := eventOptions{core: p.core, inherit: inherit}
		if len(g.files) > 0 {
			o.leader = g.files[0]
		}
		f, err := open(e, o)
		if err != nil {
			return fmt.Errorf("%s%s: %w", e.name, on(p.core), err)
		}
		g.files, g.events = append(g.files, f), append(g.events, e)
		return nil
	}
	for _, e := range p.essential {
		if err := add(e); err != nil {
			return g, err
		}
	}
	for _, e := range p.extra {
		if err := add(e); err != nil {
			g.refused = append(g.refused, "no "+err.Error())
			if g.why == nil {
				g.why = err
			}
		}
	}
	return g, nil
}

// errNoPlace is the error of a group that was opened but does not count.
var errNoPlace = errors.New("the counters are used by another program")

// counting reads a group once, as libkrun will. A pinned group without free hardware counters reads
// as end of file.
func counting(leader *os.File, events int) error {
	raw := make([]byte, 8*(3+events))
	n, _ := leader.Read(raw)
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(raw[8*i:]) }
	if n != len(raw) || word(0) != uint64(events) || word(1) != word(2) || word(2) == 0 {
		return errNoPlace
	}
	return nil
}

// findPerf opens the groups of the perf source.
func findPerf(root sysroot.Root, open opener, want Want) ([]opened, SourceFinding) {
	f := SourceFinding{Source: Perf}
	cores, err := online(root, want)
	if err != nil {
		f.Why = err.Error()
		return nil, f
	}
	plans, notes, err := perfPlan(root, want, cores)
	if err != nil {
		f.Why = err.Error()
		return nil, f
	}
	groups, err := openPerf(open, plans)
	if err != nil {
		f.Why = Remedy(root, err)
		return nil, f
	}
	f.Available, f.Notes = true, append(notes, groups[0].refused...)
	for _, g := range groups {
		if want.Scope != Task && g.plan.core != groups[0].plan.core {
			break // the other cores would fail alike
		}
		for _, e := range g.events {
			f.Columns = append(f.Columns, e.name)
		}
	}
	f.Why = fmt.Sprintf("counts %s, %s", strings.Join(f.Columns, ", "), scopeText(want.Scope, len(cores)))
	if watchdog(root) {
		f.Notes = append(f.Notes, watchdogOff)
	}
	return groups, f
}

func scopeText(scope string, cores int) string {
	switch scope {
	case Task:
		return "of the benchmark's threads"
	case Execution:
		return fmt.Sprintf("of %d cores, once per execution", cores)
	}
	return fmt.Sprintf("of %d cores", cores)
}

// Remedy explains why a perf event was refused.
func Remedy(root sysroot.Root, err error) string {
	why := err.Error()
	switch {
	case errors.Is(err, errNoPlace) && watchdog(root):
		return why + ": " + watchdogOff
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return why + ": " + probe.PlatformOf(host.Host{Root: root}).Remedy("perf")
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.EOPNOTSUPP):
		return why + ": the processor, or the hypervisor that shows it, has no such counter"
	case errors.Is(err, syscall.ENOSYS):
		return why + ": the kernel was built without perf events"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return why + ": raise the limit of open files"
	}
	return why
}

// on names a core in a sentence.
func on(core int) string {
	if core == libkrun.NoCore {
		return ""
	}
	return fmt.Sprintf(" on core %d", core)
}

// Package msr opens the processor's counters for a measured process: core
// cycles, APERF and MPERF, and what else comes with the same reading.
//
//  1. [Open] tries the configured sources in order and opens the first that
//     works. Its [Reason] says which, and why each one before it does not.
//  2. [Counters.Apply] completes the plan of the shared buffer with the columns
//     and with the groups by which libkrun reads them.
//  3. [Counters.Files] are handed over to the measured process. It needs no
//     capability: the open descriptor is enough to read.
//  4. [Counters.Close] closes them and restores the control registers.
//
// The sources:
//
//   - perf: a perf event group per core, or one per task that its children
//     inherit. APERF and MPERF come from the kernel's msr PMU, cycles from that
//     of the core (of the right kind on hybrid processors). Groups are pinned: a
//     group that loses its counters fails instead of being multiplexed.
//   - msr: the devices /dev/cpu/N/msr, a read for each register, in which the thread
//     sleeps. Fixed counter 1 is programmed for the cycles and restored afterwards.
//   - rdpmc: a perf event of the benchmark's first thread only, read in user space.
//   - none: the clock only.
//
// [Probe] reports which sources are available and changes nothing.
//
// What the sources need, when they fail, and what they cost is in
// docs/counters.md. The facts about registers are from the Intel Software
// Developer's Manual, volumes 3B (20: performance monitoring) and 4; those about
// perf from perf_event_open(2) and the kernel's arch/x86/events/msr.c.
//
// The package never reads a counter during a measurement (libkrun does) and
// never judges one (internal/execution/verdict does). Energy of the processor's package is
// in energy.go.
//
// Start reading at Open.
package msr

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	libkrun "krund/cgo"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// Counters are open counters, for one process execution or for several. A Counters must not be used
// by several goroutines at once.
type Counters struct {
	source  string
	scope   libkrun.Scope
	columns []libkrun.Column
	groups  []libkrun.Group // FD is not set
	self    []Self
	tasks   []opened // groups that follow the benchmark's threads on all cores
	close   func() error
}

// system is what Open needs besides files.
type system struct {
	open opener
	load loader
	look mapped
}

// Open opens the first of the wanted sources that works. Counters is nil when none does; the reason
// then says what to do. Loading the kernel's msr module and setting control registers are the only
// changes; Close restores the latter.
//
// With the scope Task the caller must stay on its thread (runtime.LockOSThread) from Open until it
// has started the measured process, and open new counters for each process: they count the children
// of the thread that opened them, from the exec on.
func Open(ctx context.Context, root sysroot.Root, want Want) (*Counters, Reason) {
	return system{openEvent, modprobe, lookMapped}.choose(ctx, root, want)
}

func (s system) choose(ctx context.Context, root sysroot.Root, want Want) (*Counters, Reason) {
	var r Reason
	for _, source := range want.Sources {
		c, f := s.find(ctx, root, source, want, true)
		r.Findings = append(r.Findings, f)
		if f.Available {
			r.Chosen = source
			if want.Usage {
				c.addUsage()
			}
			return c, r
		}
	}
	return nil, r
}

// Probe reports for each wanted source whether it is available. It opens, reads and closes, and
// changes nothing.
func Probe(ctx context.Context, root sysroot.Root, want Want) []SourceFinding {
	return system{openEvent, modprobe, lookMapped}.probe(ctx, root, want)
}

func (s system) probe(ctx context.Context, root sysroot.Root, want Want) []SourceFinding {
	list := make([]SourceFinding, 0, len(want.Sources))
	for _, source := range want.Sources {
		c, f := s.find(ctx, root, source, want, false)
		if c != nil {
			if err := c.Close(); err != nil {
				f.Notes = append(f.Notes, err.Error())
			}
		}
		list = append(list, f)
	}
	return list
}

// find opens one source.
func (s system) find(ctx context.Context, root sysroot.Root, source string, want Want,
	change bool) (*Counters, SourceFinding) {
	c := &Counters{source: source, close: func() error { return nil }}
	if want.Scope == Execution {
		c.scope = libkrun.PerExecution
	}
	switch source {
	case None:
		return c, SourceFinding{Source: None, Available: true, Why: "the clock alone"}
	case Perf:
		groups, f := findPerf(root, s.open, want)
		c.usePerf(groups)
		return c, f
	case RDPMC:
		place, cycles, f := findSelf(root, s.open, s.look, want)
		if f.Available {
			c.useSelf(place, cycles)
		}
		return c, f
	case MSR:
		list, changed, f := findMSR(ctx, root, s.load, want, change)
		c.useDevices(root, list, changed)
		return c, f
	}
	return nil, SourceFinding{Source: source, Why: "there is no such source; want perf, rdpmc, msr or none"}
}

func (c *Counters) usePerf(groups []opened) {
	for _, g := range groups {
		if g.plan.core == libkrun.NoCore && !g.plan.partial {
			c.tasks = append(c.tasks, g)
		}
		c.groups = append(c.groups, libkrun.Group{
			Source: libkrun.SourcePerf, Columns: len(g.events), File: g.files[0], Partial: g.plan.partial,
		})
		for _, e := range g.events {
			c.columns = append(c.columns, libkrun.Column{Name: e.name, Core: g.plan.core})
		}
	}
	c.close = func() error {
		var errs []error
		for i := range groups {
			errs = append(errs, groups[i].close())
		}
		return errors.Join(errs...)
	}
}

// addUsage adds what the kernel counts for the benchmark's process. It is the first group: see
// layout.h.
func (c *Counters) addUsage() {
	columns := libkrun.UsageColumns()
	c.columns = append(columns, c.columns...)
	c.groups = append([]libkrun.Group{{Source: libkrun.SourceUsage, Columns: len(columns)}}, c.groups...)
}

func (c *Counters) useDevices(root sysroot.Root, list []device, changed []saved) {
	for _, d := range list {
		g := d.group(0)
		c.groups = append(c.groups, g)
		for _, name := range []string{"aperf", "mperf", "cycles"}[:g.Columns] {
			c.columns = append(c.columns, libkrun.Column{Name: name, Core: d.core})
		}
	}
	c.close = func() error { return errors.Join(restore(root, changed), closeDevices(list)) }
}

// Source is the source in use, as the configuration names it.
func (c *Counters) Source() string { return c.source }

// Files are what the measured process must inherit, in this order and under
// numbers without gaps. They belong to c. Empty for the source none.
func (c *Counters) Files() []*os.File {
	var files []*os.File
	for _, g := range c.groups {
		if g.File != nil {
			files = append(files, g.File)
		}
	}
	return files
}

// Apply returns the plan of a buffer with the counters added. first is the number that the first of
// Files has in the measured process, 3 or more. The plan must not have columns yet.
func (c *Counters) Apply(spec libkrun.Spec, first int) (libkrun.Spec, error) {
	if len(spec.Columns) > 0 || len(spec.Groups) > 0 {
		return spec, fmt.Errorf("counters: the plan has %d columns already", len(spec.Columns))
	}
	spec.Scope = c.scope
	spec.Columns = append([]libkrun.Column(nil), c.columns...)
	spec.Groups = append([]libkrun.Group(nil), c.groups...)
	for i := range spec.Groups {
		if spec.Groups[i].File != nil {
			spec.Groups[i].FD = first
			first++
		}
	}
	return spec, nil
}

// Counted returns for how long the counters of the benchmark's threads have counted, the sum over
// the threads, from the exec to their end; known is false with other scopes. A thread whose pinned
// group found no free counter is not in it, and does not show in a reading otherwise
// (kernel/events/core.c of Linux 6.12:675-687, 3983-3987: its times stand still, too).
func (c *Counters) Counted() (least time.Duration, known bool) {
	for _, g := range c.tasks {
		raw := make([]byte, 8*(3+len(g.events)))
		if n, err := g.files[0].Read(raw); err != nil || n != len(raw) {
			return 0, false
		}
		running := time.Duration(binary.NativeEndian.Uint64(raw[16:]))
		if !known || running < least {
			least, known = running, true
		}
	}
	return least, known
}

// Close closes the files and restores what Open changed. It continues after a failure, and may be
// called once.
func (c *Counters) Close() error {
	if err := c.close(); err != nil {
		return fmt.Errorf("close the counters: %w", err)
	}
	return nil
}

// The sources, named as in the configuration.
const (
	Perf = "perf"
	MSR  = "msr"
	None = "none"

	// RDPMC is perf, too, but the counter is read in user space: for iterations of a few
	// microseconds. See findSelf.
	RDPMC = "rdpmc"
)

// The scopes, named as in the configuration.
const (
	PerCore   = "per-core"  // every core, around each iteration: the study's meaning
	Task      = "task"      // the benchmark's threads only, around each iteration
	Execution = "execution" // every core, around all iterations of an execution
)

// Want is what the configuration asks for.
type Want struct {
	Sources []string // tried in this order
	Scope   string
	Cores   []int // nil: all that are online
	// Interrupts adds the numbers of timer and device interrupts to the groups of the source perf.
	Interrupts bool
	Usage      bool // also the faults and context switches of the benchmark's process, with any source
}

// SourceFinding is the result for one source.
type SourceFinding struct {
	Source    string
	Available bool
	Why       string   // why it is not available, with the remedy; or what it provides
	Columns   []string // names of what it counts, when available
	Notes     []string // what it does not count although it could, and why
}

// String is the finding as one line.
func (f SourceFinding) String() string {
	state := "not available"
	if f.Available {
		state = "available"
	}
	return strings.Join(append([]string{fmt.Sprintf("%s: %s: %s", f.Source, state, f.Why)}, f.Notes...), "; ")
}

// Reason is how a source was chosen.
type Reason struct {
	Chosen   string          // "" when none of the wanted sources is available
	Findings []SourceFinding // of the sources in the order they were tried
}

// String is the reason as one line, for the record.
func (r Reason) String() string {
	lines := make([]string, len(r.Findings))
	for i, f := range r.Findings {
		lines[i] = f.String()
	}
	return strings.Join(lines, " | ")
}

// online returns the cores to count on: the wanted ones, or all.
func online(root sysroot.Root, want Want) ([]int, error) {
	if len(want.Cores) > 0 {
		return want.Cores, nil
	}
	cores, err := host.Host{Root: root}.Online()
	if err != nil {
		return nil, fmt.Errorf("find the online cores: %w", err)
	}
	if len(cores) == 0 {
		return nil, errors.New("no core is online")
	}
	return cores, nil
}

// watchdog reports whether the kernel's NMI watchdog runs. It uses a counter of every core: fixed
// counter 1 where there is one.
func watchdog(root sysroot.Root) bool {
	n, err := root.ReadInt("/proc/sys/kernel/nmi_watchdog")
	return err == nil && n != 0
}

// watchdogOff is the remedy.
const watchdogOff = "the NMI watchdog holds a counter of every core: set kernel.nmi_watchdog = 0"

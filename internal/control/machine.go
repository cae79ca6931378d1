package control

import (
	"context"
	"fmt"
	"io"
	"time"

	"krund/internal/machine/host"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
	"krund/internal/msr"
)

// A Machine is everything that controls read and change; tests can replace each part. NewMachine
// returns the current machine. A nil part does not exist on this system; controls that need it
// report that.
type Machine struct {
	host.Host
	// identifies this boot; changes made in another one are void
	Boot     string
	Swap     Swap                                   // swapon(2), swapoff(2)
	Units    Units                                  // services, timers, sockets
	Links    Links                                  // network interfaces
	Accounts Accounts                               // the account for benchmarks
	Bind     func(thread int, cpus host.CPUs) error // lets a thread run on these CPUs only
	Clock    sysroot.Clock                          // for settings with a delay; nil never waits
	// Speeds keeps CPUs busy and measures how fast they run (msr.MeasureSpeeds); nil: it cannot
	Speeds func(ctx context.Context, cpus host.CPUs) ([]msr.Speed, error)

	// Speed keeps a CPU busy for a moment and measures how fast it runs; nil: it cannot
	Speed func(cpu int) (probe.Speed, error)

	oneSpeed *probe.Speed         // see heldSpeed
	held     map[string]io.Closer // devices held open by KindHold steps
	speeds   []msr.Speed          // see Measured
}

// Swap switches swap areas on and off.
type Swap interface {
	Off(device string) error
	On(device string, priority int) error // negative: the kernel chooses
}

// Units starts and stops services and the units that trigger them.
type Units interface {
	// List returns the loaded units whose names match one of the patterns (path.Match).
	List(ctx context.Context, patterns []string) ([]Unit, error)
	// Triggers returns the units that a socket, timer or path starts, loaded or not.
	Triggers(ctx context.Context, name string) ([]string, error)
	// Stop and Start return once the unit is stopped or started.
	Stop(ctx context.Context, name string) error
	Start(ctx context.Context, name string) error
}

// A Unit is a service or a unit that triggers one.
type Unit struct {
	Name        string
	Active      bool
	Running     bool     // of a service: it is up and has a process (sub-state "running")
	TriggeredBy []string // sockets, timers and paths that would start it again
	// units that stop with it, because they require it, are bound to it or are part of it
	NeededBy []string
	// created at run time, as by systemd-run(1): once stopped, it is gone and cannot be started
	// again
	Transient bool
}

// Links brings network interfaces up and down.
type Links interface {
	List() ([]Link, error)
	// Save returns what is lost when the interface goes down (routes, addresses), for Up to
	// restore.
	Save(name string) (string, error)
	Down(name string) error
	// Up brings the interface up and restores what Save returned. changed is false if all of it was
	// in place already.
	Up(name, saved string) (changed bool, err error)
}

// A Link is a network interface.
type Link struct {
	Name     string
	Up       bool // administratively
	Loopback bool
}

// applier makes and restores the changes of one Kind.
type applier interface {
	// do makes the change and returns the value read back. It must be harmless to call it twice.
	do(context.Context, Step) (readBack string, err error)
	// restore restores the old value. It must be harmless if the change was never made, or is
	// restored already.
	restore(context.Context, Step) (Restoration, error)
}

// back restores an old value by set, unless it is in place already; err says that this is unknown.
func back(inPlace bool, err error, set func() error) (Restoration, error) {
	if err == nil && inPlace {
		return Already, nil
	}
	if err == nil {
		err = set()
	}
	if err != nil {
		return Failed, err
	}
	return Restored, nil
}

// applier returns the applier for changes of kind k.
func (m *Machine) applier(k Kind) (applier, error) {
	var a applier
	there := true
	switch k {
	case KindFile:
		a = fileApplier{m: m}
	case KindOnce:
		a = onceApplier{m}
	case KindMSR:
		a = msrApplier{m.Root}
	case KindHold:
		a = holdApplier{m}
	case KindGroup:
		a = groupApplier{m.Root}
	case KindGrant:
		a = grantApplier{m.Root}
	case KindSwap:
		a, there = swapApplier{m}, m.Swap != nil
	case KindUnit:
		a, there = unitApplier{m.Units}, m.Units != nil
	case KindLink:
		a, there = linkApplier{m.Links}, m.Links != nil
	case KindAccount:
		a, there = accountApplier{m.Accounts}, m.Accounts != nil
	case KindThreads:
		a, there = threadApplier{m}, m.Bind != nil
	case KindSlice:
		a, there = sliceApplier{m.Commands}, m.Commands != nil
	case KindSysctl:
		a, there = sysctlApplier{m.Commands}, m.Commands != nil
	case KindPerform:
		a, there = performApplier{m.Commands}, m.Commands != nil
	default:
		there = false
	}
	if !there {
		return nil, fmt.Errorf("changes of kind %q are not supported on this system", k)
	}
	return a, nil
}

// wait waits for a while. Without a clock, or when ctx has ended, it returns at once: the caller
// checks the machine in any case.
func (m *Machine) wait(ctx context.Context, d time.Duration) {
	if m.Clock != nil {
		_ = m.Clock.Sleep(ctx, d)
	}
}

// hold keeps a device open until release; a device that was held under the same name is closed.
func (m *Machine) hold(name string, c io.Closer) {
	if old := m.held[name]; old != nil {
		_ = old.Close() // the new request replaces the old one
	}
	if m.held == nil {
		m.held = map[string]io.Closer{}
	}
	m.held[name] = c
}

// release closes a held device; released is false if it is not held.
func (m *Machine) release(name string) (released bool, err error) {
	c := m.held[name]
	if c == nil {
		return false, nil
	}
	delete(m.held, name)
	return true, c.Close()
}

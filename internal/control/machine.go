package control

import (
	"context"
	"fmt"
	"io"
	"time"

	"krund/internal/host"
	"krund/internal/sysroot"
)

// A Machine is everything that controls read and change, each part replaceable by a test.
// NewMachine fills it for the machine at hand. A nil part is one that the system does not have;
// controls that need it report so.
type Machine struct {
	host.Host
	// identifies this boot; changes made in another one are void
	Boot     string
	Swap     Swap                                   // swapon(2), swapoff(2)
	Units    Units                                  // services, timers, sockets
	Links    Links                                  // network interfaces
	Accounts Accounts                               // the account for benchmarks
	Bind     func(thread int, cpus host.CPUs) error // lets a thread run on these CPUs only
	Clock    sysroot.Clock                          // for settings that take a moment; nil never waits

	held map[string]io.Closer // devices held open by KindHold steps
}

// Swap switches swap areas.
type Swap interface {
	Off(device string) error
	On(device string, priority int) error // negative: let the kernel choose
}

// Units switches services and what starts them.
type Units interface {
	// List returns the loaded units whose names match one of the patterns (path.Match).
	List(ctx context.Context, patterns []string) ([]Unit, error)
	// Triggers returns what a socket, timer or path starts, also when it is not loaded.
	Triggers(ctx context.Context, name string) ([]string, error)
	// Stop and Start return when the unit is stopped or started.
	Stop(ctx context.Context, name string) error
	Start(ctx context.Context, name string) error
}

// A Unit is a service, or what starts one.
type Unit struct {
	Name        string
	Active      bool
	TriggeredBy []string // sockets, timers and paths that would start it again
	// units that stop with it, because they require it, are bound to it or are part of it
	NeededBy []string
	// made while the system runs, as by systemd-run(1): stopped, it is forgotten and cannot be
	// started again
	Transient bool
}

// Links switches network interfaces.
type Links interface {
	List() ([]Link, error)
	// Save returns what is lost when the interface goes down (routes, addresses), for Up to put
	// back.
	Save(name string) (string, error)
	Down(name string) error
	// Up brings the interface up and puts back what Save returned. changed is false when all of it
	// was there already.
	Up(name, saved string) (changed bool, err error)
}

// A Link is a network interface.
type Link struct {
	Name     string
	Up       bool // administratively
	Loopback bool
}

// applier makes and takes back the changes of one Kind.
type applier interface {
	// do makes the change and returns what reads back. It must be harmless to do it twice.
	do(context.Context, Step) (readBack string, err error)
	// undo takes the change back. It must be harmless when the change was never made, or was taken
	// back already.
	undo(context.Context, Step) (Outcome, error)
}

// applier returns who changes things of kind k.
func (m *Machine) applier(k Kind) (applier, error) {
	switch k {
	case KindFile:
		return fileApplier{m: m}, nil
	case KindMSR:
		return msrApplier{m.Root}, nil
	case KindHold:
		return holdApplier{m}, nil
	case KindGroup:
		return groupApplier{m.Root}, nil
	case KindGrant:
		return grantApplier{m.Root}, nil
	case KindSwap:
		if m.Swap != nil {
			return swapApplier{m}, nil
		}
	case KindUnit:
		if m.Units != nil {
			return unitApplier{m.Units}, nil
		}
	case KindLink:
		if m.Links != nil {
			return linkApplier{m.Links}, nil
		}
	case KindAccount:
		if m.Accounts != nil {
			return accountApplier{m.Accounts}, nil
		}
	case KindThreads:
		if m.Bind != nil {
			return threadApplier{m}, nil
		}
	case KindSlice:
		if m.Commands != nil {
			return sliceApplier{m.Commands}, nil
		}
	case KindSysctl:
		if m.Commands != nil {
			return sysctlApplier{m.Commands}, nil
		}
	case KindPerform:
		if m.Commands != nil {
			return performApplier{m.Commands}, nil
		}
	}
	return nil, fmt.Errorf("this system cannot change things of kind %q", k)
}

// wait lets time pass. It returns without having waited when there is no clock or ctx has ended:
// what follows looks at the machine anyway.
func (m *Machine) wait(ctx context.Context, d time.Duration) {
	if m.Clock != nil {
		_ = m.Clock.Sleep(ctx, d)
	}
}

// hold remembers an open device until release; one that is held already is let go of.
func (m *Machine) hold(name string, c io.Closer) {
	if old := m.held[name]; old != nil {
		_ = old.Close() // the new wish replaces the old one
	}
	if m.held == nil {
		m.held = map[string]io.Closer{}
	}
	m.held[name] = c
}

// release closes a held device; released is false when it is not held.
func (m *Machine) release(name string) (released bool, err error) {
	c := m.held[name]
	if c == nil {
		return false, nil
	}
	delete(m.held, name)
	return true, c.Close()
}

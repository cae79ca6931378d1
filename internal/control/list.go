// Package control prepares a machine for trustworthy measurements, verifies each setting by reading
// it back, and restores the machine afterwards.
//
// Each setting (a Control) is a small file of its own: smt.go, governor.go, turbo.go,
// irqaffinity.go, ... A control works in three parts:
//
//  1. It reads a few kernel files and parses them (parsers are pure and compiled on every system).
//  2. It plans: what was found, what is wanted, and the Steps that lead there. A plan only reads.
//  3. An engine that all controls share (apply.go) writes the steps to the Journal and syncs it,
//     makes each change, reads it back, and restores all of them when one fails. A control is
//     applied completely or not at all.
//
// A step holds what is needed to restore it. So krund itself, `krunctl repair --machine` after a
// crash (restore.go) and the guard that outlives krund (package guard) use the same code. A step of
// another boot is void: no setting that krund changes survives a reboot, because krund writes no
// file that is read at boot and enables, disables or masks no service. Only the account for
// benchmarks survives.
//
// Checks return Findings, which a Table prints. A machine that is unfit to measure yields Problems,
// each with a fix; an error means that a check or a change itself failed.
//
// Each control declares itself in a Descriptor in its own file; list.go lists them in the order of
// work. The configuration's parser, `krunctl check` and the documentation are derived from the
// descriptors. Start at Linux (list.go), then CheckAll and ApplyAll in apply.go. To add a control,
// write x.go with its descriptor and its test, add a line to the list, and run `make generate`.
package control

import (
	"context"
	"runtime"
	"slices"

	"krund/internal/experiment/config/setting"
)

// A Descriptor declares a control: its documentation, what it may change, and how.
type Descriptor struct {
	setting.Descriptor
	targets []target // what its plans may change; nothing else is restored
	// plan compares the machine with what is asked of this control and of all. It only reads.
	plan    func(context.Context, *Machine, setting.Demand, Request) Plan
	environ func(setting.Demand) string // of a benchmark: "NAME=value"; nil for none
	effect  effect                      // nil: the value that is read back is all there is to check
}

// fixed is the plan of a control without options.
func fixed(p func(context.Context, *Machine) Plan) func(context.Context, *Machine, setting.Demand,
	Request) Plan {
	return func(ctx context.Context, m *Machine, _ setting.Demand, _ Request) Plan { return p(ctx, m) }
}

// A Request is everything that is asked of a machine: the demands of the configuration, one for
// each control, and the other inputs of plans.
type Request struct {
	setting.Demands
	Heap int64 // memory limit of a benchmark in bytes, for which overcommit leaves room; 0: none
}

// Defaults requests the settings of the warmup study ("Virtual Machine Warmup Blows Hot and Cold",
// section 3.5): what Krun set or insisted on is required, and what it did not touch is off.
// Settings that the study made in the firmware, or that have no disadvantage, have the policy
// apply.
func Defaults() Request { return Request{Demands: setting.Defaults(Descriptors())} }

// CPUs returns the CPUs that benchmarks run on in list form; "" means all online CPUs except the
// lowest.
func (r Request) CPUs() string { return r.Of("shield").Text("cpus") }

// Linux returns the controls of Linux in the order of work; they are restored in reverse order.
//
// Sibling threads go offline first, because the other controls concern the CPUs that stay online.
// For governor, turbo and limits see governor.go and frequency.go. Swap comes before overcommit,
// which counts it. Timers stop before services, so that none starts a service again. Services stop
// before interrupts are moved (irqbalance) and CPUs are shielded.
// The network goes down last and comes up first; the caches are emptied after all else.
func Linux() []Descriptor {
	return []Descriptor{
		smt,
		frequencyGovernor,
		turbo,
		frequencyLimits,
		energyPerfBias,
		uncore,
		cstates,
		clocksource,
		tickless,
		isolcpus,
		placement,
		perfRate,
		nmiWatchdog,
		softWatchdog,
		aslr,
		swap,
		overcommit,
		thp,
		khugepaged,
		ksm,
		numaBalancing,
		writeback,
		compaction,
		statInterval,
		rtThrottle,
		timerMigration,
		timers,
		services,
		irqAffinity,
		rps,
		workqueues,
		cacheWays,
		weight,
		shield,
		network,
		caches,
	}
}

// OpenBSD returns the controls of OpenBSD in the order of work. There is no turbo switch, no
// binding to CPUs, and address space layout randomization cannot be switched off.
func OpenBSD() []Descriptor {
	return []Descriptor{
		apm,
		malloc,
		services,
		network,
	}
}

// Descriptors returns the descriptors of all controls on all systems, each name once: a
// configuration for one system can be parsed on another.
func Descriptors() []setting.Descriptor {
	var list []setting.Descriptor
	for _, d := range append(Linux(), OpenBSD()...) {
		if !slices.ContainsFunc(list, func(e setting.Descriptor) bool { return e.Name == d.Name }) {
			list = append(list, d.Descriptor)
		}
	}
	return list
}

// system returns the controls of the current system. All plans are compiled on every system, so
// that they can be tested on one.
func system() []Descriptor {
	switch runtime.GOOS {
	case "linux":
		return Linux()
	case "openbsd":
		return OpenBSD()
	}
	return nil
}

// Controls returns the controls of this system in the order of work, with their demands.
func Controls(r Request) []Control {
	var list []Control
	for _, d := range system() {
		list = append(list, d.control(r))
	}
	return list
}

func (d Descriptor) control(r Request) Control {
	demand := r.Of(d.Name)
	return Control{Descriptor: d, Policy: demand.Policy, demand: demand, request: r}
}

// Environment returns the environment entries that the controls add for a benchmark.
func Environment(r Request) []string {
	var env []string
	for _, d := range system() {
		if d.environ == nil {
			continue
		}
		if entry := d.environ(r.Of(d.Name)); entry != "" {
			env = append(env, entry)
		}
	}
	return env
}

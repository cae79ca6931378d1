package msr

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// event is an event that perf can count.
type event struct {
	name   string // of the column
	kind   uint32 // perf_event_attr.type
	config uint64
}

// Numbers of linux/perf_event.h, so that plans can be made on every system.
const (
	typeHardware   = 0
	typeSoftware   = 1
	typeTracepoint = 2

	hardwareCycles       = 0
	hardwareInstructions = 1

	softwareFaults     = 2
	softwareSwitches   = 3
	softwareMigrations = 4

	pmuShift = 32 // a hardware event of one PMU of several has the PMU's type in these bits
)

const devices = "/sys/bus/event_source/devices"

// parseEvent reads the text of an event in sysfs whose only field is the whole
// config: "event=0x01".
func parseEvent(text string) (uint64, error) {
	value, ok := strings.CutPrefix(strings.TrimSpace(text), "event=")
	config, err := strconv.ParseUint(value, 0, 64)
	if err != nil || !ok {
		return 0, fmt.Errorf("event %q: want event=NUMBER", text)
	}
	return config, nil
}

// msrEvent returns an event of the msr PMU. The kernel lists those that the processor has.
func msrEvent(root sysroot.Root, name string) (event, error) {
	kind, err := root.ReadInt(devices + "/msr/type")
	if err != nil {
		return event{}, fmt.Errorf("the kernel has no msr PMU: %w", err)
	}
	text, err := root.Read(devices + "/msr/events/" + name)
	if err != nil {
		return event{}, fmt.Errorf("the processor does not show %s: %w", name, err)
	}
	config, err := parseEvent(text)
	return event{name: name, kind: uint32(kind), config: config}, err
}

// tracepoints is where the kernel lists them if tracefs is mounted: Documentation/trace/events.rst.
const tracepoints = "/sys/kernel/tracing/events"

// interruptEvents are the tracepoints of the local timer (Linux 6.12,
// arch/x86/kernel/apic/apic.c:1054; elsewhere its interrupts are like those of devices) and of
// device interrupts (kernel/irq/handle.c:157, kernel/irq/chip.c:941). notes are what is missing,
// and why.
func interruptEvents(root sysroot.Root) (list []event, notes []string) {
	for _, e := range []struct{ name, tracepoint string }{
		{"timer_interrupts", "irq_vectors/local_timer_entry"},
		{"device_interrupts", "irq/irq_handler_entry"},
	} {
		id, err := root.ReadInt(tracepoints + "/" + e.tracepoint + "/id")
		if err != nil {
			why := "this kernel has no tracepoint " + e.tracepoint + ": " + err.Error()
			if len(root.List(tracepoints)) == 0 {
				why = "tracefs is not mounted: mount -t tracefs nodev /sys/kernel/tracing"
			}
			notes = append(notes, "no "+e.name+": "+why)
			continue
		}
		list = append(list, event{e.name, typeTracepoint, uint64(id)})
	}
	return list, notes
}

// corePMU is the PMU of one kind of core on a hybrid processor.
type corePMU struct {
	name  string
	kind  uint64
	cores []int
}

// hybridPMUs lists the kinds of cores; nil when they are all alike.
func hybridPMUs(root sysroot.Root) ([]corePMU, error) {
	found, err := root.Glob(devices + "/cpu_*/cpus")
	if err != nil {
		return nil, err
	}
	var list []corePMU
	for _, name := range found {
		dir := path.Dir(name)
		kind, err := root.ReadInt(dir + "/type")
		cores, coresErr := host.Host{Root: root}.ReadCPUs(name)
		if err := cmp.Or(err, coresErr); err != nil {
			return nil, err
		}
		list = append(list, corePMU{path.Base(dir), uint64(kind), cores})
	}
	return list, nil
}

// groupPlan is a group to open.
type groupPlan struct {
	core      int     // libkrun.NoCore: the calling thread and its children
	essential []event // the group needs all of these
	extra     []event // optional
	partial   bool
}

// perfPlan returns the groups to open. notes are what is left out, and why.
func perfPlan(root sysroot.Root, want Want, cores []int) (groups []groupPlan, notes []string, err error) {
	var ratio, extra []event
	for _, name := range []string{"aperf", "mperf"} {
		if e, err := msrEvent(root, name); err == nil {
			ratio = append(ratio, e)
		} else {
			notes = append(notes, "no "+name+": "+err.Error())
		}
	}
	if len(ratio) == 1 {
		ratio = nil // each is useless without the other
	}
	extra = append(extra,
		event{"context_switches", typeSoftware, softwareSwitches},
		event{"migrations", typeSoftware, softwareMigrations},
		event{"page_faults", typeSoftware, softwareFaults})
	if e, err := msrEvent(root, "smi"); err == nil {
		extra = append(extra, e)
	}
	if want.Interrupts {
		events, missing := interruptEvents(root)
		extra, notes = append(extra, events...), append(notes, missing...)
	}
	pmus, err := hybridPMUs(root)
	if err != nil {
		return nil, nil, err
	}
	if want.Scope == Task {
		return taskPlan(pmus, ratio, extra), notes, nil
	}
	for _, core := range cores {
		upper, err := pmuOf(pmus, core)
		if err != nil {
			return nil, nil, err
		}
		groups = append(groups, groupPlan{
			core:      core,
			essential: slices.Concat(ratio, hardware("", upper)[:1]),
			extra:     slices.Concat(hardware("", upper)[1:], extra),
		})
	}
	return groups, notes, nil
}

// taskPlan counts what the benchmark's threads do. A thread may move between kinds of cores, and
// one group cannot count on both, so there is a group for each kind.
func taskPlan(pmus []corePMU, ratio, extra []event) []groupPlan {
	const task = -1
	if len(pmus) == 0 {
		return []groupPlan{{core: task, extra: slices.Concat(ratio, hardware("", 0), extra)}}
	}
	groups := []groupPlan{{core: task, extra: slices.Concat(ratio, extra)}}
	for _, p := range pmus {
		groups = append(groups, groupPlan{core: task, extra: hardware("."+p.name, p.kind), partial: true})
	}
	return groups
}

// hardware are cycles and instructions as counted by one PMU; 0 is the only one.
func hardware(suffix string, pmu uint64) []event {
	return []event{
		{"cycles" + suffix, typeHardware, pmu<<pmuShift | hardwareCycles},
		{"instructions" + suffix, typeHardware, pmu<<pmuShift | hardwareInstructions},
	}
}

// pmuOf returns the PMU of a core; 0 when there is only one kind.
func pmuOf(pmus []corePMU, core int) (uint64, error) {
	for _, p := range pmus {
		if slices.Contains(p.cores, core) {
			return p.kind, nil
		}
	}
	if len(pmus) > 0 {
		return 0, fmt.Errorf("core %d belongs to no PMU in %s", core, devices)
	}
	return 0, nil
}

package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
)

// IRQAffinitySettings asks for interrupts of devices to stay away from the benchmark CPUs.
type IRQAffinitySettings struct{ Policy Policy }

const irqDir = "/proc/irq"

// irqAffinity moves every interrupt to the CPUs that benchmarks do not use (docs.kernel.org, core-api/irq/irq-affinity). Interrupts that the
// kernel manages itself, and some of the chipset, refuse with EIO: that is recorded, and no fault. irqbalance would move them back: stop
// it with the services control.
func irqAffinity(s IRQAffinitySettings, benchmark string) Control {
	return Control{
		Name: "irq_affinity", Policy: s.Policy,
		Why: "interrupts of disks and network cards stop whatever runs on their CPU",
		plan: func(_ context.Context, m *Machine) Plan {
			cpus, online, err := m.benchmarkCPUs(benchmark)
			if err != nil {
				return cannot("unknown", "away from benchmark CPUs", err.Error(), "")
			}
			return planIRQs(m, cpus, online.Minus(cpus))
		},
	}
}

// planIRQs moves the interrupts that may run on a benchmark CPU to the others.
func planIRQs(m *Machine, cpus, others CPUs) Plan {
	wanted := "CPU " + others.String()
	if len(cpus) == 0 {
		return cannot("all on CPU "+others.String(), "away from the benchmark CPU", "there is only one CPU", "measure on a machine with two CPUs or more")
	}
	var steps []Step
	total := 0
	for _, name := range m.Root.List(irqDir) {
		if _, err := strconv.Atoi(name); err != nil {
			continue
		}
		file := path.Join(irqDir, name, "smp_affinity_list")
		text, err := m.Root.Read(file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && !m.Root.Exists(file) {
			continue
		}
		set, perr := ParseCPUList(text)
		if err := errors.Join(err, perr); err != nil {
			return unreadable(wanted, err)
		}
		total++
		if !m.onlyOn(name, set, others) {
			steps = append(steps, Step{Kind: KindFile, Target: file, Old: set.String(), New: others.String(), Form: FormCPUList, Optional: true})
		}
	}
	if step, err := defaultAffinity(m, others); err != nil {
		return unreadable(wanted, err)
	} else if step != nil {
		steps = append(steps, *step)
	}
	found := fmt.Sprintf("%d of %d away from CPU %s", total-countIRQs(steps), total, cpus)
	if len(steps) == 0 {
		return ok(found, wanted)
	}
	return willSet(found, wanted, steps...)
}

// onlyOn tells whether an interrupt stays on the given CPUs: by its setting, or by where the kernel really delivers it.
func (m *Machine) onlyOn(irq string, set, others CPUs) bool {
	if others.Contains(set) {
		return true
	}
	text, err := m.Root.Read(path.Join(irqDir, irq, "effective_affinity_list"))
	if err != nil {
		return false
	}
	effective, err := ParseCPUList(text)
	return err == nil && len(effective) == 0 // nothing is delivered: the interrupt has no handler
}

// defaultAffinity returns the step that sends interrupts yet to come to the given CPUs, nil when they go there.
func defaultAffinity(m *Machine, others CPUs) (*Step, error) {
	const file = irqDir + "/default_smp_affinity"
	text, err := m.Root.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	set, perr := ParseCPUMask(text)
	if err := errors.Join(err, perr); err != nil {
		return nil, err
	}
	if others.Contains(set) {
		return nil, nil
	}
	return &Step{Kind: KindFile, Target: file, Old: text, New: others.Mask(), Form: FormCPUMask, Optional: true}, nil
}

// countIRQs counts the steps that move single interrupts.
func countIRQs(steps []Step) int {
	n := 0
	for _, s := range steps {
		if s.Form == FormCPUList {
			n++
		}
	}
	return n
}

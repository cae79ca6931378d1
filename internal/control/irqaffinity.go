package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
)

const (
	irqDir         = "/proc/irq"
	defaultIRQFile = irqDir + "/default_smp_affinity"
)

// irqAffinity moves every interrupt to the CPUs that benchmarks do not use (docs.kernel.org,
// core-api/irq/irq-affinity). Moving interrupts that the kernel manages itself, and some of the
// chipset, fails with EIO; that is recorded and not an error. irqbalance would move interrupts
// back; the services control can stop it.
var irqAffinity = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "irq_affinity", Policy: setting.Off,
		Brief: "device interrupts go to the other CPUs",
		Why:   "interrupts of disks and network cards preempt the code that runs on their CPU",
		What:  "`/proc/irq/*/smp_affinity_list`, `default_smp_affinity`",
		Notes: "interrupts that the kernel manages itself cannot be moved; the row names these and " +
			"unreadable ones, which is not an error. irqbalance moves interrupts back: stop it with " +
			"`services`",
	},
	targets: append(files(isCPUList, irqDir+"/[0-9]*/smp_affinity_list"),
		files(isCPUMask, defaultIRQFile)...),
	plan: func(_ context.Context, m *Machine, _ setting.Demand, r Request) Plan {
		cpus, online, err := m.PlannedCPUs(r)
		if err != nil {
			return cannot("unknown", "away from benchmark CPUs", err.Error(), "")
		}
		return planIRQs(m, cpus, online.Minus(cpus))
	},
}

// planIRQs moves the interrupts that may run on a benchmark CPU to the others. An interrupt that
// cannot be read is named and does not prevent moving the others.
func planIRQs(m *Machine, cpus, others host.CPUs) Plan {
	wanted := "CPU " + others.String()
	if len(cpus) == 0 {
		return tooFew(m, "all on CPU "+others.String(), "away from the benchmark CPU", others)
	}
	var steps []Step
	var unknown []error
	total := 0
	for _, name := range m.Root.List(irqDir) {
		if _, err := strconv.Atoi(name); err != nil {
			continue
		}
		file := path.Join(irqDir, name, "smp_affinity_list")
		set, err := m.ReadCPUs(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // freed in the meantime, or without an affinity
		}
		total++
		if err != nil {
			unknown = append(unknown, err)
		} else if !m.onlyOn(name, set, others) {
			steps = append(steps, Step{Kind: KindFile, Target: file, Old: set.String(),
				New: others.String(), Form: FormCPUList, Optional: true})
		}
	}
	if total == 0 {
		return cannot("unknown", wanted, "this kernel shows no interrupts in "+irqDir, "")
	}
	if len(unknown) == total {
		return unreadable(wanted, unknown[0])
	}
	if step, err := defaultAffinity(m, others); err != nil {
		return unreadable(wanted, err)
	} else if step != nil {
		steps = append(steps, *step)
	}
	p := ok(fmt.Sprintf("%d of %d away from CPU %s", total-len(unknown)-countIRQs(steps), total, cpus),
		wanted)
	if len(steps) > 0 {
		p.Status, p.Steps = setting.StatusWillSet, steps
	}
	p.Detail = remark(unknown, "unreadable")
	return p
}

// onlyOn reports whether an interrupt stays on the given CPUs, by its setting or because it is not
// delivered at all.
func (m *Machine) onlyOn(irq string, set, others host.CPUs) bool {
	if others.Contains(set) {
		return true
	}
	effective, err := m.ReadCPUs(path.Join(irqDir, irq, "effective_affinity_list"))
	return err == nil && len(effective) == 0 // the interrupt has no handler
}

// defaultAffinity returns the step that sends future interrupts to the given CPUs, nil if they
// already go there.
func defaultAffinity(m *Machine, others host.CPUs) (*Step, error) {
	text, err := m.Root.Read(defaultIRQFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	set, err := host.ParseCPUMask(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", defaultIRQFile, err)
	}
	if others.Contains(set) {
		return nil, nil
	}
	return &Step{Kind: KindFile, Target: defaultIRQFile, Old: text, New: others.Mask(), Form: FormCPUMask,
		Optional: true}, nil
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

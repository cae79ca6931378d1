package control

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
)

const rpsFiles = "/sys/class/net/*/queues/rx-*/rps_cpus"

// rps keeps received packets away from the CPUs of benchmarks (docs.kernel.org, networking/scaling,
// "RPS: Receive Packet Steering"; net/core/net-sysfs.c of Linux 6.1:832, 6.12:908). An empty mask
// switches it off for a queue: then the CPU of its interrupt processes the packets, which
// irq_affinity sets.
var rps = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "rps_cpus", Policy: setting.Off,
		Brief: "received packets are processed on the other CPUs",
		Why:   "the kernel interrupts the CPUs in these masks to process packets",
		What:  "`/sys/class/net/*/queues/rx-*/rps_cpus` without the benchmark CPUs",
		Notes: "for machines that keep their network: `network` takes the interfaces down. " +
			"The CPU of an interrupt is set by `irq_affinity`",
	},
	targets: files(isCPUMask, rpsFiles),
	plan: func(_ context.Context, m *Machine, _ setting.Demand, r Request) Plan {
		cpus, _, err := m.PlannedCPUs(r)
		if err != nil {
			return cannot("unknown", "without benchmark CPUs", err.Error(), "")
		}
		return planRPS(m, cpus)
	},
}

func planRPS(m *Machine, cpus host.CPUs) Plan {
	wanted := "without CPU " + cpus.String()
	queues, err := m.Root.Glob(rpsFiles)
	if err != nil {
		return unreadable(wanted, err)
	}
	var steps []Step
	for _, file := range queues {
		text, err := m.Root.Read(file)
		if err != nil {
			return unreadable(wanted, err)
		}
		mask, err := host.ParseCPUMask(text)
		if err != nil {
			return unreadable(wanted, fmt.Errorf("read %s: %w", file, err))
		}
		if rest := mask.Minus(cpus); !rest.Equal(mask) {
			steps = append(steps, Step{Kind: KindFile, Target: file, Old: text, New: rest.Mask(),
				Form: FormCPUMask})
		}
	}
	if len(steps) == 0 {
		return ok(fmt.Sprintf("%d queues", len(queues)), wanted)
	}
	var names []string
	for _, s := range steps {
		names = append(names, strings.Split(s.Target, "/")[4])
	}
	return willSet(fmt.Sprintf("%d of %d queues use them: %s", len(steps), len(queues),
		strings.Join(slices.Compact(names), ", ")), wanted, steps...)
}

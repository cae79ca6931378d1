package control

import (
	"context"

	"krund/internal/experiment/config/setting"
)

// workqueues keeps unbound work of the kernel off the benchmark's CPUs (docs.kernel.org,
// core-api/workqueue, "Affinity Scopes"). Only nohz_full= and isolated partitions do that by
// themselves (kernel/sched/isolation.c of Linux 6.12:198, kernel/cgroup/cpuset.c:1355).
var workqueues = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "workqueues", Policy: setting.Off,
		Brief: "unbound work of the kernel on the other CPUs",
		Why:   "kworkers run what drivers and file systems put off, on any CPU",
		What: "`/sys/devices/virtual/workqueue/cpumask` and `writeback/cpumask` = the CPUs that " +
			"benchmarks leave",
		Notes: "work that is bound to a CPU follows the interrupts there: `irq_affinity`",
	},
	targets: files(isCPUMask, workqueueMask, writebackMask),
	plan: func(ctx context.Context, m *Machine, _ setting.Demand, r Request) Plan {
		cpus, online, err := m.PlannedCPUs(r)
		others := online.Minus(cpus)
		switch {
		case err != nil:
			return cannot(unknown, "other CPUs", err.Error(), "correct controls.shield.cpus")
		case len(cpus) == 0:
			return tooFew(m, unknown, "other CPUs", online)
		}
		p := sysfile{path: workqueueMask, want: others.Mask(), form: FormCPUMask}.plan(ctx, m)
		if q := (sysfile{path: writebackMask, want: others.Mask(), form: FormCPUMask}).plan(ctx,
			m); p.Status != setting.StatusCannot && q.Status == setting.StatusWillSet {
			p.Status, p.Steps = setting.StatusWillSet, append(p.Steps, q.Steps...)
		}
		return p
	},
}

const (
	workqueueMask = "/sys/devices/virtual/workqueue/cpumask"
	writebackMask = "/sys/devices/virtual/workqueue/writeback/cpumask"
)

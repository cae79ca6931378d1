package child

import (
	"cmp"
	"fmt"
	"slices"

	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
)

// mostBusy is how many threads are named in a record.
const mostBusy = 10

// thread is one thread as /proc shows it.
type thread struct {
	name   string
	start  uint64 // clock ticks after boot
	kernel bool
	cpu    int // processor it was last on
	used   results.Activity
}

// kernelFlag is PF_KTHREAD of the kernel's linux/sched.h, in the flags of proc_pid_stat(5).
const kernelFlag = 0x00200000

// parseThread reads the fields of /proc/PID/stat that matter here.
func parseThread(text []byte) (thread, error) {
	s, err := sysroot.ParseProcessStat(string(text))
	if err == nil && s.CPU < 0 {
		err = fmt.Errorf("%.80q: no processor", text)
	}
	if err != nil {
		return thread{}, err
	}
	return thread{name: s.Name, start: s.Start, kernel: s.Flags&kernelFlag != 0, cpu: s.CPU}, nil
}

// kernelActivity is what the kernel's threads did between two snapshots, by thread number; threads
// created in between count in full. cpus are the benchmark's processors, nil for all.
func kernelActivity(before, after map[int]thread, cpus []int) *results.KernelThreads {
	k := &results.KernelThreads{Busiest: []results.KernelThread{}}
	for id, now := range after {
		if !now.kernel {
			continue
		}
		did := now.used
		if old, ok := before[id]; ok && old.start == now.start {
			did.CPUNS -= old.used.CPUNS
			did.Runs -= old.used.Runs
		}
		if did.CPUNS <= 0 && did.Runs <= 0 {
			continue
		}
		add(&k.All, did)
		if cpus == nil || slices.Contains(cpus, now.cpu) {
			add(&k.Benchmark, did)
		}
		k.Busiest = append(k.Busiest, results.KernelThread{Name: now.name, CPU: now.cpu, Activity: did})
	}
	slices.SortFunc(k.Busiest, func(a, b results.KernelThread) int {
		return cmp.Or(cmp.Compare(b.CPUNS, a.CPUNS), cmp.Compare(b.Runs, a.Runs),
			cmp.Compare(a.Name, b.Name))
	})
	k.Busiest = k.Busiest[:min(len(k.Busiest), mostBusy)]
	return k
}

func add(to *results.Activity, a results.Activity) {
	to.CPUNS += a.CPUNS
	to.Runs += a.Runs
}

// wakeUps is how often the threads were scheduled onto a processor between two snapshots.
func wakeUps(before, after map[int]thread) int64 {
	var runs int64
	for id, now := range after {
		runs += now.used.Runs
		if old, ok := before[id]; ok && old.start == now.start {
			runs -= old.used.Runs
		}
	}
	return runs
}

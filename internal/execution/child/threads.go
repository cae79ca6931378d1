package child

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"krund/internal/machine/sysroot"
)

// Activity is how long threads ran, and how often they were scheduled onto a processor.
type Activity struct {
	CPU  time.Duration
	Runs int64
}

func (a *Activity) add(b Activity) {
	a.CPU += b.CPU
	a.Runs += b.Runs
}

// KernelThreads is what the kernel's own threads did.
type KernelThreads struct {
	All       Activity
	Benchmark Activity       // those whose last processor is one of the benchmark's
	Busiest   []KernelThread // the mostBusy that ran longest, in that order
}

// KernelThread is one of the kernel's threads.
type KernelThread struct {
	Name    string
	LastCPU int // processor it was last on
	Activity
}

// mostBusy is how many threads are named in a record.
const mostBusy = 10

// thread is one thread as /proc shows it.
type thread struct {
	name   string
	start  uint64 // clock ticks after boot
	kernel bool
	cpu    int // processor it was last on
	used   Activity
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
func kernelActivity(before, after map[int]thread, cpus []int) *KernelThreads {
	k := &KernelThreads{Busiest: []KernelThread{}}
	for id, now := range after {
		if !now.kernel {
			continue
		}
		did := now.used
		if old, ok := before[id]; ok && old.start == now.start {
			did.CPU -= old.used.CPU
			did.Runs -= old.used.Runs
		}
		if did.CPU <= 0 && did.Runs <= 0 {
			continue
		}
		k.All.add(did)
		if cpus == nil || slices.Contains(cpus, now.cpu) {
			k.Benchmark.add(did)
		}
		k.Busiest = append(k.Busiest, KernelThread{now.name, now.cpu, did})
	}
	slices.SortFunc(k.Busiest, func(a, b KernelThread) int {
		return cmp.Or(-cmp.Compare(a.CPU, b.CPU), -cmp.Compare(a.Runs, b.Runs), cmp.Compare(a.Name, b.Name))
	})
	k.Busiest = k.Busiest[:min(len(k.Busiest), mostBusy)]
	return k
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

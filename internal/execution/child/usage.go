package child

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"golang.org/x/sys/unix"

	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
)

// quietRuntime makes the Go runtime as quiet as possible and returns the function that ends that.
// It collects garbage and returns memory now instead of during the wait. It also limits Go code to
// one processor: the runtime's monitor thread then goes to sleep at once when the only goroutine
// waits in poll(2), instead of waking up some fifty times first (runtime.retake: without idle
// processors it immediately takes the one in the system call away).
func quietRuntime() (restore func()) {
	debug.FreeOSMemory()
	percent := debug.SetGCPercent(-1) // also stops the collection forced every two minutes
	procs := runtime.GOMAXPROCS(1)
	return func() {
		runtime.GOMAXPROCS(procs)
		debug.SetGCPercent(percent)
	}
}

// meter measures what the daemon has used since the meter was made.
type meter struct {
	cpu    int64
	rusage unix.Rusage
	rss    int64
}

func newMeter() meter {
	m := meter{rss: residentBytes()}
	_ = unix.Getrusage(unix.RUSAGE_SELF, &m.rusage) // cannot fail with these arguments
	m.cpu = processCPU(&m.rusage)
	return m
}

// usage reads the times first and the size last, because reading the size costs more.
func (m meter) usage() results.Daemon {
	var ru unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &ru)
	cpu := processCPU(&ru)
	return results.Daemon{
		CPUNS:               cpu - m.cpu,
		VoluntarySwitches:   int64(ru.Nvcsw - m.rusage.Nvcsw),
		InvoluntarySwitches: int64(ru.Nivcsw - m.rusage.Nivcsw),
		RSSBeforeBytes:      m.rss,
		RSSBytes:            residentBytes(),
	}
}

// threadActivity is a snapshot of the threads of the daemon and of the kernel before a run. The
// snapshots are taken before the benchmark's process is made and after its end was seen, because
// reading them opens a file for each thread.
type threadActivity struct {
	own, kernel map[int]thread
}

func readThreadActivity() threadActivity {
	return threadActivity{kernel: kernelThreads(), own: ownThreads()}
}

// addTo adds what the threads have done since the snapshot to a usage. cpus are the benchmark's
// processors, nil for all.
func (n threadActivity) addTo(u *results.Daemon, cpus []int) {
	if own := ownThreads(); own != nil && n.own != nil {
		runs := wakeUps(n.own, own)
		u.WakeUps = &runs
	}
	if kernel := kernelThreads(); kernel != nil && n.kernel != nil {
		u.KernelThreads = kernelActivity(n.kernel, kernel, cpus)
	}
}

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

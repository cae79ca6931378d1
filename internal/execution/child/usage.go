package child

import (
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"krund/internal/experiment/results"
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

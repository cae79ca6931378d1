//go:build cgo

package msr

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	libkrun "krund/cgo"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// BenchmarkSources reports what an empty iteration costs with each source, in
// nanoseconds for krun_begin and krun_end together: with the counters of the core
// it runs on, of another core, of all, and of its own thread.
func BenchmarkSources(b *testing.B) {
	root := sysroot.New("/")
	cases := []struct {
		name string
		want Want
	}{
		{"none", Want{Sources: []string{None}}},
		{"none+usage", Want{Sources: []string{None}, Usage: true}},
		{"perf/task", Want{Sources: []string{Perf}, Scope: Task}},
		{"perf/task+interrupts", Want{Sources: []string{Perf}, Scope: Task, Interrupts: true}},
		{"perf/local", Want{Sources: []string{Perf}, Scope: PerCore, Cores: []int{0}}},
		{"perf/remote", Want{Sources: []string{Perf}, Scope: PerCore, Cores: []int{1}}},
		{"perf/all", Want{Sources: []string{Perf}, Scope: PerCore}},
		{"perf/execution", Want{Sources: []string{Perf}, Scope: Execution}},
		{"msr/local", Want{Sources: []string{MSR}, Scope: PerCore, Cores: []int{0}}},
		{"msr/remote", Want{Sources: []string{MSR}, Scope: PerCore, Cores: []int{1}}},
		{"msr/all", Want{Sources: []string{MSR}, Scope: PerCore}},
		{"msr/execution", Want{Sources: []string{MSR}, Scope: Execution}},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			runtime.LockOSThread() // and not unlocked: the thread is bound to one core now
			var here unix.CPUSet
			here.Set(0)
			if err := unix.SchedSetaffinity(0, &here); err != nil {
				b.Skip(err)
			}
			counters, reason := system{openSelf, modprobe, lookMapped}.choose(b.Context(), root, c.want)
			if counters == nil {
				b.Skip(reason)
			}
			defer func() { _ = counters.Close() }()
			b.Log(reason)
			const each = 20_000
			least := time.Hour
			for b.Loop() {
				least = min(least, timeIterations(b, counters, each))
			}
			b.ReportMetric(float64(least.Nanoseconds())/each, "ns/iteration")
			b.ReportMetric(0, "ns/op") // making the buffer says nothing
		})
	}
}

// openSelf opens an inherited group for this thread, and switched on.
func openSelf(e event, o eventOptions) (*os.File, error) {
	o.inherit = false
	return openEvent(e, o)
}

func timeIterations(b *testing.B, counters *Counters, n int) time.Duration {
	b.Helper()
	spec := must.Get(counters.Apply(libkrun.Spec{Iterations: n}, 3))(b)
	keepFiles(b, spec.Groups)
	buffer := must.Get(libkrun.Create(spec))(b)
	defer func() { _ = buffer.Close() }()
	b.Setenv(libkrun.EnvFD, strconv.Itoa(duplicate(b, buffer.File())))
	m := must.Get(libkrun.NewMeter())(b)
	defer m.Close()
	begin := time.Now()
	for !m.ShouldStop() {
		_ = m.Begin() // End reports it again
		must.Do(b, m.End())
	}
	spent := time.Since(begin)
	must.Do(b, m.Done())
	if s, err := buffer.Read(); err != nil || s.Error != libkrun.OK || len(s.Findings) > 0 {
		b.Fatalf("%v, %v, findings %q", err, s.Error, s.Findings)
	}
	return spent
}

package child

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestDaemonStepsAside: krund is bound to its own processor, and the benchmark does not inherit
// that.
func TestDaemonStepsAside(t *testing.T) {
	mine := Affinity()
	if len(mine) < 2 {
		t.Skip("one processor only")
	}
	last := mine[len(mine)-1:]
	run := mustRun(t, Command{Path: "/bin/true", DaemonCPUs: last})
	must.Be(t, slices.Equal(run.Daemon.CPUs, last) && slices.Equal(run.Seen.CPUs, mine) &&
		len(run.Findings) == 0, "krund on", run.Daemon.CPUs, "the benchmark on", run.Seen.CPUs, "findings",
		run.Findings, "want", last, "and", mine)
	run = mustRun(t, Command{Path: "/bin/true", DaemonCPUs: last, CPUs: mine[:1]})
	must.Be(t, slices.Equal(run.Daemon.CPUs, last) && slices.Equal(run.Seen.CPUs, mine[:1]), "krund on",
		run.Daemon.CPUs, "the benchmark on", run.Seen.CPUs)
	run = mustRun(t, Command{Path: "/bin/true", DaemonCPUs: []int{1000}})
	must.Be(t, run.Daemon.CPUs == nil && slices.Equal(run.Seen.CPUs, mine) && len(run.Findings) == 1,
		"no such processor: krund on", run.Daemon.CPUs, "the benchmark on", run.Seen.CPUs, "findings",
		run.Findings)
	must.Do(t, eachThread(func(id int) error {
		if got, err := threadAffinity(id); err != nil || !slices.Equal(got, mine) {
			t.Errorf("afterwards thread %d may run on %v, %v; want %v", id, got, err, mine)
		}
		return nil
	}))
}

// TestNeighbours: this kernel reports its own threads and the daemon's.
func TestNeighbours(t *testing.T) {
	run := mustRun(t, Command{Path: "/bin/true"})
	d := run.Daemon
	must.Be(t, d.WakeUps != nil && *d.WakeUps >= 1, "wake-ups", d.WakeUps, "want at least the one at the end")
	if k := kernelThreads(); k == nil {
		t.Skip("no kernel threads are visible here")
	} else if _, ok := k[2]; !ok {
		t.Errorf("kthreadd is not among the %d threads of the kernel", len(k))
	}
	must.Be(t, d.KernelThreads != nil && d.KernelThreads.Benchmark.CPUNS <= d.KernelThreads.All.CPUNS,
		d.KernelThreads)
}

func threadAffinity(id int) ([]int, error) {
	var set unix.CPUSet
	err := unix.SchedGetaffinity(id, &set)
	var cpus []int
	for cpu := range 1024 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, err
}

func TestOutputLimits(t *testing.T) {
	c := shell("printf 0123456789; printf 0123456789 >&2")
	c.Limits.Output = 4
	run := mustSucceed(t, c)
	want := results.Output{Text: "01\n[... 6 bytes left out ...]\n89", Bytes: 10, Truncated: true}
	must.Be(t, run.Stdout == want && run.Stderr == want, run.Stdout, run.Stderr)
	var tee strings.Builder
	c.Stdout = &tee
	if run = mustSucceed(t, c); tee.String() != "0123456789" || run.Stdout != want || run.Stderr != want {
		t.Errorf("along came %q; got %+v and %+v", tee.String(), run.Stdout, run.Stderr)
	}
}

func TestPolicyName(t *testing.T) {
	for policy, want := range map[uint32]string{unix.SCHED_FIFO: "SCHED_FIFO", unix.SCHED_RR: "SCHED_RR",
		unix.SCHED_BATCH: "SCHED_BATCH", unix.SCHED_IDLE: "SCHED_IDLE", 77: "77"} {
		must.Equal(t, policyName(policy), want)
	}
}

//go:build linux

package execution

import (
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// disturbed is a benchmark to which something happens in known iterations: in iteration 2 it writes
// to fresh memory, in iteration 3 it sleeps, in iteration 4 a process that is bound to the same
// processor takes it away: the benchmark does not give it up, so iteration 4 ends only after that.
const disturbed = `
	#define _GNU_SOURCE
	#include <sched.h>
	#include <signal.h>
	#include <sys/mman.h>
	#include <sys/prctl.h>
	#include <unistd.h>
	static volatile int *shared;
	static void fresh(void) {
		char *p = mmap(0, 300 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		madvise(p, 300 * 4096, MADV_NOHUGEPAGE);
		for (int i = 0; i < 300; i++) p[4096 * i] = 1;
		munmap(p, 300 * 4096);
	}
	__attribute__((constructor)) static void first(void) {
		signal(SIGCHLD, SIG_IGN);
		shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		*shared = 0;
	}
	static void compete(void) {
		if (fork() == 0) {
			prctl(PR_SET_NAME, "competitor");
			*shared = 1;
			_exit(0);
		}
		while (!*shared) ;
	}
	void run_iter(int p) {
		static int n;
		int i = n++;
		if (i == 2) fresh();
		if (i == 3) for (int k = 0; k < 5; k++) usleep(1000);
		if (i == 4) compete();
	}`

// TestLiveUsage: faults and context switches are in the iterations in which they happened.
func TestLiveUsage(t *testing.T) {
	e, j := counting(t, "none", disturbed)
	j.Counters.Kernel = []string{config.KernelUsage}
	j.CPUs = []int{0}
	m := mustExecute(t, e, j)
	wantSeries(t, m, 6)
	for name, want := range map[string]struct{ iteration, least int }{
		"minor_faults": {2, 300}, "voluntary_switches": {3, 5}, "involuntary_switches": {4, 1},
		"thread_voluntary_switches": {3, 5}, "thread_involuntary_switches": {4, 1},
	} {
		i := slices.IndexFunc(m.Columns, func(c results.Column) bool { return c.Name == name })
		must.Need(t, i >= 0 && m.Columns[i].Kind == results.KindCounter && m.Columns[i].Core == nil,
			"no column", name, "of the process", m.Columns)
		counts := m.Columns[i].Counts
		if least := uint64(want.least); counts[want.iteration] < least || counts[0] >= max(least, 5) {
			t.Errorf("%s: %v; want at least %d in iteration %d only", name, counts, least, want.iteration)
		}
	}
	must.Be(t, m.CounterSource == "none" && len(m.Columns) == 6, "source", m.CounterSource, len(m.Columns),
		"columns")
}

// TestLiveSwitches: the competitor, which has ended, is an event in its iteration with its name;
// the benchmark's own process is none.
func TestLiveSwitches(t *testing.T) {
	e, j := counting(t, "none", disturbed)
	j.Counters.Kernel = []string{config.KernelSwitches}
	j.CPUs = []int{0}
	m := mustExecute(t, e, j)
	wantSeries(t, m, 6)
	must.Need(t, m.Switches != nil, "the record says nothing about them")
	if m.Switches.Reason != "" {
		t.Skip(m.Switches.Reason)
	}
	if m.Switches.FullNS != nil {
		t.Skip("other programs filled the memory for records before the benchmark ended")
	}
	begin, end := m.StartNS[4], m.StartNS[4]+m.WallNS[4]
	found := 0
	for _, event := range m.Events {
		must.Be(t, event.Kind == "switch" && event.Argument != nil && *event.Argument != int64(m.Process.PID),
			"event", event, "of process", m.Process.PID)
		if event.Name != "competitor" {
			continue // the machine's own
		}
		found++
		must.Be(t, event.TimeNS >= begin && event.TimeNS <= end && event.DurationNS > 0, event,
			"is not in iteration 4", begin, end)
	}
	named := slices.ContainsFunc(m.Switches.Tasks, func(t results.SwitchTask) bool {
		return t.Name == "competitor"
	})
	must.Be(t, found != 0 && slices.Equal(m.Switches.CPUs, j.CPUs) && (len(m.Switches.Tasks) >= 10 || named),
		found, "events of the competitor in", m.Events, m.Switches)
}

// TestSwitchesUnknown: the record says why there is no recording.
func TestSwitchesUnknown(t *testing.T) {
	j := job(t, "nbody:C:so")
	j.Counters.Kernel = []string{config.KernelSwitches}
	e := Executor{Runner: fake{run: exited(0)}, Installed: installed, Root: sysroot.New(t.TempDir())}
	m := must.Get(e.Execute(t.Context(), j))(t)
	s := m.Switches
	must.Be(t, s != nil && strings.Contains(s.Reason, "find the online processors") && s.CPUs == nil, s)
}

// TestLiveInterrupts: a thread that computes for 200 ms is interrupted by the timer, on a kernel
// that has a tick while one thread runs.
func TestLiveInterrupts(t *testing.T) {
	e, j := counting(t, "perf", `
		#include <time.h>
		void run_iter(int p) { static int n; clock_t end = clock() + CLOCKS_PER_SEC / 5;
			if (n++ == 3) while (clock() < end) ; }`)
	j.Counters.Kernel = []string{config.KernelInterrupts}
	m := mustExecute(t, e, j)
	wantSeries(t, m, 6)
	i := slices.IndexFunc(m.Columns, func(c results.Column) bool { return c.Name == "timer_interrupts" })
	if i < 0 {
		t.Skip(m.CounterReason)
	}
	if text, err := sysroot.New("/").Read("/sys/devices/system/cpu/nohz_full"); err == nil &&
		strings.ContainsAny(text, "0123456789") {
		t.Skip("the kernel stops its tick on CPU " + text)
	}
	counts := m.Columns[i].Counts
	must.Be(t, counts[3] != 0 && counts[3] != results.MissingCount, "timer interrupts", counts)
}

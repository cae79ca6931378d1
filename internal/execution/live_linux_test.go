//go:build linux

package execution

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"krund/internal/execution/account"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// These tests cover the complete path: counters are opened here, read by libkrun in a real
// benchmark process, and become columns of the record.

// devices imitates the counter devices while they are inspected before the run: registers count,
// and CPUID leaf 0xA reports 48-bit fixed counters. libkrun reads the files themselves.
type devices struct {
	sysroot.OS
	count   uint64
	control map[string]uint64
}

func (d *devices) ReadAt(path string, data []byte, offset int64) error {
	const aperf, mperf, cycles, leafA = 0xe8, 0xe7, 0x30a, 0xa
	if filepath.Base(path) == "cpuid" {
		leaf := [4]uint32{0x16}
		if offset == leafA {
			leaf = [4]uint32{0x07300404, 0, 0, 0x604}
		}
		for i, word := range leaf {
			binary.NativeEndian.PutUint32(data[4*i:], word)
		}
		return nil
	}
	value := d.control[fmt.Sprint(path, offset)]
	if offset == aperf || offset == mperf || offset == cycles {
		d.count++
		value = d.count
	}
	binary.NativeEndian.PutUint64(data, value)
	return nil
}

func (d *devices) WriteAt(path string, data []byte, offset int64) error {
	d.control[fmt.Sprint(path, offset)] = binary.NativeEndian.Uint64(data)
	return nil
}

// TestLiveRegisters: the record has exactly what a benchmark reads from the registers of two cores.
// In a file the registers 0xe7 and 0xe8 overlap, so that APERF is MPERF without its lowest byte.
func TestLiveRegisters(t *testing.T) {
	root := machine(t, map[string]string{
		"/sys/devices/system/cpu/online": "0-1\n", "/dev/cpu/0/msr": "", "/dev/cpu/1/msr": "",
		"/dev/cpu/0/cpuid": "", "/dev/cpu/1/cpuid": "",
	})
	for core := range 2 {
		must.Do(t, os.Truncate(root.Path(fmt.Sprintf("/dev/cpu/%d/msr", core)), 1<<16))
	}
	e, j := live(t, nativeVM, "bench.c", strings.ReplaceAll(`
		#include <fcntl.h>
		#include <stdint.h>
		#include <unistd.h>
		static uint64_t mperf[2], cycles[2] = { (1ull << 48) - 7, 5 };
		static void set(int core) {
			int fd = open(core ? "DIR/dev/cpu/1/msr" : "DIR/dev/cpu/0/msr", O_WRONLY);
			pwrite(fd, &mperf[core], 8, 0xe7);
			pwrite(fd, &cycles[core], 8, 0x30a);
			close(fd);
		}
		__attribute__((constructor)) static void first(void) { set(0); set(1); }
		void run_iter(int p) {
			static int n;
			mperf[0] += 256 * (n + 1);
			mperf[1] += 1ull << (9 + 7 * n);
			cycles[0] = (cycles[0] + 10) & ((1ull << 48) - 1);
			cycles[1] = n == 3 ? 2 : cycles[1] + 1;
			n++;
			set(0); set(1);
		}`, "DIR", root.Path("/")))
	e.Root = root.With(&devices{control: map[string]uint64{}})
	j.Counters = config.Counters{Sources: []string{"msr"}, Scope: config.ScopePerCore}
	j.Verdict = config.Verdict{RatioTolerance: 0.03, BusyThreshold: 1e30}
	m := mustExecute(t, e, j)
	must.Need(t, m.CounterSource == "msr" && m.Library.Error == "", "source", m.CounterSource,
		m.CounterReason, "libkrun", m.Library.Error)
	unsound := strings.Join(m.Execution.Unsound, "\n")
	m.Execution.Unsound = nil
	wantSeries(t, m, 6)
	want := map[string][]uint64{
		"cycles 0": {10, 10, 10, 10, 10, 10},
		"mperf 0":  {256, 512, 768, 1024, 1280, 1536},
		"aperf 0":  {1, 2, 3, 4, 5, 6},
		"cycles 1": {1, 1, 1, 1<<48 - 6, 1, 1}, // 8, then 2: it wrapped around
		"mperf 1":  {1 << 9, 1 << 16, 1 << 23, 1 << 30, 1 << 37, 1 << 44},
		"aperf 1":  {1 << 1, 1 << 8, 1 << 15, 1 << 22, 1 << 29, 1 << 36},
	}
	order := []string{"aperf 0", "mperf 0", "cycles 0", "aperf 1", "mperf 1", "cycles 1"}
	for i, c := range m.Columns {
		name := fmt.Sprintf("%s %d", c.Name, *c.Core)
		must.Be(t, name == order[i] && c.Kind == results.KindCounter && slices.Equal(c.Counts, want[name]),
			name, c.Counts, want[name])
	}
	must.Equal(t, len(m.Columns), len(order), "columns")
	must.Contain(t, unsound, "cycles of core 1 went backwards in 1 of 6 iterations, the first is 3",
		"unsound")
}

// counting returns a live job with a task's counters from one source, as an unprivileged user if
// possible.
func counting(t *testing.T, source, program string) (Executor, Job) {
	t.Helper()
	e, j := live(t, nativeVM, "bench.c", program)
	j.Counters = config.Counters{Sources: []string{source, "none"}, Scope: config.ScopeTask}
	if os.Geteuid() == 0 {
		j.Account = account.Account{Name: "nobody", UID: 65534, GID: 65534, Home: "/"}
		open(t, filepath.Dir(j.Entry))
		open(t, scratch)
	}
	return e, j
}

// mustCount executes a job of counting. It skips the test on a machine without the counter, and
// fails it if krund reports that it cannot open a counter that this process can open.
func mustCount(t *testing.T, e Executor, j Job) Measured {
	t.Helper()
	m := mustExecute(t, e, j)
	if m.CounterSource == j.Counters.Sources[0] {
		return m
	}
	const refused = "perf_event_open: "
	if err := openCycles(); err == nil && strings.Contains(m.CounterReason, refused) {
		t.Fatalf("the kernel opens an event that counts cycles, but: %s", m.CounterReason)
	}
	t.Skip(m.CounterReason)
	return m
}

// openCycles returns why the kernel cannot provide an event that counts the cycles of this thread.
func openCycles() error {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_CPU_CYCLES}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// open makes a directory and its parents that belong to the test accessible to all users.
func open(t *testing.T, dir string) {
	t.Helper()
	for ; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		must.Do(t, os.Chmod(dir, 0o755))
	}
}

// loops is the number of loop passes of an iteration of busy; each takes at least a sixteenth of a
// cycle.
const loops = 4_000_000

const busy = `
	static volatile unsigned sink;
	static void work(void) { for (int i = 0; i < 4000000; i++) sink += i; }
	void run_iter(int p) { work(); }`

// TestLiveRDPMC: the benchmark's own thread is counted by an event that was opened before it
// dropped root privileges.
func TestLiveRDPMC(t *testing.T) {
	e, j := counting(t, "rdpmc", busy)
	m := mustCount(t, e, j)
	wantSeries(t, m, 6)
	must.Need(t, len(m.Columns) == 1 && m.Columns[0].Name == "cycles" && m.Columns[0].Core == nil, "columns",
		m.Columns)
	for i, n := range m.Columns[0].Counts {
		must.Be(t, n >= loops/16 && n <= 1<<40, n, "cycles in iteration", i)
	}
}

// TestLiveRDPMCCountsOneThread: threads started by the benchmark are not counted, and iterating in
// one yields no wrong number.
func TestLiveRDPMCCountsOneThread(t *testing.T) {
	e, j := counting(t, "rdpmc", `
		#include <pthread.h>
		static volatile unsigned sink;
		static void *work(void *p) { for (int i = 0; i < 4000000; i++) sink += i; return p; }
		void run_iter(int p) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_join(t, 0); }`)
	m := mustCount(t, e, j)
	wantSeries(t, m, 6)
	least := slices.Min(m.Columns[0].Counts)
	must.Be(t, least <= loops/4, least, "cycles at least: those of the other thread, too")
}

// TestLiveClosedDescriptors: a benchmark that closes all descriptors, like a daemon, gets an error.
// With rdpmc there is no descriptor left to close.
func TestLiveClosedDescriptors(t *testing.T) {
	for _, source := range []string{"perf", "rdpmc"} {
		t.Run(source, func(t *testing.T) {
			e, j := counting(t, source, `
				#include <unistd.h>
				void run_iter(int p) { static int n; if (n++ == 2) for (int fd = 3; fd < 1024; fd++) close(fd); }`)
			m := mustCount(t, e, j)
			const says = "a counter's descriptor was closed or replaced"
			wantSeries(t, m, 6, says)
			must.Contain(t, m.Library.Error, says, "the record's error")
			for _, c := range m.Columns {
				lost := c.Counts[2] == results.MissingCount
				must.Be(t, c.Counts[1] != results.MissingCount && lost == (source == "perf"), c.Name,
					c.Counts)
			}
		})
	}
}

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

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

//go:build cgo

package msr

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	libkrun "krund/cgo"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// The test binary is also the measured process: see measured.
const envMeasured = "MSR_TEST_MEASURED"

func TestMain(m *testing.M) {
	if os.Getenv(envMeasured) != "" {
		fmt.Fprintln(os.Stderr, measured())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// What an iteration of the measured process does, by a thread that starts in it.
const (
	measuredIterations = 4
	touchedPages       = 300
	loops              = 1_000_000 // each at least one instruction
)

// sink keeps the compiler from leaving the loop out.
var sink uint64

// measured iterates; it says "refused" when it may not open counters itself.
func measured() string {
	m, err := libkrun.NewMeter()
	if err != nil {
		return err.Error()
	}
	for !m.ShouldStop() {
		if err := m.Begin(); err != nil {
			return err.Error()
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // and not unlocked: the thread ends with its goroutine
			work()
		}()
		<-done
		if err := m.End(); err != nil {
			return err.Error()
		}
	}
	if err := m.Done(); err != nil {
		return err.Error()
	}
	// A software event, which every machine has: without a PMU the kernel refuses a hardware event
	// with ENOENT before it checks the right to count on a CPU (find_get_context in
	// kernel/events/core.c).
	faults := event{"page_faults", typeSoftware, softwareFaults}
	if _, err := openEvent(faults, eventOptions{core: 0}); err != nil {
		return "refused"
	}
	return "allowed"
}

func work() {
	page := os.Getpagesize()
	b, err := unix.Mmap(-1, 0, touchedPages*page, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return
	}
	_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE) // not there in every kernel; without it there are fewer faults
	for i := 0; i < len(b); i += page {
		b[i] = 1
	}
	_ = unix.Munmap(b)
	n := sink
	for i := range uint64(loops) {
		n = n*3 + i
	}
	sink = n
}

// execute runs a process execution with counters and returns what was measured
// and what the process said.
func execute(t *testing.T, want Want) (libkrun.Series, string, Reason) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c, reason := Open(t.Context(), sysroot.New("/"), want)
	if c == nil {
		t.Skip(reason)
	}
	defer func() {
		must.Do(t, c.Close())
	}()
	const bufferFD = 3
	spec := must.Get(c.Apply(libkrun.Spec{Iterations: measuredIterations}, bufferFD+1))(t)
	b := must.Get(libkrun.Create(spec))(t)
	defer func() { _ = b.Close() }()
	child := exec.CommandContext(t.Context(), "/proc/self/exe")
	child.Env = []string{envMeasured + "=1", libkrun.EnvFD + "=" + strconv.Itoa(bufferFD), "GOMAXPROCS=2"}
	child.ExtraFiles = append([]*os.File{b.File()}, c.Files()...)
	if os.Geteuid() == 0 {
		const nobody = 65534
		child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := child.CombinedOutput()
	must.Do(t, err, out)
	s := must.Get(b.Read())(t)
	if counted, known := c.Counted(); want.Scope == Task {
		used := child.ProcessState.UserTime() + child.ProcessState.SystemTime()
		must.Be(t, known && counted > 0 && counted > used/2, "counted for", counted, "of", used)
	} else {
		must.Be(t, !known, "counted for", counted)
	}
	must.Need(t, s.State == libkrun.StateDone && s.Done == measuredIterations && len(s.Findings) <= 0, out, s)
	return s, string(out), reason
}

// TestUnprivilegedTask measures as an unprivileged user what only root may open: the counters
// of a process and of the threads it starts, which are opened here.
func TestUnprivilegedTask(t *testing.T) {
	s, said, reason := execute(t, Want{Sources: []string{Perf}, Scope: Task})
	t.Log(reason)
	must.Equal(t, s.Error, libkrun.OK, "libkrun")
	least := map[string]int64{"instructions": loops, "cycles": loops / 16, "page_faults": touchedPages}
	for _, c := range s.Columns {
		for i, v := range c.Values {
			must.Be(t, v >= least[c.Name] && v <= 1<<40, c.Name, v, "in iteration", i, "want at least",
				least[c.Name])
		}
	}
	must.Be(t, os.Geteuid() != 0 || paranoid(t) < 1 || said == "refused\n",
		"the measured process may open counters itself", said)
}

// TestUnprivilegedCores does it with the counters of all cores.
func TestUnprivilegedCores(t *testing.T) {
	s, said, reason := execute(t, Want{Sources: []string{Perf, MSR}, Scope: PerCore})
	t.Log(reason)
	must.Equal(t, s.Error, libkrun.OK, "libkrun")
	total := map[string]int64{} // over the cores
	for _, c := range s.Columns {
		for _, v := range c.Values {
			must.Be(t, v >= 0 && v <= 1<<40, c.Name, "of core", c.Core, v)
			total[c.Name] += v
		}
	}
	for name, least := range map[string]int64{"instructions": loops, "page_faults": touchedPages,
		"cycles": loops / 16} {
		v, ok := total[name]
		must.Be(t, !ok || v >= measuredIterations*least, name, v, "on all cores in", measuredIterations,
			"iterations; want at least", least, "in each")
	}
	must.Be(t, os.Geteuid() != 0 || paranoid(t) < 1 || said == "refused\n",
		"the measured process may open counters itself", said)
}

// TestUnprivilegedExecution: totals instead of columns.
func TestUnprivilegedExecution(t *testing.T) {
	s, _, reason := execute(t, Want{Sources: []string{Perf, MSR}, Scope: Execution})
	t.Log(reason)
	must.Need(t, len(s.Columns) <= 0 && len(s.Totals) != 0 && s.Error == libkrun.OK, s)
	for _, c := range s.Totals {
		must.Be(t, c.Value >= 0 && c.Value != libkrun.Missing, c.Name, "of core", c.Core, c.Value)
	}
}

func paranoid(t *testing.T) int64 {
	t.Helper()
	n := must.Get(sysroot.New("/").ReadInt("/proc/sys/kernel/perf_event_paranoid"))(t)
	return n
}

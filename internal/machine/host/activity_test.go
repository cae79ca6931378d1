package host

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// The files of a quiet virtual machine with two processors (Linux 6.1), shortened.
const (
	procPressure = "some avg10=1.50 avg60=0.20 avg300=100.00 total=154321\n" +
		"full avg10=0.00 avg60=0.00 avg300=0.00 total=12\n"
	procLoadavg = "0.20 0.18 0.12 1/80 11206\n"
	procStat    = `cpu  10 2 30 400 5 6 7 8 0 0
cpu0 4 1 10 200 5 3 3 4 0 0
cpu1 6 1 20 200 0 3 4 4 0 0
intr 12345 0 9
ctxt 99887
btime 1700000000
processes 4711
procs_running 3
procs_blocked 1
`
)

func machine(t *testing.T, files map[string]string) Host {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must.Write(t, filepath.Join(dir, name), text)
	}
	return Host{Root: sysroot.New(dir)}
}

func TestReadPressure(t *testing.T) {
	h := machine(t, map[string]string{"/proc/pressure/cpu": procPressure})
	p := must.Get(h.ReadPressure("cpu"))(t)
	must.Equal(t, p, Pressure{Avg10: 0.015, Total: 154321 * time.Microsecond})
	h = machine(t, map[string]string{
		"/proc/pressure/irq": "full avg10=2.00 avg60=0.00 avg300=0.00 total=70\n"})
	p = must.Get(h.ReadPressure("irq"))(t) // it has no line "some": Linux 6.12, kernel/sched/psi.c:1265
	must.Equal(t, p, Pressure{Avg10: 0.02, Total: 70 * time.Microsecond})
	_, err := h.ReadPressure("io")
	must.Be(t, errors.Is(err, fs.ErrNotExist), "without the file", err)
}

func TestReadLoad(t *testing.T) {
	h := machine(t, map[string]string{"/proc/loadavg": procLoadavg})
	must.Equal(t, must.Get(h.ReadLoad())(t), 0.2)
}

func TestReadStat(t *testing.T) {
	h := machine(t, map[string]string{"/proc/stat": procStat})
	s := must.Get(h.ReadStat())(t)
	must.Be(t, len(s.CPUs) == 2 && s.Switches == 99887, s)
	cpu := s.CPUs[1]
	must.Be(t, cpu.Busy() == 34 && cpu.All() == 238, "cpu1", cpu, "busy", cpu.Busy(), "all", cpu.All())
}

func FuzzActivity(f *testing.F) {
	f.Add(procPressure)
	f.Add(procStat)
	f.Add("some avg10=NaN total=99999999999999999999")
	f.Add("cpu99999999999999999999 1\ncpu-1 2\ncpu3 99999999999999999999 1")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := parsePressure(text); err == nil {
			must.Be(t, p.Avg10 >= 0 && p.Avg10 <= 1 && p.Total >= 0, p, text)
		}
		for cpu, ticks := range parseStat(text).CPUs {
			must.Be(t, cpu >= 0 && ticks.All() >= ticks.Busy(), "cpu", cpu, ticks, text)
		}
	})
}

package noise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/durable/crashfs"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// beats returns gaps of a length every step, and a short one between two of them.
func beats(n int, step, length time.Duration) []gap {
	var list []gap
	for i := range n {
		at := time.Duration(i) * step
		list = append(list, gap{at, length, true}, gap{at + step/3, 6 * time.Microsecond, false})
	}
	return list
}

func TestPeriod(t *testing.T) {
	const ms = time.Millisecond
	irregular := beats(20, 10*ms, ms)
	for i := range irregular {
		irregular[i].start += time.Duration(i*i) * ms
	}
	for name, test := range map[string]struct {
		list []gap
		want time.Duration
	}{
		"every 25 ms":             {beats(100, 25*ms, 4*ms), 25 * ms},
		"too few":                 {beats(8, 25*ms, 4*ms), 0},
		"irregular":               {irregular, 0},
		"none":                    {nil, 0},
		"with one that is longer": {append(beats(100, 25*ms, 4*ms), gap{7 * ms, 20 * ms, true}), 25 * ms},
	} {
		must.Equal(t, period(test.list), test.want, name)
	}
}

const spinText = "pid 77 -20 0 0\ngap 1 1000 6000 0\ngap 1 90000 4000000 1\ncpu 1 10000000000 3 4012000\n"

func TestParseSpin(t *testing.T) {
	all, who, err := parseSpin(spinText)
	must.Do(t, err)
	must.Equal(t, who, spinner{77, -20}, "process")
	s := all[1]
	must.Be(t, s.gaps == 3 && s.time == 10*time.Second && s.lost == 4012*time.Microsecond &&
		len(s.list) == 2 && s.list[1] == (gap{90 * time.Microsecond, 4 * time.Millisecond, true}), s)
	for name, text := range map[string]string{
		"nothing": "", "no sums": "gap 1 1000 6000 0\n", "twice": spinText + spinText,
		"after the sums": spinText + "gap 1 1 1 1\n", "no time": "cpu 1 0 0 0\n", "words": "cpu 1 x 0 0\n",
		"a CPU that cannot be": "cpu 9999 1 1 1\n", "negative": "cpu 1 10 1 -5\n",
		"too many": strings.Repeat("gap 1 1 1 1\n", mostGaps+1) + "cpu 1 1 1 1\n",
	} {
		_, _, err := parseSpin(text)
		must.Be(t, err != nil, name, "no error")
	}
}

func FuzzParseSpin(f *testing.F) {
	f.Add(spinText)
	f.Fuzz(func(t *testing.T, text string) {
		all, _, err := parseSpin(text)
		for cpu, s := range all {
			must.Be(t, err != nil || s.time > 0 && s.gaps >= 0 && s.lost >= 0 && cpu >= 0 &&
				period(s.list) >= 0, cpu, s, "of", text)
		}
	})
}

// machine writes the files of a machine in which a thread named planted ran n times on CPU 1.
func machine(t *testing.T, n int) reading {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"proc/interrupts": fmt.Sprintf("      CPU0 CPU1\n 24: 5 %d IO-APIC 5-edge eth0\nLOC: 7 9 Local "+
			"timer interrupts\n", 1+n/2),
		"proc/softirqs": fmt.Sprintf("      CPU0 CPU1\nTIMER: 1 %d\n", 1+n),
		"proc/stat":     fmt.Sprintf("cpu0 0 0 0 9 0 0 0 0\ncpu1 0 0 0 9 0 0 0 %d\n", n/100),
		"proc/812/task/812/stat": "812 (planted) S 1 812 812 0 -1 0 0 0 0 0 1 0 0 0 20 0 1 0 3460 " +
			"0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0\n",
		"proc/812/task/812/schedstat": fmt.Sprintf("%d 0 %d\n", n*4_000_000, n),
		"proc/813/task/813/stat":      "813 (broken",
	} {
		must.Write(t, filepath.Join(dir, name), text)
	}
	return read(host.Host{Root: sysroot.New(dir)})
}

// TestCensus: the planted thread is first, with its time; what is only counted follows; the gaps
// that nothing explains are named.
func TestCensus(t *testing.T) {
	before, after := machine(t, 0), machine(t, 400)
	list := beats(400, 25*time.Millisecond, 4*time.Millisecond)
	all := map[int]spun{1: {time: 10 * time.Second, lost: 1600 * time.Millisecond, gaps: 800, list: list,
		longest: 40 * time.Millisecond, preempted: 400, preemptedTime: 1600 * time.Millisecond,
		classes: []class{{5 * time.Microsecond, 400, 2400 * time.Microsecond}}}}
	c := censusOf(all, before, after, nil, 10*time.Second)
	must.Need(t, len(c.CPUs) == 1 && c.CPUs[0].CPU == 1 && c.CPUs[0].Preempted == 400 &&
		c.CPUs[0].LongestNS == 40e6 && c.CPUs[0].PeriodNS == 25e6, c)
	want := []Source{
		{"thread", "planted (812)", 400, 1_600_000_000},
		{"hypervisor", "time stolen by other machines of the host", 0, 40_000_000},
		{"unknown", "gaps without a thread or an interrupt: firmware (SMI) or a hypervisor", 200, 1_200_000},
		{"softirq", "TIMER", 400, 0},
		{"interrupt", "24 IO-APIC 5-edge eth0", 200, 0},
	}
	must.Equal(t, fmt.Sprint(c.CPUs[0].Sources), fmt.Sprint(want), "sources", c.CPUs[0].Sources)
	other := censusOf(map[int]spun{0: {time: time.Second}}, before, after, nil, time.Second).CPUs[0].Sources
	must.Equal(t, len(other), 0, "on another CPU")
	all[1] = spun{time: 10 * time.Second, preemptedTime: 2400 * time.Millisecond}
	rest := Source{"thread", "(ended, moved on, or stopped by a hypervisor)", 0, 800_000_000}
	must.Equal(t, censusOf(all, before, after, nil, 10*time.Second).CPUs[0].Sources[1], rest)
}

// TestFirmwareUnderATick: ticks that make no gap do not explain the gaps of the firmware.
func TestFirmwareUnderATick(t *testing.T) {
	table := func(n int) probe.InterruptTable {
		return probe.ParseInterrupts(fmt.Sprintf("CPU0 CPU1\nLOC: 0 %d Local timer interrupts\n", n))
	}
	before, after := reading{interrupts: table(0)}, reading{interrupts: table(2500)}
	smis := spun{time: 10 * time.Second, gaps: 40, classes: []class{{160 * time.Microsecond, 40,
		7200 * time.Microsecond}}}
	list := sources(1, smis, nil, false, before, after)
	must.Be(t, list[0].Kind == "unknown" && list[0].Count == 40 && list[0].NS == 7_200_000, "without a count",
		list)
	before.smis, after.smis = map[int]int64{1: 5}, map[int]int64{1: 45}
	list = sources(1, smis, nil, false, before, after)
	must.Be(t, slices.Contains(list, Source{"firmware", "system management interrupts (SMI)", 40, 0}) &&
		!slices.ContainsFunc(list, func(s Source) bool { return s.Kind == "unknown" }), "counted", list)
	ticks := spun{time: 10 * time.Second, gaps: 2500, classes: []class{{5 * time.Microsecond, 2500, 1}}}
	list = sources(1, ticks, nil, false, before, reading{interrupts: table(2500), smis: before.smis})
	must.Equal(t, len(list), 1, "ticks that make gaps", list)
}

// TestCountsOf: a row that has appeared meanwhile, and a CPU that has gone, are left out.
func TestCountsOf(t *testing.T) {
	before := probe.ParseInterrupts("CPU0 CPU1\n1: 5 5\n")
	now := probe.ParseInterrupts("CPU0\n1: 9\n2: 7\n")
	got := countsOf("interrupt", now, before, 1)
	must.Equal(t, len(got), 0, got, "of a CPU that is gone")
	got = countsOf("interrupt", now, before, 0)
	must.Be(t, len(got) == 1 && got[0].Count == 4, got)
}

func certificate() Certificate {
	return Certificate{
		Format: Format, Date: time.Date(2026, 11, 22, 10, 28, 4, 0, time.UTC), BootID: "b", Host: "lab",
		Krund: "1", Virtual: "kvm", Fingerprint: map[string]string{"cpu.model": "X"},
		Plain: Measurement{
			Census: Census{Seconds: 10, ThresholdNS: 5000, CPUs: []CPU{{CPU: 1, TimeNS: 10e9, LostNS: 2e7,
				LongestNS: 1e6, Gaps: 9, Preempted: 3, PeriodNS: 25e6,
				Sources: []Source{{"thread", "planted (812)", 400, 16e6}}}}},
			Floor: &Floor{Benchmark: "nbody:C", Executions: 10, Iterations: 200, MeanNS: 2e6, SDLog: 0.01,
				Detectable: []Detectable{{10, 1.3, 2.4}}, Strays: []int{1}, LevelsNS: []float64{2e6, 3e6}},
		},
	}
}

func TestStoreAndRead(t *testing.T) {
	fsys := crashfs.New("/var")
	file, err := Newest(fsys, "/var/noise")
	must.Be(t, file == "" && err == nil, "newest of none", file, err)
	want := certificate()
	later := want
	later.Date = want.Date.Add(time.Hour)
	for _, c := range []Certificate{later, want} {
		must.Get(Store(fsys, "/var/noise", c))(t)
	}
	file, err = Newest(fsys, "/var/noise")
	must.Need(t, err == nil && file == "/var/noise/2026-11-22T11-28-04Z.json", file, err)
	got, err := Read(fsys, file)
	must.Be(t, err == nil && reflect.DeepEqual(got, later), got, err, later)
	const summary = "noise certificate of 2026-11-22: 0.2 % of the time lost, at best 2.4 % detectable " +
		"with 10 executions of nbody:C in one boot, 1 of 10 executions strayed"
	if got.Summary(time.Time{}) != summary {
		t.Errorf("%q, want %q", got.Summary(time.Time{}), summary)
	}
	if _, err := Read(fsys, "/var/noise/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestParseRejects(t *testing.T) {
	for name, change := range map[string]func(*Certificate){
		"a newer format":            func(c *Certificate) { c.Format = Format + 1 },
		"no time":                   func(c *Certificate) { c.Plain.Census.CPUs[0].TimeNS = 0 },
		"more lost than there was":  func(c *Certificate) { c.Plain.Census.CPUs[0].LostNS = 11e9 },
		"a negative floor":          func(c *Certificate) { c.Plain.Floor.SDLog = -1 },
		"a stray that is not there": func(c *Certificate) { c.Plain.Floor.Strays[0] = 2 },
		"a floor of no executions":  func(c *Certificate) { c.Plain.Floor.Detectable[0].Executions = 0 },
		"the same in the other half": func(c *Certificate) {
			half := c.Plain
			half.Floor = &Floor{MeanNS: -1}
			c.Controlled = &half
		},
	} {
		c := certificate()
		change(&c)
		data := must.Get(json.Marshal(c))(t)
		must.Refused(Parse(data))(t, "", name, "no error")
	}
	must.Refused(Parse([]byte("<html>")))(t, "no noise certificate")
}

func FuzzParse(f *testing.F) {
	data := must.Get(json.Marshal(certificate()))(f)
	f.Add(data)
	f.Add([]byte(`{"format":1,"plain":{"floor":{"mean_ns":1e400}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err != nil {
			return
		}
		lost := c.Plain.Lost()
		must.Be(t, len(c.Plain.Census.CPUs) == 0 || lost >= 0 && lost <= 1 || math.IsNaN(lost), "lost", lost,
			"of", data)
		_ = c.Summary(time.Time{})
	})
}

// TestEarlier: one certificate of each other boot, of the same machine and program only.
func TestEarlier(t *testing.T) {
	fsys := crashfs.New("/var")
	now := certificate()
	at := 0
	for _, change := range []func(*Certificate){
		func(c *Certificate) { c.BootID = "1" },
		func(c *Certificate) { c.BootID = "1" },
		func(c *Certificate) { c.BootID = "2" },
		func(*Certificate) {}, // of this boot
		func(c *Certificate) { c.BootID, c.Host = "3", "other" },
		func(c *Certificate) { c.BootID, c.Krund = "4", "0" },
		func(c *Certificate) { c.BootID, c.Plain.Floor = "5", nil },
		func(c *Certificate) { c.BootID, c.Fingerprint = "6", map[string]string{"cpu.model": "Y"} },
	} {
		c := certificate()
		at--
		c.Date = now.Date.Add(time.Duration(at) * time.Hour)
		change(&c)
		must.Get(Store(fsys, "/var/noise", c))(t)
	}
	list := must.Get(Earlier(fsys, "/var/noise", now))(t)
	must.Be(t, len(list) == 2 && list[0].BootID == "1" && list[1].BootID == "2", list)
	now.Plain.Floor = nil
	must.Equal(t, len(must.Get(Earlier(fsys, "/var/noise", now))(t)), 0, "without a floor")
}

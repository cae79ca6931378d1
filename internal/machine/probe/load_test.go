package probe

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/control/machines"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/results"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// activityFiles are the files of a machine with two processors, of which one was busy for ticks.
func activityFiles(t *testing.T, load string, ticks, stalled string, processes map[string]string) host.Host {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"/proc/loadavg": load + " 0.40 0.20 1/80 11206\n",
		"/proc/stat": "cpu  0 0 0 0\ncpu0 " + ticks + " 0 0 1000 0 0 0 7\n" +
			"cpu1 5 0 0 1000 0 0 0 0\nctxt 1\n",
		"/proc/pressure/cpu": "some avg10=" + stalled + " avg60=0.00 avg300=0.00 total=" + ticks + "0000\n",
		"/proc/interrupts": "      CPU0 CPU1\n 24: 7 7 IO-APIC 4-edge ttyS0\n LOC: " + ticks +
			" " + ticks + "0000 Local timer interrupts\nERR: 0\n",
		"/proc/softirqs": "      CPU0 CPU1\n HI: 0 0\n TIMER: 5 " + ticks + "00000\n",
	}
	for pid, stat := range processes {
		files["/proc/"+pid+"/stat"] = pid + stat
	}
	for name, text := range files {
		must.Write(t, filepath.Join(dir, name), text)
	}
	return host.Host{Root: sysroot.New(dir)}
}

// stat is the rest of /proc/PID/stat: name, parent, and user time in ticks.
func stat(name, parent, ticks string) string {
	return " (" + name + ") S " + parent + " 1 1 0 -1 4194304 0 0 0 0 " + ticks + " 0 0 0 20 0 1 0 300 0 0\n"
}

func TestActivity(t *testing.T) {
	before := ReadActivity(activityFiles(t, "1.76", "100", "0.00", map[string]string{
		"10": stat("krund", "1", "5"), "11": stat("krund", "10", "5"), "20": stat("krund", "1", "5"),
		"21": stat("krund", "20", "5"), "30": stat("cc1", "1", "100")}), time.Unix(100, 0),
		200*time.Millisecond)
	after := ReadActivity(activityFiles(t, "1.80", "400", "0.00", map[string]string{
		"10": stat("krund", "1", "9"), "30": stat("cc1", "1", "350")}), time.Unix(105, 0),
		600*time.Millisecond)
	l := after.Since(before, 10, []int{1})
	must.Be(t, l.WindowNS == 5e9 && *l.LoadMilli == 1760 && *l.BusyNS == 3e9 && *l.StealNS == 0 &&
		*l.OthersNS == 26e8, l)
	must.Be(t, len(l.Pressure) == 1 && l.Pressure[0] == (results.Pressure{Resource: "cpu", SomeNS: 3e9}),
		"pressure", l.Pressure)
	must.Be(t, len(l.Programs) == 1 && l.Programs[0] == (results.Program{Name: "cc1", PID: 30, CPUNS: 25e8}),
		"programs", l.Programs)
	must.Be(t, len(l.Krunds) == 1 && l.Krunds[0] == 20, "krunds", l.Krunds, "11 and 21 are helpers")
	want := []results.Interrupt{{Kind: "softirq", Name: "TIMER", Count: 3e7},
		{Kind: "interrupt", Name: "LOC Local timer interrupts", Count: 3e6}}
	must.EqualList(t, l.Interrupts, want, "interrupts", "those of CPU 1")
	nothing := ReadActivity(host.Host{Root: sysroot.New(t.TempDir())}, time.Unix(100, 0), 0)
	l = nothing.Since(nothing, 1, nil)
	must.Be(t, l.BusyNS == nil && l.OthersNS == nil && l.LoadMilli == nil && len(l.Pressure) == 0 &&
		l.Interrupts == nil, "unknown", l)
}

func TestBusy(t *testing.T) {
	ns := func(seconds float64) *int64 {
		n := int64(seconds * 1e9)
		return &n
	}
	quiet := results.Load{WindowNS: 65e8, OthersNS: ns(0.1), StealNS: ns(0),
		Pressure: []results.Pressure{{Resource: "cpu", SomeNS: 1e6}}}
	with := func(change func(*results.Load)) results.Load {
		l := quiet
		change(&l)
		return l
	}
	whole := results.Process{WallNS: 65e8, UTimeNS: 64e8, InvoluntarySwitches: 20}
	// a benchmark that shared its processor: wall 6.5 s, user 1.4 s, 657 switches
	shared := results.Process{WallNS: 65e8, UTimeNS: 14e8, InvoluntarySwitches: 657}
	for _, test := range []struct {
		name string
		l    results.Load
		p    results.Process
		want []string
	}{
		{"quiet", quiet, whole, nil},
		{"other programs", with(func(l *results.Load) {
			l.OthersNS = ns(5.2)
			l.Programs = []results.Program{{Name: "cc1", CPUNS: 5e9}, {Name: "sh", CPUNS: 1}}
		}), whole, []string{"other programs used 0.8 processors (cc1 77 %)"}},
		{"another krund", with(func(l *results.Load) { l.Krunds = []int{77} }), whole,
			[]string{"another krund (process 77) ran"}},
		{"hypervisor", with(func(l *results.Load) { l.StealNS = ns(0.65) }), whole,
			[]string{"the hypervisor withheld a processor for 10 % of the time"}},
		{"shared", with(func(l *results.Load) {
			l.OthersNS, l.Pressure = ns(5.2), []results.Pressure{{Resource: "cpu", SomeNS: 5e9}}
		}), shared, []string{"other programs used 0.8 processors",
			"the process had a processor for 1.4 s of 6.5 s and was interrupted 657 times"}},
		{"it slept, and no task waited", with(func(l *results.Load) { l.OthersNS = ns(0.1) }), shared, nil},
		// ten runs of `sleep 0.01`: the runner and the command wait for each other, and the machine
		// is idle
		{"it slept, and its own tasks waited", results.Load{WindowNS: 216e6, OthersNS: ns(0.02),
			Pressure: []results.Pressure{{Resource: "cpu", SomeNS: 14e6}}},
			results.Process{WallNS: 2164e5, UTimeNS: 292e5, InvoluntarySwitches: 25}, nil},
		{"its own processes share the processors", with(func(l *results.Load) {
			l.Pressure = []results.Pressure{{Resource: "cpu", SomeNS: 5e9}}
		}), results.Process{WallNS: 65e8, UTimeNS: 28e8, InvoluntarySwitches: 657}, nil},
		{"too short for ticks", results.Load{WindowNS: 5e7, OthersNS: ns(0.02), StealNS: ns(0.01)},
			results.Process{WallNS: 4e7}, nil},
		{"it is not known who used the processors", results.Load{WindowNS: 65e8,
			Pressure: []results.Pressure{{Resource: "cpu", SomeNS: 5e9}}}, shared, nil},
		// read on two processors with a load of 20: nothing was said about it before
		{"short, shared", results.Load{WindowNS: 136_104_444, OthersNS: ns(0.235),
			Pressure: []results.Pressure{{Resource: "cpu", SomeNS: 136_024_000}}},
			results.Process{WallNS: 118_670_526, UTimeNS: 35_390_000, InvoluntarySwitches: 5},
			[]string{"other programs used 1.7 processors",
				"the process had a processor for 35.39 ms of 118.7 ms and was interrupted 5 times"}},
		{"short, starts slowly", results.Load{WindowNS: 6e7,
			Pressure: []results.Pressure{{Resource: "cpu", SomeNS: 4e6}}},
			results.Process{WallNS: 4e7, UTimeNS: 3e7, InvoluntarySwitches: 2}, nil},
		{"unknown", results.Load{WindowNS: 65e8}, whole, nil},
	} {
		got := Busy(test.l, test.p)
		must.Equal(t, strings.Join(got, "|"), strings.Join(test.want, "|"), test.name, test.want)
	}
}

func TestCheckLoad(t *testing.T) {
	for _, test := range []struct {
		name, load, stalled string
		processes           map[string]string
		want                setting.Status
		found               string
	}{
		{"idle", "0.04", "0.10", nil, setting.StatusOK, "0.04 in the last minute"},
		{"load", "0.70", "0.10", nil, setting.StatusDiffers, "0.70 in the last minute"},
		{"pressure", "0.30", "8.30", nil, setting.StatusDiffers, "0.30 in the last minute"},
		{"krund", "0.00", "0.00", map[string]string{"20": stat("krund", "1", "5")}, setting.StatusDiffers,
			"0.00 in the last minute, krund runs as process 20"},
	} {
		f := CheckLoad(activityFiles(t, test.load, "1", test.stalled, test.processes), 10)
		must.Be(t, f.Status == test.want && f.Found == test.found && !f.Fails(), test.name, f)
	}
	stolen := CheckLoad(host.Host{Root: sysroot.New(machines.New(t, "more/kvm-steal"))}, 10)
	must.Be(t, stolen.Found == "stolen 9 %" && stolen.Status == setting.StatusDiffers &&
		strings.Contains(stolen.Fix, "host"), stolen)
	f := CheckLoad(host.Host{Root: sysroot.New(t.TempDir())}, 10)
	must.Equal(t, f.Status, setting.StatusCannot, "unknown", f)
}

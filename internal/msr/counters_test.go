package msr

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	libkrun "krund/cgo"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

func TestParseEvent(t *testing.T) {
	for _, test := range []struct {
		text string
		want uint64
		bad  bool
	}{
		{"event=0x01\n", 1, false},
		{"event=0xffffffffffffffff", 1<<64 - 1, false},
		{"event=7", 7, false},
		{"event=0x3c,umask=0x1", 0, true},
		{"umask=1", 0, true},
		{"event=", 0, true},
		{"", 0, true},
	} {
		got, err := parseEvent(test.text)
		must.Be(t, got == test.want && (err != nil) == test.bad, test.text, got, err, "want", test.want)
	}
}

// FuzzParseEvent: what is accepted is the same when it is written as the kernel does.
func FuzzParseEvent(f *testing.F) {
	f.Add("event=0x01\n")
	f.Add("event=0x3c,umask=0x1")
	f.Fuzz(func(t *testing.T, text string) {
		config, err := parseEvent(text)
		if err != nil {
			return
		}
		again, err := parseEvent(fmt.Sprintf("event=%#02x\n", config))
		must.Need(t, err == nil && again == config, text, config, "then", again, err)
	})
}

// The leaves of real processors, from the SDM's definition of the fields.
func TestParseLeafA(t *testing.T) {
	for _, test := range []struct {
		name          string
		eax, ecx, edx uint32
		want          pmu
		cycles        bool
	}{
		{"Haswell i7-4790", 0x07300403, 0, 0x603, pmu{3, 7, 48}, true},
		{"Skylake E3-1240 v5", 0x07300404, 0, 0x603, pmu{4, 7, 48}, true},
		{"Ice Lake", 0x08300805, 0xf, 0x8604, pmu{5, 0xf, 48}, true},
		{"Core Solo, version 1", 0x07280201, 0, 0, pmu{1, 0, 0}, false},
		{"AMD, or hidden by a hypervisor", 0, 0, 0, pmu{}, false},
		{"version 5 with gaps", 0x08300805, 1 << 1, 0x600, pmu{5, 2, 48}, true},
		{"version 2 without fixed counters", 0x07280202, 0, 0, pmu{2, 0, 0}, false},
		{"40 bits", 0x07280202, 0, 40<<5 | 3, pmu{2, 7, 40}, true},
		{"impossible width", 0x07300404, 0, 200<<5 | 3, pmu{4, 7, 200}, false},
	} {
		got := parseLeafA(test.eax, test.ecx, test.edx)
		must.Be(t, got == test.want && got.hasCycles() == test.cycles, test.name, got, "cycles",
			got.hasCycles(), "want", test.want, test.cycles)
	}
}

var laptop = tree{
	"/sys/class/powercap/intel-rapl:0/name":                  "package-0\n",
	"/sys/class/powercap/intel-rapl:0/energy_uj":             "262143000000\n",
	"/sys/class/powercap/intel-rapl:0/max_energy_range_uj":   "262143328850\n",
	"/sys/class/powercap/intel-rapl:0:0/name":                "core\n",
	"/sys/class/powercap/intel-rapl:0:0/energy_uj":           "17\n",
	"/sys/class/powercap/intel-rapl:0:0/max_energy_range_uj": "262143328850\n",
	"/sys/class/powercap/intel-rapl/enabled":                 "1\n",
}

func TestEnergy(t *testing.T) {
	before, err := ReadEnergy(laptop.root(t))
	must.Need(t, err == nil && len(before) == 2, before, err)
	after, err := ReadEnergy(laptop.and(tree{
		"/sys/class/powercap/intel-rapl:0/energy_uj":             "171149\n", // past the end
		"/sys/class/powercap/intel-rapl:0:0/energy_uj":           "1017\n",
		"/sys/class/powercap/intel-rapl:1/name":                  "package-1\n", // appeared
		"/sys/class/powercap/intel-rapl:1/energy_uj":             "5\n",
		"/sys/class/powercap/intel-rapl:1/max_energy_range_uj":   "262143328850\n",
		"/sys/class/powercap/intel-rapl:2/energy_uj":             "x\n", // unreadable
		"/sys/class/powercap/intel-rapl:2/name":                  "package-2\n",
		"/sys/class/powercap/intel-rapl:2/max_energy_range_uj":   "1\n",
		"/sys/class/powercap/intel-rapl:0:0/max_energy_range_uj": "262143328850\n",
	}).root(t))
	must.Be(t, err != nil && len(after) == 3, after, err, "want three zones and an error for the fourth")
	want := map[string]uint64{"package-0": 500_000, "core": 1000}
	used := EnergyUsed(before, after, time.Second)
	must.Need(t, len(used) == 2, "used", used, "want the two zones in both")
	for _, e := range used {
		must.Be(t, *e.UJ == want[e.Name] && e.Reason == "", e.Name, "used", *e.UJ, "uJ", want[e.Name],
			e.Reason)
	}
	none, err := ReadEnergy(xeon.root(t))
	must.Be(t, err == nil && len(none) == 0, "without RAPL", none, err)
}

// TestEnergyOfALongRun: a counter that may have wrapped around gives no value. Without
// limits a package is taken for one of 500 W; a part of it has the package's limits.
func TestEnergyOfALongRun(t *testing.T) {
	const zone = "/sys/class/powercap/intel-rapl:0"
	limits := laptop.and(tree{
		zone + "/constraint_0_power_limit_uw": "28000000\n",
		zone + "/constraint_1_power_limit_uw": "40000000\n",
		zone + "/constraint_2_power_limit_uw": "x\n",
	})
	board := laptop.and(tree{zone + "/constraint_0_power_limit_uw": "4095000000\n"})
	for _, test := range []struct {
		name    string
		machine tree
		took    time.Duration
		known   bool
	}{
		{"no limits, short", laptop, 524 * time.Second, true},
		{"no limits, long", laptop, 525 * time.Second, false},
		{"40 W, short", limits, 5242 * time.Second, true},
		{"40 W, long", limits, 5243 * time.Second, false},
		{"a board without limits, 2 minutes", board, 120 * time.Second, true}, // at most 1 kW
		{"a board without limits, 5 minutes", board, 300 * time.Second, false},
		{"backwards in time", laptop, -time.Second, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			now, err := ReadEnergy(test.machine.root(t))
			must.Need(t, err == nil && len(now) == 2, now, err)
			for _, u := range EnergyUsed(now, now, test.took) {
				must.Be(t, (u.Reason == "") == test.known && (u.UJ != nil) == test.known, u,
					"known should be", test.known)
			}
		})
	}
	huge := Energy{Most: 1<<64 - 1, Limit: 1}
	must.Be(t, huge.longest() > 0, "a range that never ends lasts", huge.longest())
}

// TestPower: what the powercap counter cannot tell after a long run, perf's 64-bit counters can.
func TestPower(t *testing.T) {
	const pmu = devices + "/power/"
	root := laptop.and(tree{
		pmu + "type": "12\n", pmu + "cpumask": "0,8\n", // a second package without a zone
		pmu + "events/energy-pkg": "event=0x02\n", pmu + "events/energy-pkg.unit": "Joules\n",
		pmu + "events/energy-pkg.scale":                             "2.3283064365386962890625e-10\n",
		pmu + "events/energy-cores":                                 "event=0x01\n",
		pmu + "events/energy-cores.scale":                           "nan\n",
		"/sys/devices/system/cpu/cpu0/topology/physical_package_id": "0\n",
		"/sys/devices/system/cpu/cpu8/topology/physical_package_id": "1\n",
	}).root(t)
	open := func(e event, o eventOptions) (*os.File, error) {
		must.Be(t, e.kind == 12 && e.config == 2, e)
		// nr, enabled, running, and 2^42 counts of 2^-32 J: 1024 J; in the other package 2048 J
		raw := binary.NativeEndian.AppendUint64(make([]byte, 24), 1<<(42+min(o.core, 1)))
		name := filepath.Join(t.TempDir(), "event")
		must.Write(t, name, string(raw))
		return os.Open(name)
	}
	now := must.Get(ReadEnergy(root))(t)
	used := openPower(root, open).Complete(EnergyUsed(now, now, time.Hour))
	must.Be(t, len(used) == 2 && used[0].UJ != nil && *used[0].UJ == 1024e6 && used[0].Reason == "" &&
		used[1].UJ == nil && used[1].Reason != "", used)
	used = openPower(root, open).Complete(EnergyUsed(now, now, time.Second))
	must.Be(t, *used[0].UJ == 0 && *used[1].UJ == 0, "a short run is as it was", used)
	must.Equal(t, len(openPower(laptop.root(t), open)), 0, "without the PMU")
}

// traced has the tracepoints of interrupts; the numbers are those of a Linux 6.12.
var traced = xeon.and(tree{
	tracepoints + "/irq_vectors/local_timer_entry/id": "69\n",
	tracepoints + "/irq/irq_handler_entry/id":         "155\n",
})

// TestInterrupts: the tracepoints are the last events of each group, and missing ones are named.
func TestInterrupts(t *testing.T) {
	const both = "timer_interrupts, device_interrupts"
	for _, test := range []struct {
		name, scope, columns, note string
		machine                    tree
		refuse                     bool
	}{
		{"task", Task, both, "", traced, false},
		{"core", PerCore, "timer_interrupts on core 1, device_interrupts on core 1", "", traced, false},
		{"arm64", Task, "device_interrupts", "no timer_interrupts: this kernel has no tracepoint",
			xeon.and(tree{tracepoints + "/irq/irq_handler_entry/id": "155\n"}), false},
		{"refused", Task, "smi, device_interrupts", "no timer_interrupts: perf_event_open: permission denied",
			traced, true},
		{"no tracefs", Task, "page_faults, smi", "no device_interrupts: tracefs is not mounted", xeon, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newKernel(t)
			if test.refuse {
				k.refuse["timer_interrupts"] = errRefused["eacces"]
			}
			c, r := k.opened(test.machine, Want{Sources: []string{Perf}, Scope: test.scope, Interrupts: true})
			must.Be(t, strings.HasSuffix(names(c), ", "+test.columns) &&
				strings.Contains(r.String(), test.note), "columns", names(c), r)
			for name, config := range map[string]uint64{"timer_interrupts": 69, "device_interrupts": 155} {
				i := slices.IndexFunc(k.calls, func(c call) bool { return c.name == name })
				if i >= 0 && k.calls[i].config != config {
					t.Errorf("%s is tracepoint %d; want %d", name, k.calls[i].config, config)
				}
			}
		})
	}
}

// TestUsage: the usage of the process comes with every source, first and without a file.
func TestUsage(t *testing.T) {
	const usage = "minor_faults, major_faults, voluntary_switches, involuntary_switches, " +
		"thread_voluntary_switches, thread_involuntary_switches"
	for _, test := range []struct {
		source, names string
		files         int
	}{
		{None, usage, 0},
		{Perf, usage + ", aperf, mperf, cycles, instructions, context_switches, migrations, page_faults, " +
			"smi", 1},
	} {
		c, _ := newKernel(t).opened(xeon, Want{Sources: []string{test.source}, Scope: Task, Usage: true})
		if got := names(c); got != test.names || len(c.Files()) != test.files {
			t.Errorf("%s: columns %s, %d files", test.source, got, len(c.Files()))
		}
		spec := must.Get(c.Apply(libkrun.Spec{Iterations: 1}, 4))(t)
		for i, g := range spec.Groups[1:] {
			must.Equal(t, g.FD, 4+i, test.source, "group", 1+i, "has descriptor")
		}
		b := must.Get(libkrun.Create(spec))(t)
		must.Do(t, b.Close())
	}
	c, _ := Open(t.Context(), sysroot.New(t.TempDir()), Want{Sources: []string{None}})
	must.Equal(t, len(c.groups), 0, "columns", names(c), "none were wanted")
}

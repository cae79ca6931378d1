package control

import (
	"strings"
	"syscall"
	"testing"

	"krund/internal/control/machines"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/rig/must"
)

// awkward is a machine of testdata with an unusual property, and the expected finding of one
// control.
type awkward struct {
	name    string
	tree    string
	files   map[string]string // written before; "-" removes
	control string
	status  setting.Status // after applying
	part    string         // of the row
}

const cpuDir = "/sys/devices/system/cpu/"

var awkwardMachines = []awkward{
	{"a CPU was taken out", "intel-acpi-cpufreq",
		map[string]string{cpuDir + "online": "0-2", cpuDir + "present": "0-2",
			host.CPUFreqDir + "/policy3": "-", cpuDir + "cpu3": "-"},
		"frequency", setting.StatusSet, ""},
	{"a CPU is offline, its policy is still listed", "amd-pstate-epp-6.12",
		map[string]string{cpuDir + "online": "0-2", cpuDir + "cpu3/online": "0"}, "frequency",
		setting.StatusSet, ""},
	{"a driver that ignores the maximum", "amd-pstate-epp", nil, "frequency", setting.StatusCannot,
		"ignores scaling_max_freq"},
	{"a policy without CPUs, as old kernels have it", "intel-acpi-cpufreq",
		map[string]string{host.CPUFreqDir + "/policy1/affected_cpus": "",
			host.CPUFreqDir + "/policy1/scaling_governor": ""}, "frequency", setting.StatusSet, ""},
	{"a CPU is offline, and the copy of the machine lacks what the kernel did not answer",
		"intel-acpi-cpufreq",
		map[string]string{cpuDir + "online": "0-2", host.CPUFreqDir + "/policy3/affected_cpus": "-",
			host.CPUFreqDir + "/policy3/scaling_driver": "-"},
		"frequency", setting.StatusSet, ""},
	{"a policy without CPUs and without anything else", "arm64",
		map[string]string{
			cpuDir + "online": "0,2-3", host.CPUFreqDir + "/policy1/affected_cpus": "\n",
			host.CPUFreqDir + "/policy1/scaling_max_freq": "-",
			host.CPUFreqDir + "/policy1/cpuinfo_max_freq": "",
		},
		"frequency", setting.StatusSet, ""},
	{"a policy of a CPU that is online cannot be read", "arm64",
		map[string]string{host.CPUFreqDir + "/policy0/affected_cpus": "-"}, "frequency",
		setting.StatusCannot, "policy0/affected_cpus"},
	{"a CPU without a policy", "intel-acpi-cpufreq",
		map[string]string{host.CPUFreqDir + "/policy2": "-"}, "frequency", setting.StatusSet,
		"no policy for CPU 2,"},
	{"all CPUs share a policy", "arm64",
		map[string]string{host.CPUFreqDir + "/policy0/affected_cpus": "0 1 2 3",
			host.CPUFreqDir + "/policy0/related_cpus": "0 1 2 3"}, "frequency", setting.StatusSet, ""},
	{"limits that are one already, at another frequency", "intel-acpi-cpufreq",
		map[string]string{host.CPUFreqDir + "/policy0/scaling_min_freq": "1200000",
			host.CPUFreqDir + "/policy0/scaling_max_freq": "1200000"},
		"frequency", setting.StatusSet, ""},
	{"no governor performance", "amd-acpi-cpufreq",
		map[string]string{host.CPUFreqDir + "/policy0/scaling_available_governors": "userspace schedutil"},
		"frequency", setting.StatusCannot, "CONFIG_CPU_FREQ_GOV_PERFORMANCE"},
	{"a frequency that the driver does not know", "arm64",
		map[string]string{host.CPUFreqDir + "/policy0/scaling_driver": "<unknown>"}, "frequency",
		setting.StatusSet, ""},
	{"a sibling that was taken offline", "amd-pstate-epp",
		map[string]string{cpuDir + "online": "0-2", cpuDir + "cpu2/online": "1",
			cpuDir + "cpu3/online": "0"}, "smt", setting.StatusSet, ""},
	{"no siblings", "intel-acpi-cpufreq", map[string]string{cpuDir + "smt/control": "notsupported"}, "smt",
		setting.StatusOK, "notsupported"},
	{"no support for siblings in the kernel", "arm64",
		map[string]string{cpuDir + "smt/control": "notimplemented"}, "smt", setting.StatusOK,
		"notimplemented"},
	{"nohz_full names CPUs that do not exist", "kvm-guest", map[string]string{nohzFile: "1-63"}, "tickless",
		setting.StatusOK, ""},
	{"isolcpus with flags", "intel-acpi-cpufreq",
		map[string]string{cpuDir + "isolated": "1-3",
			"/proc/cmdline": "quiet isolcpus=domain,managed_irq,1-3"}, "isolcpus",
		setting.StatusNeedsReboot, "isolcpus"},
	{"isolcpus of interrupts only", "intel-acpi-cpufreq",
		map[string]string{cpuDir + "isolated": "", "/proc/cmdline": "isolcpus=managed_irq,1-3"}, "isolcpus",
		setting.StatusOK, ""},
	{"control groups of version 1", "kvm-guest",
		map[string]string{groupRoot: "-", groupRoot + "/cpuset/cpuset.cpus": "0-1"}, "shield",
		setting.StatusCannot, "cgroup v2"},
	{"one CPU", "kvm-guest", map[string]string{cpuDir + "online": "0"}, "shield", setting.StatusCannot,
		"two CPUs"},
	{"one CPU and interrupts", "kvm-guest", map[string]string{cpuDir + "online": "0"}, "irq_affinity",
		setting.StatusCannot, ""},
	{"one CPU of a machine of four", "more/container",
		map[string]string{groupRoot + "/cpuset.cpus.effective": "2"}, "workqueues", setting.StatusCannot,
		"only CPU 2,"},
	{"no idle states on arm64", "more/raspberry-pi", nil, "cstates", setting.StatusOK, "only waits"},
	{"no idle states on RISC-V", "more/visionfive2", nil, "cstates", setting.StatusOK, "only waits"},
	{"U-Boot's configuration, written by a program", "more/visionfive2", map[string]string{nohzFile: ""},
		"tickless", setting.StatusNeedsReboot, "u-boot-update"},
	{"U-Boot's configuration, written by hand", "more/visionfive2", map[string]string{nohzFile: "",
		"/etc/default/u-boot": "-"}, "tickless", setting.StatusNeedsReboot, "lines append"},
	{"a kernel without the driver of the uncore", "more/m7i-metal", nil, "uncore", setting.StatusOK,
		"CONFIG_INTEL_UNCORE_FREQ_CONTROL=y"},
	{"a rented machine without a frequency driver", "more/m7i-metal",
		map[string]string{host.CPUFreqDir: "-", cpuDir + "intel_pstate": "-"}, "frequency",
		setting.StatusCannot, "rented"},
	{"no frequency driver on RISC-V", "more/raspberry-pi", map[string]string{host.CPUFreqDir: "-",
		"/proc/cpuinfo": "hart\t: 0\nisa\t: rv64imafdc\nuarch\t: sifive,u74-mc\n"}, "frequency",
		setting.StatusCannot, "the board's frequency driver"},
	{"no frequency driver and no registers of x86", "more/raspberry-pi",
		map[string]string{host.CPUFreqDir: "-"}, "turbo", setting.StatusCannot, `turbo = "warn"`},
	{"a kernel without tickless CPUs in a container", "more/container", map[string]string{nohzFile: "-"},
		"tickless", setting.StatusCannot, "on the host of this container"},
	{"fair servers without debugfs in a container", "more/container",
		map[string]string{"/proc/sys/kernel/osrelease": "6.18.1"}, "rt_throttle", setting.StatusCannot,
		"on the host of this container"},
}

// TestAwkwardMachines: each control reports an unusual machine correctly and sets what can be set,
// and all of it can be restored.
func TestAwkwardMachines(t *testing.T) {
	for _, tt := range awkwardMachines {
		t.Run(tt.name, func(t *testing.T) {
			m, k := fakeMachine(t, tt.tree)
			for name, text := range tt.files {
				if text == "-" {
					k.remove(t, name)
				} else {
					k.put(name, text)
				}
			}
			before := state(t, m, k)
			findings, restore, problems := ApplyAll(t.Context(), m, everything(), openJournal(t, m))
			f := find(t, findings, tt.control)
			row := strings.Join([]string{f.Found, f.Wanted, f.Detail, f.Fix}, " | ")
			must.Be(t, len(problems) <= 0 && f.Status == tt.status && strings.Contains(row, tt.part),
				tt.control, f.Status, row, tt.status, tt.part, "problems", problems)
			must.Do(t, restore(t.Context()))
			sameTree(t, state(t, m, k), before)
		})
	}
}

// TestReadOnlyKernelFiles: in a container every write to /sys and /proc/sys fails. Nothing is
// changed, and each row gives the reason.
func TestReadOnlyKernelFiles(t *testing.T) {
	for _, tree := range append(machines.Names(), machines.More()...) {
		m, k := fakeMachine(t, tree)
		before := state(t, m, k)
		k.refuse = func(string, string, string) error { return syscall.EROFS }
		s := everything()
		s = under(s, setting.Off, "timers", "services", "network", "swap")
		findings, restore, _ := ApplyAll(t.Context(), m, s, openJournal(t, m))
		for _, f := range findings {
			must.Be(t, f.Status != setting.StatusSet, tree, f.Name, f.Status)
			must.Be(t, !strings.Contains(f.Detail, "read-only") || strings.Contains(f.Fix, "container"), tree,
				f.Name, "fix", f.Fix)
		}
		must.Do(t, restore(t.Context()))
		sameTree(t, state(t, m, k), before)
	}
}

// TestCheckOfReadOnlyKernelFiles: a check does not promise to set what cannot be written.
func TestCheckOfReadOnlyKernelFiles(t *testing.T) {
	for _, tree := range append(machines.Names(), machines.More()...) {
		m, k := fakeMachine(t, tree)
		s := everything()
		promised := map[string]bool{}
		for _, f := range CheckAll(t.Context(), m, s) {
			promised[f.Name] = f.Status == setting.StatusWillSet
		}
		k.mount = "ro"
		refused := 0
		for _, f := range CheckAll(t.Context(), m, s) {
			switch {
			case f.Status == setting.StatusCannot && strings.Contains(f.Detail, "read-only"):
				refused++
				must.Be(t, promised[f.Name] && strings.Contains(f.Fix, "container"), tree, f)
			case f.Status == setting.StatusWillSet && f.Name != "swap" && f.Name != "services" &&
				f.Name != "timers" && f.Name != "network" && f.Name != "cstates":
				t.Errorf("%s: %s is promised", tree, f.Name)
			}
		}
		must.Be(t, refused >= 5, tree, "only", refused, "controls see it")
	}
}

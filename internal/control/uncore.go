package control

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/probe"
)

const uncoreDir = "/sys/devices/system/cpu/intel_uncore_frequency"

// uncore holds the frequency of the parts of the processor that its cores share
// (docs.kernel.org, admin-guide/pm/intel_uncore_frequency_scaling). The driver does not compare the
// two limits (drivers/platform/x86/intel/uncore-frequency/uncore-frequency.c of Linux 6.1:58,
// 6.12:66), but keeps only multiples of 100 MHz. On AMD processors the frequency of the fabric can
// only be set through the device of the driver amd_hsmp, which krund does not use.
var uncore = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "uncore", Policy: setting.Apply,
		Brief: "the uncore frequency is fixed",
		Why: "the processor changes the speed of its last-level cache and memory controller with the " +
			"load of all cores",
		Options: []setting.Option{{
			Name: "khz", Default: int64(0), Min: 0, Max: 12_700_000,
			Doc: "frequency, a multiple of 100,000; 0 is the highest that the limits allow",
		}},
		What: "`intel_uncore_frequency/*/min_freq_khz` = `max_freq_khz`",
		Notes: "Intel processors with the driver `intel_uncore_frequency`; others are left alone. The " +
			"fabric of AMD processors is not set",
	},
	targets: files(isNumber, uncoreDir+"/*/min_freq_khz", uncoreDir+"/*/max_freq_khz"),
	plan:    planUncore,
}

// planUncore sets both limits of every domain to khz, or the lower one to the upper one if khz is
// 0.
func planUncore(_ context.Context, m *Machine, d setting.Demand, _ Request) Plan {
	khz, wanted := d.Whole("khz"), "minimum = maximum"
	if khz > 0 {
		wanted = fmt.Sprintf("%d kHz", khz)
	}
	if khz%100_000 != 0 {
		return cannot("unknown", wanted, "the processor counts in steps of 100000 kHz",
			"correct controls.uncore.khz")
	}
	domains, err := uncoreDomains(m)
	if err != nil {
		return unreadable(wanted, err)
	}
	if len(domains) == 0 {
		return noUncore(m, d.Policy, wanted)
	}
	var found []string
	var steps []Step
	for _, domain := range domains {
		least, err := m.Root.ReadInt(domain + "/min_freq_khz")
		most, err2 := m.Root.ReadInt(domain + "/max_freq_khz")
		if err := cmp.Or(err, err2); err != nil {
			return unreadable(wanted, err)
		}
		text := fmt.Sprintf("%d to %d kHz", least, most)
		// It moves: where the control is off a change between executions would be a remark.
		if now, err := m.Root.ReadInt(domain + "/current_freq_khz"); err == nil && d.Policy != setting.Off {
			text += fmt.Sprintf(", now %d", now)
		}
		if !slices.Contains(found, text) {
			found = append(found, text)
		}
		target := khz
		if khz == 0 {
			target = most
		}
		steps = append(steps, fixDomain(domain, least, most, target)...)
	}
	return willSet(strings.Join(found, ", "), wanted, steps...)
}

// noUncore is the plan without the driver: nothing to do, unless it is required.
func noUncore(m *Machine, policy setting.Policy, wanted string) Plan {
	platform := probe.PlatformOf(m.Host)
	cpuinfo, _ := m.Root.Read("/proc/cpuinfo") // "" is of no known processor
	fix, option := platform.Remedy("uncore"), "CONFIG_INTEL_UNCORE_FREQ_CONTROL"
	switch {
	case !m.KernelAtLeast(5, 6):
		fix = "it came with Linux 5.6"
	case m.KernelOption(option) == option+" is not set":
		fix = "this kernel is built without it; use one with " + option + "=y"
	}
	if platform.Guest || !strings.Contains(cpuinfo, "GenuineIntel") {
		fix = "only bare Intel processors show it"
	}
	if policy == setting.Require {
		return cannot("absent", wanted, "there is no "+uncoreDir, fix)
	}
	return ok("absent", wanted, "there is no driver for it: "+fix)
}

// uncoreDomains returns the directories to set. Where the processor has several domains in a
// package, package_NN_die_NN stands for all of them, and reads as the extremes of their limits
// (uncore-frequency-tpmi.c of Linux 6.12:150): then the single ones, uncoreNN, are set.
func uncoreDomains(m *Machine) ([]string, error) {
	for _, pattern := range []string{"/uncore[0-9]*", "/package_*"} {
		domains, err := m.Root.Glob(uncoreDir + pattern)
		if err != nil || len(domains) > 0 {
			return domains, err
		}
	}
	return nil, nil
}

// fixDomain returns the steps that set both limits to khz; the maximum is never below the minimum.
func fixDomain(domain string, least, most, khz int64) []Step {
	limit := func(name string, now int64) []Step {
		if now == khz {
			return nil
		}
		return []Step{{Kind: KindFile, Target: path.Join(domain, name), Old: strconv.FormatInt(now, 10),
			New: strconv.FormatInt(khz, 10)}}
	}
	lower, upper := limit("min_freq_khz", least), limit("max_freq_khz", most)
	if khz > most {
		return append(upper, lower...)
	}
	return append(lower, upper...)
}

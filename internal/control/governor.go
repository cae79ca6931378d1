package control

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
)

// performance is the governor, and the energy preference, that asks for full speed.
const performance = "performance"

// frequencyGovernor is the first part of frequency: governor and energy preference. It works before
// turbo, because old intel_pstate kept a turbo switch for each governor, so that changing the
// governor switched turbo on again.
//
// The energy preference is written before the governor so that it is restored after it: under the
// performance governor intel_pstate and amd-pstate reject every other preference (docs.kernel.org,
// admin-guide/pm/intel_pstate, "Active Mode With HWP").
var frequencyGovernor = Descriptor{
	Descriptor: frequency,
	targets:    governorFiles(),
	plan:       fixed(planGovernors),
}

func planGovernors(_ context.Context, m *Machine) Plan {
	policies, err := m.FrequencyPolicies()
	if err != nil {
		return unreadable(performance, err)
	}
	if len(policies) == 0 {
		return noFrequencyDriver(m, performance)
	}
	p := planGovernor(policies, dynamicBoost(m))
	if p.Status == setting.StatusWillSet {
		p.Steps = append(noteTunables(m, policies), p.Steps...)
	}
	return p
}

// governorFiles are the targets of the governor: its selection, the energy preference, and the
// tunables of the previous governor.
func governorFiles() []target {
	const policy = host.CPUFreqDir + "/policy[0-9]*"
	return append(files(isWords, policy+"/scaling_governor", policy+"/energy_performance_preference"),
		files(isNumber, dynamicBoostFile)[0], target{kind: KindFile, name: isTunable, values: from(isWords)})
}

// isTunable reports whether a file is a tunable of a governor: in a directory of the governor's
// name, shared by all policies or below one policy.
func isTunable(name string) bool {
	all, policies := like(host.CPUFreqDir+"/*/*"), like(host.CPUFreqDir+"/policy[0-9]*")
	return all(name) && !policies(path.Dir(name)) || like(host.CPUFreqDir+"/policy[0-9]*/*/*")(name)
}

// dynamicBoostFile lets intel_pstate raise the minimum frequency of a CPU that wakes up after I/O.
const dynamicBoostFile = "/sys/devices/system/cpu/intel_pstate/hwp_dynamic_boost"

// dynamicBoost returns the step that switches hwp_dynamic_boost off, none if it is off or cannot be
// read.
func dynamicBoost(m *Machine) []Step {
	if v, err := m.Root.Read(dynamicBoostFile); err == nil && v == "1" {
		return []Step{{Kind: KindFile, Target: dynamicBoostFile, Old: "1", New: "0"}}
	}
	return nil
}

// noteTunables returns steps that change nothing and record the tunables of governors that are
// about to be replaced: the kernel discards them with the governor's last policy, and starts with
// the defaults when the governor returns. They are the first steps, so that they are restored after
// the governor.
func noteTunables(m *Machine, policies []host.FrequencyPolicy) []Step {
	var dirs []string
	for _, p := range policies {
		if p.Governor != performance {
			// shared by all policies or one for each, depending on the driver
			dirs = append(dirs, host.CPUFreqDir+"/"+p.Governor, p.File(p.Governor))
		}
	}
	slices.Sort(dirs)
	var steps []Step
	for _, dir := range slices.Compact(dirs) {
		for _, name := range m.Root.List(dir) {
			if text, err := m.Root.Read(dir + "/" + name); err == nil && isWords(text) {
				steps = append(steps, note(dir+"/"+name, text))
			}
		}
	}
	return steps
}

// planGovernor sets governor and energy preference to "performance" in every policy.
func planGovernor(policies []host.FrequencyPolicy, extra []Step) Plan {
	found := each(policies, func(p host.FrequencyPolicy) string {
		text := p.Driver + " " + p.Governor
		if p.EPP != "" {
			text += " (energy " + p.EPP + ")"
		}
		return text
	})
	var prefer, govern []Step
	for _, p := range policies {
		if !slices.Contains(p.Governors, performance) {
			return cannot(found, performance,
				fmt.Sprintf("%s offers only %s", p.Name, strings.Join(p.Governors, " ")),
				"load or build in the governor (CONFIG_CPU_FREQ_GOV_PERFORMANCE)")
		}
		if p.EPP != "" && p.EPP != performance {
			prefer = append(prefer, Step{Kind: KindFile, Target: p.File("energy_performance_preference"),
				Old: p.EPP, New: performance, Optional: true})
		}
		if p.Governor != performance {
			govern = append(govern, Step{Kind: KindFile, Target: p.File("scaling_governor"),
				Old: p.Governor, New: performance})
		}
	}
	steps := slices.Concat(prefer, govern, extra)
	return willSet(found, performance, steps...)
}

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"krund/internal/machine/sysroot"
)

// CPUFreqDir is the directory of the policies, and of drivers' and governors' own files.
const CPUFreqDir = "/sys/devices/system/cpu/cpufreq"

// A FrequencyPolicy is one policyN directory of cpufreq (docs.kernel.org, admin-guide/pm/cpufreq):
// CPUs that share a frequency, with the values that their driver reports. Frequencies are in kHz, 0
// if the driver does not report them.
type FrequencyPolicy struct {
	Name      string // policy0
	CPUs      CPUs
	Driver    string
	Governor  string
	Governors []string // that can be selected
	EPP       string   // energy_performance_preference; "" if there is none, or it has no name
	Min, Max  int64    // the limits in force
	HWMin     int64    // the range of the hardware
	HWMax     int64
	Base      int64   // base_frequency: intel_pstate with HWP
	Nominal   int64   // from ACPI CPPC: the sustained frequency
	Steps     []int64 // scaling_available_frequencies: drivers with a table
	Boosts    []int64 // scaling_boost_frequencies
	Boost     string  // the policy's own boost switch: "0", "1", "" when there is none
}

// File returns the path of a file of the policy.
func (p FrequencyPolicy) File(name string) string { return CPUFreqDir + "/" + p.Name + "/" + name }

// FrequencyPolicies returns the policies that have CPUs online; none if the machine has no
// frequency driver.
func (h Host) FrequencyPolicies() ([]FrequencyPolicy, error) {
	dirs, err := h.Root.Glob(CPUFreqDir + "/policy[0-9]*")
	if err != nil {
		return nil, err
	}
	var policies []FrequencyPolicy
	for _, dir := range dirs {
		p, err := h.FrequencyPolicy(strings.TrimPrefix(dir, CPUFreqDir+"/"))
		if err != nil && h.inactive(dir, err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(p.CPUs) > 0 {
			policies = append(policies, p)
		}
	}
	return policies, nil
}

// inactive reports whether a policy that cannot be read has no CPUs online. The kernel answers
// EBUSY while all of them are offline, and ENODEV if it removes the policy at that moment; then the
// directory is gone. A copy of a machine may lack the files that the kernel did not let be read.
func (h Host) inactive(dir string, err error) bool {
	if errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.ENODEV) || !h.Root.Exists(dir) {
		return true
	}
	// A policy is named after one of its CPUs.
	cpu, numberErr := strconv.Atoi(strings.TrimPrefix(dir, CPUFreqDir+"/policy"))
	online, onlineErr := h.Online()
	return numberErr == nil && onlineErr == nil && errors.Is(err, fs.ErrNotExist) &&
		!online.Contains(CPUs{cpu})
}

// WithoutPolicy returns the CPUs online that no policy covers; nil if that is unknown.
func (h Host) WithoutPolicy(policies []FrequencyPolicy) CPUs {
	rest, err := h.Online()
	if err != nil {
		return nil
	}
	for _, p := range policies {
		rest = rest.Minus(p.CPUs)
	}
	return rest
}

// FrequencyPolicy reads the policy of that name, such as policy0. For a policy without CPUs online
// it returns only the name.
func (h Host) FrequencyPolicy(name string) (FrequencyPolicy, error) {
	p := FrequencyPolicy{Name: name}
	r := fieldReader{root: h.Root, dir: CPUFreqDir + "/" + name + "/"}
	if p.CPUs = r.cpus("affected_cpus"); r.err != nil || len(p.CPUs) == 0 {
		return p, r.err // the rest of a policy without CPUs is meaningless
	}
	p.Driver = r.text("scaling_driver", true)
	p.Governor = r.text("scaling_governor", true)
	p.Governors = strings.Fields(r.text("scaling_available_governors", true))
	p.Min, p.Max = r.number("scaling_min_freq", true), r.number("scaling_max_freq", true)
	p.HWMin, p.HWMax = r.number("cpuinfo_min_freq", true), r.number("cpuinfo_max_freq", true)
	p.EPP = r.preference()
	p.Boost = r.text("boost", false)
	p.Base = r.number("base_frequency", false)
	p.Steps, p.Boosts = r.numbers("scaling_available_frequencies"), r.numbers("scaling_boost_frequencies")
	if r.err == nil {
		r.dir = fmt.Sprintf("/sys/devices/system/cpu/cpu%d/", p.CPUs[0])
		p.Nominal = 1000 * r.number("acpi_cppc/nominal_freq", false) // MHz there
		if p.Base == 0 && strings.HasPrefix(p.Driver, "intel_") {
			r.dir = "/sys/devices/system/cpu/intel_pstate/"
			p.Base = intelBase(p.HWMin, p.HWMax, r.number("num_pstates", false), r.number("turbo_pct", false),
				r.text("no_turbo", false))
		}
	}
	return p, r.err
}

// coreStep is the difference between adjacent P-states of Intel Core processors, in kHz: the
// P-state is a ratio that multiplies a bus clock of 100 MHz.
const coreStep = 100000

// intelBase returns the highest frequency without turbo of intel_pstate without HWP, 0 when
// unknown. It follows from the number of P-states, including turbo, and the share of them that is
// turbo, which the driver rounds to whole percents (docs.kernel.org, admin-guide/pm/intel_pstate:
// num_pstates, turbo_pct).
//
// With turbo off it can be simpler. Since Linux 6.10 the driver then lowers the hardware maximum to
// the base frequency, as older drivers do when the firmware has switched turbo off. When turbo was
// switched off by no_turbo, older drivers leave the maximum at that of turbo, and only reject
// limits above the base frequency. The number of P-states distinguishes the two.
func intelBase(hwMin, hwMax, states, turboPercent int64, noTurbo string) int64 {
	lowered := noTurbo == "1" && hwMax-hwMin != (states-1)*coreStep
	switch {
	case lowered:
		return hwMax
	case states < 2 || turboPercent < 0 || turboPercent >= 100 || hwMax <= hwMin:
		return 0
	}
	lasting := (states*(100-turboPercent) + 50) / 100
	step := (hwMax - hwMin) / (states - 1)
	return hwMin + max(lasting-1, 0)*step
}

// Target returns the frequency to hold in kHz: khz, or the sustainable one when khz is 0. 0 means
// unknown.
func (p FrequencyPolicy) Target(khz int64) int64 {
	if khz != 0 {
		return khz
	}
	to, _ := p.Sustainable()
	if to > p.HWMax && p.HWMax > 0 {
		to = p.HWMax
	}
	return to
}

// Held returns the frequency in kHz at which the limits in force hold the CPUs while they are busy:
// the only one that they permit or, between different limits, the sustainable one, which a CPU
// without turbo has under the governor performance. 0 means unknown.
func (p FrequencyPolicy) Held() int64 {
	if p.Min == p.Max {
		return p.Max
	}
	if khz, sure := p.Sustainable(); sure {
		return min(khz, p.Max)
	}
	return 0
}

// Sustainable returns the highest frequency that the processor can sustain, in kHz, and whether it
// is known to be free of turbo. It is the first of these that is known: the driver's base
// frequency; the nominal one of ACPI CPPC; the highest of the driver's table that is not turbo; the
// highest of all, which is free of turbo only when turbo is off. 0 is unknown.
func (p FrequencyPolicy) Sustainable() (khz int64, sure bool) {
	switch {
	case p.Base > 0:
		return p.Base, true
	case p.Nominal > 0 && (strings.HasPrefix(p.Driver, "amd-pstate") || p.Driver == "cppc_cpufreq"):
		return p.Nominal, true
	case len(p.Steps) > 0:
		return p.tableBase(), true
	}
	return p.HWMax, false
}

// tableBase returns the highest frequency of the driver's table that is not turbo. In tables of
// Intel machines one entry, 1 MHz above the base frequency, stands for all of turbo (ACPI P-states,
// "P0 turbo").
func (p FrequencyPolicy) tableBase() int64 {
	steps := slices.DeleteFunc(slices.Clone(p.Steps),
		func(f int64) bool { return slices.Contains(p.Boosts, f) })
	slices.Sort(steps)
	n := len(steps)
	switch {
	case n == 0:
		return 0
	case n > 1 && steps[n-1]-steps[n-2] == 1000:
		return steps[n-2]
	}
	return steps[n-1]
}

// fieldReader reads small files of one directory and remembers the first error.
type fieldReader struct {
	root sysroot.Root
	dir  string
	err  error
}

// text returns the text of a file. A missing file is "", or an error if the file is needed.
// "<unknown>" and "<unsupported>", which cpufreq prints for values that a driver cannot provide,
// are "" as well.
func (r *fieldReader) text(name string, needed bool) string {
	if r.err != nil {
		return ""
	}
	text, err := r.root.Read(r.dir + name)
	if err != nil && (needed || !errors.Is(err, fs.ErrNotExist)) {
		r.err = err
		return ""
	}
	if text == "<unknown>" || text == "<unsupported>" {
		return ""
	}
	return text
}

// preference returns the energy preference, "" if it cannot be read, which is not an error:
// amd-pstate answers EINVAL if the firmware has left a value without a name, and under the governor
// performance the drivers force the preference anyway.
func (r *fieldReader) preference() string {
	if r.err != nil {
		return ""
	}
	text, err := r.root.Read(r.dir + "energy_performance_preference")
	if err != nil {
		return ""
	}
	return text
}

// number returns the number in a file, 0 if it is missing or malformed; if it is needed, that is an
// error.
func (r *fieldReader) number(name string, needed bool) int64 {
	text := r.text(name, needed)
	n, err := strconv.ParseInt(text, 10, 64)
	if (err != nil || n < 0) && needed && r.err == nil {
		r.err = fmt.Errorf("read %s%s: %.80q is not a frequency", r.dir, name, text)
	}
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// numbers returns the numbers of a list that may be missing; it skips malformed words.
func (r *fieldReader) numbers(name string) []int64 {
	var list []int64
	for _, word := range strings.Fields(r.text(name, false)) {
		if n, err := strconv.ParseInt(word, 10, 64); err == nil && n > 0 {
			list = append(list, n)
		}
	}
	return list
}

// cpus returns the CPUs of a list separated by spaces.
func (r *fieldReader) cpus(name string) CPUs {
	set, err := ParseCPUList(strings.Join(strings.Fields(r.text(name, true)), ","))
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("read %s%s: %w", r.dir, name, err)
	}
	return set
}

package control

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"krund/internal/sysroot"
)

const cpufreqDir = "/sys/devices/system/cpu/cpufreq"

// A cpuPolicy is one policyN directory of cpufreq: CPUs that share a frequency, with what their driver says. Frequencies are in kHz, 0 when
// the driver does not say.
type cpuPolicy struct {
	name      string // policy0
	cpus      CPUs
	driver    string
	governor  string
	governors []string // that may be written
	epp       string   // energy_performance_preference; "" when there is none, or none that has a name
	min, max  int64    // the limits in force
	hwMin     int64
	hwMax     int64
	base      int64   // base_frequency: intel_pstate with HWP
	nominal   int64   // from ACPI CPPC: the sustained frequency
	steps     []int64 // scaling_available_frequencies: drivers with a table
	boosts    []int64 // scaling_boost_frequencies
	boost     string  // the policy's own boost switch: "0", "1", "" when there is none
}

func (p cpuPolicy) file(name string) string { return cpufreqDir + "/" + p.name + "/" + name }

// readCPUFreq returns the policies that have CPUs online; none when the machine has no frequency driver.
func readCPUFreq(root sysroot.Root) ([]cpuPolicy, error) {
	dirs, err := root.Glob(cpufreqDir + "/policy[0-9]*")
	if err != nil {
		return nil, err
	}
	var policies []cpuPolicy
	for _, dir := range dirs {
		p, err := readPolicy(root, strings.TrimPrefix(dir, cpufreqDir+"/"))
		if err != nil && inactive(root, dir, err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(p.cpus) > 0 {
			policies = append(policies, p)
		}
	}
	return policies, nil
}

// inactive tells whether a policy that cannot be read is one without CPUs: the kernel answers EBUSY while all of them are offline, ENODEV when it
// takes the policy away in that moment, and then the directory is gone. In a copy of a machine whatever the kernel answered may be missing.
func inactive(root sysroot.Root, dir string, err error) bool {
	if errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.ENODEV) || !root.Exists(dir) {
		return true
	}
	cpu, numberErr := strconv.Atoi(strings.TrimPrefix(dir, cpufreqDir+"/policy")) // a policy is called by one of its CPUs
	online, onlineErr := onlineCPUs(root)
	return numberErr == nil && onlineErr == nil && errors.Is(err, fs.ErrNotExist) && !online.Contains(CPUs{cpu})
}

// without returns the CPUs online that no policy covers; nil when nobody knows.
func without(root sysroot.Root, policies []cpuPolicy) CPUs {
	rest, err := onlineCPUs(root)
	if err != nil {
		return nil
	}
	for _, p := range policies {
		rest = rest.Minus(p.cpus)
	}
	return rest
}

// readPolicy reads one policy.
func readPolicy(root sysroot.Root, name string) (cpuPolicy, error) {
	p := cpuPolicy{name: name}
	r := fieldReader{root: root, dir: cpufreqDir + "/" + name + "/"}
	if p.cpus = r.cpus("affected_cpus"); r.err != nil || len(p.cpus) == 0 {
		return p, r.err // the rest of a policy without CPUs means nothing
	}
	p.driver = r.text("scaling_driver", true)
	p.governor = r.text("scaling_governor", true)
	p.governors = strings.Fields(r.text("scaling_available_governors", true))
	p.min, p.max = r.number("scaling_min_freq", true), r.number("scaling_max_freq", true)
	p.hwMin, p.hwMax = r.number("cpuinfo_min_freq", true), r.number("cpuinfo_max_freq", true)
	p.epp = r.preference()
	p.boost = r.text("boost", false)
	p.base = r.number("base_frequency", false)
	p.steps, p.boosts = r.numbers("scaling_available_frequencies"), r.numbers("scaling_boost_frequencies")
	if r.err == nil {
		r.dir = fmt.Sprintf("/sys/devices/system/cpu/cpu%d/", p.cpus[0])
		p.nominal = 1000 * r.number("acpi_cppc/nominal_freq", false) // MHz there
		if p.base == 0 && strings.HasPrefix(p.driver, "intel_") {
			r.dir = "/sys/devices/system/cpu/intel_pstate/"
			p.base = intelBase(p.hwMin, p.hwMax, r.number("num_pstates", false), r.number("turbo_pct", false), r.text("no_turbo", false))
		}
	}
	return p, r.err
}

// coreStep is the distance of neighbouring P-states of Intel Core processors, in kHz: the ratio that the P-state is multiplies a bus clock of 100 MHz.
const coreStep = 100000

// intelBase returns the highest frequency without turbo of intel_pstate without HWP, 0 when unknown. It follows from the number of P-states,
// turbo and all, and the share of them that is turbo (docs.kernel.org, admin-guide/pm/intel_pstate: num_pstates, turbo_pct), which the driver
// rounds to whole percents.
//
// With turbo off it may be simpler. Since Linux 6.10 the driver then lowers the hardware maximum to the base frequency, as older ones do when
// the firmware has switched turbo off. But when the switch no_turbo has, these leave the maximum at that of turbo, and only refuse limits above
// the base frequency. The number of P-states tells which it is.
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

// target returns the frequency to hold: khz, or the sustainable one when khz is 0. 0 means unknown.
func (p cpuPolicy) target(khz int64) int64 {
	if khz != 0 {
		return khz
	}
	to, _ := p.sustainable()
	if to > p.hwMax && p.hwMax > 0 {
		to = p.hwMax
	}
	return to
}

// sustainable returns the highest frequency that the processor holds for ever, in kHz, and whether it is known to be free of turbo. It
// is the base frequency where the driver names one; else the nominal one of ACPI CPPC; else the highest of the driver's table that is not
// turbo; else the highest of all, which is free of turbo only when turbo is off. 0 is unknown.
func (p cpuPolicy) sustainable() (khz int64, sure bool) {
	switch {
	case p.base > 0:
		return p.base, true
	case p.nominal > 0 && (strings.HasPrefix(p.driver, "amd-pstate") || p.driver == "cppc_cpufreq"):
		return p.nominal, true
	case len(p.steps) > 0:
		return p.tableBase(), true
	}
	return p.hwMax, false
}

// tableBase returns the highest frequency of the driver's table that is not turbo. Tables of Intel machines stand for all of turbo by one
// entry that is 1 MHz above the base frequency (ACPI P-states, "P0 turbo").
func (p cpuPolicy) tableBase() int64 {
	steps := slices.DeleteFunc(slices.Clone(p.steps), func(f int64) bool { return slices.Contains(p.boosts, f) })
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

// text returns the text of a file. A missing one is "", and an error when it is needed; so is "<unknown>" and "<unsupported>", with which
// cpufreq answers what a driver cannot say.
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

// preference returns the energy preference. It is no error that it cannot be read: amd-pstate answers EINVAL when the firmware has left a value
// that has no name, and under the governor performance the drivers force it in any case.
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

// number returns a number that a file holds, 0 when it is not needed and missing or no number.
func (r *fieldReader) number(name string, needed bool) int64 {
	text := r.text(name, needed)
	n, err := strconv.ParseInt(text, 10, 64)
	if (err != nil || n < 0) && needed && r.err == nil {
		r.err = fmt.Errorf("read %s%s: %q is not a frequency", r.dir, name, clip(text))
	}
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// numbers returns the numbers of a list that may be missing; what is no number is left out.
func (r *fieldReader) numbers(name string) []int64 {
	var list []int64
	for _, word := range strings.Fields(r.text(name, false)) {
		if n, err := strconv.ParseInt(word, 10, 64); err == nil && n > 0 {
			list = append(list, n)
		}
	}
	return list
}

// cpus returns the CPUs of a list parted by spaces.
func (r *fieldReader) cpus(name string) CPUs {
	set, err := ParseCPUList(strings.Join(strings.Fields(r.text(name, true)), ","))
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("read %s%s: %w", r.dir, name, err)
	}
	return set
}

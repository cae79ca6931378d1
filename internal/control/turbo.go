package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
)

const (
	noTurboFile = "/sys/devices/system/cpu/intel_pstate/no_turbo"
	boostFile   = host.CPUFreqDir + "/boost"

	// minPercentFile is intel_pstate's minimum for all CPUs, in percent of the highest frequency.
	minPercentFile = "/sys/devices/system/cpu/intel_pstate/min_perf_pct"
)

// turbo switches turbo off by the first method that the machine supports: the switch of
// intel_pstate; the boost switch of every policy; that of the driver; a maximum at the nominal
// frequency; the processor's register, if allowed.
var turbo = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "turbo", Policy: setting.Require,
		Brief: "no turbo",
		Why:   "turbo lasts as long as the processor is cool: results depend on what ran before",
		Options: []setting.Option{{
			Name: "msr", Default: false,
			Doc: "as a last resort, write the processor's register; the kernel logs this and becomes tainted",
		}},
		What: "see below", Notes: "applied between governor and limits",
	},
	targets: turboTargets(),
	plan: func(_ context.Context, m *Machine, d setting.Demand, _ Request) Plan {
		return planTurbo(m, d.Flag("msr"))
	},
	effect: func(_ setting.Demand, p host.FrequencyPolicy) (wanted int64, exact bool) {
		if khz, sure := p.Sustainable(); sure {
			return khz, false
		}
		return 0, false
	},
}

func turboTargets() []target {
	list := append(limitFiles(), files(isNumber, noTurboFile, minPercentFile, boostFile,
		host.CPUFreqDir+"/policy[0-9]*/boost")...)
	for _, register := range []int{intelMiscEnable, amdHWCR} {
		pattern := fmt.Sprintf("/dev/cpu/[0-9]*/msr@%#x", register)
		list = append(list, target{kind: KindMSR, name: like(pattern), values: turnsBoostOff})
	}
	return list
}

// planTurbo plans the switch and first records the frequency limits: they move when turbo is
// switched off, but do not return by themselves.
func planTurbo(m *Machine, msr bool) Plan {
	policies, err := m.FrequencyPolicies()
	if err != nil {
		return unreadable("off", err)
	}
	p := planTurboSwitch(m, policies, msr)
	if p.Status == setting.StatusWillSet {
		// no_turbo = 1 lowers the minimum to the share of the base frequency, and no_turbo = 0 does
		// not raise it again (Linux 6.12, drivers/cpufreq/intel_pstate.c:1549-1556; 6.1:
		// 1276-1283).
		p.Steps = slices.Concat(noteLimits(policies), noteFile(m, minPercentFile), p.Steps)
	}
	return p
}

// noteLimits returns steps that change nothing and record the limits in force.
func noteLimits(policies []host.FrequencyPolicy) []Step {
	var steps []Step
	for _, c := range policies {
		lower, upper := fmt.Sprint(c.Min), fmt.Sprint(c.Max)
		steps = append(steps,
			Step{Kind: KindFile, Target: c.File("scaling_min_freq"), Old: lower, New: lower, Form: FormLimit},
			Step{Kind: KindFile, Target: c.File("scaling_max_freq"), Old: upper, New: upper, Form: FormLimit})
	}
	return steps
}

func planTurboSwitch(m *Machine, policies []host.FrequencyPolicy, msr bool) Plan {
	if m.Root.Exists(noTurboFile) {
		p := sysfile{path: noTurboFile, want: "1"}.plan(context.Background(), m)
		p.Found, p.Wanted = onOff(p.Found, "1", "0"), "off"
		return p
	}
	if p, known := planPolicyBoost(policies); known {
		return p
	}
	if m.Root.Exists(boostFile) {
		p := sysfile{path: boostFile, want: "0"}.plan(context.Background(), m)
		p.Found, p.Wanted = onOff(p.Found, "0", "1"), "off"
		return p
	}
	cpuinfo, err := m.Root.Read("/proc/cpuinfo")
	if err != nil {
		return unreadable("off", err)
	}
	if p, known := planNoTurbo(cpuinfo, policies); known {
		return p
	}
	if p, known := planClamp(policies); known {
		return p
	}
	if msr {
		return planTurboMSR(m, cpuinfo)
	}
	platform := probe.PlatformOf(m.Host)
	if len(policies) > 0 && !platform.Guest {
		return cannot("on", "off", "the frequency driver has no switch for it", platform.Remedy("turbo"))
	}
	if speed, held := m.heldSpeed(); held && len(policies) == 0 {
		return ok(unknown, "off", "there is no frequency driver; the clock is steady: "+speed.String())
	}
	why := "there is no frequency driver"
	if platform.Guest {
		why = "the host of this virtual machine decides"
	}
	return cannot(unknown, "off", why, platform.Remedy("turbo"))
}

// onOff names the value of a switch.
func onOff(value, off, on string) string {
	switch value {
	case off:
		return "off"
	case on:
		return "on"
	}
	return value
}

// planPolicyBoost uses the boost switches of the policies, if every policy has one.
func planPolicyBoost(policies []host.FrequencyPolicy) (p Plan, known bool) {
	var steps []Step
	for _, c := range policies {
		switch c.Boost {
		case "":
			return Plan{}, false
		case "0":
		default:
			steps = append(steps, Step{Kind: KindFile, Target: c.File("boost"), Old: c.Boost, New: "0"})
		}
	}
	switch {
	case len(policies) == 0:
		return Plan{}, false
	case len(steps) == 0:
		return ok("off", "off"), true
	}
	return willSet("on", "off", steps...), true
}

// planNoTurbo is for processors without turbo, or with turbo switched off in the firmware: x86
// processors then lack both flags for it, and the drivers of others list no boost frequencies. A
// virtual machine's flags do not describe the hardware.
func planNoTurbo(cpuinfo string, policies []host.FrequencyPolicy) (p Plan, known bool) {
	x86 := host.IsX86(cpuinfo)
	switch {
	case host.CPUFlag(cpuinfo, "hypervisor"):
		return Plan{}, false
	case x86 && (host.CPUFlag(cpuinfo, "ida") || host.CPUFlag(cpuinfo, "cpb")):
		return Plan{}, false
	case !x86 && len(policies) == 0:
		return Plan{}, false
	}
	for _, c := range policies {
		if nominal, sure := c.Sustainable(); len(c.Boosts) > 0 || sure && nominal < c.HWMax {
			return Plan{}, false
		}
	}
	p = ok("off", "off")
	p.Detail = "the processor offers no turbo"
	return p, true
}

// planClamp holds the maximum of each policy at its nominal frequency, for drivers without a switch
// (amd-pstate before Linux 6.11).
func planClamp(policies []host.FrequencyPolicy) (p Plan, known bool) {
	var steps []Step
	for _, c := range policies {
		nominal, sure := c.Sustainable()
		if !sure || nominal == 0 || nominal < c.HWMin {
			return Plan{}, false
		}
		if c.Max <= nominal {
			continue
		}
		if c.Min > nominal {
			steps = append(steps, limits(c, nominal)...)
			continue
		}
		steps = append(steps, Step{Kind: KindFile, Target: c.File("scaling_max_freq"),
			Old: fmt.Sprint(c.Max), New: fmt.Sprint(nominal), Form: FormLimit})
	}
	switch {
	case len(policies) == 0:
		return Plan{}, false
	case len(steps) == 0:
		p = ok("off", "off")
	default:
		p = willSet("on", "off", steps...)
	}
	p.Detail = "no switch: maximum held at the nominal frequency"
	return p, true
}

// Registers that control turbo (Intel SDM volume 4, IA32_MISC_ENABLE bit 38 "Turbo Mode Disable";
// AMD PPR, HWCR bit 25 "CpbDis").
const (
	intelMiscEnable  = 0x1a0
	intelTurboOffBit = 1 << 38
	amdHWCR          = 0xc0010015
	amdBoostOffBit   = 1 << 25
)

// planTurboMSR sets the bit that disables turbo on every CPU.
func planTurboMSR(m *Machine, cpuinfo string) Plan {
	register, bit := int64(intelMiscEnable), uint64(intelTurboOffBit)
	if strings.Contains(cpuinfo, "AuthenticAMD") || strings.Contains(cpuinfo, "HygonGenuine") {
		register, bit = amdHWCR, amdBoostOffBit
	}
	cpus, err := m.Online()
	if err != nil {
		return unreadable("off", err)
	}
	var steps []Step
	for _, cpu := range cpus {
		target := fmt.Sprintf("/dev/cpu/%d/msr@%#x", cpu, register)
		value, err := msrApplier{m.Root}.read(target)
		if err != nil {
			return cannot("unknown", "off", err.Error(),
				"run `modprobe msr`; if the kernel does not allow it (Secure Boot), use the firmware's setup")
		}
		if value&bit == 0 {
			steps = append(steps, Step{Kind: KindMSR, Target: target, Old: hex(value), New: hex(value | bit)})
		}
	}
	if len(steps) == 0 {
		return ok("off", "off")
	}
	p := willSet("on", "off", steps...)
	p.Detail = "by writing the processor's register: the kernel logs this and becomes tainted"
	return p
}

// turnsBoostOff reports whether a step changes only that bit of the register.
func turnsBoostOff(s Step) bool {
	x, err1 := strconv.ParseUint(s.Old, 0, 64)
	y, err2 := strconv.ParseUint(s.New, 0, 64)
	bit := uint64(intelTurboOffBit)
	if strings.HasSuffix(s.Target, fmt.Sprintf("@%#x", amdHWCR)) {
		bit = amdBoostOffBit
	}
	return err1 == nil && err2 == nil && x^y == bit && y&bit != 0 && s.Data == ""
}

func hex(v uint64) string { return fmt.Sprintf("%#x", v) }

// msrApplier changes bits of model-specific registers through /dev/cpu/N/msr. Only the bits in
// which Old and New differ are written: others of the register belong to the kernel and may have
// changed since.
type msrApplier struct{ root sysroot.Root }

// read returns the register of a target "/dev/cpu/0/msr@0x1a0".
func (a msrApplier) read(target string) (uint64, error) {
	device, register, err := splitMSR(target)
	if err != nil {
		return 0, err
	}
	return a.root.ReadWord(device, register)
}

func splitMSR(target string) (device string, register int64, err error) {
	device, text, _ := strings.Cut(target, "@")
	register, err = strconv.ParseInt(text, 0, 64)
	if err != nil || register < 0 {
		return "", 0, fmt.Errorf("%q is not a register", clip(target))
	}
	return device, register, nil
}

// put sets the bits in which from and to differ to their values in to.
func (a msrApplier) put(target, from, to string) (uint64, error) {
	x, err1 := strconv.ParseUint(from, 0, 64)
	y, err2 := strconv.ParseUint(to, 0, 64)
	device, register, err3 := splitMSR(target)
	if err := errors.Join(err1, err2, err3); err != nil {
		return 0, err
	}
	now, err := a.root.ReadWord(device, register)
	want := now&^(x^y) | y&(x^y)
	if err != nil || now == want {
		return now, cmp.Or(err, errAlready)
	}
	if err := a.root.WriteWord(device, register, want); err != nil {
		return 0, err
	}
	got, err := a.root.ReadWord(device, register)
	if err == nil && got&(x^y) != want&(x^y) {
		err = &sysroot.Mismatch{Name: target, Wrote: hex(want), Read: hex(got)}
	}
	return got, err
}

// errAlready means that there was nothing to write.
var errAlready = errors.New("already so")

func (a msrApplier) do(_ context.Context, s Step) (string, error) {
	got, err := a.put(s.Target, s.Old, s.New)
	if errors.Is(err, errAlready) {
		err = nil
	}
	return hex(got), err
}

func (a msrApplier) restore(_ context.Context, s Step) (Restoration, error) {
	_, err := a.put(s.Target, s.New, s.Old)
	switch {
	case err == nil:
		return Restored, nil
	case errors.Is(err, errAlready):
		return Already, nil
	case errors.Is(err, fs.ErrNotExist):
		return Gone, nil
	}
	return Failed, err
}

// stands reports whether the bits that a step set are still set.
func (a msrApplier) stands(s Step) bool {
	x, err1 := strconv.ParseUint(s.Old, 0, 64)
	y, err2 := strconv.ParseUint(s.New, 0, 64)
	now, err3 := a.read(s.Target)
	return errors.Join(err1, err2, err3) == nil && now&(x^y) == y&(x^y)
}

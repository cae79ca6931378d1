package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"krund/internal/machine/sysroot"
)

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
	if err := errors.Join(err1, err2); err != nil {
		return 0, err
	}
	now, err := a.read(target)
	if err != nil {
		return 0, err
	}
	want := now&^(x^y) | y&(x^y)
	if now == want {
		return now, errAlready
	}
	device, register, err := splitMSR(target)
	if err != nil {
		return 0, err
	}
	if err := a.root.WriteWord(device, register, want); err != nil {
		return 0, err
	}
	got, err := a.read(target)
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

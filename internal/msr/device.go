package msr

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"

	libkrun "krund/cgo"
	"krund/internal/sysroot"
)

// Registers (SDM volume 4). APERF counts at the core's actual frequency while it
// is not halted, MPERF at the base frequency.
const (
	regMPERF     = 0xe7
	regAPERF     = 0xe8
	regCycles    = 0x30a // IA32_FIXED_CTR1
	regFixedCtrl = 0x38d // IA32_FIXED_CTR_CTRL: four bits for each fixed counter
	regGlobal    = 0x38f // IA32_PERF_GLOBAL_CTRL: bit 32+i enables fixed counter i
)

// The field of fixed counter 1 in IA32_FIXED_CTR_CTRL: kernel and user mode, no
// interrupt at an overflow.
const (
	ctrlShift = 4 * cyclesCounter
	ctrlMask  = 0xf << ctrlShift
	ctrlOn    = 0x3 << ctrlShift
	globalOn  = 1 << (32 + cyclesCounter)
)

func deviceName(core int) string { return fmt.Sprintf("/dev/cpu/%d/msr", core) }

func readRegister(root sysroot.Root, core int, address int64) (uint64, error) {
	var raw [8]byte
	err := root.ReadAt(deviceName(core), raw[:], address)
	return binary.NativeEndian.Uint64(raw[:]), err
}

func writeRegister(root sysroot.Root, core int, address int64, value uint64) error {
	var raw [8]byte
	binary.NativeEndian.PutUint64(raw[:], value)
	return root.WriteAt(deviceName(core), raw[:], address)
}

// saved is a control register's value before it was changed.
type saved struct {
	core    int
	address int64
	value   uint64
}

// restore puts registers back, the last changed first, all even if one fails.
func restore(root sysroot.Root, list []saved) error {
	var errs []error
	for i := len(list) - 1; i >= 0; i-- {
		errs = append(errs, writeRegister(root, list[i].core, list[i].address, list[i].value))
	}
	return errors.Join(errs...)
}

// controlPlan is what the two control registers of a core become so that fixed
// counter 1 counts. It is refused when somebody else uses the counter: the field
// is neither off nor as an earlier krund may have left it.
func controlPlan(fixed, global uint64) (newFixed, newGlobal uint64, err error) {
	if field := fixed & ctrlMask; field != 0 && field != ctrlOn && global&globalOn != 0 {
		return fixed, global, fmt.Errorf("fixed counter 1 is in use, its control field is %#x: end the profiler that uses it, or take the perf source", field>>ctrlShift)
	}
	return fixed&^ctrlMask | ctrlOn, global | globalOn, nil
}

// startCycles lets fixed counter 1 of a core count, and returns what it changed,
// also when it fails.
func startCycles(root sysroot.Root, core int) (changed []saved, err error) {
	fixed, err := readRegister(root, core, regFixedCtrl)
	if err != nil {
		return nil, err
	}
	global, err := readRegister(root, core, regGlobal)
	if err != nil {
		return nil, err
	}
	newFixed, newGlobal, err := controlPlan(fixed, global)
	if err != nil {
		return nil, err
	}
	for _, r := range []struct {
		address  int64
		old, new uint64
	}{{regFixedCtrl, fixed, newFixed}, {regGlobal, global, newGlobal}} {
		if r.old == r.new {
			continue // no write without need: the kernel logs the first one
		}
		changed = append(changed, saved{core, r.address, r.old})
		if err := writeRegister(root, core, r.address, r.new); err != nil {
			return changed, err
		}
		got, err := readRegister(root, core, r.address)
		if err != nil {
			return changed, err
		}
		if got != r.new {
			return changed, fmt.Errorf("register %#x was set to %#x and reads back %#x: somebody else writes it (a profiler, a hypervisor); take the perf source", r.address, r.new, got)
		}
	}
	return changed, nil
}

// moves says whether a register counts: reading it runs code on that core.
func moves(root sysroot.Root, core int, address int64) error {
	const tries = 4
	first, err := readRegister(root, core, address)
	if err != nil {
		return err
	}
	for range tries {
		next, err := readRegister(root, core, address)
		if err != nil {
			return err
		}
		if next != first {
			return nil
		}
	}
	return fmt.Errorf("register %#x of core %d stands still at %d: there is no counter behind it, as in an emulator; measure on the hardware itself", address, core, first)
}

// device is the open MSR device of one core.
type device struct {
	core int
	file *os.File
	bits int // width of the cycles counter, 0: it is not counted
}

// openDevices opens the devices of all cores, for reading only, and looks whether
// APERF and MPERF count there.
func openDevices(root sysroot.Root, cores []int) (list []device, err error) {
	defer func() {
		if err != nil {
			_ = closeDevices(list) // the first error says more
			list = nil
		}
	}()
	for _, core := range cores {
		for _, address := range []int64{regAPERF, regMPERF} {
			if err := moves(root, core, address); err != nil {
				return list, err
			}
		}
		f, err := os.Open(root.Path(deviceName(core)))
		if err != nil {
			return list, err
		}
		list = append(list, device{core: core, file: f})
	}
	return list, nil
}

func closeDevices(list []device) error {
	var errs []error
	for _, d := range list {
		errs = append(errs, d.file.Close())
	}
	return errors.Join(errs...)
}

// canCount says why core cycles cannot be counted by registers; nil if they can.
// It changes nothing, and fills in the counters' widths. note tells of a width
// that is not known.
func canCount(root sysroot.Root, list []device) (note string, err error) {
	if watchdog(root) {
		return "", errors.New(watchdogOff)
	}
	for i, d := range list {
		p, err := readPMU(root, d.core)
		switch {
		case err == nil && p.hasCycles():
			list[i].bits = p.fixedBits
		case (err != nil || p.version == 0) && intel(root):
			list[i].bits = usualBits
			note = fmt.Sprintf("CPUID does not tell the width of core %d's cycles counter: taken for %d bits", d.core, usualBits)
		case err != nil:
			return "", fmt.Errorf("the counters of core %d are unknown (modprobe cpuid helps): %w", d.core, err)
		default:
			return "", fmt.Errorf("core %d has no fixed counter for its cycles; the perf source counts them in another", d.core)
		}
	}
	return note, nil
}

// usualBits is the width of fixed counters on every Intel processor since Nehalem.
// Were it less, a difference over the counter's end would be close to 2^48, which
// is told from a measurement at once.
const usualBits = 48

// intel says whether the processor is Intel's: if it hides what it has, as
// emulators and hypervisors do, one may still try.
func intel(root sysroot.Root) bool {
	text, err := root.Read("/proc/cpuinfo")
	return err == nil && strings.Contains(text, "GenuineIntel")
}

// countCycles starts the cycles counters of all cores, or of none.
func countCycles(root sysroot.Root, list []device) (changed []saved, note string, err error) {
	if note, err = canCount(root, list); err == nil {
		for _, d := range list {
			var more []saved
			more, err = startCycles(root, d.core)
			changed = append(changed, more...)
			if err == nil {
				err = moves(root, d.core, regCycles)
			}
			if err != nil {
				break
			}
		}
	}
	if err == nil {
		return changed, note, nil
	}
	for i := range list {
		list[i].bits = 0
	}
	return nil, "", errors.Join(err, restore(root, changed))
}

// findMSR opens the devices. With change it loads the kernel module when it is
// missing and starts the cycles counters; without it only looks.
func findMSR(ctx context.Context, root sysroot.Root, load loader, want Want, change bool) ([]device, []saved, Finding) {
	f := Finding{Source: MSR}
	if want.Scope == Task {
		f.Why = "registers belong to cores, not to tasks: use the perf source or another scope"
		return nil, nil, f
	}
	cores, err := online(root, want)
	if err != nil {
		f.Why = err.Error()
		return nil, nil, f
	}
	var loading error
	if change {
		loading = load(ctx, root, cores[0])
	}
	list, err := openDevices(root, cores)
	if err != nil {
		f.Why = deviceRemedy(err, change, loading)
		return nil, nil, f
	}
	var changed []saved
	var note string
	if change {
		changed, note, err = countCycles(root, list)
	} else {
		note, err = canCount(root, list)
	}
	if note != "" {
		f.Notes = append(f.Notes, note)
	}
	f.Available, f.Columns = true, []string{"aperf", "mperf", "cycles"}
	if err != nil {
		f.Columns = f.Columns[:2]
		f.Notes = append(f.Notes, "no cycles: "+err.Error())
	}
	f.Why = "reads registers " + scopeText(want.Scope, len(list))
	return list, changed, f
}

// deviceRemedy explains why a device cannot be used. tried says whether the kernel
// module was to be loaded, and loading how that failed; nil: it did not.
func deviceRemedy(err error, tried bool, loading error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENXIO):
		switch {
		case !tried:
			return err.Error() + ": the kernel module msr is not loaded; krund tries to when it needs it, as modprobe msr does"
		case loading != nil:
			return fmt.Sprintf("%v: the kernel module msr is not loaded and could not be: %v", err, loading)
		}
		return err.Error() + ": the kernel module msr is loaded, but there is no device: is the core online, and the processor an x86?"
	case errors.Is(err, fs.ErrPermission):
		return err.Error() + ": needs root and CAP_SYS_RAWIO"
	case errors.Is(err, syscall.EIO):
		return err.Error() + ": the processor, or the hypervisor that shows it, has no such register"
	}
	return err.Error()
}

// loader makes the devices appear if it can. The error says why not; whether it
// matters shows when they are opened.
type loader func(ctx context.Context, root sysroot.Root, core int) error

// modprobe loads the kernel modules that make the devices. Without cpuid only a
// width is not known, so that its failure is nobody's concern.
func modprobe(ctx context.Context, root sysroot.Root, core int) error {
	if !root.IsMachine() {
		return errors.New("modprobe msr was not tried")
	}
	var failed error
	for _, module := range []string{"cpuid", "msr"} {
		failed = nil
		if !root.Exists(fmt.Sprintf("/dev/cpu/%d/%s", core, module)) {
			failed = loadModule(ctx, "/sbin/modprobe", module)
		}
	}
	return failed
}

// loadModule runs modprobe; the error has what it said.
func loadModule(ctx context.Context, program, module string) error {
	said, err := exec.CommandContext(ctx, program, module).CombinedOutput()
	if err == nil {
		return nil
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	if line == "" {
		return fmt.Errorf("%s %s: %w", program, module, err)
	}
	return fmt.Errorf("%s %s: %s", program, module, line)
}

// group says how libkrun reads a device: as the study, which encloses the clock
// by the cycles and those by APERF and MPERF.
func (d device) group(fd int) libkrun.Group {
	g := libkrun.Group{
		Source: libkrun.SourceRegisters, Columns: 2, File: d.file, FD: fd,
		Registers: []libkrun.Register{{Address: regAPERF, Bits: 64}, {Address: regMPERF, Bits: 64}},
	}
	if d.bits > 0 {
		g.Columns, g.Turn = 3, 2
		g.Registers = append(g.Registers, libkrun.Register{Address: regCycles, Bits: d.bits})
	}
	return g
}

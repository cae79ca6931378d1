package msr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	libkrun "krund/cgo"
	"krund/internal/machine/command"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
)

// device is the open MSR device of one core.
type device struct {
	core int
	file *os.File
	bits int // width of the cycles counter, 0: it is not counted
}

// openDevices opens the devices of all cores for reading only, and checks that APERF and MPERF
// count there.
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

// canCount returns why core cycles cannot be counted by registers; nil if they can. It changes
// nothing, and stores the counters' widths. note is set when a width is unknown.
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
			note = fmt.Sprintf("CPUID does not tell the width of core %d's cycles counter: "+
				"assuming %d bits", d.core, usualBits)
		case err != nil:
			return "", fmt.Errorf("the counters of core %d are unknown (modprobe cpuid helps): %w",
				d.core, err)
		default:
			return "", fmt.Errorf("core %d has no fixed counter for its cycles; "+
				"the perf source counts them in another", d.core)
		}
	}
	return note, nil
}

// usualBits is the width of fixed counters on every Intel processor since Nehalem. With a smaller
// width, a difference across a wrap would be close to 2^48, which is obviously no measurement.
const usualBits = 48

// intel reports whether the processor is Intel's. Such a processor may have counters that CPUID
// does not show, as in emulators and virtual machines, so it is worth a try.
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

// sleepsNote is the disadvantage of the devices: to read a register of another core the kernel lets
// the thread sleep until that core has answered (Linux 6.12, arch/x86/kernel/msr.c:66,
// arch/x86/lib/msr-smp.c:181, wait_for_completion), while perf waits without sleeping
// (kernel/events/core.c:4830, smp_call_function_single).
const sleepsNote = "the benchmark's thread sleeps while another core's register is read: prefer perf"

// findMSR opens the devices. With change it loads the kernel module if it is missing and starts the
// cycles counters; without change it only looks.
func findMSR(ctx context.Context, root sysroot.Root, load loader, want Want,
	change bool) ([]device, []saved, SourceFinding) {
	f := SourceFinding{Source: MSR}
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
		f.Why = deviceRemedy(root, err, change, loading)
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
	if want.Scope == PerCore && len(list) > 1 {
		f.Notes = append(f.Notes, sleepsNote)
	}
	return list, changed, f
}

// group is how libkrun reads a device. As in the study, the cycles enclose the clock, and APERF and
// MPERF enclose the cycles.
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

// deviceRemedy explains why a device cannot be used. tried is whether the kernel module was to be
// loaded, and loading how that failed; nil: it did not fail.
func deviceRemedy(root sysroot.Root, err error, tried bool, loading error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENXIO):
		switch {
		case !tried:
			return err.Error() + ": " + probe.PlatformOf(host.Host{Root: root}).Remedy("msr")
		case loading != nil:
			return fmt.Sprintf("%v: the kernel module msr is not loaded and could not be: %v", err, loading)
		}
		return err.Error() + ": the kernel module msr is loaded, but there is no device: " +
			"is the core online, and the processor an x86?"
	case errors.Is(err, fs.ErrPermission):
		return err.Error() + ": needs root and CAP_SYS_RAWIO"
	case errors.Is(err, syscall.EIO):
		return err.Error() + ": the processor, or the hypervisor that shows it, has no such register"
	}
	return err.Error()
}

// loader makes the devices appear if it can. The error is why not; whether that matters is known
// when they are opened.
type loader func(ctx context.Context, root sysroot.Root, core int) error

// modprobe loads the kernel modules that make the devices. Its failure to load cpuid is ignored:
// without it only a width is unknown.
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

// loadModule runs modprobe; the error quotes the first line it printed.
func loadModule(ctx context.Context, program, module string) error {
	out, err := command.Run(ctx, command.Cmd{Argv: []string{program, module}, KeepGroup: true})
	if line, _, _ := strings.Cut(strings.TrimSpace(out), "\n"); err != nil && line != "" {
		return fmt.Errorf("%s %s: %s", program, module, line)
	}
	return err
}

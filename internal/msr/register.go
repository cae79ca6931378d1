package msr

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"krund/internal/machine/sysroot"
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
	return root.ReadWord(deviceName(core), address)
}

// saved is a control register's value before it was changed.
type saved struct {
	core    int
	address int64
	value   uint64
}

// restore restores registers in reverse order, all of them even if one fails.
func restore(root sysroot.Root, list []saved) error {
	var errs []error
	for i := len(list) - 1; i >= 0; i-- {
		errs = append(errs, root.WriteWord(deviceName(list[i].core), list[i].address, list[i].value))
	}
	return errors.Join(errs...)
}

// controlPlan returns the values of a core's two control registers with which fixed counter 1
// counts. It is an error when another program uses the counter: the field is neither off nor as an
// earlier krund may have left it.
func controlPlan(fixed, global uint64) (newFixed, newGlobal uint64, err error) {
	if field := fixed & ctrlMask; field != 0 && field != ctrlOn && global&globalOn != 0 {
		return fixed, global, fmt.Errorf("fixed counter 1 is in use, its control field is %#x: "+
			"end the profiler that uses it, or take the perf source", field>>ctrlShift)
	}
	return fixed&^ctrlMask | ctrlOn, global | globalOn, nil
}

// startCycles starts fixed counter 1 of a core and returns what it changed, also when it fails.
func startCycles(root sysroot.Root, core int) (changed []saved, err error) {
	fixed, err := readRegister(root, core, regFixedCtrl)
	global, err2 := readRegister(root, core, regGlobal)
	if err := cmp.Or(err, err2); err != nil {
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
			continue // avoid the write: the kernel logs the first one
		}
		changed = append(changed, saved{core, r.address, r.old})
		if err := root.WriteWord(deviceName(core), r.address, r.new); err != nil {
			return changed, err
		}
		got, err := readRegister(root, core, r.address)
		if err != nil {
			return changed, err
		}
		if got != r.new {
			return changed, fmt.Errorf("register %#x was set to %#x and reads back %#x: "+
				"another program writes it (a profiler, a hypervisor); take the perf source",
				r.address, r.new, got)
		}
	}
	return changed, nil
}

// moves reports whether a register counts: reading it runs code on that core.
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
	return fmt.Errorf("register %#x of core %d stands still at %d: there is no counter behind it, as in "+
		"an emulator; measure on bare metal",
		address, core, first)
}

// pmu is what CPUID leaf 0xA says about a core's counters (SDM volume 2A, CPUID).
type pmu struct {
	version   int
	fixed     uint32 // bit i: fixed counter i exists
	fixedBits int    // their width
}

// cyclesCounter is the fixed counter of unhalted core cycles.
const cyclesCounter = 1

// hasCycles reports whether the core counts its cycles in fixed counter 1.
func (p pmu) hasCycles() bool {
	return p.version >= 2 && p.fixed>>cyclesCounter&1 == 1 && p.fixedBits >= 1 && p.fixedBits <= 64
}

// parseLeafA decodes EAX, EBX, ECX, EDX of leaf 0xA. A processor without
// architectural counters has zeros there.
func parseLeafA(eax, ecx, edx uint32) pmu {
	p := pmu{version: int(eax & 0xff), fixedBits: int(edx >> 5 & 0xff)}
	if p.version < 2 { // version 1 has no fixed counters, and the other fields are undefined
		return pmu{version: p.version}
	}
	p.fixed = 1<<(edx&0x1f) - 1
	if p.version >= 5 {
		p.fixed |= ecx // since version 5 the bitmap may have gaps
	}
	return p
}

// readPMU executes CPUID on a core through /dev/cpu/N/cpuid, whose offset is the leaf. A leaf
// beyond the highest repeats that one, so the highest is read first.
func readPMU(root sysroot.Root, core int) (pmu, error) {
	const leaf = 0xa
	name := fmt.Sprintf("/dev/cpu/%d/cpuid", core)
	var raw [16]byte
	if err := root.ReadAt(name, raw[:], 0); err != nil {
		return pmu{}, err
	}
	if binary.NativeEndian.Uint32(raw[:]) < leaf {
		return pmu{}, nil
	}
	if err := root.ReadAt(name, raw[:], leaf); err != nil {
		return pmu{}, err
	}
	word := func(i int) uint32 { return binary.NativeEndian.Uint32(raw[4*i:]) }
	return parseLeafA(word(0), word(2), word(3)), nil
}

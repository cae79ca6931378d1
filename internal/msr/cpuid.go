package msr

import (
	"encoding/binary"
	"fmt"

	"krund/internal/machine/sysroot"
)

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

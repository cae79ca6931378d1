package probe

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// A memoryModule is a memory device in the firmware's table.
type memoryModule struct {
	slot         string // its slot: "DIMM_A1"
	mib          uint64
	speed        uint16 // MT/s, 0 if unknown
	manufacturer string
	part         string
}

func (m memoryModule) String() string {
	text := fmt.Sprintf("%d MiB", m.mib)
	if m.speed != 0 {
		text += fmt.Sprintf(" %d MT/s", m.speed)
	}
	return strings.Join(strings.Fields(text+" "+m.manufacturer+" "+m.part), " ")
}

// memoryDevice is the type of the structures that describe memory modules (SMBIOS specification,
// DSP0134, section 7.18).
const memoryDevice = 17

// parseModules parses the memory devices of an SMBIOS table. Each structure consists of a type, its
// length, a two-byte handle, fields, and its strings, each terminated by a zero and the last by
// two. Empty slots are omitted. It stops at the first malformed structure.
func parseModules(table []byte) []memoryModule {
	var modules []memoryModule
	for len(table) >= 4 {
		kind, length := table[0], int(table[1])
		if length < 4 || length > len(table) {
			break
		}
		fields := table[:length]
		end := bytes.Index(table[length:], []byte{0, 0})
		if end < 0 {
			break
		}
		texts := bytes.Split(table[length:length+end], []byte{0})
		table = table[length+end+2:]
		if kind == memoryDevice {
			if m := readModule(fields, texts); m.mib > 0 {
				modules = append(modules, m)
			}
		}
	}
	return modules
}

// readModule reads one structure; fields beyond its end, which older versions of the specification
// lack, are zero.
func readModule(fields []byte, texts [][]byte) memoryModule {
	number := func(at, bytes int) uint64 {
		var data [8]byte
		if at+bytes <= len(fields) {
			copy(data[:bytes], fields[at:])
		}
		return binary.LittleEndian.Uint64(data[:])
	}
	text := func(at int) string {
		i := int(number(at, 1))
		if i < 1 || i > len(texts) {
			return ""
		}
		return word(strings.TrimSpace(string(texts[i-1])))
	}
	m := memoryModule{slot: text(0x10), manufacturer: text(0x17), part: text(0x1a),
		speed: uint16(number(0x15, 2))}
	switch size := number(0x0c, 2); {
	case size == 0 || size == 0xffff: // empty, unknown
	case size == 0x7fff: // too large for the field
		m.mib = number(0x1c, 4) & 0x7fffffff
	case size&0x8000 != 0: // in KiB
		m.mib = size & 0x7fff >> 10
	default:
		m.mib = size
	}
	return m
}

package identity

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"math"
)

// dynamic is the part of an ELF file's dynamic section that names other files (gABI 4.1, chapter
// 5).
type dynamic struct {
	needed  []string // names, such as "libpython3.13.so.1.0"
	runPath string   // directories separated by colons; DT_RUNPATH, or else DT_RPATH
}

// Bounds on what is read of a file, which anybody may have written.
const (
	mostHeaders = 512  // program headers
	mostEntries = 4096 // of the dynamic section
	mostName    = 4096 // bytes of a string
)

var errNotELF = errors.New("not a 64-bit little-endian ELF file with a dynamic section")

// readDynamic reads the dynamic section of a 64-bit little-endian ELF file. It uses the types of
// debug/elf but not its reader, which is not meant for files that cannot be trusted.
func readDynamic(file io.ReaderAt) (dynamic, error) {
	var header elf.Header64
	if err := readAt(file, 0, &header); err != nil {
		return dynamic{}, err
	}
	if string(header.Ident[:4]) != elf.ELFMAG || header.Ident[elf.EI_CLASS] != byte(elf.ELFCLASS64) ||
		header.Ident[elf.EI_DATA] != byte(elf.ELFDATA2LSB) || header.Phnum > mostHeaders {
		return dynamic{}, errNotELF
	}
	programs := make([]elf.Prog64, header.Phnum)
	if err := readAt(file, header.Phoff, programs); err != nil {
		return dynamic{}, err
	}
	for _, p := range programs {
		if elf.ProgType(p.Type) == elf.PT_DYNAMIC {
			return readEntries(file, programs, p)
		}
	}
	return dynamic{}, errNotELF
}

// readEntries reads the entries of the dynamic section at and the strings that they refer to.
func readEntries(file io.ReaderAt, programs []elf.Prog64, at elf.Prog64) (dynamic, error) {
	const entrySize = 16
	entries := make([]elf.Dyn64, min(at.Filesz/entrySize, mostEntries))
	if err := readAt(file, at.Off, entries); err != nil {
		return dynamic{}, err
	}
	strings := uint64(0)
	for _, e := range entries {
		if elf.DynTag(e.Tag) == elf.DT_STRTAB {
			strings = offsetOf(programs, e.Val)
		}
	}
	var d dynamic
	for _, e := range entries {
		switch elf.DynTag(e.Tag) {
		case elf.DT_NULL:
			return d, nil
		case elf.DT_NEEDED:
			d.needed = append(d.needed, text(file, strings+e.Val))
		case elf.DT_RUNPATH:
			d.runPath = text(file, strings+e.Val)
		case elf.DT_RPATH:
			if d.runPath == "" {
				d.runPath = text(file, strings+e.Val)
			}
		}
	}
	return d, nil
}

// offsetOf returns the place in the file of an address in memory; 0 if it is not loaded.
func offsetOf(programs []elf.Prog64, address uint64) uint64 {
	for _, p := range programs {
		if elf.ProgType(p.Type) == elf.PT_LOAD && address >= p.Vaddr && address-p.Vaddr < p.Filesz {
			return p.Off + address - p.Vaddr
		}
	}
	return 0
}

// readAt reads a fixed-size value at an offset.
func readAt(file io.ReaderAt, offset uint64, value any) error {
	if offset > math.MaxInt64/2 {
		return errNotELF
	}
	return binary.Read(io.NewSectionReader(file, int64(offset), math.MaxInt64/2), binary.LittleEndian, value)
}

// text reads the string at an offset, up to its NUL; "" if there is none.
func text(file io.ReaderAt, offset uint64) string {
	buffer := make([]byte, mostName)
	if offset > math.MaxInt64 {
		return ""
	}
	n, err := file.ReadAt(buffer, int64(offset))
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	text, _, ok := bytes.Cut(buffer[:n], []byte{0})
	if !ok {
		return ""
	}
	return string(text)
}

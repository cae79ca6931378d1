package identity

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"krund/internal/durable/foreign"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
)

// Bounds on the files of one name: far more than programs have, so that a directory full of files
// does not keep krund busy. What lies beyond is not hashed.
const (
	mostFiles = 1000
	mostDepth = 8 // libraries of libraries
)

// Files returns the files that cfg's keys run, by their names in the fingerprint:
//
//	vm.VM                           the program of the VM; of the runner "command", the command's
//	vm.VM.libraries                 shared libraries that come with it
//	benchmark.BENCHMARK.VARIANT        the entry file
//	benchmark.BENCHMARK.VARIANT.files  files of the same kind beside it, and libraries that come
//	                                   with it
//
// with "@ARM" after VM and VARIANT in an experiment with arms. Libraries that come with a program
// are those that its run path (DT_RUNPATH, DT_RPATH) or the VM's LD_LIBRARY_PATH leads to.
func Files(cfg *config.Config) map[string][]string {
	files := map[string][]string{}
	for _, k := range cfg.Keys() {
		vm, _, _, err := cfg.Lookup(k)
		if err != nil {
			continue // does not happen: these are the configuration's keys
		}
		search := searchPath(vm)
		program := vm.Path
		if i := slices.Index(vm.Args, "--") + 1; vm.Runner == config.RunnerCommand && i > 0 &&
			i < len(vm.Args) {
			program = vm.Args[i]
		}
		if name := vmName(k); program != "" && files[name] == nil {
			path, err := config.LookPath(program)
			if err != nil {
				path = program // missing: the fingerprint shows it
			}
			files[name] = []string{path}
			put(files, name+libraryFiles, libraries(path, search))
		}
		entry := cfg.EntryPath(k)
		if name := benchmarkName(k); entry != "" && files[name] == nil {
			files[name] = []string{entry}
			put(files, name+otherFiles, slices.Concat(beside(entry), libraries(entry, search)))
		}
	}
	return files
}

// What is appended to the names of a program and of an entry.
const (
	libraryFiles = ".libraries"
	otherFiles   = ".files"
)

func put(files map[string][]string, name string, paths []string) {
	if len(paths) > 0 {
		files[name] = paths
	}
}

// benchmarks begins the names of entries.
const benchmarks = "benchmark."

func vmName(k key.Key) string { return "vm." + withArm(k.VM, k) }

func benchmarkName(k key.Key) string { return benchmarks + k.Benchmark + "." + k.VariantArm() }

func withArm(name string, k key.Key) string {
	return key.Key{Variant: name, Arm: k.Arm}.VariantArm()
}

// beside returns the regular files beside an entry that have its extension, sorted: modules and
// classes that it may load.
func beside(entry string) []string {
	list, err := os.ReadDir(filepath.Dir(entry))
	if err != nil {
		return nil // the entry is missing, too
	}
	var paths []string
	for _, e := range list {
		path := filepath.Join(filepath.Dir(entry), e.Name())
		if e.Type().IsRegular() && filepath.Ext(path) == filepath.Ext(entry) && path != entry &&
			len(paths) < mostFiles {
			paths = append(paths, path)
		}
	}
	return paths
}

// searchPath returns the directories of the VM's LD_LIBRARY_PATH.
func searchPath(vm config.VM) []string {
	for _, variable := range vm.Env {
		if value, ok := strings.CutPrefix(variable, "LD_LIBRARY_PATH="); ok {
			return absolute(strings.FieldsFunc(value, func(r rune) bool { return r == ':' || r == ';' }))
		}
	}
	return nil
}

// absolute returns the absolute paths of a list: relative ones depend on the working directory.
func absolute(dirs []string) []string {
	return slices.DeleteFunc(dirs, func(dir string) bool { return !filepath.IsAbs(dir) })
}

// libraries returns the paths of the shared libraries that come with an ELF file, directly or
// through another such library, sorted. It returns none for other files.
func libraries(path string, search []string) []string {
	found := map[string]bool{}
	next := []string{path}
	for range mostDepth {
		var more []string
		for _, file := range next {
			for _, library := range needed(file, search) {
				if !found[library] && len(found) < mostFiles {
					found[library] = true
					more = append(more, library)
				}
			}
		}
		next = more
	}
	var list []string
	for library := range found {
		list = append(list, library)
	}
	slices.Sort(list)
	return list
}

// needed returns the libraries that an ELF file needs, as far as they lie in search or in its run
// path.
func needed(path string, search []string) []string {
	file, err := foreign.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close() //nolint:errcheck // it was only read
	d, err := readDynamic(file)
	if err != nil {
		return nil // a script, or of another kind
	}
	dirs := append(slices.Clone(search), runPath(d.runPath, path)...)
	var list []string
	for _, name := range d.needed {
		for _, dir := range dirs {
			library := filepath.Join(dir, filepath.Base(name))
			if info, err := os.Stat(library); err == nil && info.Mode().IsRegular() {
				list = append(list, library)
				break
			}
		}
	}
	return list
}

// runPath returns the directories of a run path, with $ORIGIN replaced.
func runPath(text, path string) []string {
	origin := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		origin = filepath.Dir(real)
	}
	text = strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin).Replace(text)
	return absolute(strings.Split(text, ":"))
}

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

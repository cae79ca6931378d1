package probe

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"krund/internal/display"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// fingerprint declares the probe of this file.
var fingerprint = setting.Descriptor{
	Name: "fingerprint", Policy: setting.Warn,
	Brief: "the machine is the one the experiment began on",
	Why:   "an update in the middle splits an experiment in two",
	What: "kernel, command line, microcode, processor and its flags, cores, firmware, memory modules, " +
		"mitigations, clock source, packages (count and hash), hashes of the VMs, the benchmarks' files " +
		"and krund's runners",
	Notes: "nothing in it changes with a boot or with krund's settings. A change is shown as " +
		"`name: \"old\" -> \"new\"`",
}

// A Fingerprint identifies a machine and the state of its software: names such as "cpu.microcode"
// with their values. As long as the machine is not modified, nothing in it changes from boot to
// boot or with krund's settings.
type Fingerprint map[string]string

// ReadFingerprint reads the fingerprint, without what the machine does not report. more is added
// unchanged: the version of krund, the hashes of the programs that are measured.
func ReadFingerprint(ctx context.Context, h host.Host, more map[string]string) Fingerprint {
	f := Fingerprint{}
	if h.Root.Exists("/sys") {
		f.linux(h.Root)
	} else {
		f.sysctls(ctx, h.Commands)
	}
	f.packages(ctx, h)
	for name, value := range more {
		f[name] = value
	}
	return f
}

// put adds a value if it is not empty.
func (f Fingerprint) put(name, value string) {
	if value = strings.TrimSpace(value); value != "" {
		f[name] = value
	}
}

// file adds the text of a file.
func (f Fingerprint) file(root sysroot.Root, name, path string) {
	if text, err := root.Read(path); err == nil {
		f.put(name, text)
	}
}

// linux reads the properties that Linux exposes.
func (f Fingerprint) linux(root sysroot.Root) {
	for name, path := range map[string]string{
		"kernel.release": "/proc/sys/kernel/osrelease", "kernel.version": "/proc/sys/kernel/version",
		"kernel.cmdline": "/proc/cmdline",
		"bios.vendor":    "/sys/class/dmi/id/bios_vendor", "bios.version": "/sys/class/dmi/id/bios_version",
		"bios.date":     "/sys/class/dmi/id/bios_date",
		"system.vendor": "/sys/class/dmi/id/sys_vendor", "system.product": "/sys/class/dmi/id/product_name",
		"board.name":           "/sys/class/dmi/id/board_name",
		"cpu.present":          "/sys/devices/system/cpu/present",
		"cpu.microcode":        "/sys/devices/system/cpu/cpu0/microcode/version",
		"cpu.frequency_driver": "/sys/devices/system/cpu/cpufreq/policy0/scaling_driver",
		"memory.nodes":         "/sys/devices/system/node/possible",
		"clocksource":          "/sys/devices/system/clocksource/clocksource0/current_clocksource",
	} {
		f.file(root, name, path)
	}
	if text, err := root.Read("/etc/os-release"); err == nil {
		f.put("os", osName(text))
	}
	if text, err := root.Read("/proc/cpuinfo"); err == nil {
		f.cpuinfo(text)
	}
	for _, name := range root.List("/sys/devices/system/cpu/vulnerabilities") {
		if text, err := root.Read("/sys/devices/system/cpu/vulnerabilities/" + name); err == nil {
			f.put("mitigation."+name, siblingState.ReplaceAllString(text, ""))
		}
	}
	// a board without DMI; the kernel ends each text of the device tree with a NUL
	const board = "/sys/firmware/devicetree/base/model"
	if text, err := root.Read(board); err == nil && f["system.product"] == "" {
		f.put("system.product", strings.Trim(text, "\x00"))
	}
	f.topology(root)
	f.memory(root)
}

// siblingState is what the kernel appends to a mitigation about sibling threads, which krund itself
// may switch off: "; SMT vulnerable", and "; STIBP: conditional", which is absent without sibling
// threads.
var siblingState = regexp.MustCompile(`[;,] (SMT [^;,]*|STIBP: conditional)`)

// cpuinfo reads the first processor of /proc/cpuinfo: names and numbers on x86, the numbers of
// implementer and part on arm64, of the vendor with the name of the core on RISC-V
// (arch/riscv/kernel/cpu.c, c_show), and the name on POWER.
func (f Fingerprint) cpuinfo(text string) {
	names := map[string]string{
		"vendor_id": "cpu.vendor", "model name": "cpu.model", "cpu family": "cpu.family",
		"model": "cpu.model_number", "stepping": "cpu.stepping",
		"microcode": "cpu.microcode", "CPU implementer": "cpu.vendor", "CPU part": "cpu.model",
		"CPU variant": "cpu.family", "CPU revision": "cpu.stepping",
		"mvendorid": "cpu.vendor", "uarch": "cpu.model", "marchid": "cpu.family", "mimpid": "cpu.stepping",
		"cpu": "cpu.model", "revision": "cpu.stepping",
	}
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(line, ":")
		if !found {
			return // an empty line ends the first processor
		}
		name = strings.TrimSpace(name)
		if name == "flags" || name == "Features" || name == "features" || name == "isa" {
			f["cpu.flags"] = hashOf([]byte(strings.TrimSpace(value)))
		} else if to, known := names[name]; known {
			f.put(to, value)
		}
	}
}

// topology counts the packages and cores of the online CPUs, and the cores of each kind on hybrid
// processors. Switching sibling threads off does not change these numbers: the kernel then lists
// fewer CPUs of a kind, but as many cores.
func (f Fingerprint) topology(root sysroot.Root) {
	dirs, err := root.Glob("/sys/devices/system/cpu/cpu[0-9]*/topology")
	if err != nil || len(dirs) == 0 {
		return
	}
	packages, cores := map[string]bool{}, map[string]bool{}
	coreOf := map[string]string{} // keyed by the name of the CPU
	for _, dir := range dirs {
		pkg, err1 := root.Read(dir + "/physical_package_id")
		core, err2 := root.Read(dir + "/core_id")
		if err1 == nil && err2 == nil {
			packages[pkg] = true
			cores[pkg+"/"+core] = true
			coreOf[path.Base(path.Dir(dir))] = pkg + "/" + core
		}
	}
	f["cpu.topology"] = fmt.Sprintf("packages %d, cores %d", len(packages), len(cores))
	for name, file := range map[string]string{"cpu.performance_cores": "/sys/devices/cpu_core/cpus",
		"cpu.efficient_cores": "/sys/devices/cpu_atom/cpus"} {
		text, err := root.Read(file)
		cpus, perr := host.ParseCPUList(text)
		if err != nil || perr != nil {
			continue
		}
		kind := map[string]bool{}
		for _, cpu := range cpus {
			kind[coreOf[fmt.Sprintf("cpu%d", cpu)]] = true
		}
		f[name] = strconv.Itoa(len(kind))
	}
}

// memory reads the memory modules from the firmware's table if it is readable (as root), and the
// size from the kernel's memory blocks, because MemTotal varies slightly from boot to boot.
func (f Fingerprint) memory(root sysroot.Root) {
	if table, err := root.ReadBytes("/sys/firmware/dmi/tables/DMI"); err == nil {
		for i, m := range parseModules(table) {
			f.put(fmt.Sprintf("memory.module.%d", i+1), m.slot+" "+m.String())
		}
	}
	text, err := root.Read("/sys/devices/system/memory/block_size_bytes")
	size, perr := strconv.ParseUint(text, 16, 63)
	blocks, gerr := root.Glob("/sys/devices/system/memory/memory[0-9]*")
	if err == nil && perr == nil && gerr == nil && len(blocks) > 0 {
		f["memory.size"] = fmt.Sprintf("%d MiB", size>>20*uint64(len(blocks)))
	}
}

// sysctls reads the properties that OpenBSD exposes.
func (f Fingerprint) sysctls(ctx context.Context, c host.Commands) {
	if c == nil {
		return
	}
	for name, variable := range map[string]string{
		"kernel.version": "kern.version", "cpu.model": "hw.model", "cpu.present": "hw.ncpufound",
		"memory.size":   "hw.physmem",
		"system.vendor": "hw.vendor", "system.product": "hw.product", "bios.version": "hw.version",
		"clocksource": "kern.timecounter.hardware",
	} {
		if out, err := c.Output(ctx, "sysctl", "-n", variable); err == nil {
			f.put(name, strings.Join(strings.Fields(string(out)), " "))
		}
	}
}

// osName returns PRETTY_NAME of os-release(5).
func osName(text string) string {
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); found {
			return strings.Trim(value, `"'`)
		}
	}
	return ""
}

// hashOf returns the SHA-256 of data in hexadecimal.
func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// A Difference is a changed part of the fingerprint.
type Difference struct {
	Name     string
	Old, New string // "" if it was absent
}

func (d Difference) String() string {
	shown := func(value string) string {
		if value == "" {
			return "absent"
		}
		return strconv.Quote(display.Head(value, excerpt))
	}
	return fmt.Sprintf("%s: %s -> %s", d.Name, shown(d.Old), shown(d.New))
}

// Diff returns the differences between two fingerprints, sorted by name. Diff(a, b) mirrors Diff(b,
// a); for equal fingerprints it is empty.
func Diff(before, after Fingerprint) []Difference {
	names := append(sortedKeys(before), sortedKeys(after)...)
	slices.Sort(names)
	var diff []Difference
	for _, name := range slices.Compact(names) {
		if before[name] != after[name] {
			diff = append(diff, Difference{Name: name, Old: before[name], New: after[name]})
		}
	}
	return diff
}

// packages adds the number of installed packages and the hash of their names and versions, from the
// machine's package manager.
func (f Fingerprint) packages(ctx context.Context, h host.Host) {
	list, manager := installed(ctx, h)
	if len(list) == 0 {
		return
	}
	slices.Sort(list)
	f["packages"] = fmt.Sprintf("%s: %d, %s", manager, len(list),
		hashOf([]byte(strings.Join(list, "\n")+"\n")))
}

// installed returns "name version" of every installed package, in any order, and the package
// manager.
func installed(ctx context.Context, h host.Host) (list []string, manager string) {
	if text, err := h.Root.Read("/var/lib/dpkg/status"); err == nil {
		return parseDpkg(text), "dpkg"
	}
	if text, err := h.Root.Read("/lib/apk/db/installed"); err == nil {
		return parseApk(text), "apk"
	}
	if names := h.Root.List("/var/lib/pacman/local"); names != nil {
		return slices.DeleteFunc(names, func(n string) bool { return n == "ALPM_DB_VERSION" }), "pacman"
	}
	if names := h.Root.List("/var/db/pkg"); names != nil {
		return names, "pkg_add"
	}
	if h.Commands != nil && (h.Root.Exists("/var/lib/rpm") || h.Root.Exists("/usr/lib/sysimage/rpm")) {
		if out, err := h.Commands.Output(ctx, "rpm", "-qa", "--qf", `%{NAME} %{EVR} %{ARCH}\n`); err == nil {
			return splitLines(string(out)), "rpm"
		}
	}
	return nil, ""
}

// paragraphs returns the fields of each paragraph of lines with a name and a value.
func paragraphs(text, separator string) []map[string]string {
	all := []map[string]string{{}}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimRight(line, "\n"), separator); found {
			all[len(all)-1][name] = value
		} else if line == "\n" {
			all = append(all, map[string]string{})
		}
	}
	return all
}

// parseDpkg parses /var/lib/dpkg/status. Removed packages whose configuration files remain do not
// count.
func parseDpkg(text string) []string {
	var list []string
	for _, p := range paragraphs(text, ": ") {
		if p["Package"] != "" && strings.HasSuffix(p["Status"], " installed") {
			list = append(list, p["Package"]+" "+p["Version"]+" "+p["Architecture"])
		}
	}
	return list
}

// parseApk parses Alpine's database: P is the name, V the version.
func parseApk(text string) []string {
	var list []string
	for _, p := range paragraphs(text, ":") {
		if version, known := p["V"]; known && p["P"] != "" {
			list = append(list, p["P"]+" "+version)
		}
	}
	return list
}

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

package probe

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

func TestFingerprintOfAMachine(t *testing.T) {
	m, dir := machine(t, "intel-pstate-active")
	put(t, dir, "var/lib/dpkg/status", dpkgStatus)
	put(t, dir, "sys/devices/system/cpu/vulnerabilities/mds", "Mitigation: Clear CPU buffers; SMT "+
		"vulnerable\n")
	put(t, dir, "sys/devices/system/cpu/vulnerabilities/l1tf", "Mitigation: PTE Inversion; VMX: "+
		"conditional cache flushes, SMT vulnerable\n")
	put(t, dir, "sys/devices/system/cpu/vulnerabilities/spectre_v2", "Mitigation: Retpolines; IBPB: "+
		"conditional; IBRS_FW; STIBP: conditional; RSB filling\n")
	put(t, dir, "sys/devices/system/memory/block_size_bytes", "8000000\n")
	for _, n := range []string{"memory0", "memory1", "memory32"} {
		put(t, dir, "sys/devices/system/memory/"+n+"/state", "online\n")
	}
	put(t, dir, "sys/firmware/dmi/tables/DMI",
		string(smbios(module("DIMM_A1", 0x2000, "Kingston", "KHX2400C15"))))
	f := ReadFingerprint(t.Context(), m, map[string]string{"krund": "1.0"})
	want := map[string]string{
		"cpu.model": "Intel(R) Core(TM) i9-9900K CPU @ 3.60GHz", "cpu.microcode": "0xf8",
		"cpu.topology": "packages 1, cores 2", "cpu.present": "0-3",
		"kernel.release": "6.8.5-301.fc40.x86_64", "bios.version": "2004", "memory.size": "384 MiB",
		"cpu.frequency_driver":  "intel_pstate",
		"mitigation.mds":        "Mitigation: Clear CPU buffers",
		"mitigation.spectre_v2": "Mitigation: Retpolines; IBPB: conditional; IBRS_FW; RSB filling",
		"mitigation.l1tf":       "Mitigation: PTE Inversion; VMX: conditional cache flushes",
		"memory.module.1":       "DIMM_A1 8192 MiB 2400 MT/s Kingston KHX2400C15", "krund": "1.0",
	}
	for name, value := range want {
		must.Equal(t, f[name], value)
	}
	must.Be(t, strings.HasPrefix(f["packages"], "dpkg: 2, "), "packages", f["packages"])
	// What the kernel measures anew in every boot must not, either.
	cpuinfo := must.Get(os.ReadFile(filepath.Join(dir, "proc/cpuinfo")))(t)
	put(t, dir, "proc/cpuinfo", strings.ReplaceAll(string(cpuinfo), "stepping\t:",
		"bogomips\t: 7200.13\ncpu MHz\t\t: 3601.442\nstepping\t:"))
	// Switching sibling threads off must not look like a different machine.
	put(t, dir, "sys/devices/system/cpu/vulnerabilities/mds", "Mitigation: Clear CPU buffers; SMT disabled\n")
	put(t, dir, "sys/devices/system/cpu/vulnerabilities/spectre_v2", "Mitigation: Retpolines; IBPB: "+
		"conditional; IBRS_FW; RSB filling\n")
	for _, cpu := range []string{"cpu2", "cpu3"} {
		must.Do(t, os.RemoveAll(filepath.Join(dir, "sys/devices/system/cpu", cpu, "topology")))
	}
	diff := Diff(f, ReadFingerprint(t.Context(), m, map[string]string{"krund": "1.0"}))
	must.Equal(t, len(diff), 0, "with siblings off", diff)
	put(t, dir, "proc/sys/kernel/osrelease", "6.9.1\n")
	diff = Diff(f, ReadFingerprint(t.Context(), m, map[string]string{"krund": "1.0"}))
	must.Be(t, len(diff) == 1 && diff[0].String() == `kernel.release: "6.8.5-301.fc40.x86_64" -> "6.9.1"`,
		"with another kernel", diff)
}

// TestFingerprintOfHybridCores: the kernel removes offline sibling threads from the list of each
// kind of core.
func TestFingerprintOfHybridCores(t *testing.T) {
	m, dir := machine(t, "intel-hybrid")
	put(t, dir, "sys/devices/system/cpu/cpu1/topology/core_id", "0\n") // a sibling of CPU 0
	f := ReadFingerprint(t.Context(), m, nil)
	must.Equal(t, f["cpu.performance_cores"]+" "+f["cpu.efficient_cores"], "1 2",
		"performance and efficient cores", "want 1 2")
	put(t, dir, "sys/devices/cpu_core/cpus", "0\n")
	must.Do(t, os.RemoveAll(filepath.Join(dir, "sys/devices/system/cpu/cpu1/topology")))
	diff := Diff(f, ReadFingerprint(t.Context(), m, nil))
	must.Equal(t, len(diff), 0, "with siblings off", diff)
}

// TestFingerprintOfABoard: another board or processor is seen without DMI and names of x86, too.
func TestFingerprintOfABoard(t *testing.T) {
	m, dir := machine(t, "more/visionfive2")
	put(t, dir, "sys/firmware/devicetree/base/model", "StarFive VisionFive 2 v1.3B\x00")
	f := ReadFingerprint(t.Context(), m, nil)
	must.Be(t, f["system.product"] == "StarFive VisionFive 2 v1.3B" && f["cpu.model"] == "sifive,u74-mc" &&
		f["cpu.vendor"] == "0x489" && f["cpu.stepping"] == "0x4210427" && f["cpu.flags"] != "", f)
	m, _ = machine(t, "more/power9")
	f = ReadFingerprint(t.Context(), m, nil)
	must.Equal(t, f["cpu.model"], "POWER9 (architected), altivec supported")
	m, _ = machine(t, "arm64")
	f = ReadFingerprint(t.Context(), m, nil)
	must.Be(t, f["cpu.vendor"] == "0x41" && f["cpu.model"] == "0xd0c" && f["cpu.flags"] != "", f)
}

func TestFingerprintOfOpenBSD(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "var/db/pkg/quirks-6.42/+CONTENTS", "")
	put(t, dir, "var/db/pkg/python-3.10.13/+CONTENTS", "")
	m := host.Host{Root: sysroot.New(dir), Commands: scripted{
		"sysctl -n kern.version": "OpenBSD 7.4 (GENERIC.MP) #1397: Tue Oct 10 09:02:37 MDT 2023\n    " +
			"deraadt@amd64.openbsd.org:/usr/src\n", "sysctl -n hw.model": "Intel(R) Core(TM) i7-4790\n",
	}}
	f := ReadFingerprint(t.Context(), m, nil)
	must.Be(t, f["cpu.model"] == "Intel(R) Core(TM) i7-4790" &&
		strings.HasPrefix(f["kernel.version"], "OpenBSD 7.4") &&
		strings.HasPrefix(f["packages"], "pkg_add: 2, "), f)
}

func TestDiff(t *testing.T) {
	a := Fingerprint{"same": "1", "changed": "1", "gone": "1"}
	b := Fingerprint{"same": "1", "changed": "2", "new": "1"}
	var got []string
	for _, d := range Diff(a, b) {
		got = append(got, d.String())
	}
	want := []string{`changed: "1" -> "2"`, `gone: "1" -> absent`, `new: absent -> "1"`}
	must.EqualList(t, got, want)
	mirror := Diff(b, a)
	for i, d := range Diff(a, b) {
		m := mirror[i]
		must.Be(t, m.Name == d.Name && m.Old == d.New && m.New == d.Old, m, "is not the mirror of", d)
	}
	must.Equal(t, len(Diff(a, a)), 0, "a differs from itself")
}

const dpkgStatus = `Package: zlib1g
Status: install ok installed
Architecture: amd64
Version: 1:1.2.13.dfsg-1
Description: compression library - runtime
 zlib is a library. Version: is no field here

Package: old
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: base-files
Status: hold ok installed
Architecture: amd64
Version: 12.4`

func TestPackages(t *testing.T) {
	got, want := parseDpkg(dpkgStatus), []string{"zlib1g 1:1.2.13.dfsg-1 amd64", "base-files 12.4 amd64"}
	must.Be(t, slices.Equal(got, want), "dpkg", got, "want", want)
	if got, want := parseApk("C:Q1x\nP:musl\nV:1.2.4-r2\nA:x86_64\n\nP:busybox\nV:1.36.1-r5\n\nV:9\n"),
		[]string{"musl 1.2.4-r2", "busybox 1.36.1-r5"}; !slices.Equal(got, want) {
		t.Errorf("apk: %q, want %q", got, want)
	}
	tests := []struct {
		name, file, text string
		commands         host.Commands
		manager          string
		count            int
	}{
		{"alpine", "lib/apk/db/installed", "P:musl\nV:1\n", nil, "apk", 1},
		{"arch", "var/lib/pacman/local/bash-5.2/desc", "", nil, "pacman", 1},
		{"fedora", "usr/lib/sysimage/rpm/rpmdb.sqlite", "",
			scripted{`rpm -qa --qf %{NAME} %{EVR} %{ARCH}\n`: "bash 5.2 x86_64\nglibc 2.39 x86_64\n"}, "rpm",
			2},
		{"fedora without rpm", "usr/lib/sysimage/rpm/rpmdb.sqlite", "", scripted{}, "", 0},
		{"unknown", "etc/x", "", nil, "", 0},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		put(t, dir, tt.file, tt.text)
		list, manager := installed(t.Context(), host.Host{Root: sysroot.New(dir),
			Commands: tt.commands})
		must.Be(t, manager == tt.manager && len(list) == tt.count, tt.name, list, "by", manager)
	}
}

// module builds a memory device of SMBIOS 2.8.
func module(slot string, size uint16, maker, part string) []byte {
	s := make([]byte, 0x28)
	s[0], s[1] = memoryDevice, byte(len(s))
	binary.LittleEndian.PutUint16(s[0x0c:], size)
	s[0x10], s[0x17], s[0x1a] = 1, 2, 3
	binary.LittleEndian.PutUint16(s[0x15:], 2400)
	binary.LittleEndian.PutUint32(s[0x1c:], 65536)
	return append(s, slot+"\x00"+maker+"\x00"+part+"\x00\x00"...)
}

// smbios puts structures between a BIOS structure without strings and the end marker.
func smbios(structures ...[]byte) []byte {
	table := []byte{0, 4, 1, 0, 0, 0}
	for _, s := range structures {
		table = append(table, s...)
	}
	return append(table, 127, 4, 2, 0, 0, 0)
}

func TestParseModules(t *testing.T) {
	table := smbios(module("DIMM 0", 0x2000, "Samsung", "M378A1G43EB1-CPB"), module("DIMM 1", 0, "NO DIMM",
		"NO DIMM"), module("DIMM 2", 0x7fff, "X", "Y"),
		module("DIMM 3", 0xffff, "X", "Y"), module("DIMM 4", 0x8000|4096, "X", "Y"))
	var got []string
	for _, m := range parseModules(table) {
		got = append(got, m.slot+": "+m.String())
	}
	want := []string{"DIMM_0: 8192 MiB 2400 MT/s Samsung M378A1G43EB1-CPB", "DIMM_2: 65536 MiB 2400 MT/s X Y",
		"DIMM_4: 4 MiB 2400 MT/s X Y"}
	must.EqualList(t, got, want)
	for cut := range table {
		parseModules(table[:cut]) // must not panic
	}
}

func FuzzFingerprint(f *testing.F) {
	f.Add(dpkgStatus, smbios(module("a", 1, "b", "c")))
	f.Add("PRETTY_NAME=\"x\"\nctxt 5\nP:a\nV:b\n", []byte{17, 4, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, text string, table []byte) {
		for _, line := range parseDpkg(text) {
			must.Be(t, line != "", "package without a name")
		}
		parseApk(text)
		osName(text)
		Fingerprint{}.cpuinfo(text)
		for _, m := range parseModules(table) {
			must.Be(t, m.mib != 0, "empty module", m)
		}
	})
}

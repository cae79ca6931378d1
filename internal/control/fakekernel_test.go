package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// fakeKernel is the behavior of a kernel that a plain file lacks and that controls have to handle:
// rejected values, lists of choices, limits that move with turbo, preferences that go with the
// governor, CPUs that go offline, control groups.
type fakeKernel struct {
	sysroot.OS
	dir string
	// called before every change; nil rejects nothing; errKeep accepts a write and keeps the old
	// value
	refuse func(op, name, value string) error
	writes []string         // "name=value" of every change, in order
	wishes map[string]int64 // requested limits, before they are clamped to the hardware's
	turbos map[string]int64 // hardware maximum of policies whose driver lowers it without turbo
	// intel_pstate before Linux 6.10: without turbo it lowers what limits may be, and not the
	// hardware maximum
	before610 bool
	// policies with a request that is not in force yet; nil puts them into force at once
	late  map[string]bool
	slept time.Duration // in all
	mount string        // "ro": all files are on a file system that is mounted read-only
	// files as they were read, in the tests that read each of them ten thousand times; nil reads
	// them anew
	memory map[string][]byte
	// snapshot of dir, kept up to date in the same tests; nil: none
	files map[string]string
	fuse  *fuse // kills the process before a change; nil never does
}

var errKeep = errors.New("the old value stays")

func (k *fakeKernel) name(path string) string { return strings.TrimPrefix(path, k.dir) }

func (k *fakeKernel) get(name string) string {
	data, known := k.memory[name]
	if !known {
		data, _ = os.ReadFile(filepath.Join(k.dir, name))
	}
	return strings.TrimSpace(string(data))
}

func (k *fakeKernel) put(name, value string) {
	data, path := []byte(value+"\n"), filepath.Join(k.dir, name)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644))
	if err != nil {
		panic(err)
	}
	if k.memory != nil {
		k.memory[name] = data
	}
	if k.files != nil {
		k.files[filepath.Clean(name)] = string(data)
	}
}

// forget is called when files change other than by put.
func (k *fakeKernel) forget() {
	clear(k.memory)
	k.files = nil
}

func (k *fakeKernel) exists(name string) bool {
	if _, known := k.memory[name]; known {
		return true
	}
	_, err := os.Stat(filepath.Join(k.dir, name))
	return err == nil
}

// asked logs a change and returns the error if it is rejected.
func (k *fakeKernel) asked(op, path, value string) error {
	name := k.name(path)
	k.fuse.burn()
	k.writes = append(k.writes, name+"="+value)
	if k.refuse != nil {
		if err := k.refuse(op, name, value); err != nil {
			return &fs.PathError{Op: op, Path: path, Err: err}
		}
	}
	return nil
}

// ReadFile answers EBUSY for policies whose CPUs are offline.
func (k *fakeKernel) ReadFile(path string) ([]byte, error) {
	name := k.name(path)
	if rest, found := strings.CutPrefix(name, host.CPUFreqDir+"/policy"); found {
		number, _, _ := strings.Cut(rest, "/")
		cpu, _ := strconv.Atoi(number)
		online, _ := host.ParseCPUList(k.get("/sys/devices/system/cpu/online"))
		if !online.Contains(host.CPUs{cpu}) {
			return nil, &fs.PathError{Op: "read", Path: path, Err: syscall.EBUSY}
		}
	}
	if data, known := k.memory[name]; known {
		return slices.Clone(data), nil
	}
	data, err := k.OS.ReadFile(path)
	if err == nil && k.memory != nil {
		k.memory[name] = slices.Clone(data)
	}
	return data, err
}

// ReadOnly is the result of access(2).
func (k *fakeKernel) ReadOnly(string) bool { return k.mount == "ro" }

func (k *fakeKernel) WriteFile(path string, data []byte) error {
	name, value := k.name(path), strings.TrimSpace(string(data))
	if err := k.asked("write", path, value); errors.Is(err, errKeep) {
		return nil
	} else if err != nil {
		return err
	}
	if !k.exists(name) {
		return &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
	}
	if err := k.take(name, value); err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

// take handles a value as the kernel does.
func (k *fakeKernel) take(name, value string) error {
	dir, file := filepath.Split(name)
	switch {
	case file == "scaling_governor":
		return k.governor(dir, value)
	case file == "energy_performance_preference":
		if k.get(dir+"scaling_governor") == performance && value != performance &&
			!k.exists(dir+"scaling_setspeed") {
			return syscall.EBUSY
		}
	case file == "scaling_min_freq", file == "scaling_max_freq":
		return k.limit(dir, file, value)
	case name == noTurboFile:
		k.noTurbo(value == "1")
	case name == boostFile:
		k.boost(value == "1")
	case file == "boost":
		if k.get(boostFile) == "0" { // drivers/cpufreq/cpufreq.c:646 of Linux 6.12
			return syscall.EINVAL
		}
		k.policyBoost(dir, value == "1")
	case name == smtFile:
		k.smt(value)
	case strings.HasPrefix(name, "/sys/devices/system/cpu/cpu") && file == "online":
		k.cpu(name, value)
	case name == perfRateFile && (k.get(perfPercentFile) == "0" || k.get(perfPercentFile) == "100"):
		return syscall.EINVAL
	case name == ratioFile && k.exists(kbytesFile):
		k.put(kbytesFile, "0")
	case name == kbytesFile:
		k.put(ratioFile, "0")
	case strings.HasPrefix(name, thpDir) && (file == "enabled" || file == "defrag"):
		return k.choose(name, value)
	case file == "schemata": // a write sets the resource that it names; the others stay
		value = strings.Replace("    "+k.get(name), showWays(k.get(name)), value, 1)
	case file == "smp_affinity_list":
		return k.affinity(name, value)
	case strings.HasPrefix(name, groupRoot):
		return k.group(name, value)
	}
	k.put(name, value)
	return nil
}

func (k *fakeKernel) governor(dir, value string) error {
	if !slices.Contains(strings.Fields(k.get(dir+"scaling_available_governors")), value) {
		return syscall.EINVAL
	}
	// intel_pstate and amd-pstate-epp: the performance governor forces the preference, and it stays
	// when the governor goes.
	if epp := dir + "energy_performance_preference"; value == performance && k.exists(epp) {
		k.put(epp, performance)
	}
	k.put(dir+"scaling_governor", value)
	return nil
}

// limit keeps the request and shows it within the hardware's limits. Before Linux 5.4 it took
// effect at once, and a minimum above the maximum was rejected; since then it is a request that
// takes effect during a Sleep.
func (k *fakeKernel) limit(dir, file, value string) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return syscall.EINVAL
	}
	lo, _ := strconv.ParseInt(k.get(dir+"scaling_min_freq"), 10, 64)
	hi, _ := strconv.ParseInt(k.get(dir+"scaling_max_freq"), 10, 64)
	if k.late == nil && (file == "scaling_min_freq" && n > hi || file == "scaling_max_freq" && n < lo) {
		return syscall.EINVAL
	}
	if k.wishes == nil {
		k.wishes = map[string]int64{}
	}
	k.wishes[dir+file] = n
	k.lay(dir)
	return nil
}

// Now is the time that was slept, since 1970.
func (k *fakeKernel) Now() time.Time { return time.Unix(0, 0).Add(k.slept) }

// Sleep applies requests.
func (k *fakeKernel) Sleep(ctx context.Context, d time.Duration) error {
	k.slept += d
	for dir := range k.late {
		k.force(dir)
	}
	clear(k.late)
	return ctx.Err()
}

// lay applies the requests of a policy, now or later.
func (k *fakeKernel) lay(dir string) {
	if k.late != nil {
		k.late[dir] = true
		return
	}
	k.force(dir)
}

// force shows the requests of a policy within its hardware limits.
func (k *fakeKernel) force(dir string) {
	lo, _ := strconv.ParseInt(k.get(dir+"cpuinfo_min_freq"), 10, 64)
	hi, _ := strconv.ParseInt(k.get(dir+"cpuinfo_max_freq"), 10, 64)
	if k.before610 && k.get(noTurboFile) == "1" {
		hi = min(hi, withoutTurbo)
	}
	for _, file := range []string{"scaling_min_freq", "scaling_max_freq"} {
		n, known := k.wishes[dir+file]
		if !known {
			n, _ = strconv.ParseInt(k.get(dir+file), 10, 64)
			if k.wishes == nil {
				k.wishes = map[string]int64{}
			}
			k.wishes[dir+file] = n
		}
		k.put(dir+file, fmt.Sprint(min(max(n, lo), hi)))
	}
}

func (k *fakeKernel) policies() []string {
	var dirs []string
	for n := range 16 {
		if dir := fmt.Sprintf("%s/policy%d/", host.CPUFreqDir, n); k.exists(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// withoutTurbo is the base frequency of the passive machine of testdata, in kHz.
const withoutTurbo = 3300000

// basePercent is the base frequency of the active machine of testdata in percent of its turbo.
const basePercent = 72

// noTurbo is the switch of intel_pstate: without HWP it lowers the hardware maximum.
func (k *fakeKernel) noTurbo(off bool) {
	k.put(noTurboFile, map[bool]string{true: "1", false: "0"}[off])
	// drivers/cpufreq/intel_pstate.c, store_no_turbo: the minimum is lowered and not raised again
	if pct, err := strconv.Atoi(k.get(minPercentFile)); err == nil && off && pct > basePercent {
		k.put(minPercentFile, fmt.Sprint(basePercent))
	}
	if k.turbos == nil {
		k.turbos = map[string]int64{}
	}
	for _, dir := range k.policies() {
		if k.exists(dir + "base_frequency") {
			continue
		}
		if k.turbos[dir] == 0 {
			k.turbos[dir], _ = strconv.ParseInt(k.get(dir+"cpuinfo_max_freq"), 10, 64)
		}
		top := k.turbos[dir]
		if off {
			top = withoutTurbo
		}
		if !k.before610 {
			k.put(dir+"cpuinfo_max_freq", fmt.Sprint(top))
		}
		k.lay(dir)
	}
}

// boost is the switch of the driver, which switches every policy.
func (k *fakeKernel) boost(on bool) {
	if on == (k.get(boostFile) == "1") {
		return
	}
	for _, dir := range k.policies() {
		k.policyBoost(dir, on)
	}
	k.put(boostFile, map[bool]string{true: "1", false: "0"}[on])
}

// policyBoost is what .set_boost of the drivers does to a policy. acpi-cpufreq switches the
// processor and nothing else (Linux 6.12, drivers/cpufreq/acpi-cpufreq.c:134-142); amd-pstate
// lowers the hardware maximum to the nominal frequency (6.1, drivers/cpufreq/amd-pstate.c:419-440;
// 6.12: 677-717).
func (k *fakeKernel) policyBoost(dir string, on bool) {
	if k.exists(dir + "boost") {
		k.put(dir+"boost", map[bool]string{true: "1", false: "0"}[on])
	}
	if !strings.HasPrefix(k.get(dir+"scaling_driver"), "amd-pstate") {
		return
	}
	top := k.get(dir + "amd_pstate_max_freq")
	if !on {
		top = nominal
	}
	k.force(dir) // learns the wishes
	k.put(dir+"cpuinfo_max_freq", top)
	k.lay(dir)
}

// nominal is the nominal frequency of the trees with amd-pstate, in kHz.
const nominal = "3800000"

// smt takes the second half of the CPUs offline or back.
func (k *fakeKernel) smt(value string) {
	all, _ := host.ParseCPUList(k.get("/sys/devices/system/cpu/present"))
	online, active := all.String(), "1"
	if value == "off" {
		online, active = all[:len(all)/2].String(), "0"
	}
	k.put("/sys/devices/system/cpu/online", online)
	set, _ := host.ParseCPUList(online)
	for n := range 4 {
		if file := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/online", n); k.exists(file) {
			k.put(file, map[bool]string{true: "1", false: "0"}[set.Contains(host.CPUs{n})])
		}
	}
	k.put("/sys/devices/system/cpu/smt/active", active)
}

// cpu takes a CPU offline or back.
func (k *fakeKernel) cpu(name, value string) {
	number, _ := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(name)), "cpu"))
	online, _ := host.ParseCPUList(k.get("/sys/devices/system/cpu/online"))
	if online = online.Minus(host.CPUs{number}); value == "1" {
		online = online.Plus(host.CPUs{number})
	}
	k.put("/sys/devices/system/cpu/online", online.String())
}

// choose moves the brackets of a list.
func (k *fakeKernel) choose(name, value string) error {
	words := strings.Fields(k.get(name))
	found := false
	for i, w := range words {
		words[i] = strings.Trim(w, "[]")
		if words[i] == value {
			words[i], found = "["+value+"]", true
		}
	}
	if !found {
		return syscall.EINVAL
	}
	k.put(name, strings.Join(words, " "))
	if k.exists("/proc/sys/vm/min_free_kbytes") {
		k.put("/proc/sys/vm/min_free_kbytes", "45056") // what the kernel recommends, whatever was there
	}
	return nil
}

// affinity does not move interrupt 0, the timer's, and shows lists in its own spelling.
func (k *fakeKernel) affinity(name, value string) error {
	if strings.HasPrefix(name, "/proc/irq/0/") {
		return syscall.EIO
	}
	set, err := host.ParseCPUList(value)
	if err != nil || len(set) == 0 {
		return syscall.EINVAL
	}
	k.put(name, set.String())
	return nil
}

// group is a control group file system with cpuset partitions.
func (k *fakeKernel) group(name, value string) error {
	dir, file := filepath.Split(name)
	switch file {
	case "cgroup.procs":
		k.put(shieldDir+"/run/cgroup.procs", "")
		value = k.get(name) + " " + value
	case "cgroup.subtree_control":
		words := strings.Fields(k.get(name))
		if word, add := strings.CutPrefix(value, "+"); add {
			if !slices.Contains(words, word) {
				words = append([]string{word}, words...)
			}
		} else {
			words = slices.DeleteFunc(words, func(w string) bool { return w == value[1:] })
		}
		value = strings.Join(words, " ")
	case "cpuset.cpus.partition":
		set, _ := host.ParseCPUList(k.get(dir + "cpuset.cpus"))
		online, _ := host.ParseCPUList(k.get("/sys/devices/system/cpu/online"))
		if value != "member" && (len(set) == 0 || set.Contains(online)) {
			value += " invalid (Parent unable to distribute cpu downstream)"
		}
	}
	k.put(name, value)
	return nil
}

// Hold keeps the request until it is closed.
func (k *fakeKernel) Hold(path string, data []byte) (io.Closer, error) {
	if err := k.asked("hold", path, fmt.Sprint(data)); err != nil {
		return nil, err
	}
	old, err := k.OS.ReadFile(path)
	if err != nil {
		return nil, err
	}
	k.forget()
	return closer(func() error {
		k.forget()
		return os.WriteFile(path, old, 0o644)
	}), os.WriteFile(path, data, 0o644)
}

type closer func() error

func (c closer) Close() error { return c() }

func (k *fakeKernel) Mkdir(path string) error {
	if err := k.asked("mkdir", path, "made"); err != nil {
		return err
	}
	if err := k.OS.Mkdir(path); err != nil {
		return err
	}
	k.forget()
	files := map[string]string{"cgroup.procs": "", "cgroup.subtree_control": "",
		"cpuset.cpus": "", "cpuset.cpus.partition": "member"}
	if strings.HasPrefix(k.name(path), resctrlDir) {
		files = map[string]string{"cpus_list": "", "schemata": "    MB:0=100;1=100\n    L3:0=7ff;1=7ff"}
	}
	for file, text := range files {
		k.put(k.name(path)+"/"+file, text)
	}
	return nil
}

// Rmdir removes a group whose only entries are the kernel's files.
func (k *fakeKernel) Rmdir(path string) error {
	if err := k.asked("rmdir", path, "removed"); err != nil {
		return err
	}
	if !k.exists(k.name(path)) {
		return &fs.PathError{Op: "rmdir", Path: path, Err: syscall.ENOENT}
	}
	if k.get(k.name(path)+"/cgroup.procs") != "" {
		return &fs.PathError{Op: "rmdir", Path: path, Err: syscall.EBUSY}
	}
	k.forget()
	return os.RemoveAll(path)
}

// remove takes a part of the machine away.
func (k *fakeKernel) remove(t *testing.T, name string) {
	t.Helper()
	must.Do(t, os.RemoveAll(filepath.Join(k.dir, name)))
}

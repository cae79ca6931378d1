// Package selftest proves that the rig's machine has the properties that the other suites rely on:
// a real kernel that really reboots, sensors and governors that can be changed and observed from
// outside, and a disk that really loses unsynced data. If a suite fails, run this one first.
package selftest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"krund/rig"
	"krund/rig/must"
)

// TestRig uses one machine with five starts.
func TestRig(t *testing.T) {
	m := rig.New(t, rig.Options{Kernel: rig.Tickless, Payload: payload()})
	m.SetTemperature(1, 55.5) // before there is power
	m.PowerOn()
	first := m.WaitUp()
	state := m.WaitRunning()
	must.Need(t, state == "running", "system is", state, "want running", m.Sh("systemctl --failed"))
	for _, part := range []struct {
		name string
		run  func(*testing.T, *rig.Machine)
	}{
		{"boots Debian's stock kernel with systemd, and finds the payload", bootsDebian},
		{"the kernel measures the temperature that the test sets", temperature},
		{"a second kind of sensor is available inside", secondSensor},
		{"the host sees the frequency that the governor chooses", governor},
		{"CPU 1 runs without a tick when asked", tickless},
		{"the kernel log takes a line and gives it back", kernelLog},
		{"there is an MSR device for every CPU", msrDevices},
		{"throttle counters exist and can be replaced", throttleCounters},
		{"cgroup v2 takes a CPU away from all other processes", cpuset},
		{"Python loads a C library", python},
		{"files go in while it runs", put},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, m.For(t)) })
	}
	t.Run("every reboot has a boot id of its own, by systemctl and by a service over D-Bus",
		func(t *testing.T) { reboots(t, m.For(t), first.BootID) })
	t.Run("a power cut loses what was not synced, and nothing else",
		func(t *testing.T) { powerCut(t, m.For(t)) })
	t.Run("the guest can cut the power at an instruction of its own",
		func(t *testing.T) { cutPort(t, m.For(t)) })
	t.Run("without the argument no CPU is tickless, and a kernel panic is distinguished from a reboot",
		func(t *testing.T) { panics(t, m.For(t)) })
	must.Equal(t, m.Starts(), 5, "used", "starts, want 5")
}

func payload() *rig.Payload {
	var p rig.Payload
	p.Text("/srv/a new/directory/"+strings.Repeat("long", 40)+".txt", "payload\n")
	p.Unit("hello.service", "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo HELLO from a unit "+
		">/dev/ttyS0'\n", "multi-user.target")
	// Its first run reboots the machine through D-Bus, like krund; the second ends.
	p.Script("/usr/local/bin/twice", `#!/bin/sh
[ -e /srv/once ] && exit 3
touch /srv/once
exec busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager Reboot b false
`)
	p.Unit("twice.service",
		"[Service]\nType=oneshot\nPrivateDevices=yes\nExecStart=/usr/local/bin/twice\n[Install]\nWantedBy=multi-user.target\n")
	p.Announce("twice.service")
	return &p
}

func bootsDebian(t *testing.T, m *rig.Machine) {
	want := must.Get(rig.FindImage(t).KernelVersion())(t)
	must.Equal(t, m.Sh("uname -r"), want, "kernel")
	must.Equal(t, m.Sh("ps -p 1 -o comm="), "systemd", "PID 1", "want systemd")
	must.Equal(t, m.Sh("cat '/srv/a new/directory/'*.txt"), "payload", "payload file holds")
	must.Equal(t, m.Sh("stat -c '%U %a' '/srv/a new' /srv/a\\ new/directory/*"), "root 755\nroot 644",
		"owner and mode of what the payload made")
	m.WaitConsole(`^HELLO from a unit$`)
	_, status := m.Try("exit 3")
	must.Equal(t, status, 3, "exit status of a command is", "want 3")
}

func temperature(t *testing.T, m *rig.Machine) {
	const read = "cat /sys/class/hwmon/hwmon*/temp[12]_input | paste -sd' '"
	must.Equal(t, m.Sh("grep -l acpitz /sys/class/hwmon/hwmon*/name | wc -l"), "1",
		"hwmon devices are named acpitz, want 1")
	must.Equal(t, m.Sh(read), "40000 55500", "at the start", "want 40000 55500")
	m.SetTemperature(0, 75)
	must.Equal(t, m.Sh(read), "75000 55500", "after zone 0 was set to 75", "want 75000 55500")
}

func secondSensor(t *testing.T, m *rig.Machine) {
	m.Sh("modprobe i2c-dev && modprobe i2c-stub chip_addr=0x48 && modprobe lm75")
	bus := m.Sh(`i2cdetect -l | awk '/SMBus stub/ { sub("i2c-", "", $1); print $1 }'`)
	// The registers are big-endian: 0x0019 is 25 degrees.
	m.Sh(fmt.Sprintf("i2cset -y %[1]s 0x48 3 0x0050 w; i2cset -y %[1]s 0x48 2 0x004b w; i2cset -y %[1]s "+
		"0x48 0 0x0019 w; echo lm75 0x48 >/sys/bus/i2c/devices/i2c-%[1]s/new_device", bus))
	read := fmt.Sprintf("cat /sys/bus/i2c/devices/%s-0048/hwmon/hwmon*/temp1_input", bus)
	must.Equal(t, m.Sh(read), "25000", "lm75 reads", "want 25000")
	m.Sh("echo 0x48 >/sys/bus/i2c/devices/i2c-" + bus + "/delete_device")
	must.Equal(t, m.Sh("grep -l lm75 /sys/class/hwmon/hwmon*/name | wc -l"), "0",
		"the sensor did not go away")
}

func governor(t *testing.T, m *rig.Machine) {
	policy := "/sys/devices/system/cpu/cpufreq/policy"
	got := m.Sh("cat " + policy + "1/scaling_driver")
	must.Need(t, got == "acpi-cpufreq", "driver is", got, "want acpi-cpufreq")
	for _, step := range []struct {
		governor string
		mhz      int
	}{{"powersave", 800}, {"performance", 3000}, {"powersave", 800}} {
		m.Sh(fmt.Sprintf("for p in %s*; do echo %s >$p/scaling_governor; done", policy, step.governor))
		for cpu := range 2 {
			must.Equal(t, m.PState(cpu), step.mhz, "governor", step.governor, "CPU", "is at", "MHz")
		}
	}
	m.Sh("echo userspace >" + policy + "1/scaling_governor && echo 1800000 >" + policy + "1/scaling_setspeed")
	a, b := m.PState(0), m.PState(1)
	must.Be(t, a == 800 && b == 1800, "CPUs are at", a, "and", b, "MHz, want 800 and 1800")
	_, status := m.Try("echo no-such-governor >" + policy + "0/scaling_governor")
	must.Be(t, status != 0, "a governor that does not exist was accepted")
	m.Sh("echo ondemand >" + policy + "1/scaling_governor") // a module, loaded by its name
}

func tickless(t *testing.T, m *rig.Machine) {
	must.Equal(t, m.Sh("cat /sys/devices/system/cpu/nohz_full"), "1", "nohz_full", "want 1")
	must.Equal(t, m.Sh("grep -c '^CONFIG_NO_HZ_FULL=y' /boot/config-$(uname -r)"), "1",
		"the kernel's configuration does not say so")
	// One second of work on each CPU: CPU 0 ticks 250 times a second, CPU 1 hardly ever.
	m.Sh("cat >/tmp/ticks <<'END'\nread_loc() { awk -v c=$1 '$1 == \"LOC:\" { print $(c + 2) }' " +
		"/proc/interrupts; }\na=$(read_loc $1); taskset -c $1 timeout 1 sh -c 'while :; do :; done'; " +
		"b=$(read_loc $1); echo $((b - a))\nEND")
	housekeeping, isolated := number(t, m.Sh("bash /tmp/ticks 0")), number(t, m.Sh("bash /tmp/ticks 1"))
	must.Be(t, housekeeping >= 10*isolated, "timer interrupts in a second of work: CPU 0", housekeeping,
		"CPU 1", isolated, "want at least ten times less")
}

func kernelLog(t *testing.T, m *rig.Machine) {
	m.Sh(`echo "<2>rig-selftest: hello" >/dev/kmsg`)
	record := m.Sh("dd if=/dev/kmsg iflag=nonblock bs=8k 2>/dev/null | grep -a rig-selftest")
	// Priority 2 of facility 1, user: the kernel forces the facility.
	must.Be(t, regexp.MustCompile(`^10,\d+,\d+,-[^;]*;rig-selftest: hello$`).MatchString(record), "record",
		record)
}

func msrDevices(t *testing.T, m *rig.Machine) {
	for cpu := range 2 {
		// IA32_MPERF, eight bytes; without the rigmsr module the emulator returns zero.
		got := m.Sh(fmt.Sprintf("dd if=/dev/cpu/%d/msr bs=8 count=1 skip=231 iflag=skip_bytes 2>/dev/null "+
			"| wc -c", cpu))
		must.Equal(t, got, "8", "CPU", cpu, "bytes, want 8")
	}
}

func throttleCounters(t *testing.T, m *rig.Machine) {
	const file = "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count"
	must.Equal(t, m.Sh("cat "+file), "0", "count", "want 0")
	m.Sh("echo 7 >/run/count && mount --bind /run/count " + file)
	must.Equal(t, m.Sh("cat "+file), "7", "count", "after the replacement, want 7")
	m.Sh("umount " + file)
}

func cpuset(t *testing.T, m *rig.Machine) {
	m.Sh("cd /sys/fs/cgroup && echo +cpuset >cgroup.subtree_control && mkdir iso && echo 1 " +
		">iso/cpuset.cpus && echo isolated >iso/cpuset.cpus.partition")
	must.Equal(t, m.Sh("cat /sys/fs/cgroup/iso/cpuset.cpus.partition"), "isolated", "partition",
		"want isolated")
	const allowed = "awk '/Cpus_allowed_list/ { print $2 }' /proc/"
	must.Equal(t, m.Sh(allowed+"1/status"), "0", "PID 1 may run on CPUs", "want 0")
	must.Equal(t, m.Sh("echo $$ >/sys/fs/cgroup/iso/cgroup.procs; "+allowed+"$$/status; "+
		"echo $$ >/sys/fs/cgroup/cgroup.procs"), "1", "CPUs on which a process in the partition may run")
	m.Sh("rmdir /sys/fs/cgroup/iso")
}

func python(t *testing.T, m *rig.Machine) {
	must.Equal(t, m.Sh(`python3 -c 'import ctypes; print(ctypes.CDLL("libc.so.6").abs(-3))'`), "3", "abs(-3")
}

func put(t *testing.T, m *rig.Machine) {
	data := []byte(strings.Repeat("0123456789abcde\n", 4000)) // more than one chunk
	m.Put("/root/it's here", 0o700, data)
	must.Equal(t, m.Sh(`stat -c '%a %s' "/root/it's here"`), fmt.Sprintf("700 %d", len(data)),
		"mode and size are")
}

func reboots(t *testing.T, m *rig.Machine, first string) {
	ids := []string{first, m.Reboot().BootID}
	must.Equal(t, m.Sh("cat /sys/class/hwmon/hwmon*/temp[12]_input | paste -sd' '"), "75000 55500",
		"temperatures after a reboot are", "want 75000 55500 as before")
	m.WaitRunning() // the bus starts late
	m.Send("systemctl enable --now twice.service")
	must.Equal(t, m.RunToEnd("twice.service", 1), (rig.Ended{Result: "exit-code", Status: 3}),
		"the service ended with", "want exit status 3")
	ids = append(ids, m.WaitUp().BootID)
	must.Equal(t, m.Sh("cat /proc/sys/kernel/random/boot_id"), ids[2], "boot id", "the agent said")
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) != 3 {
		t.Errorf("%d different boot ids in 3 boots", len(ids))
	}
}

// powerCut writes the new version of files in five ways, each of which is right or wrong in a known
// way, and then cuts the power immediately.
func powerCut(t *testing.T, m *rig.Machine) {
	m.Sh("mkdir /srv/cut && cd /srv/cut && for f in plain synced renamed half whole; do echo v1 >$f; done " +
		"&& sync && " +
		"echo v2 >synced && sync synced && " +
		"echo v2 >tmp1 && mv tmp1 renamed && " +
		"echo v2 >tmp3 && sync tmp3 && mv tmp3 whole && sync . && " +
		"echo v2 >tmp2 && sync tmp2 && mv tmp2 half && " + // nothing is synced after this
		"echo v2 >plain")
	m.PowerCut()
	disk := m.Disk()
	m.PowerOn()
	m.WaitUp()
	for name, want := range map[string]string{
		"plain":  "v1\n", // never synced
		"synced": "v2\n",
		// the rename was synced with another file, but the data was never written: the empty file
		// after a missing fsync
		"renamed": "",
		"whole":   "v2\n", // file synced, renamed, directory synced
		"half":    "v1\n", // file synced, renamed, directory not
	} {
		must.Equal(t, disk.Text("/srv/cut/"+name), want, "holds", "on the disk")
		must.Equal(t, m.Sh("cat /srv/cut/"+name), strings.TrimSpace(want), "holds", "after the boot")
	}
	entries := must.Get(disk.List("/srv/cut"))(t)
	must.Be(t, slices.ContainsFunc(entries, func(e rig.Entry) bool { return e.Name == "tmp2" }),
		"the file that was not yet renamed is missing", entries)
}

func cutPort(t *testing.T, m *rig.Machine) {
	m.Send(fmt.Sprintf("cd /srv/cut && echo v3 >synced && sync synced && echo v3 >plain && "+
		"printf '\\052' | dd of=/dev/port bs=1 seek=%d", rig.CutPort))
	if off := m.WaitOff(); off.Reason != rig.OffPort || off.Code != 42 {
		t.Fatalf("the machine ended with %+v, want %s and code 42", off, rig.OffPort)
	}
	disk := m.Disk()
	plain, synced := disk.Text("/srv/cut/plain"), disk.Text("/srv/cut/synced")
	must.Be(t, plain == "v1\n" && synced == "v3\n", "plain holds", plain, "and synced", synced,
		"want v1 and v3")
	dir := disk.Dump("/srv/cut")
	must.Be(t, strings.HasSuffix(dir, "/cut"), "directory came out as", dir)
}

func panics(t *testing.T, m *rig.Machine) {
	m.SetKernelArguments(rig.PanicReboots)
	m.PowerOn()
	m.WaitUp()
	got := m.Sh("cat /sys/devices/system/cpu/nohz_full")
	must.Be(t, got == "" || got == "(null)", "nohz_full is", got, "want nothing")
	m.Send("echo c >/proc/sysrq-trigger")
	must.Equal(t, m.WaitOff().Reason, rig.OffRebooted, "the machine ended with")
	reason, ok := rig.Panic(m.ConsoleOfThisStart())
	must.Be(t, ok && strings.Contains(reason, "sysrq"), "panic", ok, "reason", reason, "want one by sysrq")
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	must.Need(t, err == nil, "not a number", text)
	return n
}

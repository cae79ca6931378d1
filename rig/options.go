package rig

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Tickless are the kernel arguments that make CPU 1 tickless: nohz_full.
const Tickless = "nohz_full=1 rcu_nocbs=1"

// PanicReboots are the kernel arguments that make a panicking kernel reset the machine after one
// second. Without them it halts, as machines do by default.
const PanicReboots = "panic=1"

// Options configure a machine beyond the image. The zero value is a machine with two CPUs, 512 MB
// and no network.
type Options struct {
	Payload  *Payload // files unpacked over the disk before the first start; nil for none
	Kernel   string   // kernel arguments, added to the rig's own
	MemoryMB int      // 0 means 512
	Devices  []string // QEMU arguments, added to the rig's own
	// load the rigmsr module early in every boot; the test is skipped if the image has none
	MSR      bool
	Network  bool          // an interface eth0 that reaches the host at HostAddress
	BootDisk bool          // a second, empty disk for a boot loader: see BootFromDisk
	Time     time.Duration // maximum duration of the test on the reference host; 0: see usualTime
	Limit    time.Duration // longest wait for a single event on the reference host; 0: see defaultLimit
}

// Kernel arguments of every machine. The mount options expose a missing fsync: without
// noauto_da_alloc, ext4 itself writes a file's data before a rename over another file, and with a
// commit every five seconds most unsynced data would survive.
const kernelArgs = "console=ttyS0 quiet mitigations=off tsc=reliable no_timer_check audit=0 apparmor=0 " +
	"selinux=0 cryptomgr.notests " +
	"random.trust_cpu=on reboot=t systemd.show_status=0 rootflags=noauto_da_alloc,commit=300"

// cpuModel: Intel, so that acpi-cpufreq binds; acpi and tm, so that the thermal_throttle counters
// exist.
const cpuModel = "Nehalem,x-force-features=on,+tm,+acpi"

// The descriptors that QEMU inherits, in this order.
const (
	qmpFD = 3 + iota
	consoleFD
	agentFD
)

// withDefaults returns o with every zero value replaced by its default.
func (o Options) withDefaults() Options {
	o.MemoryMB = cmp.Or(o.MemoryMB, 512)
	if o.Time == 0 {
		o.Time = usualTime
	}
	o.Limit = cmp.Or(o.Limit, defaultLimit())
	return o
}

// drives are the host's files for the disks of a machine.
type drives struct {
	root     string
	payload  string // tar to unpack in this start; "" for none
	boot     string // disk with a boot loader; "" for none
	fromBoot bool   // the firmware starts it, instead of QEMU starting the image's kernel
}

// KernelArguments returns the arguments of every machine plus more, for the configuration of a boot
// loader.
func KernelArguments(more string) string {
	return strings.TrimSpace("rw " + tscArgument() + kernelArgs + " " + more)
}

// arguments returns the command line of QEMU, without the program, for a machine with these
// options.
func (o Options) arguments(image Image, d drives) []string {
	kernel := KernelArguments(o.Kernel)
	args := []string{
		"-M", "q35", "-accel", "tcg,thread=multi", "-cpu", cpuModel, "-smp", "2", "-m",
		fmt.Sprint(o.MemoryMB),
		"-display", "none", "-no-user-config", "-nodefaults",
		"-S", // powered, but not running: ports are set first
		// the guest's reset ends QEMU; starting it again is a true power-on, and cheaper than a
		// warm reset
		"-no-reboot",
		"-chardev", socket("qmp", qmpFD), "-mon", "chardev=qmp,mode=control",
		"-chardev", socket("console", consoleFD), "-serial", "chardev:console",
		"-chardev", socket("agent", agentFD), "-serial", "chardev:agent",
		"-device", fmt.Sprintf("isa-debug-exit,iobase=%#x,iosize=1", CutPort),
		"-drive", "file=" + d.root + ",if=virtio,format=raw,cache=unsafe", "-acpitable",
		"file=" + image.file("rig.aml"),
	}
	if d.payload != "" {
		args = append(args, "-drive", "file="+d.payload+",if=virtio,format=raw,readonly=on")
		kernel += " rig.payload"
	}
	if d.boot != "" {
		args = append(args, "-drive", "file="+d.boot+",if=none,id=boot,format=raw,cache=unsafe", "-device",
			"nvme,serial=rigboot,drive=boot,bootindex=1")
	}
	if o.Network {
		args = append(args, networkArguments...)
	}
	args = append(args, o.Devices...)
	if d.fromBoot {
		return args
	}
	return append(args, "-kernel", image.file("vmlinux"), "-initrd", image.file("initrd.img"), "-append",
		kernel)
}

func socket(id string, fd int) string { return fmt.Sprintf("socket,id=%s,fd=%d", id, fd) }

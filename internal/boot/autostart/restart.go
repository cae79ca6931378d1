package autostart

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"strconv"
	"strings"
	"time"

	"krund/internal/experiment/config"
	"krund/internal/machine/command"
	"krund/internal/machine/sysroot"
)

// SoftCount is the name of the file, in the directory of runtime files, with the number of soft
// reboots since the kernel started. It lasts as long as that kernel: a soft reboot keeps /run.
const SoftCount = "soft-reboots"

// MaxSoft bounds the number of soft reboots, which keeps the name of a boot within the room that
// the schedule has for it.
const MaxSoft = 999

// kexecLoader is the type of boot loader that a kernel reports when another kernel has started it
// by kexec_file_load(2) or kexec(8) (arch/x86/kernel/kexec-bzimage64.c:
// type_of_loader = 0x0D << 4).
const kexecLoader = 0xD

// A Boot is how the present boot began.
type Boot struct {
	Kind string // config.RebootHardware, RebootKexec or RebootSoft
	Soft int    // soft reboots since the kernel started
}

// FindBoot returns how the present boot began. counted is the text of SoftReboots: systemd's number
// has the soft reboots that a person asked for, too. What cannot be read means a hardware boot.
func FindBoot(root sysroot.Root, counted string) Boot {
	n, err := strconv.Atoi(strings.TrimSpace(counted))
	if err != nil {
		n = 0
	}
	if own, err := root.ReadInt("/run/krund/" + SoftCount); err == nil {
		n = max(n, int(own))
	}
	if n > 0 {
		return Boot{Kind: config.RebootSoft, Soft: min(n, MaxSoft)}
	}
	loader, err := root.ReadInt("/proc/sys/kernel/bootloader_type")
	if err == nil && loader>>4 == kexecLoader {
		return Boot{Kind: config.RebootKexec}
	}
	return Boot{Kind: config.RebootHardware}
}

// SoftReboots returns systemd's number of soft reboots since the kernel started, as systemd prints
// it; "" if it does not count them. It does from version 256 on (SoftRebootsCount,
// org.freedesktop.systemd1(5)).
func SoftReboots(ctx context.Context, root sysroot.Root) string {
	if !root.Exists("/run/systemd/system") {
		return ""
	}
	const patience = 10 * time.Second
	text, err := command.System{Timeout: patience}.Output(ctx, "systemctl", "show", "--value",
		"--property=SoftRebootsCount")
	if err != nil {
		return ""
	}
	return string(text)
}

// Name returns a name of the boot that differs after each kind of restart: the kernel's name of it
// (boot_id) and, after soft reboots, their number.
func (b Boot) Name(id string) string {
	if b.Soft == 0 || id == "" {
		return id
	}
	return id + "+" + strconv.Itoa(b.Soft)
}

// A Kernel is what kexec loads: the files of the running kernel and its command line.
type Kernel struct {
	Image, Initrd string // Initrd is "" if there is none
	Cmdline       string
}

// RunningKernel finds the files that the running kernel was started from, where distributions
// install them.
func RunningKernel(root sysroot.Root) (Kernel, error) {
	release, err := root.Read("/proc/sys/kernel/osrelease")
	if err != nil {
		return Kernel{}, err
	}
	var k Kernel
	if k.Cmdline, err = root.Read("/proc/cmdline"); err != nil {
		return Kernel{}, err
	}
	entry := "/boot/krund-without-machine-id"
	if id, err := root.Read("/etc/machine-id"); err == nil {
		entry = path.Join("/boot", id, release)
	}
	images := []string{"/boot/vmlinuz-" + release, path.Join(entry, "linux"),
		path.Join("/usr/lib/modules", release, "vmlinuz")}
	if k.Image = firstOf(root, images...); k.Image == "" {
		return Kernel{}, fmt.Errorf("no file of the running kernel %s: none of %q exists", release, images)
	}
	k.Initrd = firstOf(root, "/boot/initrd.img-"+release, "/boot/initramfs-"+release+".img",
		"/boot/initrd-"+release, path.Join(entry, "initrd"))
	return k, nil
}

func firstOf(root sysroot.Root, names ...string) string {
	for _, name := range names {
		if root.Exists(name) {
			return name
		}
	}
	return ""
}

// Unavailable returns why this machine cannot restart in a way (config.RebootKexec, RebootSoft),
// and what to do about it; "" if it can.
func Unavailable(kind string, root sysroot.Root) string {
	if kind != config.RebootKexec && kind != config.RebootSoft {
		return ""
	}
	if !root.Exists("/run/systemd/system") {
		return "systemd is not running this machine; set experiment.reboot = \"hardware\""
	}
	if kind == config.RebootSoft {
		for _, dir := range []string{"/usr/lib/systemd/system", "/lib/systemd/system"} {
			if root.Exists(path.Join(dir, "soft-reboot.target")) {
				return ""
			}
		}
		return "this systemd has no soft-reboot.target: soft reboots came with version 254; " +
			"set experiment.reboot = \"kexec\" or \"hardware\""
	}
	if runtime.GOARCH != "amd64" {
		return "kexec is supported on x86-64 only, where the new kernel knows how it was started; " +
			"set experiment.reboot = \"hardware\""
	}
	if !root.Exists("/sys/kernel/kexec_loaded") {
		return "the kernel was built without kexec; set experiment.reboot = \"hardware\""
	}
	if off, err := root.ReadInt("/proc/sys/kernel/kexec_load_disabled"); err == nil && off != 0 {
		return "kernel.kexec_load_disabled is 1 until the next boot; find out what sets it " +
			"(sysctl.d(5)), or set experiment.reboot = \"hardware\""
	}
	if _, err := RunningKernel(root); err != nil {
		return err.Error() + "; set experiment.reboot = \"hardware\""
	}
	return ""
}

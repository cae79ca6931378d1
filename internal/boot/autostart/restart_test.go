package autostart_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"krund/internal/boot/autostart"
	"krund/internal/experiment/config"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// machine writes files below a directory that stands for "/".
func machine(t *testing.T, files map[string]string) sysroot.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must.Write(t, filepath.Join(dir, name), text)
	}
	return sysroot.New(dir)
}

// The loader's types are those of Documentation/x86/boot.rst (type_of_loader): 0x72 GRUB, 0xD0
// kexec, 0xB0 PVH without Xen.
func TestFindBoot(t *testing.T) {
	const loader, soft = "proc/sys/kernel/bootloader_type", "run/krund/soft-reboots"
	empty := sysroot.New(t.TempDir())
	must.Be(t, !autostart.HasSystemd(empty) && autostart.SoftReboots(t.Context(), empty) == "", "no systemd")
	for _, c := range []struct {
		name    string
		files   map[string]string
		counted string
		want    autostart.Boot
		id      string
	}{
		{"unknown", nil, "", autostart.Boot{Kind: "hardware"}, "7f"},
		{"GRUB", map[string]string{loader: "114\n"}, "", autostart.Boot{Kind: "hardware"}, "7f"},
		{"PVH", map[string]string{loader: "176\n"}, "", autostart.Boot{Kind: "hardware"}, "7f"},
		{"kexec", map[string]string{loader: "208\n"}, "", autostart.Boot{Kind: "kexec"}, "7f"},
		{"soft", map[string]string{loader: "114\n", soft: "2\n"}, "2\n",
			autostart.Boot{Kind: "soft", Soft: 2}, "7f+2"},
		{"soft after kexec, not counted by systemd", map[string]string{loader: "208\n", soft: "1\n"}, "",
			autostart.Boot{Kind: "soft", Soft: 1}, "7f+1"},
		{"soft, by hand", map[string]string{loader: "114\n"}, "1\n",
			autostart.Boot{Kind: "soft", Soft: 1}, "7f+1"},
		{"soft, then by hand", map[string]string{soft: "2\n"}, "3\n",
			autostart.Boot{Kind: "soft", Soft: 3}, "7f+3"},
		{"a soft reboot that was refused", map[string]string{loader: "208\n", soft: "0\n"}, "",
			autostart.Boot{Kind: "kexec"}, "7f"},
		{"not an answer", nil, "n/a\n", autostart.Boot{Kind: "hardware"}, "7f"},
		{"no number of reboots", nil, "2000000000\n", autostart.Boot{Kind: "soft", Soft: 999}, "7f+999"},
		{"damage", map[string]string{loader: "208\n", soft: "-3\n"}, "", autostart.Boot{Kind: "kexec"}, "7f"},
	} {
		got := autostart.FindBoot(machine(t, c.files), c.counted)
		must.Be(t, got == c.want && got.Name("7f") == c.id && got.Name("") == "", c.name, got, "named",
			got.Name("7f"), "want", c.want, "named", c.id)
	}
}

func TestRunningKernel(t *testing.T) {
	const version, arguments = "proc/sys/kernel/osrelease", "proc/cmdline"
	for _, c := range []struct {
		name          string
		files         []string
		image, initrd string
	}{
		{"Debian", []string{"boot/vmlinuz-6.1.0-13-amd64", "boot/initrd.img-6.1.0-13-amd64",
			"boot/vmlinuz-6.1.0-12-amd64"}, "/boot/vmlinuz-6.1.0-13-amd64",
			"/boot/initrd.img-6.1.0-13-amd64"},
		{"Fedora", []string{"boot/vmlinuz-6.1.0-13-amd64", "boot/initramfs-6.1.0-13-amd64.img"},
			"/boot/vmlinuz-6.1.0-13-amd64", "/boot/initramfs-6.1.0-13-amd64.img"},
		{"systemd-boot", []string{"boot/0123/6.1.0-13-amd64/linux", "boot/0123/6.1.0-13-amd64/initrd",
			"usr/lib/modules/6.1.0-13-amd64/vmlinuz"}, "/boot/0123/6.1.0-13-amd64/linux",
			"/boot/0123/6.1.0-13-amd64/initrd"},
		{"no initrd", []string{"usr/lib/modules/6.1.0-13-amd64/vmlinuz"},
			"/usr/lib/modules/6.1.0-13-amd64/vmlinuz", ""},
		{"another kernel only", []string{"boot/vmlinuz-6.1.0-12-amd64"}, "", ""},
	} {
		files := map[string]string{version: "6.1.0-13-amd64\n", arguments: "root=/dev/sda1 nohz_full=1\n",
			"etc/machine-id": "0123\n"}
		for _, name := range c.files {
			files[name] = "x"
		}
		k, err := autostart.RunningKernel(machine(t, files))
		must.Be(t, k.Image == c.image && k.Initrd == c.initrd && (err != nil) == (c.image == ""), c.name, k,
			"error", err, c.image, c.initrd)
		must.Be(t, err != nil || k.Cmdline == "root=/dev/sda1 nohz_full=1", c.name, "command line", k.Cmdline)
	}
}

func TestUnavailable(t *testing.T) {
	fit := map[string]string{
		"run/systemd/system/x": "", "usr/lib/systemd/system/soft-reboot.target": "",
		"sys/kernel/kexec_loaded": "0\n", "proc/sys/kernel/kexec_load_disabled": "0\n",
		"proc/sys/kernel/osrelease": "6.1\n", "proc/cmdline": "ro\n", "boot/vmlinuz-6.1": "x",
	}
	for _, c := range []struct{ name, kind, without, with, want string }{
		{"soft", config.RebootSoft, "", "", ""},
		{"kexec", config.RebootKexec, "", "", ""},
		{"hardware needs nothing", config.RebootHardware, "run/systemd/system/x", "", ""},
		{"another init", config.RebootSoft, "run/systemd/system/x", "", "systemd is not running"},
		{"systemd 252", config.RebootSoft, "usr/lib/systemd/system/soft-reboot.target", "", "version 254"},
		{"no kexec", config.RebootKexec, "sys/kernel/kexec_loaded", "", "without kexec"},
		{"forbidden", config.RebootKexec, "", "1\n", "kexec_load_disabled"},
		{"no image", config.RebootKexec, "boot/vmlinuz-6.1", "", "no file of the running kernel 6.1"},
	} {
		if c.kind == config.RebootKexec && runtime.GOARCH != "amd64" {
			continue
		}
		files := map[string]string{}
		for name, text := range fit {
			if name != c.without {
				files[name] = text
			}
		}
		if c.with != "" {
			files["proc/sys/kernel/kexec_load_disabled"] = c.with
		}
		root := machine(t, files)
		if c.without == "run/systemd/system/x" {
			must.Do(t, os.RemoveAll(root.Path("/run/systemd")))
		}
		got := autostart.Unavailable(c.kind, root)
		must.Be(t, (got == "") == (c.want == "") && strings.Contains(got, c.want), c.name, got, c.want)
	}
}

package bootentry_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"krund/internal/bootentry"
	"krund/internal/config"
	"krund/internal/sysroot"
)

// lab is a copy of a machine with the tools of its boot loader, which do what the real ones do to its files.
type lab struct {
	t       *testing.T
	dir     string
	calls   []string
	refuse  error // of the tools
	forgets bool  // the tools succeed and do nothing
}

const (
	efivars = "sys/firmware/efi/efivars/"
	vendor  = "-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
	plain   = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
)

func (l *lab) write(name, text string) *lab {
	l.t.Helper()
	path := filepath.Join(l.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		l.t.Fatal(err)
	}
	return l
}

// fixture copies a file of testdata.
func (l *lab) fixture(name, from string) *lab {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", from))
	if err != nil {
		l.t.Fatal(err)
	}
	return l.write(name, string(text))
}

// block is an environment block with these lines.
func block(lines string) string {
	const size = 1024
	text := "# GRUB Environment Block\n" + lines
	return text + strings.Repeat("#", size-len(text))
}

// variable is the content of a firmware variable with these texts.
func variable(texts ...string) string {
	raw := []byte{6, 0, 0, 0}
	for _, unit := range utf16.Encode([]rune(strings.Join(texts, "\x00") + "\x00")) {
		raw = binary.LittleEndian.AppendUint16(raw, unit)
	}
	return string(raw)
}

func grubLab(t *testing.T) *lab {
	l := &lab{t: t, dir: t.TempDir()}
	return l.write("boot/grub/grubenv", block("saved_entry=0\n")).fixture("boot/grub/grub.cfg", "debian-grub.cfg").fixture("boot/grub/custom.cfg", "custom.cfg").
		write("proc/self/mountinfo", plain)
}

func systemdLab(t *testing.T) *lab {
	l := &lab{t: t, dir: t.TempDir()}
	return l.write(efivars+"LoaderInfo"+vendor, variable("systemd-boot 252.39-1")).write(efivars+"LoaderEntries"+vendor, variable("debian.conf", "krund.conf", "auto-efi-shell")).
		write("boot/loader/entries/krund.conf", "title krund\nlinux /vmlinuz\noptions root=/dev/sda2 ro\noptions krund.entry systemd.unit=bench.target\n")
}

func (l *lab) run(_ context.Context, argv ...string) error {
	l.calls = append(l.calls, strings.Join(argv, " "))
	if l.refuse != nil || l.forgets {
		return l.refuse
	}
	switch argv[0] {
	case "grub-editenv", "grub2-editenv":
		line := "saved_entry=0\n"
		if argv[2] == "set" {
			line += argv[3] + "\n"
		}
		l.write(argv[1], block(line))
	case "bootctl":
		if argv[2] == "" {
			if err := os.Remove(filepath.Join(l.dir, efivars+"LoaderEntryOneShot"+vendor)); err != nil {
				l.t.Fatal(err)
			}
			return nil
		}
		l.write(efivars+"LoaderEntryOneShot"+vendor, variable(argv[2]))
	}
	return nil
}

func (l *lab) entry(name, loader string) bootentry.Entry {
	return bootentry.Entry{Name: name, Loader: loader, Root: sysroot.New(l.dir), Run: l.run}
}

func TestAskAndTakeBack(t *testing.T) {
	for _, c := range []struct {
		name, entry, loader string
		lab                 *lab
		calls               []string
	}{
		{"grub", "krund", config.LoaderAuto, grubLab(t), []string{"grub-editenv /boot/grub/grubenv set next_entry=krund", "grub-editenv /boot/grub/grubenv unset next_entry"}},
		{"systemd-boot", "krund.conf", config.LoaderAuto, systemdLab(t), []string{"bootctl set-oneshot krund.conf", "bootctl set-oneshot "}},
		{"the one that was named", "krund", config.LoaderGRUB, func() *lab {
			return grubLab(t).write(efivars+"LoaderInfo"+vendor, variable("systemd-boot 252"))
		}(), []string{"grub-editenv /boot/grub/grubenv set next_entry=krund", "grub-editenv /boot/grub/grubenv unset next_entry"}},
		{"Fedora's names, entry by the Boot Loader Specification", "krund", config.LoaderAuto, func() *lab {
			l := &lab{t: t, dir: t.TempDir()}
			return l.write("boot/grub2/grubenv", block("")).write("boot/grub2/grub.cfg", "if [ \"${next_entry}\" ]; then set default=\"${next_entry}\"; fi\nblscfg\n").
				write("boot/loader/entries/krund.conf", "title krund\noptions $kernelopts krund.entry\n").write("proc/self/mountinfo", plain)
		}(), []string{"grub2-editenv /boot/grub2/grubenv set next_entry=krund", "grub2-editenv /boot/grub2/grubenv unset next_entry"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := c.lab.entry(c.entry, c.loader)
			for range 2 { // the second time nothing is to do
				if err := e.Ask(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if asked, err := e.Asked(); !asked || err != nil {
				t.Errorf("asked %t, %v", asked, err)
			}
			for range 2 {
				if err := e.TakeBack(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if asked, err := e.Asked(); asked || err != nil {
				t.Errorf("after it was taken back: asked %t, %v", asked, err)
			}
			if !slices.Equal(c.lab.calls, c.calls) {
				t.Errorf("calls %q, want %q", c.lab.calls, c.calls)
			}
		})
	}
}

func TestAnotherEntryThatSomebodyAskedForStays(t *testing.T) {
	l := grubLab(t).write("boot/grub/grubenv", block("next_entry=memtest\n"))
	if err := l.entry("krund", config.LoaderAuto).TakeBack(t.Context()); err != nil || len(l.calls) > 0 {
		t.Errorf("calls %q, %v", l.calls, err)
	}
}

func TestCheckRefuses(t *testing.T) {
	const entry = `menuentry "krund" --id krund { linux /vmlinuz root=/dev/sda1 ro` + "\n}\n"
	for _, c := range []struct {
		name, entry, loader string
		lab                 *lab
		want                string
	}{
		{"no loader", "krund", config.LoaderAuto, &lab{t: t, dir: t.TempDir()}, "is /boot mounted?"},
		{"no GRUB", "krund", config.LoaderGRUB, systemdLab(t), "grubenv"},
		{"no systemd-boot", "krund", config.LoaderSystemdBoot, grubLab(t), "LoaderInfo"},
		{"no such entry", "crund", config.LoaderAuto, grubLab(t), "no such entry"},
		{"a title is no id", "Debian", config.LoaderAuto, grubLab(t), "no such entry"},
		{"no kernel argument", "krund", config.LoaderAuto, grubLab(t).write("boot/grub/custom.cfg", strings.Replace(entry, "{ ", "{\n", 1)), "krund.entry"},
		{"kernel argument off", "krund", config.LoaderAuto, grubLab(t).write("boot/grub/custom.cfg", "menuentry 'x' --id=krund {\nlinux /v krund.entry=0\n}"), "krund.entry"},
		{"it would not be heard", "krund", config.LoaderAuto, grubLab(t).write("boot/grub/grub.cfg", "set default=0\n"), "does not heed"},
		{"no environment block", "krund", config.LoaderAuto, grubLab(t).write("boot/grub/grubenv", "next_entry=krund\n"), "no environment block"},
		{"btrfs", "krund", config.LoaderAuto, grubLab(t).write("proc/self/mountinfo", "22 1 0:20 /@ / rw - btrfs /dev/sda1 rw\n"), "is on btrfs"},
		{"LVM", "krund", config.LoaderAuto, grubLab(t).write("proc/self/mountinfo", "22 1 254:0 / / rw - ext4 /dev/mapper/vg-root rw\n").
			write("sys/dev/block/254:0/dm/name", "vg-root\n"), "LVM"},
		{"RAID below /boot", "krund", config.LoaderAuto, grubLab(t).write("proc/self/mountinfo", plain+"23 22 9:0 / /boot rw shared:1 - ext4 /dev/md0 rw\n").
			write("sys/dev/block/9:0/md/level", "raid1\n"), "software RAID"},
		{"systemd-boot without the entry", "other.conf", config.LoaderAuto, systemdLab(t), "no such entry"},
		{"systemd-boot without the argument", "krund.conf", config.LoaderAuto, systemdLab(t).write("boot/loader/entries/krund.conf", "options quiet\n"), "krund.entry"},
		{"a variable that is no text", "krund.conf", config.LoaderAuto, systemdLab(t).write(efivars+"LoaderEntries"+vendor, "abc"), "3 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.lab.entry(c.entry, c.loader).Ask(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if len(c.lab.calls) > 0 {
				t.Errorf("something was changed: %q", c.lab.calls)
			}
		})
	}
}

func TestWhatSpeaksForAnEntry(t *testing.T) {
	for name, l := range map[string]*lab{
		"a plain partition for /boot on a machine with btrfs": grubLab(t).write("proc/self/mountinfo", "22 1 0:20 /@ / rw - btrfs /dev/sda2 rw\n23 22 8:1 / /boot rw - ext4 /dev/sda1 rw\n"),
		"a mount point that only begins alike":                grubLab(t).write("proc/self/mountinfo", plain+"23 22 0:30 / /boo rw - btrfs /dev/sda3 rw\n"),
		"arguments that only GRUB knows":                      grubLab(t).write("boot/grub/custom.cfg", "menuentry k $menuentry_id_option 'krund' {\n\tlinux /vmlinuz ${args}\n}\n"),
		"quotes and comments":                                 grubLab(t).write("boot/grub/custom.cfg", "# menuentry 'no' --id krund {\n\"menuentry\" 'a b' --id \"krund\" { # krund\nlinux /v 'krund.entry' # quiet\n}\n"),
	} {
		if err := l.entry("krund", config.LoaderAuto).Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	unified := systemdLab(t)
	if err := os.Remove(filepath.Join(unified.dir, "boot/loader/entries/krund.conf")); err != nil {
		t.Fatal(err)
	}
	if err := unified.entry("krund.conf", config.LoaderAuto).Check(); err != nil {
		t.Errorf("a unified kernel image: %v", err)
	}
}

func TestARequestThatDoesNotStickIsAnError(t *testing.T) {
	for name, l := range map[string]*lab{"grub": grubLab(t), "systemd-boot": systemdLab(t)} {
		e := l.entry(map[string]string{"grub": "krund", "systemd-boot": "krund.conf"}[name], config.LoaderAuto)
		l.refuse = errors.New("read-only file system")
		if err := e.Ask(t.Context()); !errors.Is(err, l.refuse) {
			t.Errorf("%s: error %v, want the tool's", name, err)
		}
		l.refuse, l.forgets = nil, true
		if err := e.Ask(t.Context()); err == nil || !strings.Contains(err.Error(), `says ""`) {
			t.Errorf("%s: error %v, want one that tells that it was not kept", name, err)
		}
	}
}

func TestOf(t *testing.T) {
	const text = "[boot]\nentry = \"krund\"\n[vms.C]\nrunner = \"c\"\nvariants = [\"d\"]\n[variants.d]\nentry = \"bench.so\"\n[benchmarks]\nx = { parameter = 1 }\n"
	cfg, err := config.Parse("x.toml", []byte(text), "lab1")
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := bootentry.Of(cfg, config.RebootHardware, sysroot.Root{}); !ok || e.Name != "krund" || e.Loader != config.LoaderAuto {
		t.Errorf("%+v, %t", e, ok)
	}
	if _, ok := bootentry.Of(cfg, config.RebootNone, sysroot.Root{}); ok {
		t.Error("without restarts nothing is asked of the boot loader")
	}
}

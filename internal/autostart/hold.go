package autostart

import (
	"fmt"
	"path/filepath"
	"strings"

	"krund/internal/directory"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/sysroot"
)

// The ways that do not depend on an experiment.
const (
	HoldFile     = "/etc/krund/hold"
	HoldArgument = "krund.hold"
)

// EntryArgument is the kernel argument of boot entries that are the experiments' own.
const EntryArgument = "krund.entry"

// FindHold says why the experiment in the directory dir is held, and how that ends; "" when it is not. The directory need not exist. The error is one
// of looking into the directory; a machine without /proc/cmdline has no kernel argument.
func FindHold(fsys durable.FS, dir string, root sysroot.Root) (why string, err error) {
	asked, err := directory.Asked(fsys, dir, directory.Hold)
	switch {
	case err != nil:
		return "", err
	case asked:
		return fmt.Sprintf("held by %s; `krunctl resume %s` ends that", filepath.Join(dir, string(directory.Hold)), display.ShellPath(dir)), nil
	case root.Exists(HoldFile):
		return fmt.Sprintf("held by %s, as all experiments of this machine; remove that file to go on", HoldFile), nil
	}
	cmdline, err := root.Read("/proc/cmdline")
	if err == nil && HasArgument(cmdline, HoldArgument) {
		return fmt.Sprintf("held by the kernel argument %s, for this boot; restart without it to go on", HoldArgument), nil
	}
	return "", nil
}

// OtherBoot says why an experiment that boots by the boot loader's entry of that name does not run in this boot: it is not one of that entry. "" when
// it is, or when entry is "".
func OtherBoot(entry, config string, root sysroot.Root) string {
	if entry == "" {
		return ""
	}
	if cmdline, err := root.Read("/proc/cmdline"); err == nil && HasArgument(cmdline, EntryArgument) {
		return ""
	}
	return fmt.Sprintf("this boot is an ordinary one: the experiment runs in those of the boot entry %s (kernel argument %s); `krunctl enable %s` and a reboot go on",
		entry, EntryArgument, display.ShellPath(config))
}

// HasArgument says whether a kernel's command line has one of krund's arguments: NAME, or NAME=VALUE unless the value is 0, n, no or off. The last
// one counts, as with the kernel's own arguments. What comes after "--" is for init, and no argument of the kernel's.
func HasArgument(cmdline, argument string) bool {
	has := false
	for _, word := range strings.Fields(cmdline) {
		name, value, _ := strings.Cut(strings.Trim(word, `"`), "=")
		if name == "--" {
			break
		}
		if name != argument {
			continue
		}
		switch strings.ToLower(value) {
		case "0", "n", "no", "off", "false":
			has = false
		default:
			has = true
		}
	}
	return has
}

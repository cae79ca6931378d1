package autostart

import (
	"fmt"
	"path/filepath"
	"strings"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/internal/machine/sysroot"
)

// The holds that are independent of an experiment.
const (
	HoldFile     = "/etc/krund/hold"
	HoldArgument = "krund.hold"
)

// EntryArgument is the kernel argument of boot entries that are reserved for experiments.
const EntryArgument = "krund.entry"

// FindHold returns why the experiment in the directory dir is held and how to end the hold, or ""
// if it is not held. The directory need not exist. The error is one of reading the directory; a
// machine without /proc/cmdline has no kernel arguments.
func FindHold(fsys durable.FS, dir string, root sysroot.Root) (why string, err error) {
	asked, err := directory.Asked(fsys, dir, directory.Hold)
	switch {
	case err != nil:
		return "", err
	case asked:
		return fmt.Sprintf("held by %s; `krunctl resume %s` ends the hold",
			filepath.Join(dir, string(directory.Hold)), display.ShellPath(dir)), nil
	case root.Exists(HoldFile):
		return fmt.Sprintf("held by %s, like all experiments of this machine; remove that file to continue",
			HoldFile), nil
	}
	cmdline, err := root.Read("/proc/cmdline")
	if err == nil && HasArgument(cmdline, HoldArgument) {
		return fmt.Sprintf("held by the kernel argument %s, for this boot; restart without it to continue",
			HoldArgument), nil
	}
	return "", nil
}

// OtherBoot returns why an experiment that boots by the given boot loader entry does not run in
// this boot: the boot is not one of that entry. It returns "" if it is, or if entry is "".
func OtherBoot(entry, config string, root sysroot.Root) string {
	if entry == "" {
		return ""
	}
	if cmdline, err := root.Read("/proc/cmdline"); err == nil && HasArgument(cmdline, EntryArgument) {
		return ""
	}
	return fmt.Sprintf("this is an ordinary boot: the experiment runs in boots of the entry %s (kernel "+
		"argument %s); to continue, run `krunctl enable %s` and reboot",
		entry, EntryArgument, display.ShellPath(config))
}

// HasArgument reports whether a kernel command line has one of krund's arguments: NAME, or
// NAME=VALUE unless the value is 0, n, no or off. The last occurrence counts, as for the kernel's
// own arguments. What follows "--" is passed to init and is not a kernel argument.
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

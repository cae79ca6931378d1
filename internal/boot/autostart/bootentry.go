package autostart

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/machine/command"
	"krund/internal/machine/sysroot"
)

// An Entry is an entry of a machine's boot loader.
type Entry struct {
	Name   string // GRUB's --id, or the file name of systemd-boot's entry
	Loader string // config.LoaderAuto, LoaderGRUB or LoaderSystemdBoot
	Root   sysroot.Root
	// runs a program to its end; nil means on the machine
	Run func(ctx context.Context, argv ...string) error
}

// EntryOf returns the boot entry that a configuration sets. It returns false if the experiment
// boots the loader's default entry or does not restart the machine.
func EntryOf(cfg *config.Config, reboot string, root sysroot.Root) (Entry, bool) {
	return Entry{Name: cfg.Boot.Entry, Loader: cfg.Boot.Loader, Root: root}, cfg.Boot.Entry != "" &&
		config.Restarts(reboot)
}

// run runs a tool of the boot loader.
func (e Entry) run(ctx context.Context, argv ...string) error {
	if e.Run != nil {
		return e.Run(ctx, argv...)
	}
	_, err := command.Run(ctx, command.Cmd{Argv: argv})
	return err
}

// loader is the common interface of the boot loaders.
type loader interface {
	// check returns an error unless the loader would obey a request for the entry and then clear
	// it.
	check(name string) error
	// asked returns the entry requested for the next boot; "" means the default.
	asked() (string, error)
	// ask makes the request; an empty name withdraws it.
	ask(ctx context.Context, name string) error
}

// ErrNoEntry is the error if the machine has no supported boot loader.
var ErrNoEntry = errors.New("no supported boot loader: neither GRUB's grubenv in /boot/grub or /boot/grub2 " +
	"nor systemd-boot is here; is /boot mounted? Otherwise set boot.entry = \"\"")

// Check returns an error if the entry cannot be requested: it does not exist, it lacks the kernel
// argument krund.entry, or the loader could not clear the request. It changes nothing.
func (e Entry) Check() error {
	_, err := e.find()
	return err
}

// Ask requests the entry for the next boot, and for that boot only. The error says what to do.
// Repeating the request changes nothing.
func (e Entry) Ask(ctx context.Context) error {
	l, err := e.find()
	if err != nil {
		return err
	}
	return e.set(ctx, l, e.Name)
}

// Withdraw withdraws the request for the entry, so that the next boot is an ordinary one. It leaves
// a request for another entry alone.
func (e Entry) Withdraw(ctx context.Context) error {
	l, err := e.loader()
	if err != nil {
		return err
	}
	asked, err := l.asked()
	if err != nil || asked != e.Name {
		return err
	}
	return e.set(ctx, l, "")
}

// Asked reports whether the entry is requested for the next boot.
func (e Entry) Asked() (bool, error) {
	l, err := e.loader()
	if err != nil {
		return false, err
	}
	asked, err := l.asked()
	return asked == e.Name, err
}

// set makes or withdraws a request and verifies it by reading it back.
func (e Entry) set(ctx context.Context, l loader, name string) error {
	asked, err := l.asked()
	if err == nil && asked == name {
		return nil
	}
	if err == nil {
		err = l.ask(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("boot entry %s: %w", e.Name, err)
	}
	asked, err = l.asked()
	if err != nil {
		return fmt.Errorf("boot entry %s: read the request back: %w", e.Name, err)
	}
	if asked != name {
		return fmt.Errorf("boot entry %s: requested the entry %q, but the boot loader reads back %q", e.Name,
			name, asked)
	}
	return nil
}

// find returns the machine's loader after checking the entry.
func (e Entry) find() (loader, error) {
	l, err := e.loader()
	if err != nil {
		return nil, err
	}
	if err := l.check(e.Name); err != nil {
		return nil, fmt.Errorf("boot entry %s: %w", e.Name, err)
	}
	return l, nil
}

// loader returns the machine's boot loader. If the machine has both, it is systemd-boot if that
// booted the machine.
func (e Entry) loader() (loader, error) {
	if e.Loader != config.LoaderGRUB {
		if s, ok := findSystemdBoot(e.Root, e.run); ok {
			return s, nil
		}
		if e.Loader == config.LoaderSystemdBoot {
			return nil, fmt.Errorf("this machine was not booted by systemd-boot: %s does not name it; set "+
				"boot.loader to \"grub\" or \"auto\"", variable("LoaderInfo"))
		}
	}
	if g, ok := findGRUB(e.Root, e.run); ok {
		return g, nil
	}
	if e.Loader == config.LoaderGRUB {
		return nil, errors.New("there is no /boot/grub/grubenv and no /boot/grub2/grubenv; is /boot " +
			"mounted? Otherwise create it with `grub-editenv - create`")
	}
	return nil, ErrNoEntry
}

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

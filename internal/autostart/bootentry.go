package autostart

import (
	"context"
	"errors"
	"fmt"

	"krund/internal/command"
	"krund/internal/config"
	"krund/internal/sysroot"
)

// An Entry is an entry of a machine's boot loader.
type Entry struct {
	Name   string // GRUB's --id, or the file of systemd-boot's entry without its directory
	Loader string // config.LoaderAuto, LoaderGRUB or LoaderSystemdBoot
	Root   sysroot.Root
	Run    func(ctx context.Context, argv ...string) error // runs a program to its end; nil is the machine's
}

// EntryOf returns the entry of an experiment's configuration; false when it boots by the loader's default, or without restarts.
func EntryOf(cfg *config.Config, reboot string, root sysroot.Root) (Entry, bool) {
	return Entry{Name: cfg.Boot.Entry, Loader: cfg.Boot.Loader, Root: root}, cfg.Boot.Entry != "" && reboot == config.RebootHardware
}

// run runs the loader's tools.
func (e Entry) run(ctx context.Context, argv ...string) error {
	if e.Run != nil {
		return e.Run(ctx, argv...)
	}
	_, err := command.Run(ctx, command.Cmd{Argv: argv})
	return err
}

// loader is what the kinds of loaders have in common.
type loader interface {
	// check says why a request for the entry would not be heard, or not be forgotten.
	check(name string) error
	// asked is the entry of the next boot; "" for none but the usual one.
	asked() (string, error)
	// ask makes the request; the empty name takes it back.
	ask(ctx context.Context, name string) error
}

// ErrNoEntry says that the machine has no boot loader that krund knows how to ask.
var ErrNoEntry = errors.New("no boot loader that can be asked for a boot: neither GRUB's grubenv in /boot/grub or /boot/grub2 nor systemd-boot " +
	"is here; is /boot mounted? Otherwise set boot.entry = \"\"")

// Check says why the entry cannot be asked for: there is none of that name, it lacks the kernel argument krund.entry, or the loader could not
// forget the request. It changes nothing.
func (e Entry) Check() error {
	_, err := e.find()
	return err
}

// Ask makes the next boot, and only that one, one of the entry. The error says what to do. Asking again changes nothing.
func (e Entry) Ask(ctx context.Context) error {
	l, err := e.find()
	if err != nil {
		return err
	}
	return e.set(ctx, l, e.Name)
}

// Withdraw makes the next boot an ordinary one again, if the entry was asked for; another entry that somebody has asked for stays.
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

// Asked says whether the next boot is one of the entry.
func (e Entry) Asked() (bool, error) {
	l, err := e.loader()
	if err != nil {
		return false, err
	}
	asked, err := l.asked()
	return asked == e.Name, err
}

// set makes or takes back a request and reads it back.
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
		return fmt.Errorf("boot entry %s: the boot loader was asked for the entry %q and says %q", e.Name, name, asked)
	}
	return nil
}

// find returns the machine's loader, in which the entry is fit to be asked for.
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

// loader returns the machine's loader. On a machine with both systemd-boot is the one that has booted it.
func (e Entry) loader() (loader, error) {
	if e.Loader != config.LoaderGRUB {
		if s, ok := findSystemdBoot(e.Root, e.run); ok {
			return s, nil
		}
		if e.Loader == config.LoaderSystemdBoot {
			return nil, fmt.Errorf("this machine was not booted by systemd-boot: %s does not name it; set boot.loader to \"grub\" or \"auto\"", variable("LoaderInfo"))
		}
	}
	if g, ok := findGRUB(e.Root, e.run); ok {
		return g, nil
	}
	if e.Loader == config.LoaderGRUB {
		return nil, errors.New("there is no /boot/grub/grubenv and no /boot/grub2/grubenv; is /boot mounted? Else `grub-editenv - create` makes it")
	}
	return nil, ErrNoEntry
}

// Package autostart decides when this machine boots an experiment: the systemd unit that starts
// krund at every boot, the boot loader's entry that krund asks for, and the requests to hold an
// experiment so that a person can log in.
//
// The unit (Installer) is an instance of the template krund@.service, named after the experiment,
// with a drop-in that names its configuration:
//
//	/etc/systemd/system/krund@NAME.service.d/experiment.conf
//	/etc/systemd/system/multi-user.target.wants/krund@NAME.service
//	/etc/systemd/system/bench.target.wants/krund@NAME.service
//
// krunctl enables it. krund disables it when nothing is outstanding, so that the next boot is an
// ordinary one. Installing starts and stops nothing.
//
// A boot entry (Entry, loaders.go) is optional. The boot loader boots it once and
// forgets the request: GRUB clears next_entry in its environment block before it starts the entry;
// systemd-boot and the firmware delete the variable LoaderEntryOneShot. If krund dies, it makes no
// further request, and the next boot is an ordinary one. The boot loaders' own tools make the
// request, and krund reads it back. A machine that would not forget the request is refused, because
// it would boot the experiment forever. The entry has the kernel argument krund.entry, by which
// krund recognizes such a boot (OtherBoot).
//
// There are three ways to hold an experiment (FindHold):
//
//   - the file hold in the experiment's directory: `krunctl hold` and `krunctl resume`;
//   - the file /etc/krund/hold: for all experiments of the machine, also while its disk is mounted
//     elsewhere;
//   - the kernel argument krund.hold, typed into the boot loader's menu: for that boot only.
//
// Start reading at Installer.Install, Entry.Ask and FindHold.
package autostart

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/internal/machine/command"
	"krund/internal/machine/sysroot"
)

// template is the name of the template unit.
const template = "krund@.service"

// UnitName returns the name of an experiment's unit. Characters that systemd does not allow in unit
// names are escaped like systemd-escape(1) does.
func UnitName(experiment string) string { return "krund@" + escape(experiment) + ".service" }

func escape(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.-"
	var b strings.Builder
	for _, c := range []byte(s) {
		if strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}

// DropIn returns the text of the drop-in for the configuration at path, which must be absolute. A
// path that cannot be written in a unit file is an error.
func DropIn(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s is not an absolute path", path)
	}
	for _, r := range path {
		if r < ' ' || r == 0x7f {
			return "", fmt.Errorf("%q contains control characters, which a unit file cannot express; move "+
				"the experiment to another directory", path)
		}
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(path)
	return "# Written by `krunctl enable`; `krunctl disable` removes it.\n" + mounts(directory.For(path)) +
		"[Service]\nEnvironment=\"KRUND_CONFIG=" + quoted + "\"\n", nil
}

// mounts returns the directive that makes an experiment wait for the mounts of its directory, which
// are also those of the configuration beside it. systemd waits for a slow disk and does not start
// krund without it: on the empty mount point krund would start the experiment from the beginning.
// In this setting systemd does not support a backslash before a quote (systemd.unit(5),
// RequiresMountsFor=), so the directive is omitted for a path that contains one.
func mounts(dir string) string {
	if strings.Contains(dir, `"`) {
		return ""
	}
	return "[Unit]\nRequiresMountsFor=\"" + strings.ReplaceAll(dir, "%", "%%") + "\"\n"
}

// configOf is the inverse of DropIn.
func configOf(dropIn string) (path string, ok bool) {
	_, rest, ok := strings.Cut(dropIn, `"KRUND_CONFIG=`)
	quoted, _, ended := strings.Cut(rest, "\"\n")
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `%%`, `%`).Replace(quoted), ok && ended
}

// systemctlTimeout bounds one call of systemctl.
const systemctlTimeout = time.Minute

// Systemctl runs the machine's systemctl(1).
func Systemctl(ctx context.Context, args ...string) error {
	_, err := command.Run(ctx, command.Cmd{Argv: append([]string{"systemctl"}, args...),
		Timeout: systemctlTimeout})
	return err
}

// DisableUnit disables a unit, so that the next boots are ordinary. It is no error if the unit was
// never enabled. A running krund continues.
func DisableUnit(ctx context.Context, name string) error {
	return Installer{FS: durable.OS(), Systemctl: Systemctl}.unlink(ctx, name)
}

// Installer installs and removes units.
type Installer struct {
	FS durable.FS
	// Root replaces "/": an image being built, or a test's directory. "" means the machine itself.
	Root string
	// Systemctl notifies systemd of changes. It is nil if no systemd is running, as in an image;
	// the links are then created here.
	Systemctl func(ctx context.Context, args ...string) error
}

// ErrNoTemplate is the error if krund's unit is not installed.
var ErrNoTemplate = errors.New("the unit " + template +
	" is not installed; run `make install` or install krund's package")

// directories are the unit directories, in the order of systemd.unit(5).
var directories = []string{"etc/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system",
	"lib/systemd/system"}

func (i Installer) path(parts ...string) string {
	return filepath.Join(append([]string{"/" + i.Root, directories[0]}, parts...)...)
}

// Install installs and enables the unit of an experiment, effective from the next boot. It returns
// the files that it created, in order. Repeating it only updates them.
func (i Installer) Install(ctx context.Context, experiment, config string) ([]string, error) {
	text, err := DropIn(config)
	if err != nil {
		return nil, err
	}
	source, err := i.template()
	if err != nil {
		return nil, err
	}
	name := UnitName(experiment)
	dropIn := i.path(name+".d", "experiment.conf")
	if err := makeDirectory(filepath.Dir(dropIn)); err != nil {
		return nil, err
	}
	const readable = 0o644
	if err := durable.WriteFile(i.FS, dropIn, []byte(text), readable); err != nil {
		return nil, fmt.Errorf("write the unit's drop-in: %w", err)
	}
	made := []string{dropIn}
	if i.Systemctl != nil {
		if err := i.Systemctl(ctx, "daemon-reload"); err != nil {
			return made, fmt.Errorf("reload systemd: %w", err)
		}
		if err := i.Systemctl(ctx, "enable", name); err != nil {
			return made, fmt.Errorf("enable %s: %w", name, err)
		}
		if err := i.syncLinks(name); err != nil {
			return made, fmt.Errorf("enable %s: %w", name, err)
		}
		return append(made, i.link(name)), nil
	}
	for _, link := range i.links(name) {
		if err := makeDirectory(filepath.Dir(link)); err != nil {
			return made, err
		}
		if err := os.Symlink(source, link); err != nil && !errors.Is(err, fs.ErrExist) {
			return made, fmt.Errorf("enable %s: %w", name, err)
		}
		if err := i.FS.SyncDir(filepath.Dir(link)); err != nil {
			return made, fmt.Errorf("enable %s: %w", name, err)
		}
	}
	return append(made, i.link(name)), nil
}

// targets are the targets that pull in the unit: WantedBy= of the template.
var targets = []string{"multi-user.target", "bench.target"}

// links returns the links that make systemd start the unit at boot, one per target.
func (i Installer) links(name string) []string {
	var all []string
	for _, target := range targets {
		all = append(all, i.path(target+".wants", name))
	}
	return all
}

// syncLinks makes the changes of systemctl to the links durable, because systemctl does not sync
// them and a power cut could undo them.
func (i Installer) syncLinks(name string) error {
	for _, link := range i.links(name) {
		if err := i.FS.SyncDir(filepath.Dir(link)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return i.FS.SyncDir(i.path()) // where their directories are
}

// link returns the link that determines whether the unit is enabled.
func (i Installer) link(name string) string { return i.links(name)[0] }

// template returns the path of the template unit, without Root.
func (i Installer) template() (string, error) {
	for _, dir := range directories {
		if _, err := os.Stat(filepath.Join("/"+i.Root, dir, template)); err == nil {
			return "/" + filepath.Join(dir, template), nil
		}
	}
	return "", ErrNoTemplate
}

func makeDirectory(dir string) error {
	const usual = 0o755
	if err := os.MkdirAll(dir, usual); err != nil {
		return fmt.Errorf("create the directory of the unit's drop-in: %w", err)
	}
	return nil
}

// Enabled reports whether the unit of an experiment starts at boot.
func (i Installer) Enabled(experiment string) bool {
	_, err := os.Lstat(i.link(UnitName(experiment)))
	return err == nil
}

// Config returns the configuration of an enabled experiment, from its drop-in. It returns false if
// there is no readable drop-in.
func (i Installer) Config(experiment string) (path string, ok bool) {
	return i.UnitConfig(UnitName(experiment))
}

// UnitConfig is Config for a unit name.
func (i Installer) UnitConfig(name string) (path string, ok bool) {
	text, err := durable.ReadFile(i.FS, i.path(name+".d", "experiment.conf"))
	if err != nil {
		return "", false
	}
	return configOf(string(text))
}

// Others returns the sorted names of the units of all other experiments that start at boot.
func (i Installer) Others(experiment string) ([]string, error) {
	var names []string
	for _, link := range i.links(template) {
		links, err := os.ReadDir(filepath.Dir(link))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("find the other experiments that are enabled: %w", err)
		}
		for _, l := range links {
			instance := strings.HasPrefix(l.Name(), "krund@") && strings.HasSuffix(l.Name(), ".service")
			if instance && l.Name() != UnitName(experiment) {
				names = append(names, l.Name())
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Unlink disables the unit of an experiment but keeps its drop-in, so that the unit can still be
// started by hand.
func (i Installer) Unlink(ctx context.Context, experiment string) error {
	return i.unlink(ctx, UnitName(experiment))
}

// unlink runs systemctl, which also knows links elsewhere, and then ensures that krund's own links
// are gone. Only the latter determines the result: under load systemctl may be killed at its
// deadline.
func (i Installer) unlink(ctx context.Context, name string) error {
	linked := slices.DeleteFunc(i.links(name), func(link string) bool {
		_, err := os.Lstat(link)
		return errors.Is(err, fs.ErrNotExist)
	})
	if len(linked) == 0 {
		return nil
	}
	var asked error
	if i.Systemctl != nil {
		asked = i.Systemctl(ctx, "disable", name)
	}
	for _, link := range linked {
		if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("disable %s (by hand: `rm %s`): %w", name, display.ShellPath(link),
				errors.Join(err, asked))
		}
	}
	if err := i.syncLinks(name); err != nil {
		return fmt.Errorf("disable %s: %w", name, errors.Join(err, asked))
	}
	return nil
}

// Remove disables the unit of an experiment and removes its drop-in. It reports whether there was
// anything to remove.
func (i Installer) Remove(ctx context.Context, experiment string) (bool, error) {
	was := i.Enabled(experiment)
	if err := i.Unlink(ctx, experiment); err != nil {
		return was, err
	}
	dropIn := i.path(UnitName(experiment)+".d", "experiment.conf")
	switch err := os.Remove(dropIn); {
	case errors.Is(err, fs.ErrNotExist):
		return was, nil
	case err != nil:
		return was, fmt.Errorf("remove the unit's drop-in: %w", err)
	}
	_ = os.Remove(filepath.Dir(dropIn)) // fails if it contains other files
	if i.Systemctl == nil {
		return true, nil
	}
	if err := i.Systemctl(ctx, "daemon-reload"); err != nil {
		return true, fmt.Errorf("reload systemd: %w", err)
	}
	return true, nil
}

// Forget removes the drop-ins of units that do not start at boot and whose configuration is gone.
func (i Installer) Forget(gone func(config string) bool) error {
	dropIns, err := filepath.Glob(i.path(strings.Replace(template, "@", "@*", 1)+".d", "experiment.conf"))
	for _, dropIn := range dropIns {
		name := strings.TrimSuffix(filepath.Base(filepath.Dir(dropIn)), ".d")
		_, unlinked := os.Lstat(i.links(name)[0])
		if config, known := i.UnitConfig(name); !known || unlinked == nil || !gone(config) {
			continue
		}
		err = errors.Join(err, os.Remove(dropIn))
		_ = os.Remove(filepath.Dir(dropIn)) // fails if it contains other files
	}
	if err != nil {
		return fmt.Errorf("remove the units of experiments that have ended: %w", err)
	}
	return nil
}

// InUnit reports whether this process is in the control group of a systemd unit: systemd started
// it, or the process that started it, for that unit. A variable of the environment would not prove
// that: programs inherit it, and people set it. root are the machine's files; without /proc the
// answer is no, and so it is for the name "".
func InUnit(unit string, root sysroot.Root) bool {
	text, err := root.Read("/proc/self/cgroup")
	return err == nil && inGroup(text, unit)
}

// inGroup looks for the unit in the text of /proc/PID/cgroup, cgroups(7): for each hierarchy a line
// ID:CONTROLLERS:PATH. systemd names the groups of units after them, below those of their slices.
func inGroup(text, unit string) bool {
	for line := range strings.Lines(text) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		_, path, _ := strings.Cut(rest, ":")
		if unit != "" && slices.Contains(strings.Split(path, "/"), unit) {
			return true
		}
	}
	return false
}

// HasSystemd reports whether systemd has booted the machine, sd_booted(3): only then can units be
// enabled.
func HasSystemd(root sysroot.Root) bool { return root.Exists("/run/systemd/system") }

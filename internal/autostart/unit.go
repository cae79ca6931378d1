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

	"krund/internal/command"
	"krund/internal/directory"
	"krund/internal/display"
	"krund/internal/durable"
)

// template is the name of the unit that is instantiated.
const template = "krund@.service"

// UnitName returns the name of the unit of an experiment. Characters that systemd
// does not allow in the name of a unit are escaped as systemd-escape(1) does.
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

// DropIn returns the text of the drop-in for the configuration at path, which
// must be absolute. A path that a unit file cannot hold is an error.
func DropIn(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s is not an absolute path", path)
	}
	for _, r := range path {
		if r < ' ' || r == 0x7f {
			return "", fmt.Errorf("%q has control characters, which a unit file cannot hold; move the experiment to another directory", path)
		}
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(path)
	return "# Written by `krunctl enable`; `krunctl disable` removes it.\n" + mounts(directory.For(path)) +
		"[Service]\nEnvironment=\"KRUND_CONFIG=" + quoted + "\"\n", nil
}

// mounts says that an experiment runs only with the disks on which its directory
// is, and therefore the configuration beside it. systemd waits for a slow one,
// and does not start krund without it: on the empty mount point of the directory
// krund would begin the experiment anew. In this setting systemd knows no
// backslash before a quote (systemd.unit(5), RequiresMountsFor=), so that a path
// with one goes without.
func mounts(dir string) string {
	if strings.Contains(dir, `"`) {
		return ""
	}
	return "[Unit]\nRequiresMountsFor=\"" + strings.ReplaceAll(dir, "%", "%%") + "\"\n"
}

// configOf is DropIn's inverse.
func configOf(dropIn string) (path string, ok bool) {
	_, rest, ok := strings.Cut(dropIn, `"KRUND_CONFIG=`)
	quoted, _, ended := strings.Cut(rest, "\"\n")
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `%%`, `%`).Replace(quoted), ok && ended
}

// systemctlTimeout bounds one call of systemctl.
const systemctlTimeout = time.Minute

// Systemctl calls systemctl(1) of the machine at hand.
func Systemctl(ctx context.Context, args ...string) error {
	_, err := command.Run(ctx, command.Cmd{Argv: append([]string{"systemctl"}, args...), Timeout: systemctlTimeout})
	return err
}

// Disable makes the next boots ordinary ones: the unit of the experiment is not
// started any more. One that was never enabled is no error. What runs goes on.
func Disable(ctx context.Context, experiment string) error {
	return DisableUnit(ctx, UnitName(experiment))
}

// DisableUnit is Disable for the name of a unit, as systemd hands it to what it
// starts: for a krund that cannot find out which experiment it is.
func DisableUnit(ctx context.Context, name string) error {
	return Installer{FS: durable.OS(), Systemctl: Systemctl}.unlink(ctx, name)
}

// Installer installs and removes units.
type Installer struct {
	FS durable.FS
	// Root stands for "/": an image that is being made, or a test's directory. ""
	// is the machine at hand.
	Root string
	// Systemctl makes systemd know of changes; nil when there is none to tell,
	// as in an image: then the link is made here.
	Systemctl func(ctx context.Context, args ...string) error
}

// ErrNoTemplate is returned when krund's unit is not installed.
var ErrNoTemplate = errors.New("the unit " + template + " is not installed; `make install` or krund's package does it")

// directories of units, in the order of systemd.unit(5).
var directories = []string{"etc/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"}

func (i Installer) path(parts ...string) string {
	return filepath.Join(append([]string{"/" + i.Root, directories[0]}, parts...)...)
}

// Install installs and enables the unit of an experiment, for all boots from
// the next one on. It returns the files it has made, in order. Doing it again
// does nothing but to bring them up to date.
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
			return made, fmt.Errorf("make systemd read the unit: %w", err)
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

// targets are what the unit is started with: WantedBy= of the template.
var targets = []string{"multi-user.target", "bench.target"}

// links are what makes systemd start the unit at boot, one for each target.
func (i Installer) links(name string) []string {
	var all []string
	for _, target := range targets {
		all = append(all, i.path(target+".wants", name))
	}
	return all
}

// syncLinks makes durable what systemctl has done to the links, which it does
// not do itself: a power cut must not undo it.
func (i Installer) syncLinks(name string) error {
	for _, link := range i.links(name) {
		if err := i.FS.SyncDir(filepath.Dir(link)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return i.FS.SyncDir(i.path()) // where their directories are
}

// link is the one of the links that says whether the unit is enabled.
func (i Installer) link(name string) string { return i.links(name)[0] }

// template returns the path of the unit that is instantiated, without Root.
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
		return fmt.Errorf("make a directory for the unit: %w", err)
	}
	return nil
}

// Enabled tells whether the unit of an experiment starts at boot.
func (i Installer) Enabled(experiment string) bool {
	_, err := os.Lstat(i.link(UnitName(experiment)))
	return err == nil
}

// Config is the configuration of an experiment that is enabled, from its
// drop-in; false when there is none that can be read.
func (i Installer) Config(experiment string) (path string, ok bool) {
	return i.UnitConfig(UnitName(experiment))
}

// UnitConfig is Config for the name of a unit.
func (i Installer) UnitConfig(name string) (path string, ok bool) {
	text, err := durable.ReadFile(i.FS, i.path(name+".d", "experiment.conf"))
	if err != nil {
		return "", false
	}
	return configOf(string(text))
}

// Others returns the names of the units of all other experiments that start at
// boot, in order.
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

// Unlink disables the unit of an experiment and leaves its drop-in, so that
// it can still be started by hand.
func (i Installer) Unlink(ctx context.Context, experiment string) error {
	return i.unlink(ctx, UnitName(experiment))
}

// unlink asks systemctl, which knows of links elsewhere, and then sees to it that krund's own links
// are gone. Whether they are is what counts: under load systemctl may be killed at its deadline.
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
			return fmt.Errorf("disable %s, by hand `rm %s`: %w", name, display.ShellPath(link),
				errors.Join(err, asked))
		}
	}
	if err := i.syncLinks(name); err != nil {
		return fmt.Errorf("disable %s: %w", name, errors.Join(err, asked))
	}
	return nil
}

// Remove disables the unit of an experiment and removes its drop-in. It
// returns whether there was anything to remove.
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
	_ = os.Remove(filepath.Dir(dropIn)) // not when somebody else has put something into it
	if i.Systemctl == nil {
		return true, nil
	}
	if err := i.Systemctl(ctx, "daemon-reload"); err != nil {
		return true, fmt.Errorf("make systemd forget the unit: %w", err)
	}
	return true, nil
}

// Package directory defines the directory of an experiment, NAME.krun: its layout, its creation,
// who may use it, and who is using it.
//
//	NAME.krun/schedule       package schedule
//	NAME.krun/results/       package results
//	NAME.krun/journal        machine settings to restore
//	NAME.krun/log            log of krund
//	NAME.krun/config.toml    copy of the configuration
//	NAME.krun/decisions.json which keys were finished early, and why (package stop)
//	NAME.krun/editions.json  which programs are measured (package identity)
//	NAME.krun/hub.json       which records a hub has received (package ship)
//	NAME.krun/build.log      what its builds have printed, if a hub gave it with some
//	NAME.krun/relinked/      what experiment.relink wrote last, if krund is not root
//	NAME.krun/lock           locked while krund runs; only its owner can open it
//	NAME.krun/holder         which process locked it last
//	NAME.krun/hold           krund does nothing while it exists; created by the user
//	NAME.krun/stop           krund ends after the running process execution
//	NAME.krun/accept-changed krund goes on with programs that have changed, as a new edition
//
// All state of an experiment is in its directory: copying it copies the experiment. The package
// does not read the files, except those of the lock and the copy of the configuration.
//
// Start reading at Directory.
package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/durable/trust"
)

// extension is the file name extension of experiment directories.
const extension = ".krun"

// Directory is the directory of one experiment. It is a value and may be copied.
type Directory struct {
	fsys durable.FS
	dir  string
}

// For returns the default directory of a configuration: /x/NAME.krun for /x/NAME.toml.
func For(configPath string) string {
	return strings.TrimSuffix(configPath, ".toml") + extension
}

// Absolute returns the absolute path of a path given by the user, so that it stays valid if the
// working directory changes. It fails only for a relative path in a working directory that was
// removed, or covered by another mount.
func Absolute(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("cannot resolve %s: the working directory is gone: %w; cd to a directory "+
			"that exists, or give an absolute path", path, err)
	}
	return absolute, nil
}

// ErrNoResults is the error if an experiment's results directory is missing.
var ErrNoResults = errors.New("the directory results is missing, and with it every record; restore it from " +
	"a copy, or create an empty one and run `krunctl repair`, which reschedules everything")

// absent is a sentence that is the error fs.ErrNotExist.
type absent string

func (a absent) Error() string { return string(a) }
func (absent) Unwrap() error   { return fs.ErrNotExist }

// Open returns the existing experiment directory dir. It changes nothing. The error wraps
// fs.ErrNotExist if there is none, and is ErrNoResults if only the records are missing.
func Open(fsys durable.FS, dir string) (Directory, error) {
	f := Directory{fsys: fsys, dir: dir}
	for _, d := range []string{dir, f.Results()} {
		info, err := fsys.Lstat(d)
		switch {
		case errors.Is(err, fs.ErrNotExist) && f.hasSchedule():
			return Directory{}, fmt.Errorf("%s: %w", dir, ErrNoResults)
		case errors.Is(err, fs.ErrNotExist):
			what := "`krunctl run NAME.toml` makes NAME.krun"
			quick := strings.TrimSuffix(dir, extension) + "-quick" + extension
			if _, missing := fsys.Lstat(quick); missing == nil {
				what = "there is " + display.ShellPath(quick) + ", of a run with --quick"
			}
			return Directory{}, absent(fmt.Sprintf("no experiment at %s; %s", dir, what))
		case err != nil:
			return Directory{}, fmt.Errorf("open the experiment's directory: %w", err)
		case info.Mode()&fs.ModeSymlink != 0 && d == dir:
			// The path of the directory may contain links; Check checks the contents.
		case !info.IsDir():
			return Directory{}, notDirectory(d)
		}
	}
	return f, nil
}

// notDirectory is the error for a file in place of an experiment's directory. Krun's configurations
// have the same suffix.
func notDirectory(path string) error {
	if filepath.Ext(path) != extension {
		return fmt.Errorf("%s is not a directory, but an experiment is one, NAME%s, with a directory "+
			"results in it", path, extension)
	}
	return fmt.Errorf("%s is not a directory, but an experiment needs a directory of that name; if it is "+
		"a configuration of Krun, `krunctl convert --to toml` converts it; then rename the file, or name "+
		"another directory (`krund run --directory`)", path)
}

// Create durably creates the experiment directory dir with an empty results directory and returns
// it. It keeps what exists, so it completes a Create that was interrupted by a crash. The parent
// must exist. If an experiment has lost its results directory, Create does not create an empty one
// but returns ErrNoResults.
func Create(fsys durable.FS, dir string) (Directory, error) {
	f := Directory{fsys: fsys, dir: dir}
	if f.hasSchedule() {
		return Open(fsys, dir)
	}
	for _, d := range []string{dir, f.Results()} {
		const othersRead = 0o755
		if err := fsys.Mkdir(d, othersRead); err != nil && !errors.Is(err, fs.ErrExist) {
			return Directory{}, fmt.Errorf("create the experiment's directory: %w", err)
		}
		if err := fsys.SyncDir(filepath.Dir(d)); err != nil {
			return Directory{}, fmt.Errorf("create the experiment's directory: %w", err)
		}
	}
	return Open(fsys, dir)
}

// hasSchedule reports whether the schedule, which is created last, exists.
func (f Directory) hasSchedule() bool {
	info, err := f.fsys.Lstat(f.Schedule())
	return err == nil && info.Mode().IsRegular() // Check rejects links
}

// Clean removes temporary files left over from crashes, in the directory and among the records, and
// returns their paths. The experiment must be locked.
func (f Directory) Clean() ([]string, error) {
	var removed []string
	for _, d := range []string{f.dir, f.Results()} {
		names, err := durable.RemoveTemps(f.fsys, d)
		for _, name := range names {
			removed = append(removed, filepath.Join(d, name))
		}
		if err != nil {
			return removed, fmt.Errorf("remove leftover temporary files: %w", err)
		}
	}
	return removed, nil
}

// FS returns the FS through which the directory was opened.
func (f Directory) FS() durable.FS { return f.fsys }

// Dir returns the path of the directory as it was given.
func (f Directory) Dir() string { return f.dir }

// Schedule returns the path of the schedule.
func (f Directory) Schedule() string { return filepath.Join(f.dir, "schedule") }

// Results returns the path of the results directory.
func (f Directory) Results() string { return filepath.Join(f.dir, "results") }

// Journal returns the path of the journal of machine settings.
func (f Directory) Journal() string { return filepath.Join(f.dir, "journal") }

// Log returns the path of the log.
func (f Directory) Log() string { return filepath.Join(f.dir, "log") }

// ConfigCopy returns the path of the copy of the configuration.
func (f Directory) ConfigCopy() string { return filepath.Join(f.dir, "config.toml") }

// Decisions returns the path of the decisions to finish keys early.
func (f Directory) Decisions() string { return filepath.Join(f.dir, "decisions.json") }

// Hub returns the path of the memory of what a hub has received.
func (f Directory) Hub() string { return filepath.Join(f.dir, "hub.json") }

// Fingerprint returns the path of the description of the machine on which the experiment began.
func (f Directory) Fingerprint() string { return filepath.Join(f.dir, "fingerprint.json") }

// Editions returns the path of the description of the programs that are measured.
func (f Directory) Editions() string { return filepath.Join(f.dir, "editions.json") }

// Noise returns the path of the copy of the machine's noise certificate.
func (f Directory) Noise() string { return filepath.Join(f.dir, "noise.json") }

// BuildLog is the path of what builds have printed before the experiment began.
func (f Directory) BuildLog() string { return filepath.Join(f.dir, "build.log") }

// Relinked is the path of the directory for what experiment.relink writes without root.
func (f Directory) Relinked() string { return filepath.Join(f.dir, "relinked") }

func (f Directory) lockFile() string { return filepath.Join(f.dir, "lock") }

func (f Directory) holderFile() string { return filepath.Join(f.dir, "holder") }

// OpenChecked opens the existing experiment directory dir for modification. It judges the path by
// rule and the contents by Check, and the returned Directory uses an FS that is bound to the
// directory that was checked. The error is that of Open if dir does not exist.
func OpenChecked(fsys durable.FS, dir string, rule func(trust.Verdict) error) (Directory, error) {
	verdict, err := trust.Look(dir)
	if errors.Is(err, fs.ErrNotExist) {
		_, err := Open(fsys, dir) // fsys may be simulated
		if err != nil {
			return Directory{}, err
		}
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = rule(verdict)
	}
	if err != nil {
		return Directory{}, fmt.Errorf("check the path of the experiment's directory: %w", err)
	}
	inside, err := durable.Inside(fsys, dir)
	if err != nil {
		return Directory{}, fmt.Errorf("open the experiment's directory: %w", err)
	}
	f, err := Open(inside, dir)
	if err == nil {
		err = f.Check()
	}
	return f, err
}

// Check returns an error if the directory cannot be trusted: krund runs as root and relies on its
// contents. The directory, the results directory and each file beside it must belong to root or to
// the caller and must not be writable by group or others. For root, they must not contain symbolic
// links, pipes or devices. All problems are reported together, each with the command that fixes it.
//
// The records are not checked individually: no other user can add files to a results directory that
// passes. The cost does not depend on the size of the experiment.
func (f Directory) Check() error { return f.check(os.Geteuid()) }

func (f Directory) check(caller int) error {
	entries, err := f.fsys.ReadDir(f.dir)
	if err != nil {
		return fmt.Errorf("check the experiment's directory: %w", err)
	}
	// "/." resolves f.dir if it is a link: the caller chooses the path, and its target is what
	// matters.
	problems := []error{f.checkOne(f.dir+"/.", caller, true)}
	for _, e := range entries {
		path := filepath.Join(f.dir, e.Name())
		problems = append(problems, f.checkOne(path, caller, path == f.Results()))
	}
	return errors.Join(problems...)
}

// checkOne checks one path.
func (f Directory) checkOne(path string, caller int, wantDir bool) error {
	info, err := f.fsys.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a temporary file that has been renamed
	}
	if err != nil {
		return fmt.Errorf("check the experiment's directory: %w", err)
	}
	owner, known := ownerOf(info)
	if !known {
		owner = caller
	}
	return judge(strings.TrimSuffix(path, "/."), info.Mode(), owner, caller, wantDir)
}

// ownerOf returns the owner of a file. Simulated files have none.
func ownerOf(info fs.FileInfo) (uid int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}

// judge returns what is wrong with one entry.
func judge(path string, mode fs.FileMode, owner, caller int, wantDir bool) error {
	const root = 0
	if mode&fs.ModeSymlink != 0 {
		// The mode of a link has no effect; that of its target matters, but the target is
		// elsewhere.
		if caller != root {
			return nil
		}
		return fmt.Errorf("%s is a symbolic link, which root must not follow; replace it with its target",
			path)
	}
	if caller == root && wantDir && !mode.IsDir() {
		return fmt.Errorf("%s is not a directory; move it away", path)
	}
	if caller == root && !mode.IsRegular() && !mode.IsDir() {
		return fmt.Errorf("%s is neither a file nor a directory; move it away", path)
	}
	if owner != root && owner != caller {
		return fmt.Errorf("%s belongs to user %d, who could change it; `chown %d` it, or run krund as that "+
			"user", path, owner, caller)
	}
	const groupOrOthers = 0o022
	if mode.Perm()&groupOrOthers != 0 {
		return fmt.Errorf("%s can be changed by others besides its owner (mode %04o); `chmod go-w` it", path,
			mode.Perm())
	}
	return nil
}

// Package directory knows the directory of an experiment, NAME.krun: what lies where
// in it, how it is made, who may use it, and who uses it now.
//
//	NAME.krun/schedule       package schedule
//	NAME.krun/results/       package results
//	NAME.krun/journal        machine settings to restore
//	NAME.krun/log            what krund has said
//	NAME.krun/config.toml    the text of the configuration it was started with
//	NAME.krun/lock           locked while krund runs; only its owner can open it
//	NAME.krun/holder         which process locked it last
//	NAME.krun/hold           do nothing until it is gone; a person asks for it
//	NAME.krun/stop           end after the running process execution
//
// All state of an experiment is in its directory: copying it copies the
// experiment. The package never looks into the files, the lock's apart.
//
// Start reading at Directory.
package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"krund/internal/durable"
)

// extension ends the name of every experiment's directory.
const extension = ".krun"

// Directory is the directory of one experiment. It is a value: it may be copied.
type Directory struct {
	fsys durable.FS
	dir  string
}

// For returns the directory that belongs to a configuration by default:
// /x/NAME.krun for /x/NAME.toml.
func For(configPath string) string {
	return strings.TrimSuffix(configPath, ".toml") + extension
}

// Absolute returns the absolute path of what somebody has named, so that it stays the same thing. The only error is that of a relative path in a
// working directory that was removed meanwhile, by a clean-up or another mount.
func Absolute(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("%s: the working directory, in which this was to be looked for, is gone: %w; cd to a directory that exists, or give an absolute path", path, err)
	}
	return absolute, nil
}

// ErrNoResults is the error for an experiment whose directory of records is gone.
var ErrNoResults = errors.New("the directory results is gone, and with it every record; get it from a copy, " +
	"or make an empty one and run `krunctl repair`, which lets all be run again")

// Open returns the directory dir of an experiment that was started before. It
// changes nothing. The error wraps fs.ErrNotExist when there is none, and is
// ErrNoResults when only the records are gone.
func Open(fsys durable.FS, dir string) (Directory, error) {
	f := Directory{fsys: fsys, dir: dir}
	for _, d := range []string{dir, f.Results()} {
		info, err := fsys.Lstat(d)
		switch {
		case errors.Is(err, fs.ErrNotExist) && f.hasSchedule():
			return Directory{}, fmt.Errorf("%s: %w", dir, ErrNoResults)
		case errors.Is(err, fs.ErrNotExist):
			return Directory{}, fmt.Errorf("no experiment at %s; `krund` makes the directory when it starts one: %w", dir, err)
		case err != nil:
			return Directory{}, fmt.Errorf("open the experiment's directory: %w", err)
		case info.Mode()&fs.ModeSymlink != 0 && d == dir:
			// The way to the directory may lead over links; Check looks at what is inside.
		case !info.IsDir():
			return Directory{}, fmt.Errorf("%s is not a directory; an experiment lives in a directory of its own", d)
		}
	}
	return f, nil
}

// Create makes the directory dir of an experiment durably, with an empty results
// directory, and returns it. What is there already stays: a Create that a crash
// interrupted is finished by the next one. Its parent must exist. A results
// directory that is lost is not replaced by an empty one: ErrNoResults.
func Create(fsys durable.FS, dir string) (Directory, error) {
	f := Directory{fsys: fsys, dir: dir}
	if f.hasSchedule() {
		return Open(fsys, dir)
	}
	for _, d := range []string{dir, f.Results()} {
		const othersRead = 0o755
		if err := fsys.Mkdir(d, othersRead); err != nil && !errors.Is(err, fs.ErrExist) {
			return Directory{}, fmt.Errorf("make the experiment's directory: %w", err)
		}
		if err := fsys.SyncDir(filepath.Dir(d)); err != nil {
			return Directory{}, fmt.Errorf("make the experiment's directory: %w", err)
		}
	}
	return Open(fsys, dir)
}

// hasSchedule says whether there is a schedule, which is made last.
func (f Directory) hasSchedule() bool {
	info, err := f.fsys.Lstat(f.Schedule())
	return err == nil && info.Mode().IsRegular() // a link is for Check to refuse
}

// Clean removes the temporary files that crashes have left in the directory and
// among the records, and returns their paths. The experiment must be locked.
func (f Directory) Clean() ([]string, error) {
	var removed []string
	for _, d := range []string{f.dir, f.Results()} {
		names, err := durable.RemoveTemps(f.fsys, d)
		for _, name := range names {
			removed = append(removed, filepath.Join(d, name))
		}
		if err != nil {
			return removed, fmt.Errorf("remove what crashes have left: %w", err)
		}
	}
	return removed, nil
}

// FS returns the FS through which the directory was opened.
func (f Directory) FS() durable.FS { return f.fsys }

// Dir returns the path of the directory, as it was given.
func (f Directory) Dir() string { return f.dir }

// Schedule returns the path of the schedule.
func (f Directory) Schedule() string { return filepath.Join(f.dir, "schedule") }

// Results returns the path of the directory of the records.
func (f Directory) Results() string { return filepath.Join(f.dir, "results") }

// Journal returns the path of the journal of machine settings.
func (f Directory) Journal() string { return filepath.Join(f.dir, "journal") }

// Log returns the path of the log.
func (f Directory) Log() string { return filepath.Join(f.dir, "log") }

// ConfigCopy returns the path of the configuration's copy.
func (f Directory) ConfigCopy() string { return filepath.Join(f.dir, "config.toml") }

// Fingerprint returns the path of the description of the machine that the experiment began on.
func (f Directory) Fingerprint() string { return filepath.Join(f.dir, "fingerprint.json") }

func (f Directory) lockFile() string { return filepath.Join(f.dir, "lock") }

func (f Directory) holderFile() string { return filepath.Join(f.dir, "holder") }

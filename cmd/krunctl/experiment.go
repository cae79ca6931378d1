package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"krund/internal/config"
	"krund/internal/directory"
	"krund/internal/display"
	"krund/internal/doctor"
	"krund/internal/durable"
	"krund/internal/results"
	"krund/internal/schedule"
	"krund/internal/trust"
)

// directoryOf returns the directory of the experiment that arg names: the directory
// itself, or the NAME.toml beside which NAME.krun lies.
func directoryOf(arg string) string {
	if strings.HasSuffix(arg, ".toml") {
		return directory.For(arg)
	}
	return filepath.Clean(arg)
}

// openDirectory opens the experiment that arg names, for reading.
func (a *app) openDirectory(arg string) (directory.Directory, error) {
	return directory.Open(a.fsys, directoryOf(arg))
}

// openToChange opens the experiment that arg names, to change something in it. Root believes no
// directory that others could change.
func (a *app) openToChange(arg string) (directory.Directory, error) {
	if a.uid != 0 {
		return a.openDirectory(arg)
	}
	return directory.OpenChecked(a.fsys, directoryOf(arg), trust.Verdict.OneOwner)
}

// openSchedule opens the schedule of f for reading. The caller closes it.
func (a *app) openSchedule(f directory.Directory) (*schedule.Schedule, error) {
	s, err := schedule.Open(a.fsys, f.Schedule(), false)
	var size *schedule.SizeError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s has no schedule: krund was stopped before it had made one, or it was lost; start krund again, or `krunctl repair %s` rebuilds it", f.Dir(), display.ShellPath(f.Dir()))
	case errors.As(err, &size):
		return nil, fmt.Errorf("%w; `krunctl repair %s` rebuilds what is missing", err, display.ShellPath(f.Dir()))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", f.Dir(), err)
	}
	return s, nil
}

// reader returns a reader of the records of f.
func (a *app) reader(f directory.Directory) *results.Reader {
	return results.NewReader(a.fsys, f.Results())
}

// copiedConfig returns the configuration that the experiment was started with,
// for the machine called host.
func (a *app) copiedConfig(f directory.Directory, host string) (*config.Config, error) {
	text, err := durable.ReadFile(a.fsys, f.ConfigCopy())
	if err != nil {
		return nil, fmt.Errorf("read the experiment's configuration: %w", err)
	}
	return config.Parse(tomlOf(f.Dir()), text, host, doctor.Settings())
}

// tomlOf returns the configuration file that the directory belongs to by default.
// A copy is parsed under this name, because an experiment without a name is
// called as its file.
func tomlOf(dir string) string { return strings.TrimSuffix(filepath.Clean(dir), ".krun") + ".toml" }

// parseConfig reads the configuration at path for the machine called host. The
// files it names need not be there.
func (a *app) parseConfig(path, host string) (*config.Config, error) {
	if !strings.HasSuffix(path, ".toml") {
		return nil, usageError{fmt.Errorf("%s is not a configuration; give the experiment's NAME.toml", path)}
	}
	text, err := durable.ReadFile(a.fsys, path)
	if err != nil {
		err = fmt.Errorf("read the configuration: %w", err)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usageError{err}
		}
		return nil, err
	}
	return config.Parse(path, text, host, doctor.Settings())
}

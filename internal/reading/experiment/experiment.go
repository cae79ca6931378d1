// Package experiment opens the arguments of krunctl's commands: an experiment of krund, named by
// its directory NAME.krun or its configuration NAME.toml, or a results file of another tool.
//
// It provides the schedule, the configuration, the keys and the records of an experiment, the
// dataset for the analysis (from any source), and the stored analysis. It computes no statistics
// and prints nothing. Start reading at Open and Reader.
package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/boot/doctor"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/durable/trust"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

// UsageError is a mistake in the arguments of a command, found before any work is done.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error.
func (e UsageError) Unwrap() error { return e.Err }

// Usage marks an error as a UsageError.
func Usage(err error) error { return UsageError{err} }

// ErrUnjudged is the error when nothing can be judged, such as a key without completed executions.
var ErrUnjudged = errors.New("this cannot be judged")

// Experiment is the directory of an experiment.
type Experiment struct{ directory.Directory }

// DirectoryOf returns the directory of the experiment that arg names: the directory itself, or
// NAME.krun beside NAME.toml.
func DirectoryOf(arg string) string {
	if strings.HasSuffix(arg, ".toml") {
		return directory.For(arg)
	}
	return filepath.Clean(arg)
}

// ConfigOf returns the configuration file that a directory belongs to by default. A copy of a
// configuration is parsed under this name, because an unnamed experiment takes the name of its
// file.
func ConfigOf(dir string) string { return strings.TrimSuffix(filepath.Clean(dir), ".krun") + ".toml" }

// Open opens the experiment that arg names, for reading. If several machines share it, the error
// names one of their directories.
func Open(fsys durable.FS, arg string) (Experiment, error) {
	dir, err := only(fsys, arg)
	if err != nil {
		return Experiment{}, err
	}
	d, err := directory.Open(fsys, dir)
	return Experiment{d}, err
}

// OpenToChange opens the experiment that arg names for the user uid, to modify it. For root, a
// directory that other users can modify is an error.
func OpenToChange(fsys durable.FS, arg string, uid int) (Experiment, error) {
	if uid != 0 {
		return Open(fsys, arg)
	}
	dir, err := only(fsys, arg)
	if err != nil {
		return Experiment{}, err
	}
	d, err := directory.OpenChecked(fsys, dir, trust.Verdict.OneOwner)
	return Experiment{d}, err
}

// only returns the one directory of Parts.
func only(fsys durable.FS, arg string) (string, error) {
	parts := Parts(fsys, arg)
	if len(parts) > 1 {
		return "", fmt.Errorf("%s has a directory for each of %d machines, and this command takes one of "+
			"them: give it %s", arg, len(parts), display.ShellPath(parts[0]))
	}
	return parts[0], nil
}

// OpenSchedule opens the schedule for reading. The caller closes it.
func (e Experiment) OpenSchedule() (*schedule.Schedule, error) {
	s, err := schedule.Open(e.FS(), e.Schedule(), false)
	var size *schedule.SizeError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s has no schedule: krund was stopped before it had made one, or it was "+
			"lost; start krund again, or rebuild it with `krunctl repair %s`", e.Dir(),
			display.ShellPath(e.Dir()))
	case errors.As(err, &size):
		return nil, fmt.Errorf("%w; `krunctl repair %s` rebuilds what is missing", err,
			display.ShellPath(e.Dir()))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", e.Dir(), err)
	}
	return s, nil
}

// Reader returns a reader of the records.
func (e Experiment) Reader() *results.Reader { return results.NewReader(e.FS(), e.Results()) }

// Config returns the configuration that the experiment was started with, for the machine called
// host.
func (e Experiment) Config(host string) (*config.Config, error) {
	text, err := durable.ReadFile(e.FS(), e.ConfigCopy())
	if err != nil {
		return nil, fmt.Errorf("read the experiment's configuration: %w", err)
	}
	return config.Stored(ConfigOf(e.Dir()), text, host, doctor.Settings())
}

// ParseConfig reads the configuration at path for the machine called host. The files that it refers
// to need not exist, and an experiment that was started with what it means need not be fit to
// start. The error is a UsageError when path is not a configuration, and wraps config.Errors when
// the configuration has mistakes.
func ParseConfig(fsys durable.FS, path, host string) (*config.Config, error) {
	if !strings.HasSuffix(path, ".toml") {
		return nil, UsageError{fmt.Errorf("%s is not a configuration; give the experiment's NAME.toml", path)}
	}
	text, err := durable.ReadFile(fsys, path)
	if err != nil {
		err = fmt.Errorf("read the configuration: %w", err)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, UsageError{err}
		}
		return nil, err
	}
	if text, err = config.Expand(path, text); err != nil {
		return nil, err
	}
	if started, err := directory.Open(fsys, directory.For(path)); err == nil {
		cfg, err := config.Stored(path, text, host, doctor.Settings())
		stored, unread := durable.ReadFile(fsys, started.ConfigCopy())
		if err == nil && unread == nil {
			if same, _, err := cfg.AsBegun(stored); err == nil && same != nil {
				return cfg, nil
			}
		}
	}
	return config.Parse(path, text, host, doctor.Settings())
}

// ParseText parses a configuration that is made for path, and is not there yet.
func ParseText(path, text, host string) (*config.Config, error) {
	whole, err := config.Expand(path, []byte(text))
	if err != nil {
		return nil, err
	}
	return config.Parse(path, whole, host, doctor.Settings())
}

// Keys returns the keys of the experiment: those of its schedule or, if that cannot be read, those
// of its configuration for the machine called host; nil if neither can be read.
func (e Experiment) Keys(host string) []key.Key {
	if s, err := e.OpenSchedule(); err == nil {
		sum, err := s.Summarize()
		if errors.Join(err, s.Close()) == nil && sum.Damaged == 0 {
			known := make([]key.Key, len(sum.Keys))
			for i, k := range sum.Keys {
				known[i] = k.Key
			}
			return known
		}
	}
	cfg, err := e.Config(host)
	if err != nil {
		return nil
	}
	return cfg.Keys()
}

// Name returns the name of the experiment that arg refers to: arg itself, or the name of a
// directory or of a configuration (whose name may differ from its file's).
func Name(fsys durable.FS, arg, host string) (string, error) {
	if !strings.HasSuffix(arg, ".toml") {
		return strings.TrimSuffix(filepath.Base(filepath.Clean(arg)), ".krun"), nil
	}
	if _, err := os.Stat(arg); err != nil {
		return strings.TrimSuffix(filepath.Base(arg), ".toml"), nil //nolint:nilerr // it may be missing
	}
	cfg, err := ParseConfig(fsys, arg, host)
	if err != nil {
		return "", err
	}
	return cfg.Experiment.Name, nil
}

// ParsePattern parses the text of --key. The pattern of "" is nil, which matches every key. The
// error is a UsageError.
func ParsePattern(s string) (*key.Pattern, error) {
	if s == "" {
		return nil, nil //nolint:nilnil // no pattern is not an error
	}
	p, err := key.ParsePattern(s)
	if err != nil {
		return nil, UsageError{fmt.Errorf("the key: %w", err)}
	}
	return &p, nil
}

// OnlyKeys removes from d the keys that do not match; nil matches all. It returns an error if no
// key matches.
func OnlyKeys(d *dataset.Dataset, pattern *key.Pattern) (err error) {
	d.Pairs, err = Only(d.Pairs, func(p dataset.Pair) key.Key { return p.Key }, pattern)
	return err
}

// Only returns what has a key that matches; nil matches all. It returns an error if nothing does.
func Only[T any](list []T, of func(T) key.Key, pattern *key.Pattern) ([]T, error) {
	if pattern == nil {
		return list, nil
	}
	known := make([]key.Key, len(list))
	for i, x := range list {
		known[i] = of(x)
	}
	if err := checkPattern(pattern, known); err != nil {
		return list, err
	}
	return slices.DeleteFunc(list, func(x T) bool { return !pattern.Match(of(x)) }), nil
}

// checkPattern returns an error with the nearest keys when the pattern matches none of the known
// keys. Without a pattern or known keys there is no error.
func checkPattern(pattern *key.Pattern, known []key.Key) error {
	if pattern == nil || len(known) == 0 || slices.ContainsFunc(known, pattern.Match) {
		return nil
	}
	const most = 5 // keys listed in the error
	near := slices.Clone(known)
	slices.SortStableFunc(near, func(a, b key.Key) int {
		return cmp.Compare(distance(pattern, a), distance(pattern, b))
	})
	names := make([]string, 0, most)
	for _, k := range near[:min(most, len(near))] {
		names = append(names, k.String())
	}
	more := ""
	if n := len(near) - len(names); n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return fmt.Errorf("%s matches no key; there are %s%s", pattern, strings.Join(names, ", "), more)
}

// distance is the edit distance between a key and a pattern.
func distance(p *key.Pattern, k key.Key) int {
	n := 0
	wanted := strings.Split(p.String(), ":")
	for i, part := range []string{k.Benchmark, k.VM, k.VariantArm()} {
		if i < len(wanted) && wanted[i] != "*" {
			n += display.Distance(strings.ToLower(wanted[i]), strings.ToLower(part))
		}
	}
	return n
}

// Package given keeps the experiments that a hub has given to this machine. Each is unpacked into a
// directory of its own, and nothing of it stays longer than it is needed: not what was refused, and
// of what has ended only the results.
//
// The bundles come from other users. The configuration is judged before anything is unpacked.
//
// Start reading at Store.Unpack and Store.Tidy.
package given

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/bundle"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/hub/ship"
)

// Most is how many bytes the experiments may have together: or a quarter of the disk, if that is
// less. The oldest results that the hub has go first.
const Most = 20 << 30

// Store is the directory of the experiments. One process works on it at a time.
type Store struct {
	FS  durable.FS
	Dir string
	Hub string // its address
	// Needed reports whether the directory of an experiment is needed as it is: it waits for a
	// boot, runs, or has results that the hub does not have.
	Needed func(dir string) bool
	// Most is Most; tests have less.
	Most int64
}

// Path returns the directory of the experiment with this id of the hub.
func (s Store) Path(id string) string { return filepath.Join(s.Dir, id) }

// Temporary creates a file for a bundle; Tidy removes it if the caller does not.
func (s Store) Temporary() (*os.File, error) { return os.CreateTemp(s.Dir, "bundle-*"+temporary) }

const (
	temporary = ".tmp"
	extension = ".krun" // of an experiment's directory
)

// Unpack unpacks a bundle as the experiment with this id, unless that was done before, and returns
// the path of its configuration. change returns the configuration as this machine runs it; judge is
// called with that and its path before anything is unpacked, and its error is returned. What the
// bundle has builds for is built before the directory exists, once: what a call that was ended has
// built is not used.
func (s Store) Unpack(content io.ReadSeeker, id string, change func(text []byte) []byte,
	judge func(path string, text []byte) error, build Builder) (config string, err error) {
	var text []byte
	var size int64
	m, err := bundle.Read(content, func(m *bundle.Manifest, f bundle.File, r io.Reader) (err error) {
		if size += f.Size; f.Path == m.Config {
			text, err = io.ReadAll(io.LimitReader(r, bundle.MaxConfig+1))
		}
		return err
	})
	if err != nil {
		return "", err
	}
	dir := s.Path(id)
	config = filepath.Join(dir, filepath.FromSlash(m.Config))
	if err := judge(config, change(text)); err != nil {
		return "", err
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return config, err
	}
	if err := s.makeRoom(size + int64(len(m.Builds))*bundle.MaxTree); err != nil {
		return "", err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	var failed error
	_, err = bundle.Unpack(content, dir, func(text []byte) ([]byte, error) { return change(text), nil },
		func(m bundle.Manifest, unpacked string) error {
			failed = s.build(m, id, unpacked, build)
			return failed
		})
	return config, cmp.Or(failed, err)
}

// Builder runs a command in a copy of the directory source, and makes the directory into of what it
// leaves. It returns what the command has printed.
type Builder func(b bundle.Build, source, into string) (output string, err error)

// builds is the extension of the file that counts how often the builds of an experiment were begun.
const builds = ".builds"

// build does the builds of a bundle that is unpacked in a temporary directory, and stores what they
// have printed in the directory of the experiment.
func (s Store) build(m bundle.Manifest, id, unpacked string, build Builder) error {
	if len(m.Builds) == 0 {
		return nil
	}
	if err := s.tryAgain(id); err != nil {
		return err
	}
	d, err := directory.Create(s.FS, directory.For(filepath.Join(unpacked, filepath.FromSlash(m.Config))))
	if err != nil {
		return err
	}
	log := ""
	for _, b := range m.Builds {
		source := filepath.Join(unpacked, filepath.FromSlash(b.Directory))
		into := s.Path(id) + ".built" + temporary
		if err := os.RemoveAll(into); err != nil {
			return err
		}
		output, err := build(b, source, into)
		if err != nil {
			return errors.Join(err, os.RemoveAll(into))
		}
		log += "# " + b.Directory + ": " + display.ShellJoin(b.Command) + "\n" + output
		if err := errors.Join(os.RemoveAll(source), os.Rename(into, source)); err != nil {
			return err
		}
	}
	const othersRead = 0o644
	return errors.Join(durable.WriteFile(s.FS, d.BuildLog(), []byte(log), othersRead),
		s.FS.SyncDir(filepath.Dir(d.Dir())), os.Remove(s.Path(id)+builds))
}

// tryAgain counts, durably and before anything is built, how often that was begun: a build that
// takes the machine down is not begun for ever. Only one experiment is begun at a time.
func (s Store) tryAgain(id string) error {
	const most = 3
	path := s.Path(id) + builds
	old, err := filepath.Glob(s.Path("*" + builds))
	for _, other := range old {
		if other != path {
			err = errors.Join(err, os.Remove(other))
		}
	}
	before, readErr := durable.ReadFile(s.FS, path)
	if !errors.Is(readErr, fs.ErrNotExist) {
		err = errors.Join(err, readErr)
	}
	if err == nil && len(before) >= most {
		return fmt.Errorf("its build was begun %d times on this machine and did not end: the machine or "+
			"krunctl was ended meanwhile", most)
	}
	const ownerOnly = 0o600
	return errors.Join(err, durable.WriteFile(s.FS, path, append(before, '.'), ownerOnly))
}

// Tidy removes what no experiment needs: what was left by calls that were ended, and all but the
// directories NAME.krun of experiments that are not needed.
func (s Store) Tidy() error {
	list, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range list {
		path := s.Path(e.Name())
		switch {
		case strings.HasSuffix(e.Name(), builds): // see tryAgain
		case !e.IsDir() || strings.HasSuffix(e.Name(), temporary):
			err = errors.Join(err, os.RemoveAll(path))
		case !s.Needed(path):
			_, pruneErr := prune(path, isOurs)
			err = errors.Join(err, pruneErr)
		}
	}
	if err != nil {
		return fmt.Errorf("remove what experiments of the hub have left: %w", err)
	}
	return nil
}

// Forget removes an experiment that the hub knows to have failed here, except for results.
func (s Store) Forget(id string) error {
	if err := os.Remove(s.Path(id) + builds); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Lstat(s.Path(id)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := prune(s.Path(id), hasBegun); err != nil {
		return fmt.Errorf("remove experiment %s of the hub: %w", id, err)
	}
	return nil
}

// prune removes everything from a directory but the directories to keep, and the directory itself
// if nothing is left.
func prune(dir string, keep func(string) bool) (empty bool, err error) {
	list, err := os.ReadDir(dir)
	empty = err == nil
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		var gone bool
		var failed error
		switch {
		case e.IsDir() && keep(path):
		case e.IsDir() && !isOurs(path):
			gone, failed = prune(path, keep)
		default:
			failed = os.RemoveAll(path)
			gone = failed == nil
		}
		empty = empty && gone
		err = errors.Join(err, failed)
	}
	if empty {
		err = os.Remove(dir)
		empty = err == nil
	}
	return empty, err
}

// isOurs reports whether a directory is that of an experiment, which a bundle cannot have.
func isOurs(dir string) bool { return filepath.Ext(dir) == extension }

// hasBegun reports whether a directory is that of an experiment that has begun.
func hasBegun(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "schedule"))
	return isOurs(dir) && err == nil
}

// kept is a directory of results.
type kept struct {
	dir      string
	bytes    int64
	last     time.Time
	received bool // the hub has everything
}

// makeRoom removes the oldest results that are not needed and that the hub has, until there is room
// for so many more bytes.
func (s Store) makeRoom(more int64) error {
	all, total, err := s.results()
	if err != nil {
		return fmt.Errorf("make room for an experiment of the hub: %w", err)
	}
	most := min(s.Most, diskBytes(s.Dir)/4)
	for _, k := range all {
		if total+more <= most {
			break
		}
		if k.received && !s.Needed(k.dir) {
			if err := os.RemoveAll(k.dir); err != nil {
				return fmt.Errorf("make room for an experiment of the hub: %w", err)
			}
			total -= k.bytes
		}
	}
	if total+more > most {
		return fmt.Errorf("%s has %d MiB of experiments of the hub, of at most %d, and this one has %d "+
			"more; remove results there that nobody needs", s.Dir, total>>20, most>>20, more>>20)
	}
	return nil
}

// results returns the directories of experiments, the oldest first, and their size together.
func (s Store) results() (all []kept, total int64, err error) {
	list, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range list {
		if !e.IsDir() {
			continue
		}
		k := kept{dir: s.Path(e.Name()), received: true}
		err := filepath.WalkDir(k.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			k.bytes += info.Size()
			if info.ModTime().After(k.last) {
				k.last = info.ModTime()
			}
			if d.IsDir() && isOurs(path) {
				k.received = k.received && s.received(path)
			}
			return nil
		})
		if err != nil {
			return nil, 0, err
		}
		all, total = append(all, k), total+k.bytes
	}
	slices.SortFunc(all, func(a, b kept) int {
		return cmp.Or(a.last.Compare(b.last), strings.Compare(a.dir, b.dir))
	})
	return all, total, nil
}

// received reports whether the hub has all records of an experiment, or has deleted them.
func (s Store) received(dir string) bool {
	d, err := directory.Open(s.FS, dir)
	if err != nil {
		return false
	}
	m, err := ship.Load(s.FS, d.Hub(), s.Hub)
	if err != nil || m.Deleted {
		return err == nil
	}
	list, err := results.NewReader(s.FS, d.Results()).List()
	missing := func(n results.Name) bool { return !m.Has(n) }
	return err == nil && !slices.ContainsFunc(list.Records, missing) &&
		!slices.ContainsFunc(list.Replaced, missing)
}

package bundle

import (
	"archive/tar"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"krund/internal/experiment/config"
)

// The names of the entries.
const (
	manifestName = "manifest.json"
	tree         = "tree/"
)

// Write writes the bundle, and returns its manifest. It reads each file twice, and fails if one
// changes in between.
func (c *Contents) Write(w io.Writer) (Manifest, error) {
	m := Manifest{Format: Format, Experiment: c.experiment, Config: c.config, Files: []File{},
		External: c.external, Builds: c.builds}
	left := int64(MaxSize)
	for _, name := range slices.Sorted(maps.Keys(c.from)) {
		hash := sha256.New()
		f, err := c.copy(name, hash, left)
		if err != nil {
			return m, err
		}
		f.SHA256 = hex.EncodeToString(hash.Sum(nil))
		left -= f.Size
		m.Files = append(m.Files, f)
	}
	if err := m.check(); err != nil {
		return m, fmt.Errorf("pack %s: %w", c.experiment, err)
	}
	text, err := json.Marshal(m)
	if err != nil {
		return m, err
	}
	out := tar.NewWriter(w)
	err = header(out, manifestName, int64(len(text)), false)
	if _, failed := out.Write(text); errors.Join(err, failed) != nil {
		return m, errors.Join(err, failed)
	}
	for _, f := range m.Files {
		if err := c.entry(out, f); err != nil {
			return m, err
		}
	}
	return m, out.Close()
}

// entry writes a file.
func (c *Contents) entry(out *tar.Writer, f File) error {
	if err := header(out, tree+f.Path, f.Size, f.Executable); err != nil {
		return err
	}
	hash := sha256.New()
	again, err := c.copy(f.Path, io.MultiWriter(out, hash), f.Size)
	if err == nil && (again.Size != f.Size || hex.EncodeToString(hash.Sum(nil)) != f.SHA256) {
		err = fmt.Errorf("pack %s: it has changed while it was packed; try again", c.from[f.Path].path)
	}
	return err
}

func header(out *tar.Writer, name string, size int64, executable bool) error {
	return out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size,
		Mode: int64(permissions(executable)), ModTime: time.Unix(0, 0)})
}

// permissions are those of an unpacked file: all users may read it, and only its owner may change
// it.
func permissions(executable bool) fs.FileMode {
	if executable {
		return 0o755
	}
	return 0o644
}

// copy copies a file of at most left bytes.
func (c *Contents) copy(name string, to io.Writer, left int64) (File, error) {
	s := c.from[name]
	if s.path == "" {
		n, err := io.Copy(to, strings.NewReader(s.text))
		return File{Path: name, Size: n}, err
	}
	// a FIFO without a writer would block forever
	file, err := os.OpenFile(s.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return File{}, fmt.Errorf("pack: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return File{}, fmt.Errorf("pack: %w", err)
	}
	if !info.Mode().IsRegular() {
		return File{}, fmt.Errorf("pack: %s is not a regular file; remove it", s.path)
	}
	n, err := io.Copy(to, io.LimitReader(file, left+1))
	switch {
	case err != nil:
		return File{}, fmt.Errorf("pack %s: %w", s.path, err)
	case n > left:
		return File{}, fmt.Errorf("pack %s: it has grown, or the files together have more than %d bytes; "+
			"move what the benchmarks do not need elsewhere", s.path, int64(MaxSize))
	}
	return File{Path: name, Size: n, Executable: info.Mode()&0o111 != 0}, nil
}

// A source is where the content of a file comes from: a path, or if that is "" a text.
type source struct{ path, text string }

// Contents are the files of a bundle that is to be written.
type Contents struct {
	experiment string
	config     string            // path in the bundle
	from       map[string]source // by path in the bundle
	external   []string
	builds     []Build
}

// A Copy takes a file or directory into a bundle.
type Copy struct {
	From string // absolute
	As   string // absolute: where the configuration finds it; From, if that is where it is
	// Build makes of it, on the machine, what the configuration finds; nil: that is copied.
	Build []string
	Time  time.Duration // that it may take
}

// Collect finds what the configuration needs, and adds the copies. The configuration has the path
// cfg.Path and the content cfg.Text, whether or not that is in the file. What is at or below the
// path of a copy is that of the copy.
func Collect(cfg *config.Config, copies []Copy) (*Contents, error) {
	w := walk{files: map[string]source{cfg.Path: {text: cfg.Text}}}
	for _, c := range copies {
		if err := w.add(c.From, c.As); err != nil {
			return nil, err
		}
	}
	external := map[string]bool{}
	for _, name := range cfg.Needs() {
		made := false
		copied := slices.ContainsFunc(copies, func(c Copy) bool {
			made = c.Build != nil
			return name == c.As || strings.HasPrefix(name, c.As+"/")
		})
		switch {
		case !cfg.Relative(name):
			external[name] = true
		case copied && !made && !w.has(name):
			return nil, fmt.Errorf("pack: there is no %s; the configuration names it", name)
		case !copied:
			if err := w.add(name, name); err != nil {
				return nil, fmt.Errorf("%w; the configuration names it", err)
			}
		}
	}
	top := w.top()
	c := &Contents{experiment: cfg.Experiment.Name, config: relativeTo(top, cfg.Path),
		from: map[string]source{}, external: slices.AppendSeq([]string{}, maps.Keys(external))}
	for name, s := range w.files {
		c.from[relativeTo(top, name)] = s
	}
	slices.Sort(c.external)
	for _, one := range copies {
		if one.Build != nil {
			c.builds = append(c.builds,
				Build{relativeTo(top, one.As), one.Build, int64(one.Time / time.Second)})
		}
	}
	slices.SortFunc(c.builds, func(a, b Build) int { return strings.Compare(a.Directory, b.Directory) })
	return c, nil
}

// walk collects files by the absolute paths at which the configuration finds them.
type walk struct{ files map[string]source }

// has reports whether there is a file of this name, or one below it.
func (w *walk) has(name string) bool {
	for file := range w.files {
		if file == name || strings.HasPrefix(file, name+"/") {
			return true
		}
	}
	return false
}

// add adds a file, or all files in a directory.
func (w *walk) add(from, as string) error {
	info, err := os.Stat(from)
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	if !info.IsDir() {
		return w.file(from, as)
	}
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("pack: %w", err)
		case d.IsDir() && name != from && leftOut(d.Name()):
			return filepath.SkipDir
		case d.IsDir() || d.Name() == ".git": // the latter is the file of a work tree
			return nil
		}
		return w.file(name, as+strings.TrimPrefix(name, from))
	})
}

// leftOut reports whether a directory is not packed: repositories, and results of experiments.
func leftOut(name string) bool { return name == ".git" || strings.HasSuffix(name, ".krun") }

// file adds a file; of a link, the content of the file that it leads to.
func (w *walk) file(from, as string) error {
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		return fmt.Errorf("pack: %s is a link to a directory; copy the directory in its place", from)
	}
	if w.files[as] = (source{path: from}); len(w.files) > MaxFiles {
		return fmt.Errorf("pack: there are more than %d files; the last is %s; move what the benchmarks do "+
			"not need elsewhere", MaxFiles, from)
	}
	return nil
}

// top returns the nearest directory that has all files in it.
func (w *walk) top() string {
	top := ""
	for name := range w.files {
		dir := filepath.Dir(name)
		top = cmp.Or(top, dir)
		for top != "/" && dir != top && !strings.HasPrefix(dir, top+"/") {
			top = filepath.Dir(top)
		}
	}
	return top
}

func relativeTo(top, name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, top), "/")
}

package bundle

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
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

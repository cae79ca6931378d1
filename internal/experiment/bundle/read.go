package bundle

import (
	"archive/tar"
	"bytes"
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
	"path"
	"path/filepath"
	"slices"

	"krund/internal/durable"
)

// Visit is called with each file of a bundle. The content need not be read; that it is the one of
// the manifest is known only afterwards.
type Visit func(m *Manifest, f File, content io.Reader) error

// Read reads a bundle, checks it, and calls visit for each file. The error wraps ErrInvalid if it
// is no bundle; visit may have been called before that is known.
func Read(r io.Reader, visit Visit) (Manifest, error) {
	const perFile = 4096 // headers and padding
	in := tar.NewReader(io.LimitReader(r, MaxSize+maxManifest+MaxFiles*perFile))
	var m Manifest
	text, err := entry(in, manifestName, -1)
	if err != nil {
		return m, err
	}
	data, err := io.ReadAll(text)
	if err != nil {
		return m, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		return Manifest{}, fmt.Errorf("%w: its manifest: %w", ErrInvalid, err)
	}
	if err := m.check(); err != nil {
		return Manifest{}, err
	}
	for _, f := range m.Files {
		if err := readFile(in, &m, f, visit); err != nil {
			return m, err
		}
	}
	if _, err := in.Next(); !errors.Is(err, io.EOF) {
		return m, fmt.Errorf("%w: it has files that are not in its manifest", ErrInvalid)
	}
	return m, nil
}

func readFile(in *tar.Reader, m *Manifest, f File, visit Visit) error {
	content, err := entry(in, tree+f.Path, f.Size)
	if err != nil {
		return err
	}
	hash := sha256.New()
	content = io.TeeReader(content, hash)
	if err := visit(m, f, content); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if hex.EncodeToString(hash.Sum(nil)) != f.SHA256 {
		return fmt.Errorf("%w: %q does not have the content of its manifest", ErrInvalid, f.Path)
	}
	return nil
}

// entry returns the content of the next entry, which must have the name and size; -1: any size of a
// manifest.
func entry(in *tar.Reader, name string, size int64) (io.Reader, error) {
	h, err := in.Next()
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrInvalid, name, err)
	}
	if size < 0 && h.Size <= maxManifest {
		size = h.Size
	}
	if h.Typeflag != tar.TypeReg || h.Name != name || h.Size != size {
		return nil, fmt.Errorf("%w: %q of %d bytes is in the place of %q", ErrInvalid, h.Name, h.Size, name)
	}
	return in, nil
}

// Unpack writes the files of a bundle into the new directory dir, durably, and returns the
// manifest. change, which may be nil, returns the content of the configuration in place of the
// packed one; finish, too, is called with the directory in which everything is by then. dir is
// created last, by a rename: it exists only if it is complete. The directory in which it is must
// belong to the caller alone.
func Unpack(r io.Reader, dir string, change func([]byte) ([]byte, error),
	finish func(m Manifest, unpacked string) error) (Manifest, error) {
	temporary := dir + ".tmp"
	if err := os.RemoveAll(temporary); err != nil {
		return Manifest{}, fmt.Errorf("unpack: %w", err)
	}
	m, err := unpack(r, temporary, change)
	if err == nil && finish != nil {
		err = finish(m, temporary)
	}
	if err == nil {
		err = os.Rename(temporary, dir)
	}
	if err == nil {
		err = durable.OS().SyncDir(filepath.Dir(dir))
	}
	if err != nil {
		return m, fmt.Errorf("unpack into %s: %w", dir, errors.Join(err, os.RemoveAll(temporary)))
	}
	return m, nil
}

func unpack(r io.Reader, dir string, change func([]byte) ([]byte, error)) (Manifest, error) {
	const listed = 0o755
	if err := os.Mkdir(dir, listed); err != nil {
		return Manifest{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Manifest{}, err
	}
	defer root.Close() //nolint:errcheck // nothing is written through it
	dirs := map[string]bool{".": true}
	m, err := Read(r, func(m *Manifest, f File, content io.Reader) error {
		for d := path.Dir(f.Path); !dirs[d]; d = path.Dir(d) {
			dirs[d] = true
		}
		if err := root.MkdirAll(path.Dir(f.Path), listed); err != nil {
			return err
		}
		if f.Path == m.Config && change != nil {
			if f.Size > MaxConfig {
				return fmt.Errorf("%w: its configuration has more than %d bytes", ErrInvalid, MaxConfig)
			}
			text, err := io.ReadAll(content)
			if err == nil {
				text, err = change(text)
			}
			if err != nil {
				return err
			}
			content = bytes.NewReader(text)
		}
		return create(root, f, content)
	})
	return m, errors.Join(err, syncAll(dir, dirs))
}

// create creates a new file, and its directory entry remains to be synced.
func create(root *os.Root, f File, content io.Reader) error {
	mode := permissions(f.Executable)
	file, err := root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err == nil {
		err = file.Chmod(mode) // whatever the umask is: the benchmark's account reads it
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// syncAll gives the directories their permissions and makes their entries durable.
func syncAll(top string, dirs map[string]bool) error {
	for _, name := range slices.Sorted(maps.Keys(dirs)) {
		const listed = 0o755
		name = filepath.Join(top, filepath.FromSlash(name))
		if err := errors.Join(os.Chmod(name, listed), durable.OS().SyncDir(name)); err != nil {
			return err
		}
	}
	return nil
}

// MaxTree bounds the bytes of a tree.
const MaxTree = 256 << 20

// longestName bounds the bytes of a path in a tree: the time that a path takes grows with its
// directories.
const longestName = 1000

// PackTree writes the files of a directory as a tar archive. Links that lead out of it,
// devices and pipes are refused, and trees that take hours to walk; links to files in it become
// copies. Whoever made the tree may have put a link in its place: it is not followed out of the
// directory that dir is in, in which the caller may read more.
func PackTree(dir string, w io.Writer) error {
	around, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer around.Close() //nolint:errcheck // it was only read
	root, err := around.OpenRoot(filepath.Base(dir))
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // it was only read
	out := tar.NewWriter(w)
	files, entries, left := 0, 0, int64(MaxTree)
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if entries++; err == nil && (entries > 2*MaxFiles || len(name) > longestName) {
			return fmt.Errorf("it has more than %d directories, or a path of more than %d bytes; leave only "+
				"what is measured", MaxFiles, longestName)
		}
		if err != nil || d.IsDir() {
			return err
		}
		if err := checkPath(name); err != nil {
			return err
		}
		info, err := root.Stat(name)
		if err != nil {
			return err
		}
		files++
		left -= info.Size()
		switch {
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is no regular file, nor a link to one; remove it", name)
		case files > MaxFiles || left < 0:
			return fmt.Errorf("it has more than %d files or %d bytes; leave only what is measured",
				MaxFiles, MaxTree)
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // it was only read
		mode := int64(info.Mode().Perm()&0o111 | 0o644)
		err = out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: mode})
		if err == nil {
			_, err = io.CopyN(out, f, info.Size())
		}
		return err
	})
	if err == nil && files == 0 {
		err = errors.New("it has no files")
	}
	return errors.Join(err, out.Close())
}

// CopyTree writes the files of a directory into another one, with the bounds of PackTree.
func CopyTree(from, to string) error {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := UnpackTree(r, to)
		r.CloseWithError(err)
		done <- err
	}()
	err := PackTree(from, w)
	w.CloseWithError(err)
	return cmp.Or(err, <-done)
}

// UnpackTree is the inverse of PackTree. It also accepts directories and links, which only PackTree
// follows: an archive of git is packed again.
func UnpackTree(r io.Reader, dir string) error {
	const readable = 0o755
	if err := os.MkdirAll(dir, readable); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // files are closed one by one
	in := tar.NewReader(r)
	for entries, left := 0, int64(MaxTree); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, r) // the store compares the hash at the end
			return err
		}
		if err == nil {
			left -= h.Size
			if entries++; entries > 2*MaxFiles || left < 0 || len(h.Name) > longestName {
				return fmt.Errorf("it has more than %d files or %d bytes, or a path of more than %d bytes",
					MaxFiles, MaxTree, longestName)
			}
			err = root.MkdirAll(filepath.Dir(h.Name), readable)
		}
		switch {
		case err != nil:
		case h.Typeflag == tar.TypeXGlobalHeader || h.Typeflag == tar.TypeDir:
			continue
		case h.Typeflag == tar.TypeSymlink:
			if err = root.Symlink(h.Linkname, h.Name); err == nil {
				continue
			}
		}
		var f *os.File
		if err == nil {
			f, err = root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(h.Mode).Perm())
		}
		if err == nil {
			_, err = io.Copy(f, in)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
	}
}

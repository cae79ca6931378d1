package bundle

import (
	"archive/tar"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

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

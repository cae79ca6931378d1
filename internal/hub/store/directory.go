package store

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"krund/internal/durable"
	"krund/internal/hub/api"
)

// Directory keeps blobs in files: DIR/aa/HASH, where aa are the first two digits of HASH. Files
// whose names end in .tmp and digits are leftovers of a crash.
type Directory struct {
	fsys durable.FS
	dir  string
}

const ownerOnly = 0o700

// OpenDirectory creates what is missing of the directory dir and returns its store. The parent of
// dir must exist.
func OpenDirectory(fsys durable.FS, dir string) (*Directory, error) {
	d := &Directory{fsys: fsys, dir: dir}
	if err := d.mkdir(dir); err != nil {
		return nil, fmt.Errorf("create the store of blobs: %w", err)
	}
	for i := range 256 {
		sub := filepath.Join(dir, hex.EncodeToString([]byte{byte(i)}))
		if err := fsys.Mkdir(sub, ownerOnly); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("create the store of blobs: %w", err)
		}
	}
	if err := fsys.SyncDir(dir); err != nil {
		return nil, fmt.Errorf("create the store of blobs: %w", err)
	}
	return d, nil
}

func (d *Directory) mkdir(dir string) error {
	if err := d.fsys.Mkdir(dir, ownerOnly); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.fsys.SyncDir(filepath.Dir(dir))
}

func (d *Directory) path(hash string) string { return filepath.Join(d.dir, hash[:2], hash) }

// Put implements [Store].
func (d *Directory) Put(ctx context.Context, hash string, size int64, r io.Reader) error {
	if !api.ValidHash(hash) {
		return fmt.Errorf("store a blob: %q is no SHA-256: %w", hash, ErrHash)
	}
	const ownerReads = 0o600
	err := durable.WriteTo(d.fsys, d.path(hash), ownerReads, func(w io.Writer) error {
		return cmp.Or(Receive(w, hash, size, r), ctx.Err())
	})
	if err != nil {
		return fmt.Errorf("store blob %s: %w", hash, err)
	}
	return nil
}

// PutTable implements [Store].
func (d *Directory) PutTable(ctx context.Context, name string, size int64, r io.Reader) error {
	if err := checkTable(name); err != nil {
		return err
	}
	path := filepath.Join(d.dir, Tables, filepath.FromSlash(name))
	err := durable.MkdirAll(d.fsys, filepath.Dir(path))
	if err == nil {
		const usual = 0o644
		err = durable.WriteTo(d.fsys, path, usual, func(w io.Writer) error {
			n, err := io.Copy(w, io.LimitReader(r, size))
			if err == nil && n != size {
				err = fmt.Errorf("%d bytes of %d: %w", n, size, ErrShort)
			}
			return errors.Join(err, ctx.Err())
		})
	}
	if err != nil {
		return fmt.Errorf("store the table %s: %w", name, err)
	}
	return nil
}

// Get implements [Store].
func (d *Directory) Get(_ context.Context, hash string) (io.ReadCloser, error) {
	if !api.ValidHash(hash) {
		return nil, fmt.Errorf("%q: %w", hash, ErrMissing)
	}
	f, err := d.fsys.OpenFile(d.path(hash), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", hash, ErrMissing)
	}
	if err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	return check(f, hash), nil
}

// Delete implements [Store].
func (d *Directory) Delete(_ context.Context, hash string) error {
	if !api.ValidHash(hash) {
		return nil
	}
	err := d.fsys.Remove(d.path(hash))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete blob: %w", err)
	}
	return nil
}

// DeleteTables implements [Store].
func (d *Directory) DeleteTables(_ context.Context, name string) error {
	name, err := below(name)
	if err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(d.dir, Tables, filepath.FromSlash(name)))
}

// Ready implements [Store]. It writes and removes a file, because only that shows that there is
// room.
func (d *Directory) Ready(context.Context) error {
	const size, ownerReads = 256 << 10, 0o600
	name := filepath.Join(d.dir, "ready")
	err := durable.WriteFile(d.fsys, name, make([]byte, size), ownerReads)
	if err == nil {
		err = d.fsys.Remove(name)
	}
	if err != nil {
		return fmt.Errorf("the store of blobs: %w", err)
	}
	return nil
}

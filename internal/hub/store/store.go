// Package store keeps blobs: immutable contents, each named by its SHA-256. A blob is durable
// before [Store.Put] returns, so that the hub can give a receipt for it. Blobs are never changed;
// what refers to them is in the database.
//
// [Directory] keeps them in files, [S3] in a bucket of any server with that interface. Start
// reading at [Store].
package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Store keeps blobs. All methods may be called concurrently.
type Store interface {
	// Put stores size bytes of r under their hash, durably. It reads no more. The error wraps
	// ErrHash if the contents are others, and ErrShort if there are fewer; then nothing is stored.
	// Storing a blob again is no error.
	Put(ctx context.Context, hash string, size int64, r io.Reader) error
	// Get opens a blob. The error wraps ErrMissing if there is none. The reader's error wraps
	// ErrHash at the end if the contents have changed.
	Get(ctx context.Context, hash string) (io.ReadCloser, error)
	// Delete removes a blob. Removing one that does not exist is no error.
	Delete(ctx context.Context, hash string) error
	// PutTable stores size bytes of r durably under a name with slashes, below tables/, and
	// replaces what is there: something that can be made again from blobs. The error wraps ErrName
	// if the name leads elsewhere.
	PutTable(ctx context.Context, name string, size int64, r io.Reader) error
	// DeleteTables removes what is stored under a name that begins with tables/, and all below it.
	// The error wraps ErrName if the name leads elsewhere.
	DeleteTables(ctx context.Context, name string) error
	// Ready reports why blobs cannot be stored now, nil if they can: it tries.
	Ready(ctx context.Context) error
}

// Errors of a Store.
var (
	ErrHash    = errors.New("the contents do not have the SHA-256 that they are sent under")
	ErrMissing = errors.New("the store has no such blob")
	ErrName    = errors.New("this is no name of a table")
)

// Hash returns the name of a blob.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// checked reads a blob, and replaces the end of file by ErrHash if the contents have another hash.
type checked struct {
	from io.ReadCloser
	sum  hash.Hash
	hash string
}

func check(from io.ReadCloser, hash string) *checked {
	return &checked{from: from, sum: sha256.New(), hash: hash}
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	_, _ = c.sum.Write(p[:n]) // never fails
	if err == io.EOF && hex.EncodeToString(c.sum.Sum(nil)) != c.hash {
		return n, fmt.Errorf("blob %s: %w", c.hash, ErrHash)
	}
	return n, err
}

func (c *checked) Close() error { return c.from.Close() }

// Tables is where tables are, beside the blobs.
const Tables = "tables"

// checkTable reports a name that leads out of tables.
func checkTable(name string) error {
	if name == "." || !filepath.IsLocal(name) || filepath.ToSlash(filepath.Clean(name)) != name {
		return fmt.Errorf("store the table %q: %w", name, ErrName)
	}
	return nil
}

// below returns the name of a table or a directory of tables without Tables.
func below(name string) (string, error) {
	in, found := strings.CutPrefix(name, Tables+"/")
	if !found {
		return "", fmt.Errorf("delete the tables %q: %w", name, ErrName)
	}
	return in, checkTable(in)
}

// ErrShort is the error for contents that end before the size that was announced.
var ErrShort = errors.New("the contents are shorter than was announced")

// Receive copies size bytes, which must have the SHA-256 hash. It reads no more.
func Receive(to io.Writer, hash string, size int64, from io.Reader) error {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(from, size))
	switch {
	case err != nil:
		return err
	case n != size:
		return fmt.Errorf("%d bytes of %d: %w", n, size, ErrShort)
	case hex.EncodeToString(sum.Sum(nil)) != hash:
		return ErrHash
	}
	return nil
}

// Spool returns a temporary file in a directory, open and without a name, into which fill has
// written: what someone sends is not kept in memory while they send it. It is at its beginning.
func Spool(dir string, fill func(io.Writer) error) (*os.File, error) {
	f, err := os.CreateTemp(dir, "spool-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file: %w", err)
	}
	if err = os.Remove(f.Name()); err == nil {
		err = fill(f)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

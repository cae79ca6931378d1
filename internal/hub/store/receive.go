package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

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

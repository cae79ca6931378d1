package watch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"krund/internal/hub/api"
)

// keep stores a file that write makes, and returns its hash and size. The blob is garbage until a
// row of the database refers to it.
func (w *Watcher) keep(ctx context.Context, write func(io.Writer) error) (hash string, size int64,
	err error) {
	f, err := os.CreateTemp(w.Dir, "work-")
	if err != nil {
		return "", 0, err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // the next start removes it, too
	defer f.Close()           //nolint:errcheck // it is temporary
	sum := sha256.New()
	if err := write(io.MultiWriter(f, sum)); err != nil {
		return "", 0, err
	}
	if size, err = f.Seek(0, io.SeekCurrent); err == nil && size > api.MaxBlob {
		err = fmt.Errorf("it has %d bytes, and at most %d are stored", size, api.MaxBlob)
	}
	hash = hex.EncodeToString(sum.Sum(nil))
	if err == nil {
		err = w.DB.Announce(ctx, []string{hash})
	}
	if err == nil {
		err = w.Store.Put(ctx, hash, size, io.NewSectionReader(f, 0, size))
	}
	return hash, size, err
}

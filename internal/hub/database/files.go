package database

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"
)

// File is a file of a shipped directory that is not a record, as sent last.
type File struct {
	Experiment, Machine, Name string
	Hash                      string // of its contents
	Received                  time.Time
}

// Pack returns a writer that packs the contents of a file as PutFile stores them. Close completes
// them.
func Pack(to io.Writer) io.WriteCloser {
	w, _ := gzip.NewWriterLevel(to, gzip.BestSpeed) // a level that exists
	return w
}

// PutFile adds or replaces a file, whose contents Pack has packed: not in the transaction, for
// which others may wait.
func (db *DB) PutFile(ctx context.Context, tx *sql.Tx, f File, packed []byte) error {
	return exec(ctx, tx, "store file "+f.Name, `INSERT INTO files
		(experiment, machine, name, hash, content, received) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (experiment, machine, name) DO UPDATE SET
		hash = excluded.hash, content = excluded.content, received = excluded.received`,
		f.Experiment, f.Machine, f.Name, f.Hash, packed, db.now())
}

// Files returns the files of a machine's directory by name.
func (db *DB) Files(ctx context.Context, experiment, machine string) ([]File, error) {
	return list[File](ctx, db.Read, `SELECT experiment, machine, name, hash, received FROM files
		WHERE experiment = $1 AND machine = $2 ORDER BY name`, experiment, machine)
}

// ErrLarge is the error for a file that is larger than the caller reads.
var ErrLarge = errors.New("the file is too large")

// FileContent returns the contents of a file, at most limit bytes: the error wraps ErrLarge if it
// has more, and ErrMissing if there is none.
func (db *DB) FileContent(ctx context.Context, experiment, machine, name string, limit int64) (
	[]byte, error) {
	packed, err := find[[]byte](ctx, db.Read, "file "+name, `SELECT content FROM files
		WHERE experiment = $1 AND machine = $2 AND name = $3`, experiment, machine, name)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", name, err)
	}
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("file %s: %w", name, ErrLarge)
	}
	return text, err
}

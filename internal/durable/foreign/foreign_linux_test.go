package foreign

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"krund/internal/durable/foreign/deadfs"
	"krund/rig/must"
)

// TestDead: a signal ends the hashing of a file whose file system does not answer.
func TestDead(t *testing.T) {
	why := errors.New("SIGTERM")
	for name, call := range map[string]func(context.Context, string) error{
		"hash": func(ctx context.Context, path string) error { _, err := Hash(ctx, path); return err },
		"stat": func(ctx context.Context, path string) error { _, err := Stat(ctx, path); return err },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			asked := deadfs.Mount(t, dir)
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { <-asked; cancel(why) }()
			must.Fail(t, call(ctx, filepath.Join(dir, "x")), why)
		})
	}
}

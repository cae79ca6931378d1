package probe

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/control/machines"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// machine returns a copy of a captured machine, without programs.
func machine(t *testing.T, name string) (host.Host, string) {
	t.Helper()
	dir := machines.New(t, name)
	return host.Host{Root: sysroot.New(dir)}, dir
}

// put writes a file of a machine and creates its directories.
func put(t *testing.T, dir, name, text string) {
	t.Helper()
	must.Write(t, filepath.Join(dir, name), text)
}

// failing returns an error when a file is read whose name ends in one of the keys.
type failing struct {
	sysroot.OS
	errs map[string]error
}

func (f failing) ReadFile(path string) ([]byte, error) {
	for end, err := range f.errs {
		if strings.HasSuffix(path, end) {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
	}
	return f.OS.ReadFile(path)
}

// scripted returns the output of commands from a table keyed by "name args".
type scripted map[string]string

func (s scripted) Output(_ context.Context, name string, args ...string) ([]byte, error) {
	line := strings.Join(append([]string{name}, args...), " ")
	if out, there := s[line]; there {
		return []byte(out), nil
	}
	return nil, errors.New("unexpected: " + line)
}

// fakeClock advances only by Sleep, and by step at every reading.
type fakeClock struct {
	now   time.Time
	step  time.Duration
	slept []time.Duration
}

func (c *fakeClock) Now() time.Time {
	c.now = c.now.Add(c.step)
	return c.now
}

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.slept = append(c.slept, d)
	c.now = c.now.Add(d)
	return nil
}

var _ io.Closer = (*dmesg)(nil)

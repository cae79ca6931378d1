package rebuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"krund/internal/hub/database"
)

// Reports is the name of a directory in the cache's that is not one of an experiment.
const Reports = "reports"

// A directory that was not used for oldest is removed, and so are those used least recently if all
// have more than MostBytes. One that was used within inUse may be read by krunctl.
const (
	oldest     = 30 * 24 * time.Hour
	inUse      = time.Hour
	sweepEvery = 10 * time.Minute
)

// MostBytes is how large all directories of a cache together become, beside those in use.
var MostBytes int64 = 20 << 30 // a variable for tests

// Remove removes the directory of an experiment.
func (c *Cache) Remove(id string) error {
	one := c.lock(id)
	one.Lock()
	defer one.Unlock()
	if err := os.RemoveAll(filepath.Join(c.Dir, id)); err != nil {
		return fmt.Errorf("remove the directory of experiment %s: %w", id, err)
	}
	return nil
}

// used is the directory of an experiment.
type used struct {
	id    string
	last  time.Time
	bytes int64
}

// sweep removes directories: those of experiments that were deleted, and what the bounds above do
// not permit. It looks at most every sweepEvery.
func (c *Cache) sweep(ctx context.Context) error {
	now := c.DB.Now()
	c.mu.Lock()
	due := now.Sub(c.swept) >= sweepEvery
	if due {
		c.swept = now
	}
	c.mu.Unlock()
	if !due {
		return nil
	}
	all, err := c.list()
	if err != nil {
		return fmt.Errorf("look for directories that are not needed: %w", err)
	}
	var total int64
	for _, d := range all { // those that were used last come first
		_, missing := c.DB.Experiment(ctx, d.id)
		total += d.bytes
		age := now.Sub(d.last)
		if errors.Is(missing, database.ErrMissing) || age > inUse && (age > oldest || total > MostBytes) {
			total -= d.bytes
			err = errors.Join(err, c.Remove(d.id))
		}
	}
	return err
}

// list returns the directories of experiments, those that were used last first.
func (c *Cache) list() ([]used, error) {
	entries, err := os.ReadDir(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []used
	for _, e := range entries {
		if !e.IsDir() || e.Name() == Reports {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // it was removed
		}
		d := used{id: e.Name(), last: info.ModTime()}
		_ = filepath.WalkDir(filepath.Join(c.Dir, d.id), func(_ string, e fs.DirEntry, err error) error {
			if err != nil {
				return fs.SkipDir // it was removed
			}
			if info, err := e.Info(); err == nil {
				d.bytes += info.Size()
			}
			return nil
		})
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b used) int { return b.last.Compare(a.last) })
	return all, err
}

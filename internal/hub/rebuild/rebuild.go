// Package rebuild makes the directories of experiments again from what the machines have shipped,
// so that every reader of an experiment's directory works on the hub, too. They are a cache: what
// is missing is fetched from the store again. What a file contains is not looked at.
//
// Start reading at [Cache.Experiment].
package rebuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"krund/internal/durable"
	"krund/internal/experiment/results"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/store"
	"krund/internal/machine/command"
)

// Cache has the directories of experiments, ID/MACHINE/NAME.krun below Dir.
type Cache struct {
	DB    *database.DB
	Store store.Store
	FS    durable.FS
	Dir   string

	large sync.Mutex // held while a file is in memory, which may have api.MaxFile bytes

	mu    sync.Mutex
	busy  map[string]*sync.Mutex // by experiment
	swept time.Time
}

// Experiment brings the directory of an experiment up to date, and returns its path: it has a
// directory for each machine that has shipped something of the experiment, with NAME.krun in it.
func (c *Cache) Experiment(ctx context.Context, id string) (string, error) {
	x, err := c.DB.Experiment(ctx, id)
	if err != nil {
		return "", err
	}
	if err := c.sweep(ctx); err != nil {
		return "", err
	}
	one := c.lock(id)
	one.Lock()
	defer one.Unlock()
	shares, err := c.DB.Shares(ctx, id)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(c.Dir, x.ID)
	for _, share := range shares {
		if err := c.share(ctx, dir, x, share.Machine); err != nil {
			return "", fmt.Errorf("make the directory of experiment %s: %w", id, err)
		}
	}
	now := c.DB.Now()
	if err := os.Chtimes(dir, now, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("note when the directory of experiment %s was used: %w", id, err)
	}
	return dir, nil
}

func (c *Cache) lock(id string) *sync.Mutex {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy == nil {
		c.busy = map[string]*sync.Mutex{}
	}
	if c.busy[id] == nil {
		c.busy[id] = &sync.Mutex{}
	}
	return c.busy[id]
}

// share brings the directory of a machine's share up to date. Records never change; the few other
// files are fetched each time.
func (c *Cache) share(ctx context.Context, parent string, x database.Experiment, machine string) error {
	files, err := c.DB.Files(ctx, x.ID, machine)
	if err != nil {
		return err
	}
	m, err := c.DB.Machine(ctx, machine)
	if err != nil {
		return err
	}
	if !api.ValidName(m.Name) || !api.ValidName(x.Name) { // they were checked when they arrived
		return errors.New("the name of the machine or the experiment cannot be the name of a directory")
	}
	dir := filepath.Join(parent, m.Name, x.Name+".krun")
	if err := durable.MkdirAll(c.FS, filepath.Join(dir, "results")); err != nil {
		return err
	}
	replaced := map[results.Name]bool{}
	for _, f := range files {
		if err := c.file(ctx, dir, f, replaced); err != nil {
			return err
		}
	}
	if err := c.records(ctx, dir, x.ID, machine, replaced); err != nil {
		return err
	}
	// What a rerun has replaced after it was fetched.
	for n := range replaced {
		path := filepath.Join(dir, "results")
		err := c.FS.Rename(filepath.Join(path, n.String()), filepath.Join(path, n.Replaced()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// file fetches a file, or notes the records that it says were replaced.
func (c *Cache) file(ctx context.Context, dir string, f database.File, replaced map[results.Name]bool) error {
	c.large.Lock()
	defer c.large.Unlock()
	text, err := c.DB.FileContent(ctx, f.Experiment, f.Machine, f.Name, api.MaxFile)
	if err != nil {
		return err
	}
	if f.Name != api.FileReplaced {
		return c.write(filepath.Join(dir, f.Name), bytes.NewReader(text))
	}
	for name := range strings.FieldsSeq(string(text)) {
		if n, ok := results.ParseName(name); ok {
			replaced[n] = true
		}
	}
	return nil
}

func (c *Cache) records(ctx context.Context, dir, experiment, machine string,
	replaced map[results.Name]bool) error {
	for seq := int64(0); ; {
		const part = 1000
		list, err := c.DB.Records(ctx, experiment, machine, seq, part)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, r := range list {
			name := results.Name{Slot: int(r.Slot), Attempt: int(r.Attempt)}
			path := filepath.Join(dir, "results", name.String())
			if replaced[name] {
				path = filepath.Join(dir, "results", name.Replaced())
			}
			if _, err := c.FS.Lstat(path); err == nil {
				continue
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := c.fetch(ctx, r.Blob, path); err != nil {
				return err
			}
		}
		seq = list[len(list)-1].Seq
	}
}

// fetch copies a blob.
func (c *Cache) fetch(ctx context.Context, hash, path string) error {
	from, err := c.Store.Get(ctx, hash)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only read
	return c.write(path, from)
}

// Part is the end of the names of files that are being written.
const Part = ".part"

// write writes a file. It appears when it is complete; it is not synced, because it can be fetched
// again.
func (c *Cache) write(path string, from io.Reader) error {
	const usual, part = 0o644, Part
	to, err := c.FS.OpenFile(path+part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, usual)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return errors.Join(fmt.Errorf("fetch %s: %w", filepath.Base(path), err), c.FS.Remove(path+part))
	}
	return c.FS.Rename(path+part, path)
}

// Bounds of Krunctl.
const (
	Longest = 10 * time.Minute
	Memory  = 4 << 20 // KiB
)

// Krunctl runs the program with bounded memory and time, and returns what it printed. What machines
// have shipped is hostile: krunctl reads it, in a process of its own that may fail without harm to
// the hub.
func Krunctl(ctx context.Context, program, dir string, args []string) (string, error) {
	const limited = `ulimit -d "$0" && ulimit -c 0 && exec "$@"`
	argv := append([]string{"sh", "-c", limited, strconv.Itoa(Memory), program}, args...)
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir,
		"GOMEMLIMIT=" + strconv.Itoa(Memory/2) + "KiB"}
	return command.Run(ctx, command.Cmd{Argv: argv, Dir: dir, Env: env, Timeout: Longest})
}

// Reports is the directory in the cache's with reports and comparisons, see [ReportOf].
const Reports = "reports"

// ReportOf names the directory of what was made of experiments; key tells it from others of them.
func ReportOf(experiments []string, key string) string {
	return strings.Join(append(slices.Clone(experiments), key), "-")
}

// A directory that was not used for oldest is removed, and so are those used least recently if all
// have more than MostBytes. One that was used within inUse may be read by krunctl, or by a browser.
const (
	oldest     = 30 * 24 * time.Hour
	inUse      = time.Hour
	sweepEvery = 10 * time.Minute
)

// MostBytes is how large all directories of a cache together become, beside those in use.
var MostBytes int64 = 20 << 30 // a variable for tests

// used is a directory of the cache.
type used struct {
	path  string
	of    []string // experiments
	last  time.Time
	bytes int64
}

// Remove removes the directory of an experiment, and what was made of it.
func (c *Cache) Remove(id string) error {
	all, err := c.list()
	for _, d := range all {
		if slices.Contains(d.of, id) {
			err = errors.Join(err, c.remove(d))
		}
	}
	return err
}

func (c *Cache) remove(d used) error {
	if filepath.Dir(d.path) == filepath.Clean(c.Dir) {
		one := c.lock(d.of[0])
		one.Lock()
		defer one.Unlock()
	}
	if err := os.RemoveAll(d.path); err != nil {
		return fmt.Errorf("remove what was made of experiment %s: %w", strings.Join(d.of, " and "), err)
	}
	return nil
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
		deleted := slices.ContainsFunc(d.of, func(id string) bool {
			_, missing := c.DB.Experiment(ctx, id)
			return errors.Is(missing, database.ErrMissing)
		})
		total += d.bytes
		age := now.Sub(d.last)
		if deleted || age > inUse && (age > oldest || total > MostBytes) {
			total -= d.bytes
			err = errors.Join(err, c.remove(d))
		}
	}
	return err
}

// list returns the directories, those that were used last first.
func (c *Cache) list() (all []used, err error) {
	for _, parent := range []string{c.Dir, filepath.Join(c.Dir, Reports)} {
		entries, err := os.ReadDir(parent)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !e.IsDir() || parent == c.Dir && e.Name() == Reports {
				continue // it was removed, or is none
			}
			d := used{path: filepath.Join(parent, e.Name()), of: []string{e.Name()}, last: info.ModTime()}
			if parent != c.Dir { // work-1 and part-1 are of what is being made
				parts := strings.Split(e.Name(), "-")
				d.of = slices.DeleteFunc(parts[:len(parts)-1],
					func(s string) bool { return s == "work" || s == "part" })
			}
			_ = filepath.WalkDir(d.path, func(_ string, e fs.DirEntry, err error) error {
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
	}
	slices.SortFunc(all, func(a, b used) int { return b.last.Compare(a.last) })
	return all, nil
}

// Package identity defines what a key is: the contents of the files that it runs, and its settings.
//
// [Files] lists the files of a configuration by their names in the machine's fingerprint,
// [Programs] hashes them, an [Edition] is what an experiment measures until a person accepts
// changed files, and [Alike] finds arms that no content and no setting distinguishes. Nothing here
// depends on the boot. Files of the distribution are not listed: the fingerprint covers them with
// the hash of the installed packages. Start reading at [Programs].
package identity

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"krund/internal/durable/foreign"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
)

// Prefix is the prefix of programs in the fingerprint.
const Prefix = "program."

// Programs are files whose content belongs to the machine's fingerprint. A file is read again only
// if its size or modification time has changed.
type Programs struct {
	Files map[string][]string // paths by the name in the fingerprint, without Prefix
	// lists Files anew, because a file may have come or gone; nil: they stay
	List func() map[string][]string

	known map[string]hashed // by path
	late  map[string]bool   // paths that did not answer
}

// hashed is a file at the time when it was read.
type hashed struct {
	size int64
	time time.Time
	hash string
}

// hashTime is the limit for all files together. What is not hashed by then counts as missing.
const hashTime = 10 * time.Minute

// Hashes returns the SHA-256 of every name in Files, with Prefix, if all its files can be read. A
// missing file is the outcome of the executions that need it, and does not affect the others. The
// hash of several files is that of the lines "HASH  NAME", as sha256sum(1) prints them, in their
// order. It ends with ctx, and after ten minutes; a file that does not answer is not asked again.
func (p *Programs) Hashes(ctx context.Context) map[string]string {
	ctx, cancel := foreign.Limited(ctx, hashTime)
	defer cancel()
	hashes := make(map[string]string, len(p.Files))
	for name, paths := range p.Files {
		if hash, err := p.hashAll(ctx, paths); err == nil {
			hashes[Prefix+name] = hash
		}
	}
	return hashes
}

// Read returns what the files contain that the experiment measures, by name with Prefix. A name of
// which a file cannot be read, or does not answer, is missing. The error is that of ctx.
func (p *Programs) Read(ctx context.Context) (map[string]Program, error) {
	if p.List != nil {
		limited, cancel := foreign.Limited(ctx, hashTime)
		defer cancel()
		if files, err := foreign.Within(limited, p.List); err == nil {
			p.Files = files
		}
	}
	programs := map[string]Program{}
	for name, hash := range p.Hashes(ctx) {
		if !Measured(name) {
			continue
		}
		files := map[string]string{}
		for _, path := range p.Files[strings.TrimPrefix(name, Prefix)] {
			files[path] = p.known[path].hash
		}
		programs[name] = Program{hash, files}
	}
	return programs, ctx.Err()
}

func (p *Programs) hashAll(ctx context.Context, paths []string) (string, error) {
	if len(paths) == 1 {
		return p.hash(ctx, paths[0])
	}
	all := sha256.New()
	for _, path := range paths {
		hash, err := p.hash(ctx, path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(all, "%s  %s\n", hash, filepath.Base(path))
	}
	return fmt.Sprintf("%x", all.Sum(nil)), nil
}

func (p *Programs) hash(ctx context.Context, path string) (string, error) {
	if p.known == nil {
		p.known, p.late = map[string]hashed{}, map[string]bool{}
	}
	if p.late[path] {
		return "", foreign.ErrLate
	}
	info, err := foreign.Stat(ctx, path)
	if err == nil {
		known, there := p.known[path]
		if there && known.size == info.Size() && known.time.Equal(info.ModTime()) {
			return known.hash, nil
		}
		known = hashed{size: info.Size(), time: info.ModTime()}
		if known.hash, err = foreign.Hash(ctx, path); err == nil {
			p.known[path] = known
			return known.hash, nil
		}
	}
	p.late[path] = errors.Is(err, foreign.ErrLate)
	return "", err
}

// Twins are two arms that neither the content of files nor a setting distinguishes, for some keys.
// Null arms, which are meant to be copies, are none.
type Twins struct {
	First, Second string // names of the arms, in the order of the configuration
	Keys          int    // for which they are alike
	All           int    // that have both arms
}

// String returns a sentence with a remedy.
func (t Twins) String() string {
	where := fmt.Sprintf("for %d of %d keys", t.Keys, t.All)
	if t.Keys == t.All {
		where = "for every key"
	}
	return fmt.Sprintf("the arms %s and %s have the same files and settings %s: write null = true in one "+
		"if that is meant, correct its paths, or skip it where it does not differ", t.First, t.Second, where)
}

// Alike returns the arms of cfg that are alike. hashes are those of Programs.Hashes, or the
// fingerprint in a record. A program or an entry without a hash is compared by its path.
func Alike(cfg *config.Config, hashes map[string]string) []Twins {
	null := map[string]bool{}
	for _, arm := range cfg.Arms {
		null[arm.Name] = arm.Null || arm.Anchor // which may be the base at first
	}
	var order [][2]string
	alike, all := map[[2]string]int{}, map[[2]string]int{}
	for group := range groups(cfg.Keys()) {
		first := map[string]string{} // arm by identity
		for i, k := range group {
			if null[k.Arm] {
				continue
			}
			for _, before := range group[:i] {
				all[[2]string{before.Arm, k.Arm}]++
			}
			what := describe(cfg, k, hashes) + "\n" + levelOf(cfg, k)
			if _, seen := first[what]; !seen {
				first[what] = k.Arm
				continue
			}
			pair := [2]string{first[what], k.Arm}
			if alike[pair] == 0 {
				order = append(order, pair)
			}
			alike[pair]++
		}
	}
	twins := make([]Twins, len(order))
	for i, pair := range order {
		twins[i] = Twins{pair[0], pair[1], alike[pair], all[pair]}
	}
	return twins
}

// Costs returns the arms that only the level of instrumentation distinguishes, for every key, as
// pairs of names in the order of the configuration. What they differ in is what instrumenting
// costs.
func Costs(cfg *config.Config, hashes map[string]string) [][2]string {
	differ, levels := map[[2]string]bool{}, map[[2]string]bool{}
	for group := range groups(cfg.Keys()) {
		for i, k := range group {
			for _, before := range group[:i] {
				pair := [2]string{before.Arm, k.Arm}
				differ[pair] = differ[pair] || describe(cfg, before, hashes) != describe(cfg, k, hashes)
				levels[pair] = levels[pair] || levelOf(cfg, before) != levelOf(cfg, k)
			}
		}
	}
	var pairs [][2]string
	for i, arm := range cfg.Arms {
		for _, before := range cfg.Arms[:i] {
			if pair := [2]string{before.Name, arm.Name}; levels[pair] && !differ[pair] {
				pairs = append(pairs, pair)
			}
		}
	}
	return pairs
}

// levelOf returns the level of instrumentation of a key of cfg.
func levelOf(cfg *config.Config, k key.Key) string {
	vm, _, _, _ := cfg.Lookup(k) // it is there
	return vm.Instrument
}

// groups yields the keys that differ only in their arm, which are next to each other in keys.
func groups(keys []key.Key) func(yield func([]key.Key) bool) {
	return func(yield func([]key.Key) bool) {
		for from := 0; from < len(keys); {
			end := from + 1
			for end < len(keys) && sameButArm(keys[from], keys[end]) {
				end++
			}
			if !yield(keys[from:end]) {
				return
			}
			from = end
		}
	}
}

func sameButArm(a, b key.Key) bool {
	a.Arm, b.Arm = "", ""
	return a == b
}

// describe returns everything that distinguishes k from the same key in another arm, except for the
// level of instrumentation.
func describe(cfg *config.Config, k key.Key, hashes map[string]string) string {
	vm, _, _, _ := cfg.Lookup(k) // k is a key of cfg
	parts := []string{fmt.Sprintf("%q %q", vm.Args, vm.Env)}
	for _, file := range []struct{ name, path string }{
		{vmName(k), vm.Path}, {vmName(k) + libraryFiles, ""},
		{benchmarkName(k), cfg.EntryPath(k)}, {benchmarkName(k) + otherFiles, ""},
	} {
		what := hashes[Prefix+file.name]
		what = cmp.Or(what, file.path)
		parts = append(parts, what)
	}
	return strings.Join(parts, "\n")
}

// Package identity defines what a key is: the contents of the files that it runs, and its settings.
//
// [Files] lists the files of a configuration by their names in the machine's fingerprint,
// [Programs] hashes them, an [Edition] is what an experiment measures until a person accepts
// changed files, and [Alike] finds arms that no content and no setting distinguishes. Nothing here
// depends on the boot. Files of the distribution are not listed: the fingerprint covers them with
// the hash of the installed packages. Start reading at [Programs].
package identity

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"krund/internal/durable/foreign"
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

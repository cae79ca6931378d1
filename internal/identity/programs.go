// Package identity defines what a key is: the contents of the files that it runs, and its settings.
//
// [Files] lists the files of a configuration by their names in the machine's fingerprint,
// [Programs] hashes them, and [Alike] finds arms that no content and no setting distinguishes.
// Nothing here depends on the boot. Files of the distribution are not listed: the fingerprint
// covers them with the hash of the installed packages.
package identity

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"krund/internal/probe"
)

// Prefix is the prefix of programs in the fingerprint.
const Prefix = "program."

// Programs are files whose content belongs to the machine's fingerprint. A file is read again only
// if its size or modification time has changed.
type Programs struct {
	Files map[string][]string // paths by the name in the fingerprint, without Prefix

	known map[string]hashed // by path
}

// hashed is a file at the time when it was read.
type hashed struct {
	size int64
	time time.Time
	hash string
}

// Hashes returns the SHA-256 of every name in Files, with Prefix, if all its files can be read. A
// missing file is the outcome of the executions that need it, and does not affect the others. The
// hash of several files is that of the lines "HASH  NAME", as sha256sum(1) prints them, in their
// order.
func (p *Programs) Hashes() map[string]string {
	hashes := make(map[string]string, len(p.Files))
	for name, paths := range p.Files {
		if hash, err := p.hashAll(paths); err == nil {
			hashes[Prefix+name] = hash
		}
	}
	return hashes
}

func (p *Programs) hashAll(paths []string) (string, error) {
	if len(paths) == 1 {
		return p.hash(paths[0])
	}
	all := sha256.New()
	for _, path := range paths {
		hash, err := p.hash(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(all, "%s  %s\n", hash, filepath.Base(path))
	}
	return fmt.Sprintf("%x", all.Sum(nil)), nil
}

func (p *Programs) hash(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if known, there := p.known[path]; there && known.size == info.Size() && known.time.Equal(info.ModTime()) {
		return known.hash, nil
	}
	hash, err := probe.HashFile(path)
	if err != nil {
		return "", err
	}
	if p.known == nil {
		p.known = map[string]hashed{}
	}
	p.known[path] = hashed{info.Size(), info.ModTime(), hash}
	return hash, nil
}

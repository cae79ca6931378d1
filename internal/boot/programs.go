package boot

import (
	"os"
	"time"

	"krund/internal/probe"
)

// Programs are files whose content belongs to the machine's fingerprint. A file is read again only
// if its size or modification time has changed.
type Programs struct {
	Files map[string]string // path by the name in the fingerprint, without "program."

	known map[string]hashed // by path
}

// hashed is a file at the time when it was read.
type hashed struct {
	size int64
	time time.Time
	hash string
}

// programPrefix is the prefix of programs in the fingerprint.
const programPrefix = "program."

// Hashes returns the SHA-256 of every readable file, by its name in the fingerprint. A missing file
// is the outcome of the executions that need it, and does not affect the others.
func (p *Programs) Hashes() map[string]string {
	hashes := make(map[string]string, len(p.Files))
	for name, path := range p.Files {
		if hash, err := p.hash(path); err == nil {
			hashes[programPrefix+name] = hash
		}
	}
	return hashes
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

package bundle

import (
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Format is the version of the manifest.
const Format = 1

// The bounds of a bundle.
const (
	MaxFiles    = 20_000
	MaxSize     = 192 << 20 // bytes of all files together
	MaxConfig   = 1 << 20   // bytes of the configuration
	maxPath     = 1024      // bytes of a path
	maxManifest = 16 << 20
	maxBuilds   = 16
	maxWords    = 100      // of a command
	maxCommand  = 16 << 10 // bytes of its words together
	MaxBuild    = 12 * time.Hour
)

// Manifest describes a bundle. It is its first entry, as JSON.
type Manifest struct {
	Format     int      `json:"format"`
	Experiment string   `json:"experiment"` // its name
	Config     string   `json:"config"`     // path of the configuration, one of Files
	Files      []File   `json:"files"`      // by path
	External   []string `json:"external"`   // programs and directories that the machine must have
	Builds     []Build  `json:"builds,omitempty"`
}

// Build is a command that the machine runs once, before the experiment. What it makes of a
// directory takes the place of that directory.
type Build struct {
	Directory string   `json:"directory"` // path of the source, a directory with some of Files
	Command   []string `json:"command"`   // argument vector; see execution.Build
	Seconds   int64    `json:"seconds"`   // how long it may take, up to MaxBuild
}

// File is a regular file of a bundle.
type File struct {
	Path       string `json:"path"` // relative, with slashes
	Size       int64  `json:"size"` // bytes
	SHA256     string `json:"sha256"`
	Executable bool   `json:"executable"`
}

// ErrInvalid is in the errors for a bundle that breaks the rules of the format.
var ErrInvalid = errors.New("not a valid bundle")

// check reports a manifest that breaks a rule. What it accepts can be written below a new directory
// and leads nowhere else.
func (m *Manifest) check() error {
	if m.Format != Format {
		return fmt.Errorf("%w: format %d; this version reads %d", ErrInvalid, m.Format, Format)
	}
	if len(m.Files) > MaxFiles {
		return fmt.Errorf("%w: %d files; at most %d are allowed", ErrInvalid, len(m.Files), MaxFiles)
	}
	total, last, config := int64(0), "", false
	taken := map[string]bool{} // directories
	for i, f := range m.Files {
		if err := checkPath(f.Path); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		if i > 0 && f.Path <= last {
			return fmt.Errorf("%w: %q is not after %q", ErrInvalid, f.Path, last)
		}
		last = f.Path
		if hash, err := hex.DecodeString(f.SHA256); err != nil || len(hash) != 32 {
			return fmt.Errorf("%w: %q has no SHA-256", ErrInvalid, f.Path)
		}
		if f.Size < 0 || f.Size > MaxSize-total {
			return fmt.Errorf("%w: its files have more than %d bytes", ErrInvalid, int64(MaxSize))
		}
		total += f.Size
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			taken[dir] = true
		}
		config = config || f.Path == m.Config
	}
	for _, f := range m.Files {
		if taken[f.Path] {
			return fmt.Errorf("%w: %q is a file and a directory", ErrInvalid, f.Path)
		}
	}
	if !config || !strings.HasSuffix(m.Config, ".toml") {
		return fmt.Errorf("%w: its configuration %q is not among its files", ErrInvalid, m.Config)
	}
	return m.checkBuilds(taken)
}

// checkBuilds reports a build that breaks a rule; directories are all that have files.
func (m *Manifest) checkBuilds(directories map[string]bool) error {
	if len(m.Builds) > maxBuilds {
		return fmt.Errorf("%w: %d builds; at most %d are allowed", ErrInvalid, len(m.Builds), maxBuilds)
	}
	for i, b := range m.Builds {
		size := 0
		for _, word := range b.Command {
			size += len(word)
		}
		inside := func(o Build) bool { return strings.HasPrefix(b.Directory+"/", o.Directory+"/") }
		switch {
		case !directories[b.Directory] || strings.HasPrefix(m.Config, b.Directory+"/"):
			return fmt.Errorf("%w: it builds %q, which is no directory of files beside its configuration",
				ErrInvalid, b.Directory)
		case i > 0 && b.Directory <= m.Builds[i-1].Directory || slices.ContainsFunc(m.Builds[:i], inside):
			return fmt.Errorf("%w: it builds %q and %q", ErrInvalid, m.Builds[i-1].Directory, b.Directory)
		case len(b.Command) == 0 || len(b.Command) > maxWords || size > maxCommand ||
			b.Command[0] == "" || strings.Contains(strings.Join(b.Command, ""), "\x00"):
			return fmt.Errorf("%w: the build of %q has no command of 1 to %d words", ErrInvalid, b.Directory,
				maxWords)
		case b.Seconds < 1 || b.Seconds > int64(MaxBuild/time.Second):
			return fmt.Errorf("%w: the build of %q has %d seconds", ErrInvalid, b.Directory, b.Seconds)
		}
	}
	return nil
}

// checkPath reports a path that is not that of a file below a directory, or that could be taken for
// a file of krund: a journal in an experiment's directory says what root restores.
func checkPath(name string) error {
	odd := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	switch {
	case name == "" || len(name) > maxPath:
		return fmt.Errorf("a path has %d bytes; 1 to %d are allowed", len(name), maxPath)
	case strings.ContainsFunc(name, odd) || strings.Contains(name, "\\"):
		return fmt.Errorf("the path %q has characters that are not allowed", name)
	case path.Clean(name) != name || name == "." || !isLocal(name):
		return fmt.Errorf("the path %q leads outside", name)
	}
	for _, part := range strings.Split(name, "/") {
		if len(part) > 255 || strings.HasSuffix(part, ".krun") {
			return fmt.Errorf("the path %q has the part %q, which is not allowed", name, part)
		}
	}
	return nil
}

// isLocal reports whether a clean path remains below its directory.
func isLocal(name string) bool {
	return !path.IsAbs(name) && name != ".." && !strings.HasPrefix(name, "../")
}

// Hash returns the SHA-256 of a file; "" if there is none of this path.
func (m *Manifest) Hash(name string) string {
	for _, f := range m.Files {
		if f.Path == name {
			return f.SHA256
		}
	}
	return ""
}

package rig

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Payload is a set of files to unpack over the guest's disk before systemd starts. The zero value
// is empty. Paths are absolute in the guest; missing directories are created; adding a path again
// replaces the previous file. All files belong to root.
type Payload struct {
	entries map[string]payloadEntry
}

type payloadEntry struct {
	mode   fs.FileMode
	data   []byte
	target string // symbolic link if not empty
}

func (p *Payload) set(name string, e payloadEntry) {
	if p.entries == nil {
		p.entries = make(map[string]payloadEntry)
	}
	p.entries[path.Clean("/"+name)] = e
}

// File adds a file.
func (p *Payload) File(name string, mode fs.FileMode, data []byte) {
	p.set(name, payloadEntry{mode: mode.Perm(), data: data})
}

// Text adds a file that all users can read.
func (p *Payload) Text(name, text string) { p.File(name, 0o644, []byte(text)) }

// Script adds a file that all users can run.
func (p *Payload) Script(name, text string) { p.File(name, 0o755, []byte(text)) }

// Link adds a symbolic link to target.
func (p *Payload) Link(name, target string) { p.set(name, payloadEntry{target: target}) }

// Unit adds a systemd unit, wanted by the given units; without them it is only installed.
func (p *Payload) Unit(name, text string, wantedBy ...string) {
	p.Text("/etc/systemd/system/"+name, text)
	for _, by := range wantedBy {
		p.Link("/etc/systemd/system/"+by+".wants/"+name, "../"+name)
	}
}

// Copy adds a file of the host, with its permissions.
func (p *Payload) Copy(name, hostFile string) error {
	data, err := os.ReadFile(hostFile)
	if err != nil {
		return fmt.Errorf("take %s into the payload: %w", name, err)
	}
	info, err := os.Stat(hostFile)
	if err != nil {
		return fmt.Errorf("take %s into the payload: %w", name, err)
	}
	p.File(name, info.Mode(), data)
	return nil
}

// Tree adds everything below a directory of the host under a directory of the guest: files with
// their permissions, and symbolic links.
func (p *Payload) Tree(name, hostDir string) error {
	return filepath.WalkDir(hostDir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(hostDir, file)
		if err != nil {
			return err
		}
		to := path.Join(name, filepath.ToSlash(rel))
		switch {
		case d.Type().IsRegular():
			return p.Copy(to, file)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(file)
			p.Link(to, target)
			return err
		}
		return nil
	})
}

// Merge adds all of q.
func (p *Payload) Merge(q *Payload) {
	for name, e := range q.entries {
		p.set(name, e)
	}
}

// empty reports whether there is nothing to unpack; a nil payload is empty.
func (p *Payload) empty() bool { return p == nil || len(p.entries) == 0 }

// payloadTime is the modification time of all files. It is fixed, so that the same files yield the
// same bytes.
var payloadTime = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// writeTar writes the archive that the initrd unpacks, sorted by name. Names too long for the tar
// format use the GNU extension, which busybox supports.
func (p *Payload) writeTar(w io.Writer) error {
	out := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(p.entries)) {
		e := p.entries[name]
		h := &tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: int64(e.mode), Size: int64(len(e.data)),
			ModTime: payloadTime, Typeflag: tar.TypeReg, Format: tar.FormatGNU}
		if e.target != "" {
			h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, e.target, 0o777
		}
		if err := out.WriteHeader(h); err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
		if _, err := out.Write(e.data); err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
	}
	return out.Close()
}

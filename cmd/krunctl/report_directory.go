package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"krund/internal/durable"
)

// pagesDirectory makes the files of a report. Each has another name until all are complete, so that the report that was there before is whole until then. What
// belongs to a report is in its manifest; nothing else is ever removed. A report is made again after a crash, so nothing is synced.
type pagesDirectory struct {
	fsys    durable.FS
	dir     string
	written []pageFile
}

// pageFile is a line of the manifest.
type pageFile struct {
	sum  string // SHA-256 of the content, hexadecimal
	name string // relative, with slashes
}

const (
	manifestName = "files.sha256"  // as sha256sum writes it
	unfinished   = ".krunctl-part" // behind the name of a file until all are complete
)

// reportDirectories is where reports have their files, beside index.html.
var reportDirectories = []string{".", "assets", "data", "keys", "plots"}

func newPagesDirectory(fsys durable.FS, dir string) *pagesDirectory {
	return &pagesDirectory{fsys: fsys, dir: dir}
}

// Create makes a file, and its directory.
func (p *pagesDirectory) Create(name string) (io.WriteCloser, error) {
	f, err := createIn(p.fsys, p.path(name)+unfinished)
	if err != nil {
		return nil, err
	}
	return &page{File: f, sum: sha256.New(), done: func(sum string) { p.written = append(p.written, pageFile{sum, name}) }}, nil
}

// page is a file that is being written.
type page struct {
	durable.File
	sum  hash.Hash
	done func(sum string)
}

func (f *page) Write(text []byte) (int, error) {
	n, err := f.File.Write(text)
	f.sum.Write(text[:n])
	return n, err
}

func (f *page) Close() error {
	err := f.File.Close()
	if err == nil {
		f.done(hex.EncodeToString(f.sum.Sum(nil)))
	}
	return err
}

func (p *pagesDirectory) path(name string) string {
	return filepath.Join(p.dir, filepath.FromSlash(name))
}

// finish puts the report in the place of the one before. Whenever it is interrupted the manifest has all that is there, so that the next report can clear up.
func (p *pagesDirectory) finish() error {
	before, err := p.manifest()
	if err != nil {
		return err
	}
	for _, f := range p.written {
		if err := p.replaceable(f); err != nil {
			return err
		}
	}
	if err := p.writeManifest(slices.Concat(before, p.written)); err != nil {
		return err
	}
	now := map[string]bool{}
	for _, f := range p.written { // index.html is the last one
		now[f.name] = true
		if err := p.fsys.Rename(p.path(f.name)+unfinished, p.path(f.name)); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	for _, f := range before {
		if now[f.name] {
			continue
		}
		if err := p.removeStale(f); err != nil {
			return err
		}
	}
	return errors.Join(p.writeManifest(p.written), p.sweep())
}

// replaceable refuses to put a page in the place of what cannot be one.
func (p *pagesDirectory) replaceable(f pageFile) error {
	info, err := p.fsys.Lstat(p.path(f.name))
	if err != nil || info.Mode().IsRegular() {
		return nil //nolint:nilerr // it is not there, or the renaming tells the same error
	}
	return fmt.Errorf("write the report: %s is %s, not a page of krunctl's; move it away", p.path(f.name),
		durable.Describe(info.Mode()))
}

// manifest reads which files are a report's. What else may be in it is passed over.
func (p *pagesDirectory) manifest() ([]pageFile, error) {
	text, err := durable.ReadFile(p.fsys, p.path(manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what the report before has written: %w", err)
	}
	var files []pageFile
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if ok && filepath.IsLocal(filepath.FromSlash(name)) && slices.Contains(reportDirectories, filepath.ToSlash(filepath.Dir(name))) {
			files = append(files, pageFile{sum, name})
		}
	}
	return files, nil
}

func (p *pagesDirectory) writeManifest(files []pageFile) error {
	var text strings.Builder
	for _, f := range files {
		fmt.Fprintf(&text, "%s  %s\n", f.sum, f.name)
	}
	if err := durable.WriteFile(p.fsys, p.path(manifestName), []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// removeStale removes a file that the new report does not have, unless it is not there, or not as the old one had it.
func (p *pagesDirectory) removeStale(f pageFile) error {
	path := p.path(f.name)
	info, err := p.fsys.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	var text []byte
	if err == nil {
		text, err = durable.ReadFile(p.fsys, path)
	}
	if sum := sha256.Sum256(text); err == nil && hex.EncodeToString(sum[:]) == f.sum {
		err = p.fsys.Remove(path)
	}
	if err != nil {
		return fmt.Errorf("remove what is left of the report before: %w", err)
	}
	return nil
}

// sweep removes what a report that was not finished has left, this one or one that was interrupted.
func (p *pagesDirectory) sweep() error {
	var problems []error
	for _, name := range reportDirectories {
		entries, err := p.fsys.ReadDir(p.path(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), unfinished) && e.Type().IsRegular() {
				problems = append(problems, p.fsys.Remove(filepath.Join(p.path(name), e.Name())))
			}
		}
	}
	return errors.Join(problems...)
}

// createIn makes a file in a directory, which is made if need be.
func createIn(fsys durable.FS, file string) (durable.File, error) {
	if err := makeDirectory(fsys, filepath.Dir(file)); err != nil {
		return nil, err
	}
	return fsys.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
}

func makeDirectory(fsys durable.FS, dir string) error {
	const usual = 0o755
	err := fsys.Mkdir(dir, usual)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) && strings.Contains(dir, string(filepath.Separator)) {
		if err := makeDirectory(fsys, filepath.Dir(dir)); err != nil {
			return err
		}
		err = fsys.Mkdir(dir, usual)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

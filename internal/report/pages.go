package report

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"krund/internal/durable"
)

// pageDirectory writes the files of a report. Each has a temporary name until all are complete, so
// that the previous report stays intact until then. The manifest lists the files of a report;
// nothing else is ever removed. Files are not synced, because a report can be made again after a
// crash.
type pageDirectory struct {
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
	unfinished   = ".krunctl-part" // suffix of file names until all are complete
)

// reportDirectories are the directories of a report's files, beside index.html.
var reportDirectories = []string{".", "assets", "data", "keys", "plots"}

// WriteSite writes a report into a directory. It replaces an existing report when the new one is
// complete: files that only the old one has are removed, and nothing else.
func WriteSite(fsys durable.FS, dir string, in Material) (Size, error) {
	if err := mayWrite(fsys, dir); err != nil {
		return Size{}, err
	}
	p := &pageDirectory{fsys: fsys, dir: dir}
	size, err := Site(p.put, in)
	if err == nil {
		err = p.finish()
	}
	if err != nil {
		return size, errors.Join(err, p.sweep())
	}
	return size, nil
}

// generator marks pages of reports, which a new report may replace.
const generator = `<meta name="generator" content="krunctl">`

// mayWrite returns an error when the directory has an index.html that krunctl did not write.
func mayWrite(fsys durable.FS, dir string) error {
	name := filepath.Join(dir, "index.html")
	text, err := durable.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if !strings.Contains(string(text), generator) {
		return fmt.Errorf("%s is not a page of krunctl; choose another directory with -o", name)
	}
	return nil
}

// put writes a file under its temporary name.
func (p *pageDirectory) put(name string, content []byte) error {
	file := p.path(name) + unfinished
	if err := durable.MkdirAll(p.fsys, filepath.Dir(file)); err != nil {
		return err
	}
	const usual = 0o644
	f, err := p.fsys.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, usual)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	sum := sha256.Sum256(content)
	p.written = append(p.written, pageFile{hex.EncodeToString(sum[:]), name})
	return errors.Join(err, f.Close())
}

func (p *pageDirectory) path(name string) string {
	return filepath.Join(p.dir, filepath.FromSlash(name))
}

// finish replaces the previous report. If it is interrupted, the manifest still lists all existing
// files, so that the next report can remove them.
func (p *pageDirectory) finish() error {
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
	for _, f := range p.written { // index.html comes last
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

// replaceable returns an error when a file is not a page of krunctl.
func (p *pageDirectory) replaceable(f pageFile) error {
	info, err := p.fsys.Lstat(p.path(f.name))
	if err != nil || info.Mode().IsRegular() {
		return nil //nolint:nilerr // it does not exist, or renaming reports the same error
	}
	return fmt.Errorf("write the report: %s is %s, not a page of krunctl's; move it away", p.path(f.name),
		durable.Describe(info.Mode()))
}

// manifest reads the list of a report's files, and ignores other lines.
func (p *pageDirectory) manifest() ([]pageFile, error) {
	text, err := durable.ReadFile(p.fsys, p.path(manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the file list of the previous report: %w", err)
	}
	var files []pageFile
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if ok && filepath.IsLocal(filepath.FromSlash(name)) &&
			slices.Contains(reportDirectories, filepath.ToSlash(filepath.Dir(name))) {
			files = append(files, pageFile{sum, name})
		}
	}
	return files, nil
}

func (p *pageDirectory) writeManifest(files []pageFile) error {
	var text strings.Builder
	for _, f := range files {
		fmt.Fprintf(&text, "%s  %s\n", f.sum, f.name)
	}
	if err := durable.WriteFile(p.fsys, p.path(manifestName), []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// removeStale removes a file that only the previous report has, unless its content has changed.
func (p *pageDirectory) removeStale(f pageFile) error {
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
		return fmt.Errorf("remove the previous report's files: %w", err)
	}
	return nil
}

// sweep removes the temporary files of unfinished reports, this one or an interrupted one.
func (p *pageDirectory) sweep() error {
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

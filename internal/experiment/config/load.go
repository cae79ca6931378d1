package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"krund/internal/durable/foreign"
	"krund/internal/durable/trust"
	"krund/internal/experiment/config/setting"
)

// Load is Open for an experiment that has not started. It also checks what only its start needs:
// that the files named by the configuration exist, that only root can change what it makes root
// run, and that no demand is without effect.
func Load(path, hostname string, settings []setting.Descriptor) (*Config, error) {
	c, found, err := open(path, hostname, settings)
	if err != nil {
		return nil, err
	}
	if c != nil {
		c.checkStart(found)
		c.checkFiles(found)
	}
	if err := found.errors(); err != nil {
		return nil, err
	}
	return c, nil
}

// Open reads the file at path as Stored reads its text. The file is opened once: what is read is
// what Trusted judges. Errors: Errors when the configuration is wrong, fs.ErrNotExist, ErrNotFile,
// and those of the file system.
func Open(path, hostname string, settings []setting.Descriptor) (*Config, error) {
	c, found, err := open(path, hostname, settings)
	if err != nil {
		return nil, err
	}
	if err := found.errors(); err != nil {
		return nil, err
	}
	return c, nil
}

func open(path, hostname string, settings []setting.Descriptor) (*Config, *problems, error) {
	if err := foreign.Check(path); errors.Is(err, foreign.ErrKernel) { // reading it may never end
		return nil, nil, fmt.Errorf("configuration: %s is %w; name an experiment's TOML file", path,
			foreign.ErrKernel)
	}
	file, verdict, err := trust.Open(path)
	if errors.Is(err, trust.ErrNotFile) {
		return nil, nil, fmt.Errorf("configuration: %s is %w", path, ErrNotFile)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("configuration: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxText+1)) // one byte too many is enough to reject it
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, nil, fmt.Errorf("configuration: %w", err)
	}
	unread := &problems{file: path}
	text = expand(path, text, unread)
	c, found := parse(path, text, hostname, settings)
	if c != nil {
		c.verdict = verdict
	}
	if len(unread.list) > 0 { // what else is wrong follows from it
		found = unread
	}
	return c, found, nil
}

// ErrNotFile is the error if the configuration is a directory, pipe or device.
var ErrNotFile = errors.New("not a regular file; name an experiment's TOML file")

// Parse is Stored for an experiment that has not started. It also refuses demands that have no
// effect.
func Parse(path string, text []byte, hostname string, settings []setting.Descriptor) (*Config, error) {
	c, found := parse(path, text, hostname, settings)
	if c != nil {
		c.checkStart(found)
	}
	if err := found.errors(); err != nil {
		return nil, err
	}
	return c, nil
}

// Stored reads the text of a configuration that an experiment was started with, for the machine
// called hostname. [controls] can name the given settings, and Config.Controls has all of them. It
// accesses no files: path is for messages, for the default name and for resolving relative paths.
// The error is Errors.
//
// A later krund must be able to read what an earlier one accepted: a new rule that refuses a
// configuration belongs into checkStart, unless no experiment can have run without it.
func Stored(path string, text []byte, hostname string, settings []setting.Descriptor) (*Config, error) {
	c, found := parse(path, text, hostname, settings)
	if err := found.errors(); err != nil {
		return nil, err
	}
	return c, nil
}

// parse reads as much as can be read; the Config is nil when that is nothing,
// and wrong where problems were found.
func parse(path string, text []byte, hostname string, settings []setting.Descriptor) (*Config, *problems) {
	found := &problems{file: path}
	absolute, err := filepath.Abs(path)
	if err != nil {
		found.add(1, "the working directory is gone: "+err.Error(),
			"cd to a directory that exists, or give an absolute path")
		return nil, found
	}
	root, problem := decode(string(text))
	if problem != nil {
		found.add(problem.Line, problem.What, problem.Fix)
		return nil, found
	}
	c := read(root, hostname, settings, found)
	c.near, c.settings = map[string]bool{}, settings
	sum := sha256.Sum256(text)
	c.Path, c.shown, c.Hostname = absolute, path, hostname
	c.Text, c.Hash = string(text), hex.EncodeToString(sum[:])
	c.resolve(found)
	c.check(root, found)
	return c, found
}

// read reads the base and each machine's section alone, so that mistakes in
// sections of other machines are found, too, and then all that are for
// hostname as one.
func read(root *node, hostname string, settings []setting.Descriptor, found *problems) *Config {
	base, machines := layers(root, found)
	if len(machines) > 0 {
		newReader(found, settings, true).config(base)
	}
	for _, m := range machines {
		newReader(found, settings, true).config(m.node)
	}
	return newReader(found, settings, false).config(mergedFor(hostname, base, machines))
}

// mergedFor returns the base with the sections for a machine merged in.
func mergedFor(hostname string, base *node, machines []machine) *node {
	for _, m := range machines {
		if m.matches(hostname) {
			base = merge(base, m.node)
		}
	}
	return base
}

// machinesSection contains sections that override the base, per hostname pattern.
const machinesSection = "machines"

// A machine holds the sections for the hosts that pattern matches.
type machine struct {
	pattern string
	node    *node
}

func (m machine) matches(hostname string) bool {
	ok, err := path.Match(strings.ToLower(m.pattern), strings.ToLower(hostname))
	return err == nil && ok
}

// layers splits the tree into the base and the machine sections, in file order.
func layers(root *node, found *problems) (*node, []machine) {
	all := root.child(machinesSection)
	if all == nil {
		return root, nil
	}
	base := *root
	base.table = make(map[string]*node, len(root.table))
	for name, child := range root.table {
		if name != machinesSection {
			base.table[name] = child
		}
	}
	if all.table == nil {
		found.add(all.line, machinesSection+" is "+all.describe(),
			`make it tables, such as [machines."lab*".limits]`)
		return &base, nil
	}
	var machines []machine
	for _, pattern := range all.names() {
		n := all.table[pattern]
		at := join(machinesSection, pattern)
		if n.table == nil {
			found.add(n.line, at+" is "+n.describe(), "make it tables, such as ["+at+".limits]")
			continue
		}
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			found.add(n.line, at+" is not a glob pattern of hostnames",
				`write one, such as [machines."lab*".limits]`)
			continue
		}
		if inner := n.child(machinesSection); inner != nil {
			found.add(inner.line, at+" has machines of its own", "move them out")
		}
		machines = append(machines, machine{pattern: pattern, node: n})
	}
	return &base, machines
}

// resolve fills in the values that depend on the location of the file.
func (c *Config) resolve(found *problems) {
	e := &c.Experiment
	if e.Name == "" {
		e.Name = strings.TrimSuffix(filepath.Base(c.Path), ".toml")
		found.checkName(c.lines.of("experiment"), "experiment.name, by default the file's", e.Name)
	}
	e.Benchmarks = c.relative(e.Benchmarks)
	for _, v := range c.Variants {
		if v.Suite != nil && v.Suite.Path != "" {
			v.Suite.Path = c.relative(v.Suite.Path)
		}
	}
	for i := range c.VMs {
		c.VMs[i].Path = c.program(c.VMs[i].Path)
	}
	for i := range c.Arms {
		if arm := &c.Arms[i]; arm.Benchmarks != "" {
			arm.Benchmarks = c.relative(arm.Benchmarks)
		}
		for j := range c.Arms[i].VMs {
			c.Arms[i].VMs[j].Path = c.program(c.Arms[i].VMs[j].Path)
		}
	}
	for _, commands := range [][][]string{c.Hooks.Before, c.Hooks.After, {c.Notify.Command, e.Relink}} {
		for _, argv := range commands {
			if len(argv) > 0 {
				argv[0] = c.program(argv[0])
			}
		}
	}
	c.Notify.Sendmail = c.program(c.Notify.Sendmail)
}

// relative makes a path absolute. Relative paths are relative to the file's directory.
func (c *Config) relative(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	name = filepath.Join(filepath.Dir(c.Path), name)
	c.near[name] = true
	return name
}

// program is relative for a program name that contains a slash. Bare names are left to LookPath.
func (c *Config) program(name string) string {
	if !strings.Contains(name, "/") {
		return name
	}
	return c.relative(name)
}

package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"krund/internal/durable/foreign"
	"krund/internal/durable/trust"
	"krund/internal/experiment/key"
)

// SearchPath is the PATH of every process that krund starts. Bare program names are looked up in
// it, regardless of krund's own PATH.
const SearchPath = "/usr/local/bin:/usr/bin:/bin"

// LookPath returns the absolute path of a program: name itself if it contains a slash, otherwise
// the first match in SearchPath. The error says what to do.
func LookPath(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, checkProgram(name)
	}
	for dir := range strings.SplitSeq(SearchPath, ":") {
		full := filepath.Join(dir, name)
		if checkProgram(full) == nil {
			return full, nil
		}
	}
	return "", fmt.Errorf("there is no program %s in %s; install it or write its path", name, SearchPath)
}

// checkProgram returns an error unless name is an executable file.
func checkProgram(name string) error {
	info, err := foreign.Stat(context.Background(), name)
	if err != nil {
		return fmt.Errorf("%s cannot be found (%w); install it or correct the path", name, cause(err))
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; write the path of a program", name)
	}
	if errors.Is(foreign.Check(name), foreign.ErrKernel) {
		return fmt.Errorf("%s is %w; write the path of a program", name, foreign.ErrKernel)
	}
	if info.Mode().Perm()&0o111 == 0 {
		return fmt.Errorf("%s is not executable; chmod +x it, or correct the path", name)
	}
	return nil
}

// cause returns err without the operation and path of a fs.PathError.
func cause(err error) error {
	if pathErr, is := errors.AsType[*fs.PathError](err); is {
		return pathErr.Err
	}
	return err
}

// checkFiles checks that the files that the configuration names exist: the program of each VM that
// is not skipped, the entry file of each key, and the programs of experiment.relink, hooks and
// notifications (sendmail only if mail is configured). It adds its problems to those found by
// parsing, and omits consequences of the latter.
func (c *Config) checkFiles(found *problems) {
	c.checkTrust(found)
	c.checkUnits(found)
	if !c.doubtful["experiment.skip"] {
		c.checkVMs(found)
		c.checkEntryFiles(found)
	}
	for i, argv := range c.Hooks.Before {
		c.checkCommand(fmt.Sprintf("hooks.before[%d]", i), argv, found)
	}
	for i, argv := range c.Hooks.After {
		c.checkCommand(fmt.Sprintf("hooks.after[%d]", i), argv, found)
	}
	c.checkCommand("notify.command", c.Notify.Command, found)
	if argv := c.Experiment.Relink; len(argv) > 0 { // it never runs as root: anyone may own it
		if _, err := LookPath(argv[0]); err != nil {
			found.addError(c.lines.of("experiment.relink"), "experiment.relink", err)
		}
	}
	if len(c.Notify.Mail) > 0 && c.Notify.MaxMails > 0 && !c.doubtful["notify.sendmail"] {
		c.checkCommand("notify.sendmail", []string{c.Notify.Sendmail}, found)
	}
}

// checkUnits rejects limits without a unit that are much too small, if numbers of KiB were copied
// from a configuration of Krun. It is not done for an experiment that has begun.
func (c *Config) checkUnits(found *problems) {
	const leastHeap, leastStack = 64 << 20, 64 << 10 // no VM starts with less
	for _, limit := range []struct {
		at           string
		bytes, least int64
	}{{"limits.heap", c.Limits.Heap, leastHeap}, {"limits.stack", c.Limits.Stack, leastStack}} {
		if limit.bytes == 0 || limit.bytes >= limit.least || !c.unitless[limit.at] {
			continue
		}
		found.add(c.lines.of(limit.at), fmt.Sprintf("%s is %d bytes (%s), too little for most programs to "+
			"start", limit.at, limit.bytes, FormatSize(limit.bytes)),
			fmt.Sprintf("write it with its unit: %q if it comes from Krun, which counts KiB, or %q",
				FormatSize(limit.bytes<<10), FormatSize(limit.bytes)))
	}
}

// checkTrust rejects a configuration that other users can change, because its commands run as root.
func (c *Config) checkTrust(found *problems) {
	if err := c.Trusted(c.Experiment.Reboot); err != nil {
		found.addError(1, "this file", err)
	}
}

// Trusted returns an error if other users could change the configuration that was opened at Path.
// If krund takes over the machine at every boot (RebootHardware), only root may be able to change
// it; if a person starts krund by hand, root and one other user may. For users other than root, the
// result is always nil.
func (c *Config) Trusted(reboot string) error { return Rule(reboot)(c.verdict) }

// Rule returns the trust rule that applies to what root runs for a configuration with this reboot
// mode.
func Rule(reboot string) func(trust.Verdict) error {
	if Restarts(reboot) {
		return trust.Verdict.RootOnly
	}
	return trust.Verdict.OneOwner
}

// checkCommand checks a program that krund itself runs. An empty command means that there is none,
// or that the problem is already reported.
func (c *Config) checkCommand(at string, argv []string, found *problems) {
	if len(argv) == 0 {
		return
	}
	line := c.lines.of(at, "notify.mail") // line of the default sendmail
	full, err := LookPath(argv[0])
	if err != nil {
		found.addError(line, at, err)
		return
	}
	verdict, err := trust.Look(full)
	if err == nil {
		err = Rule(c.Experiment.Reboot)(verdict)
	}
	if err != nil {
		found.addError(line, at, err)
	}
}

// checkVMs reports each missing program once, at its VM or its arm.
func (c *Config) checkVMs(found *problems) {
	for _, k := range c.keys {
		vm, _, _, err := c.Lookup(k)
		if err != nil || vm.Path == "" {
			continue
		}
		if _, err := LookPath(vm.Path); err != nil {
			at := c.pathKey(k, vm.Path)
			found.addError(c.lines.of(at+".path", at), at+".path", fmt.Errorf("%w%s", err, c.leaveOut(vm)))
		}
	}
}

// leaveOut ends a message with how to run the experiment on a machine that lacks one of its VMs.
func (c *Config) leaveOut(vm VM) string {
	if len(c.VMs) == 1 {
		return ""
	}
	return fmt.Sprintf(", or leave the VM out: skip = [\"*:%s:*\"] in [experiment]", vm.Name)
}

// pathKey returns the section that set the path of k's VM.
func (c *Config) pathKey(k key.Key, path string) string {
	arm, _ := c.arm(k) // k is a key of this configuration
	at := join("vms", k.VM)
	for _, o := range arm.VMs {
		switch {
		case o.Path != path:
		case o.VM == "":
			at = arm.section()
		case o.VM == k.VM:
			at = join(arm.section()+".vms", k.VM)
		}
	}
	return at
}

// checkEntryFiles reports each missing file once, at its benchmark; if a VM has none of several, it
// reports that once, at the VM; if the directory of all benchmarks is missing, only that. If the
// VM's program is missing, its files do not matter.
func (c *Config) checkEntryFiles(found *problems) {
	if c.withoutBenchmarks(found) {
		return
	}
	seen, without := map[string]bool{}, map[string]bool{} // files, and VMs
	for _, k := range c.keys {
		vm, variant, _, err := c.Lookup(k)
		name := c.EntryPath(k)
		if err != nil || c.doubtsEntry(variant) || name == "" || !vm.NeedsEntry() || seen[name] {
			continue
		}
		seen[name] = true
		if _, looked := without[vm.Name]; !looked {
			without[vm.Name] = c.withoutFiles(vm, variant, found)
		}
		if without[vm.Name] {
			continue
		}
		info, err := foreign.Stat(context.Background(), name)
		at := join("benchmarks", k.Benchmark)
		switch {
		case err != nil:
			found.add(c.lines.of(at), fmt.Sprintf("%s needs the file %s (%v)", k, name, cause(err)),
				missingEntry(vm, variant, "build the benchmark, or skip the key"))
		case !info.Mode().IsRegular():
			found.add(c.lines.of(at), fmt.Sprintf("%s needs the file %s, which is not a regular file", k,
				name), "correct the variant's entry and subfolder, or skip the key")
		case errors.Is(foreign.Check(name), foreign.ErrKernel):
			found.add(c.lines.of(at), fmt.Sprintf("%s needs the file %s, which is %v", k, name,
				foreign.ErrKernel), "correct the variant's entry and subfolder, or skip the key")
		}
	}
}

// withoutFiles reports whether a VM has none of the files of its benchmarks, and reports that as a
// mistake, unless its program is missing, too. A single file is not its business.
func (c *Config) withoutFiles(vm VM, v Variant, found *problems) bool {
	files := c.entryFiles(vm.Name)
	if slices.ContainsFunc(files, exists) {
		return false
	}
	if _, err := LookPath(vm.Path); vm.Path != "" && err != nil {
		return true
	}
	if len(files) == 1 {
		return false
	}
	found.add(c.lines.of(join("vms", vm.Name)),
		fmt.Sprintf("none of the %d files of %s's benchmarks exists, such as %s", len(files), vm.Name,
			files[0]),
		missingEntry(vm, v, "build them"+c.leaveOut(vm)))
	return true
}

// entryFiles returns the files of the benchmarks of a VM's keys, each once.
func (c *Config) entryFiles(vm string) []string {
	var files []string
	for _, k := range c.keys {
		if name := c.EntryPath(k); k.VM == vm && name != "" && !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	return files
}

func exists(name string) bool {
	_, err := foreign.Stat(context.Background(), name)
	return !errors.Is(err, fs.ErrNotExist)
}

// withoutBenchmarks reports whether the directory of the benchmarks, which a key needs, does not
// exist, and reports that as a mistake.
func (c *Config) withoutBenchmarks(found *problems) bool {
	dir := c.Experiment.Benchmarks
	needed := slices.ContainsFunc(c.keys, func(k key.Key) bool {
		vm, v, _, err := c.Lookup(k)
		return err == nil && v.Suite == nil && vm.Runner != RunnerExternal && c.EntryPath(k) != "" &&
			c.benchmarksOf(k) == dir
	})
	info, err := foreign.Stat(context.Background(), dir)
	if !needed || c.doubtful["experiment.benchmarks"] || err == nil && info.IsDir() {
		return false
	}
	what := "not a directory"
	if err != nil {
		what = cause(err).Error()
	}
	found.add(c.lines.of("experiment.benchmarks", "experiment", "benchmarks"),
		fmt.Sprintf("the directory of the benchmarks is %s (%s)", dir, what),
		`write where it is in [experiment], such as benchmarks = "../benchmarks"; a relative path begins at `+
			"the directory of this file")
	return true
}

// missingEntry returns what to do about a missing entry file, which is otherwise if its name is
// right.
func missingEntry(vm VM, v Variant, otherwise string) string {
	if vm.Runner == "java" && !strings.HasSuffix(v.Entry, ".class") {
		return fmt.Sprintf("write entry = %q in [%s], the compiled class, and compile it with javac",
			strings.TrimSuffix(v.Entry, ".java")+".class", join("variants", v.Name))
	}
	return otherwise
}

// doubtsEntry reports whether the path of a variant's files may differ from what the configuration
// means.
func (c *Config) doubtsEntry(v Variant) bool {
	at := join("variants", v.Name)
	return c.doubtful["experiment.benchmarks"] || c.doubtful[at+".entry"] || c.doubtful[at+".subfolder"]
}

// Needs returns the programs and directories that the keys, hooks and notifications need, each
// once: absolute paths, and bare names of programs. Commands and suites may do without a directory
// of benchmarks.
func (c *Config) Needs() []string {
	var list []string
	add := func(name string) {
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for _, k := range c.keys {
		if vm, v, _, err := c.Lookup(k); err == nil {
			add(vm.Path)
			dir := c.benchmarksOf(k)
			if v.Suite != nil {
				dir = v.Suite.Path
			}
			if _, err := foreign.Stat(context.Background(), dir); err == nil || vm.NeedsEntry() {
				add(dir)
			}
		}
	}
	commands := slices.Concat(c.Hooks.Before, c.Hooks.After, [][]string{c.Notify.Command,
		c.Experiment.Relink})
	if len(c.Notify.Mail) > 0 {
		commands = append(commands, []string{c.Notify.Sendmail})
	}
	for _, argv := range commands {
		if len(argv) > 0 {
			add(argv[0])
		}
	}
	return list
}

// Relative reports whether the configuration names an absolute path of Needs relative to its file.
func (c *Config) Relative(name string) bool { return c.near[name] }

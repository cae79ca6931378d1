package config

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"krund/internal/experiment/key"
	"krund/runners/suites"
)

// Suite is a published benchmark suite. It is a variant of the VMs that run it, and has its own
// benchmarks.
type Suite struct {
	Kind       string // one of suites.Names
	Path       string // absolute: the suite's directory
	Benchmarks []suites.Benchmark
	LeftOut    []string // what of it cannot run, and why
}

// Hook returns the file of the suite's hook for a VM, relative to the directory of the installed
// runners; suites.Own if the benchmark's file is the hook, and "" if it has none.
func (s *Suite) Hook(vm VM) string {
	kind, _ := suites.Lookup(s.Kind)
	if hook := kind.Hooks[vm.Runner]; hook == "" || hook == suites.Own {
		return hook
	}
	return filepath.Join(suites.Directory, kind.Hooks[vm.Runner])
}

// Benchmark returns a benchmark of the suite; no suite has any.
func (s *Suite) Benchmark(name string) (suites.Benchmark, bool) {
	if s == nil {
		return suites.Benchmark{}, false
	}
	return find(s.Benchmarks, func(b suites.Benchmark) bool { return b.Name == name })
}

// File returns the absolute path of a benchmark's file for a VM; "" if it has none.
func (s *Suite) File(benchmark string, vm VM) string {
	b, _ := s.Benchmark(benchmark)
	if b.Files[vm.Runner] == "" {
		return ""
	}
	return filepath.Join(s.Path, filepath.FromSlash(b.Files[vm.Runner]))
}

// suites reads the section of that name, as variants.
func (r *reader) suites(n *node) []Variant {
	return tables(r, "suites", n, func(name string, s *section) Variant {
		kind, _ := suites.Lookup(name)
		suite := &Suite{Kind: s.choice("kind", kind.Name, suites.Names()...), Path: s.filled("path", "")}
		if s.node.child("path") == nil && !s.partial {
			s.add(s.node.line, s.path+" has no path", `write path = "DIRECTORY", where the suite was unpacked`)
		}
		if suite.Kind == "" && !s.partial {
			s.add(s.node.line, s.path+" is no suite that krund knows",
				"write kind = "+orList(suites.Names())+" in it")
		}
		if n := s.get("found", ""); n != nil {
			r.section(s.path+".found", n).found(suite)
		}
		s.parameters(suite)
		return Variant{Name: name, Suite: suite}
	})
}

// parameters reads the inner iterations that replace those of the suite.
func (s *section) parameters(suite *Suite) {
	own := s.section(s.path+".parameters", s.get("parameters", "{}"))
	defer own.done()
	for _, name := range own.node.names() {
		n := own.count(name, 1, 1, math.MaxInt32)
		i := slices.IndexFunc(suite.Benchmarks, func(b suites.Benchmark) bool { return b.Name == name })
		if i >= 0 {
			suite.Benchmarks[i].Parameter = n
		} else if s.node.child("found") != nil {
			s.add(own.node.table[name].line, join(own.path, name)+" is no benchmark of the suite",
				"correct the name: krunctl check --plan lists them")
		}
	}
}

// found reads what was found in a suite.
func (s *section) found(suite *Suite) {
	defer s.done()
	leftOut, _ := s.items("left_out", nil)
	for _, it := range leftOut {
		suite.LeftOut = append(suite.LeftOut, it.text)
	}
	all := s.section(s.path+".benchmarks", s.get("benchmarks", ""))
	if n := len(all.node.names()); n > suites.MostBenchmarks {
		all.add(all.node.line, fmt.Sprintf("%s are %d", all.path, n),
			fmt.Sprintf("remove what %s did not write: there are at most %d", foundBy, suites.MostBenchmarks))
		return
	}
	for _, name := range all.node.names() {
		own := s.section(join(all.path, name), all.node.table[name])
		if b, ok := own.suiteBenchmark(name); ok {
			suite.Benchmarks = append(suite.Benchmarks, b)
		}
		own.done()
	}
}

// suiteBenchmark reads what was found of one benchmark.
func (s *section) suiteBenchmark(name string) (suites.Benchmark, bool) {
	b := suites.Benchmark{Name: name, Files: map[string]string{}, Requires: s.text("requires", ""),
		Parameter: s.count("parameter", 1, 1, 1<<31-1)}
	if n := s.get("options", "[]"); n != nil {
		b.Options, _ = s.arguments(n, "options")
	}
	files := s.section(s.path+".files", s.get("files", "{}"))
	for _, runner := range files.node.names() {
		b.Files[runner] = files.text(runner, "")
	}
	line := s.lines.of(s.path)
	if !s.checkName(line, s.path, name) {
		return b, false
	}
	if err := b.Check(); err != nil {
		s.add(line, s.path+": "+err.Error(), "remove it: "+foundBy+" does not write that")
		return b, false
	}
	return b, true
}

// foundBy says in messages who writes what was found.
const foundBy = "krund"

// inSuites reports whether one of the suites has a benchmark.
func inSuites(name string, variants []Variant) bool {
	return slices.ContainsFunc(variants, func(v Variant) bool {
		if v.Suite == nil {
			return false
		}
		_, ok := v.Suite.Benchmark(name)
		return ok
	})
}

// withSuites returns the benchmarks with those of the suites after them, each name once.
func withSuites(list []Benchmark, variants []Variant) []Benchmark {
	seen := map[string]bool{}
	for i := range list {
		seen[list[i].Name] = true
	}
	for _, v := range variants {
		if v.Suite == nil {
			continue
		}
		for _, b := range v.Suite.Benchmarks {
			if !seen[b.Name] {
				seen[b.Name] = true
				list = append(list, Benchmark{Name: b.Name, suites: true})
			}
		}
	}
	return list
}

// exists reports whether a VM has a benchmark in a variant: those of a suite are in its own, and
// only those of [benchmarks] in others.
func (c *Config) exists(vm VM, b Benchmark, variant string) bool {
	v, _ := find(c.Variants, func(v Variant) bool { return v.Name == variant })
	if v.Suite == nil {
		return !b.suites
	}
	return v.Suite.File(b.Name, vm) != ""
}

// checkSuites reports suites that nothing runs, and VMs that cannot run theirs.
func (c *Config) checkSuites(found *problems) {
	for _, v := range c.Variants {
		if v.Suite == nil || v.Suite.Kind == "" {
			continue
		}
		at := join("suites", v.Name)
		kind, _ := suites.Lookup(v.Suite.Kind)
		if c.lines[join("variants", v.Name)] > 0 {
			found.add(c.lines.of(at), at+" has the name of a variant", "rename the variant")
		}
		if why := v.Suite.LeftOut; len(v.Suite.Benchmarks) == 0 && len(why) > 0 {
			found.add(c.lines.of(at), at+" has no benchmark that can run: "+
				strings.Join(why[:min(len(why), 3)], "; "), "correct the suite, or its path")
		}
		used := false
		for _, vm := range c.VMs {
			if !slices.Contains(vm.Variants, v.Name) {
				continue
			}
			used = true
			if v.Suite.Hook(vm) == "" && vm.Runner != "" {
				found.add(c.lines.of(join(join("vms", vm.Name), "variants"), join("vms", vm.Name)),
					fmt.Sprintf("%s runs %s, which krund measures with runner = %s", join("vms", vm.Name),
						v.Name, orList(kind.Languages())), "correct the runner, or remove the variant")
			}
		}
		if !used && len(c.VMs) > 0 {
			found.add(c.lines.of(at), at+" is run by no VM", fmt.Sprintf(
				"write variants = [%q] in [vms.NAME] with runner = %s", v.Name, orList(kind.Languages())))
		}
	}
}

// Expand returns the text of the configuration at path with what its suites have, at the end: an
// experiment keeps what it was begun with, wherever it is read. A suite that the text already
// describes is not read again. The error is Errors.
func Expand(path string, text []byte) ([]byte, error) {
	found := &problems{file: path}
	text = expand(path, text, found)
	return text, found.errors()
}

func expand(path string, text []byte, found *problems) []byte {
	root, problem := decode(string(text))
	if problem != nil {
		return text // parsing reports it
	}
	machines := root.child(machinesSection)
	for _, name := range machines.names() {
		if n := machines.child(name).child("suites"); n != nil {
			found.add(n.line, join(machinesSection, name)+" has suites",
				"move them out: a suite is the same on all machines")
		}
	}
	var b strings.Builder
	all := root.child("suites")
	for _, name := range all.names() {
		n := all.child(name)
		if n.child("found") != nil || key.CheckName(name) != nil {
			continue
		}
		kindName, at := name, ""
		if v := n.child("kind"); v != nil {
			kindName, _ = v.value.(string)
		}
		if v := n.child("path"); v != nil {
			at, _ = v.value.(string)
		}
		kind, ok := suites.Lookup(kindName)
		if !ok || at == "" {
			continue // parsing reports it
		}
		if !filepath.IsAbs(at) {
			at = filepath.Join(filepath.Dir(path), at)
		}
		f, err := kind.Read(at)
		if err != nil {
			found.addError(n.line, join("suites", name), err)
			continue
		}
		describe(&b, name, f)
	}
	if b.Len() == 0 {
		return text
	}
	longer := append(slices.Clone(text), "\n\n# What krund found in the suites when it opened this file.\n"+
		b.String()...)
	if _, problem := decode(string(longer)); problem != nil {
		found.add(all.line, "what krund finds in the suites cannot be added to this text: "+
			problem.What, "write each suite as a section [suites.NAME], at most 1 MiB with its benchmarks")
		return text
	}
	return longer
}

// describe writes what was found in a suite.
func describe(b *strings.Builder, name string, f suites.Found) {
	at := "suites." + Quote(name) + ".found"
	f.Benchmarks = slices.DeleteFunc(f.Benchmarks, func(s suites.Benchmark) bool {
		err := key.CheckName(s.Name)
		if err != nil {
			f.LeftOut = append(f.LeftOut, err.Error())
		}
		return err != nil
	})
	fmt.Fprintf(b, "[%s]\nleft_out = %s\n[%s.benchmarks]\n", at, QuoteList(f.LeftOut), at)
	for _, s := range f.Benchmarks {
		var files []string
		for runner, file := range s.Files {
			files = append(files, Quote(runner)+" = "+Quote(file))
		}
		slices.Sort(files)
		fmt.Fprintf(b, "%s = { files = { %s }, options = %s, parameter = %d, requires = %s }\n",
			Quote(s.Name), strings.Join(files, ", "), QuoteList(s.Options), s.Parameter, Quote(s.Requires))
	}
}

package config

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"krund/runners"
)

// vms reads the section of that name. iterations is the experiment's number, for VMs without their
// own.
func (r *reader) vms(n *node, iterations int) []VM {
	return tables(r, "vms", n, func(name string, s *section) VM {
		return VM{
			Name:       name,
			Runner:     s.runner(),
			Path:       s.filled("path", ""),
			Args:       s.vmArgs(),
			Env:        s.env(),
			Iterations: s.count("iterations", iterations, 1, MaxIterations),
			Variants:   s.vmVariants(),
			Instrument: levelOf(s.instrument(InstrumentOff)),
		}
	})
}

// runner reads the runner of a VM. It has no default, because it defines the VM.
func (s *section) runner() string {
	kinds := append(runners.Names(), RunnerExternal)
	n := s.get("runner", "")
	if n == nil {
		if !s.partial && s.node != nil {
			s.add(s.node.line, s.path+" has no runner", "write runner = "+orList(kinds))
		}
		return ""
	}
	runner := s.oneOf(n, "runner", "", kinds)
	language, _ := runners.Lookup(runner)
	if runner != "" && !language.Native && s.node.child("path") == nil && !s.partial {
		s.add(s.node.line, s.path+" has no path", `write path = "program", the program that runs it`)
	}
	if runner == RunnerCommand && s.node.child("args") == nil && !s.partial {
		s.add(s.node.line, s.path+" has no args", `write args = ["program", "argument"], the command to measure`)
	}
	return runner
}

// instrument reads the level of instrumentation; normal if it is not in the file.
func (s *section) instrument(normal string) string {
	return s.choice("instrument", normal, InstrumentOff, InstrumentColumns, InstrumentEvents)
}

// levelOf returns a level in the form of VM.Instrument.
func levelOf(level string) string {
	if level == InstrumentOff {
		return ""
	}
	return level
}

func (s *section) vmArgs() []string {
	n := s.get("args", "[]")
	if n == nil {
		return nil
	}
	args, _ := s.arguments(n, "args")
	return args
}

// vmVariants reads the names of a VM's variants. Whether they exist is checked later.
func (s *section) vmVariants() []string {
	seen := map[string]bool{}
	variants := s.texts("variants", nil, func(name string) (what, fix string) {
		if seen[name] {
			return fmt.Sprintf("%q is listed twice", name), "remove one"
		}
		seen[name] = true
		return "", ""
	})
	n := s.node.child("variants")
	missing := n == nil && s.node != nil && !s.partial
	if missing || n != nil && n.list != nil && len(n.list) == 0 {
		s.add(s.lines.of(s.path+".variants", s.path), s.path+" has no variants",
			`name at least one of [variants], such as variants = ["default-c"]`)
	}
	return variants
}

// ownPrefix is the prefix of the environment variables with which krund passes information to the
// measured process.
const ownPrefix = "KRUN_"

// env reads a VM's environment as "NAME=value", sorted by name so that it is the same for every
// process execution.
func (s *section) env() []string {
	n := s.get("env", "{}")
	vars := s.section(s.path+".env", n)
	var env []string
	for _, name := range vars.node.names() {
		n := vars.node.table[name]
		if name == "" || strings.ContainsAny(name, "=\x00") {
			s.add(n.line, join(vars.path, name)+" is not a valid variable name",
				"remove the = or NUL character")
			continue
		}
		if strings.HasPrefix(name, ownPrefix) {
			s.add(n.line, join(vars.path, name)+" is set by krund itself",
				"remove it; names that begin with "+ownPrefix+" are taken")
			continue
		}
		if v, ok := vars.argument(n, name); ok {
			env = append(env, name+"="+v)
		}
	}
	slices.Sort(env)
	return env
}

func (r *reader) variants(n *node) []Variant {
	return tables(r, "variants", n, func(name string, s *section) Variant {
		v := Variant{Name: name, Entry: s.text("entry", ""), Subfolder: s.text("subfolder", "")}
		s.inside("entry")
		s.inside("subfolder")
		return v
	})
}

// benchmarks reads the section of that name. A benchmark of a suite needs no parameter there: the
// section then only says how much of it is measured.
func (r *reader) benchmarks(n *node, variants []Variant) []Benchmark {
	var list []Benchmark
	all := r.section("benchmarks", n)
	for _, name := range all.node.names() {
		n := all.node.table[name]
		if !all.checkName(n.line, all.path, name) {
			continue
		}
		b := Benchmark{Name: name}
		if n.table == nil {
			value, ok := n.value.(int64)
			if !ok {
				value = 1
			}
			all.bad(n, name, fmt.Sprintf("write %s = { parameter = %d }", join("", name), value))
		} else {
			s := r.section(join("benchmarks", name), n)
			if b.suites = n.child("parameter") == nil && inSuites(name, variants); !b.suites {
				b.Parameter = s.parameter(name)
			}
			b.Sizes = s.sizes()
			s.done()
		}
		list = append(list, b)
	}
	all.onlyByCase()
	return list
}

// sizes reads how much of a benchmark is measured, for all VMs and for single ones; nil if the file
// does not say that.
func (s *section) sizes() []Size {
	var list []Size
	add := func(vm string, s *section) {
		size := Size{VM: vm, Iterations: s.count("iterations", 0, 0, MaxIterations),
			Executions: s.count("executions", 0, 0, maxExecutions)}
		if size.Iterations > 0 || size.Executions > 0 {
			list = append(list, size)
		}
	}
	add("", s)
	vms := s.section(s.path+".vms", s.get("vms", "{}"))
	for _, vm := range vms.node.names() {
		own := s.section(join(vms.path, vm), vms.node.table[vm])
		add(vm, own)
		own.done()
	}
	return list
}

// parameter reads the number that the runners pass as a C int.
func (s *section) parameter(name string) int {
	n := s.get("parameter", "")
	if n != nil {
		return int(s.wholeOf(n, "parameter", 0, math.MinInt32, math.MaxInt32))
	}
	if !s.partial {
		s.add(s.node.line, s.path+" has no parameter",
			fmt.Sprintf("write %s = { parameter = 1 }", join("", name)))
	}
	return 0
}

// inside reports a path that leaves the directory that it is relative to.
func (s *section) inside(name string) {
	n := s.node.child(name)
	if n == nil {
		return
	}
	v, _ := n.value.(string)
	for part := range strings.SplitSeq(v, "/") {
		if part == ".." || strings.HasPrefix(v, "/") {
			s.bad(n, name, "write a path inside the benchmark's directory")
			return
		}
	}
}

// onlyByCase reports names in a table that differ only in case, because they would be the same file
// on a case-insensitive file system.
func (s *section) onlyByCase() {
	first := map[string]string{}
	for _, name := range s.node.names() {
		lower := strings.ToLower(name)
		if earlier, ok := first[lower]; ok {
			s.add(s.node.table[name].line, fmt.Sprintf("%s differs from %s (line %d) only in case",
				join(s.path, name), join(s.path, earlier), s.node.table[earlier].line), "rename one of them")
			continue
		}
		first[lower] = name
	}
}

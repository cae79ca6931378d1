package config

import (
	"fmt"
	"math"
	"strings"
)

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

package msr

import (
	"testing"

	libkrun "krund/cgo"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// TestUsage: the usage of the process comes with every source, first and without a file.
func TestUsage(t *testing.T) {
	const usage = "minor_faults, major_faults, voluntary_switches, involuntary_switches, " +
		"thread_voluntary_switches, thread_involuntary_switches"
	k := newKernel(t)
	s := system{open: k.openEvent, load: noModules}
	for _, test := range []struct {
		source, names string
		files         int
	}{
		{None, usage, 0},
		{Perf, usage + ", aperf, mperf, cycles, instructions, context_switches, migrations, page_faults, " +
			"smi", 1},
	} {
		c, r := s.choose(t.Context(), xeon.root(t),
			Want{Sources: []string{test.source}, Scope: Task, Usage: true})
		must.Need(t, c != nil, r)
		if got := names(c); got != test.names || len(c.Files()) != test.files {
			t.Errorf("%s: columns %s, %d files", test.source, got, len(c.Files()))
		}
		spec := must.Get(c.Apply(libkrun.Spec{Iterations: 1}, 4))(t)
		for i, g := range spec.Groups[1:] {
			must.Equal(t, g.FD, 4+i, test.source, "group", 1+i, "has descriptor")
		}
		b := must.Get(libkrun.Create(spec))(t)
		must.Do(t, b.Close())
		err := c.Close()
		must.Be(t, err == nil && k.left() == 0, "close", err, k.left(), "left open")
	}
	c, _ := Open(t.Context(), sysroot.New(t.TempDir()), Want{Sources: []string{None}})
	must.Equal(t, len(c.groups), 0, "columns", names(c), "none were wanted")
}

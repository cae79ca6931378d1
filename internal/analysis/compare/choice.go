package compare

// This file chooses what is compared within one experiment, or several together: the factor in
// which keys differ, the base, and the levels that are compared with it. Start at [Choice.Groups];
// groups.go makes the two sides of [Of] from it.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// Factor is what the keys of a table differ in.
type Factor string

// The factors.
const (
	ByVM        Factor = "vm"
	ByVariant   Factor = "variant"
	ByArm       Factor = "arm"
	ByBenchmark Factor = "benchmark"
	ByMachine   Factor = "machine"
	ByRestart   Factor = "restart" // how the boot of an execution began
	ByKey       Factor = "key"     // keys that were named
)

// Factors are those that [Choice.By] may name. One of the first five is chosen, in this order.
var Factors = []Factor{ByArm, ByVM, ByVariant, ByMachine, ByBenchmark, ByRestart}

// Noun is the name of n levels of a factor for people.
func (f Factor) Noun(n int) string {
	noun, plural := string(f), string(f)+"s"
	switch f {
	case ByVM:
		noun, plural = "VM", "VMs"
	case ByRestart:
		noun, plural = "kind of restart", "kinds of restart"
	}
	if n == 1 {
		return noun
	}
	return plural
}

// ofKey is the part of a key that the factor is; "" also of a factor that is none.
func (f Factor) ofKey(k key.Key) string {
	return map[Factor]string{ByVM: k.VM, ByVariant: k.Variant, ByArm: k.Arm, ByBenchmark: k.Benchmark,
		ByKey: k.String()}[f]
}

// inKey reports whether the factor is a part of the key.
func (f Factor) inKey() bool { return f != ByMachine && f != ByRestart }

// with returns a key at another level.
func (f Factor) with(k key.Key, level string) key.Key {
	switch f {
	case ByVM:
		k.VM = level
	case ByVariant:
		k.Variant = level
	case ByArm:
		k.Arm = level
	case ByBenchmark:
		k.Benchmark = level
	}
	return k
}

// ShellStart is the VM of which `krunctl time` measures the start of the shell alone. It is not
// compared.
const ShellStart = "shell-startup"

// Choice says which keys are compared with which. The zero value compares the levels of the first
// factor in which keys differ with its first level.
type Choice struct {
	By      Factor   // "": the first of Factors with two levels
	Base    string   // the level that others are compared with; "": the first
	Only    []string // the levels that are compared with it; nil: all
	Between []string // two keys, or parts of keys that no other key has; nil: the others decide
}

// NoGroupsError reports that there is nothing to compare as was asked, and lists what there is.
type NoGroupsError struct{ text string }

func (e *NoGroupsError) Error() string { return e.text }

func noGroups(format string, args ...any) error { return &NoGroupsError{fmt.Sprintf(format, args...)} }

// Groups chooses the keys of one or more sides, whose Arm is not used. The error is a
// *NoGroupsError, or wraps ErrDifferent.
func (c Choice) Groups(of ...Side) (*Groups, error) {
	for _, s := range of {
		if err := alike(of[0], s); err != nil {
			return nil, err
		}
	}
	g := &Groups{By: c.By, of: of}
	switch {
	case c.Between != nil:
		g.By = ByKey
	case g.By == "":
		if g.By = chosen(of); g.By == "" {
			return nil, noGroups("there are no arms, VMs, variants, machines or benchmarks to compare; " +
				"name a second experiment")
		}
	}
	g.members = membersOf(of, g.By)
	if err := g.twice(); err != nil {
		return nil, err
	}
	var err error
	if c.Between != nil {
		err = g.between(c.Between)
	} else {
		err = g.choose(c)
	}
	if err != nil {
		return nil, err
	}
	return g, g.sides()
}

// chosen is the first factor with two levels; "" if there is none.
func chosen(of []Side) Factor {
	for _, by := range Factors[:len(Factors)-1] {
		g := Groups{By: by, of: of, members: membersOf(of, by)}
		if len(g.all()) > 1 {
			return by
		}
	}
	return ""
}

// member is a key, or its executions on one machine or after one kind of restart.
type member struct {
	side  int // among those chosen from
	level string
	pair  dataset.Pair
	doc   warmup.Pair
}

func (m *member) key() key.Key { return m.pair.Key }

// membersOf splits the sides. Keys without a level, as without an arm, are left out, and anchors.
func membersOf(of []Side, by Factor) []member {
	var list []member
	for s, side := range of {
		for i := range side.Data.Pairs {
			m := member{side: s, pair: side.Data.Pairs[i], doc: side.Doc.Pairs[i]}
			anchor := func(a dataset.Arm) bool { return a.Anchor && a.Name == m.key().Arm }
			switch m.level = by.ofKey(m.key()); {
			case by != ByKey && slices.ContainsFunc(side.Data.Arms, anchor):
			case m.key().VM == ShellStart && by != ByKey:
			case !by.inKey():
				list = append(list, m.split(by, side.Data.Machine)...)
			case m.level != "":
				list = append(list, m)
			}
		}
	}
	return list
}

// split makes members of the executions of a key on each machine, or after each kind of restart.
func (m member) split(by Factor, machine string) []member {
	var list []member
	for i, e := range m.pair.Executions {
		level := e.Restart
		if by == ByMachine {
			level, e.Machine = cmp.Or(e.Machine, machine), ""
		}
		at := slices.IndexFunc(list, func(o member) bool { return o.level == level })
		switch {
		case level == "":
			continue
		case at < 0:
			at = len(list)
			m.level = level
			list = append(list, m)
			list[at].pair.Executions, list[at].doc.Executions = nil, nil
			list[at].doc.Counts = classify.Counts{}
		}
		o := &list[at]
		o.pair.Executions = append(o.pair.Executions, e)
		o.doc.Executions = append(o.doc.Executions, m.doc.Executions[i])
	}
	for i := range list {
		d := &list[i].doc
		classes := make([]classify.Class, len(d.Executions))
		for k := range d.Executions {
			classes[k] = d.Executions[k].Classification
		}
		d.Counts = classify.Count(classes)
		d.Classification = d.Counts.Class()
	}
	return list
}

// twice returns an error if a member is in two sides: two measurements are not pooled.
func (g *Groups) twice() error {
	type name struct {
		key   key.Key
		level string
	}
	seen := map[name]int{}
	for _, m := range g.members {
		n := name{m.key(), m.level}
		if first, again := seen[n]; again {
			return noGroups("%s is in %s and in %s, and two measurements are not pooled; compare them with "+
				"each other, without --by, or choose keys with --key", n.key, g.of[first].Doc.Source.Name,
				g.of[m.side].Doc.Source.Name)
		}
		seen[n] = m.side
	}
	return nil
}

// all returns the levels in the order of the configuration, or of the data.
func (g *Groups) all() []string {
	have, listed := map[string]bool{}, map[string]bool{}
	for _, m := range g.members {
		have[m.level] = true
	}
	var levels []string
	add := func(level string) {
		if have[level] && !listed[level] {
			listed[level] = true
			levels = append(levels, level)
		}
	}
	for _, s := range g.of {
		for _, arm := range s.Data.Arms {
			if g.By == ByArm {
				add(arm.Name)
			}
		}
		for _, k := range s.Data.Planned {
			add(g.By.ofKey(k))
		}
	}
	for _, m := range g.members {
		add(m.level)
	}
	return levels
}

// choose sets the base and the levels that are compared with it.
func (g *Groups) choose(c Choice) error {
	all := g.all()
	for _, name := range slices.Concat([]string{c.Base}, c.Only) {
		switch {
		case name == "" || slices.Contains(all, name):
		case len(all) == 0:
			return noGroups("there is no %s %q; the experiment has no %s", g.By.Noun(1), name, g.By.Noun(2))
		default:
			return noGroups("there is no execution of %s %q; there are %s", g.By.Noun(1), name,
				strings.Join(all, ", "))
		}
	}
	if g.By == ByRestart {
		if err := restartable(c, all); err != nil {
			return err
		}
		c.Base = results.RebootHardware
	}
	if len(all) < 2 {
		return noGroups("there is no second %s to compare; there is %s", g.By.Noun(1),
			cmp.Or(strings.Join(all, ""), "none"))
	}
	g.Base = cmp.Or(c.Base, all[0])
	if c.Base == "" && c.Only == nil {
		where := "of the data"
		if g.of[0].Data.Planned != nil {
			where = "of the configuration"
		}
		g.Chosen = fmt.Sprintf("the base is %s, the first %s %s; --base NAME chooses another one", g.Base,
			g.By.Noun(1), where)
		if c.By == "" {
			g.Chosen = fmt.Sprintf("compared by %s, --by chooses something else; %s", g.By, g.Chosen)
		}
	}
	g.null = nullOf(g)
	g.Levels = slices.DeleteFunc(slices.Clone(all), func(l string) bool {
		return l == g.Base || l == g.null || g.By == ByArm && g.of[0].injected(l) > 0
	})
	switch {
	case c.Only != nil:
		g.Levels = slices.DeleteFunc(slices.Clone(c.Only), func(l string) bool { return l == g.Base })
	case len(g.Levels) == 0:
		g.Levels = []string{g.null}
	}
	if len(g.Levels) == 0 {
		return noGroups("%s is compared with itself; there are %s", g.Base, strings.Join(all, ", "))
	}
	if slices.Contains(g.Levels, g.null) {
		g.null = ""
	}
	return nil
}

// injected returns by which part the iterations of an arm were held.
func (s Side) injected(arm string) float64 {
	if i := slices.IndexFunc(s.Data.Arms, func(a dataset.Arm) bool { return a.Name == arm }); i >= 0 {
		return s.Data.Arms[i].Inject
	}
	return 0
}

// bothKinds is what to do about an experiment without two kinds of restarts.
const bothKinds = "measure with experiment.reboot = \"kexec\" or \"soft\", and hardware_every = 5 for " +
	"instance"

// restartable returns an error unless kinds of restart can be compared with that of the hardware.
func restartable(c Choice, kinds []string) error {
	switch {
	case c.Base != "" && c.Base != results.RebootHardware:
		return noGroups("kinds of restart are compared with that of the %s, not with %q",
			results.RebootHardware, c.Base)
	case !slices.Contains(kinds, results.RebootHardware):
		return noGroups("there is no execution after a restart of kind %s; %s", results.RebootHardware,
			bothKinds)
	case len(kinds) < 2:
		return noGroups("there is one kind of restart only; %s", bothKinds)
	}
	return nil
}

// nullOf is the name of the null arm, which is a copy of the base if that is the first arm; "" if
// there is none.
func nullOf(g *Groups) string {
	arms := g.of[0].Data.Arms
	at := slices.IndexFunc(arms, func(a dataset.Arm) bool { return a.Null && a.Inject == 0 })
	if g.By != ByArm || len(g.of) > 1 || at <= 0 || g.Base != arms[0].Name {
		return ""
	}
	return arms[at].Name
}

// between chooses two keys by their names, or by a part of them that no other key has.
func (g *Groups) between(names []string) error {
	var found []string
	for _, name := range names {
		hits := g.named(name)
		if len(hits) == 1 {
			found = append(found, hits[0])
			continue
		}
		const most = 10
		all, more := g.all(), ""
		if n := len(all) - most; n > 0 {
			all, more = all[:most], fmt.Sprintf(" and %d more", n)
		}
		problem := "is no key"
		if len(hits) > 1 {
			problem = "is a part of several keys"
		}
		return noGroups("--between: %q %s; there are %s%s", name, problem, strings.Join(all, ", "), more)
	}
	if found[0] == found[1] {
		return noGroups("--between: %s is compared with itself", found[0])
	}
	g.Base, g.Levels = found[0], found[1:]
	return nil
}

// named returns the keys that a name means: the one that is called so, or those of which it is a
// part.
func (g *Groups) named(name string) []string {
	var parts []string
	for _, m := range g.members {
		k := m.key()
		if m.level == name {
			return []string{name}
		}
		if slices.Contains([]string{k.Benchmark, k.VM, k.Variant, k.Arm}, name) {
			parts = append(parts, m.level)
		}
	}
	return parts
}

package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"krund/internal/display"
	"krund/internal/durable/trust"
	"krund/internal/experiment/key"
)

// Change is a difference between the meaning of a configuration and of the one that an experiment
// was begun with.
type Change struct {
	Key     string // such as "limits.heap"; in words, if it is not about one key
	Line    int    // in the text now; 0 if it has no such line
	Was, Is string // values in TOML syntax; "" if there is none
}

// String returns a clause: "limits.heap was 5 and is 6 (line 4)".
func (c Change) String() string {
	const most = 100 // bytes of a value
	was, is := display.Head(c.Was, most), display.Head(c.Is, most)
	text := fmt.Sprintf("%s was %s and is %s", c.Key, was, is)
	switch {
	case was == "":
		text = fmt.Sprintf("%s is new: %s", c.Key, is)
	case is == "":
		text = fmt.Sprintf("%s was %s and is gone", c.Key, was)
	}
	if c.Line > 0 {
		text += fmt.Sprintf(" (line %d)", c.Line)
	}
	return text
}

// AsBegun returns c with the text and the hash of the configuration that an experiment was begun
// with, if both mean the same for c's machine, read at c's place: comments, the order of sections,
// and other ways to write the same value do not count. Otherwise it returns the changes, in the
// order of c's text. The error is Errors, if what the experiment was begun with cannot be read.
func (c *Config) AsBegun(was []byte) (*Config, []Change, error) {
	old, now, err := c.both(was)
	if err != nil {
		return nil, nil, err
	}
	mode := c.Experiment.Reboot // decides about waits and policies that the file does not state
	if old.Experiment.Reboot == now.Experiment.Reboot && old.WithReboot(mode).means(now.WithReboot(mode)) {
		same := *c
		same.Text, same.Hash = old.Text, old.Hash
		return &same, nil, nil
	}
	changes := changesBetween(old, now)
	if len(changes) == 0 {
		changes = []Change{{Key: "the order of the keys", Was: listOf(old.keys), Is: listOf(now.keys)}}
	}
	return nil, changes, nil
}

// changesBetween returns what differs in the texts, in the order of the one now.
func changesBetween(old, now *Config) []Change {
	changes := changesOf("", old.merged(), now.merged())
	slices.SortStableFunc(changes, func(a, b Change) int { return a.Line - b.Line })
	return changes
}

// means reports whether two configurations, read at one place for one machine, plan and do the
// same.
func (c *Config) means(other *Config) bool {
	return reflect.DeepEqual(c.meaning(), other.meaning())
}

// meaning returns c without what belongs to its text, and sorted where the order means nothing: the
// order of the keys is a field of its own.
func (c *Config) meaning() Config {
	m := *c
	m.Text, m.Hash, m.shown, m.verdict = "", "", "", trust.Verdict{}
	m.settings, m.lines, m.doubtful, m.unitless, m.near = nil, nil, nil, nil, nil
	m.Controls = slices.Clone(c.Controls)
	for i := range m.Controls {
		m.Controls[i].Stated = m.Controls[i].Stated && !Restarts(c.Experiment.Reboot) // see Demand.Relaxed
	}
	m.VMs = sorted(c.VMs, func(v VM) string { return v.Name })
	m.Variants = sorted(c.Variants, func(v Variant) string { return v.Name })
	m.Benchmarks = sorted(c.Benchmarks, func(b Benchmark) string { return b.Name })
	for i, b := range m.Benchmarks {
		m.Benchmarks[i].Sizes = sorted(b.Sizes, func(s Size) string { return s.VM })
	}
	m.Arms = slices.Clone(c.Arms) // the first is the base
	for i, arm := range m.Arms {
		m.Arms[i].VMs = sorted(arm.VMs, func(o Override) string { return o.VM })
	}
	return m
}

func sorted[T any](list []T, name func(T) string) []T {
	return slices.SortedFunc(slices.Values(list),
		func(a, b T) int { return strings.Compare(name(a), name(b)) })
}

// merged returns what the text says for c's machine.
func (c *Config) merged() *node {
	root, problem := decode(c.Text)
	if problem != nil {
		return nil // does not happen: c was read from it
	}
	base, machines := layers(root, &problems{})
	return mergedFor(c.Hostname, base, machines)
}

// changesOf returns the values that differ between two tables at path. A table that only one of
// them has is one change, unless it is a section.
func changesOf(path string, was, is *node) []Change {
	var list []Change
	names := append(is.names(), was.names()...)
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		a, b := was.child(name), is.child(name)
		at := join(path, name)
		if a.isTable() && b.isTable() && (path == "" || a != nil && b != nil) {
			list = append(list, changesOf(at, a, b)...)
			continue
		}
		c := Change{Key: at, Was: a.toml(), Is: b.toml()}
		if b != nil {
			c.Line = b.line
		}
		if c.Was != c.Is {
			list = append(list, c)
		}
	}
	return list
}

// isTable reports whether a node is a table, or absent.
func (n *node) isTable() bool { return n == nil || n.table != nil }

// toml returns the value in TOML syntax on one line; "" for nil.
func (n *node) toml() string {
	switch {
	case n == nil:
		return ""
	case n.table != nil:
		parts := make([]string, 0, len(n.table))
		for _, name := range n.names() {
			parts = append(parts, join("", name)+" = "+n.table[name].toml())
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case n.list != nil:
		parts := make([]string, len(n.list))
		for i, item := range n.list {
			parts[i] = item.toml()
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if text, ok := n.value.(string); ok {
		return strconv.Quote(text)
	}
	return fmt.Sprint(n.value)
}

// listOf returns the texts of keys.
func listOf(keys []key.Key) string {
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = k.String()
	}
	return strings.Join(texts, ", ")
}

// Extends compares c with the configuration that an experiment was begun with, for c's machine and
// at c's place. added are the changes by which c plans more process executions, of the same keys or
// of further ones (benchmarks, VMs, variants, arms); forbidden are those that would change or take
// away what the other one plans. An experiment can go on with c if there are no forbidden ones. If
// c only plans another order, forbidden is not empty. The error is Errors, if the other one cannot
// be read.
func (c *Config) Extends(was []byte) (added, forbidden []Change, err error) {
	old, now, err := c.both(was)
	if err != nil {
		return nil, nil, err
	}
	lost, more := now.against(old)
	fresh := freshNames(old.merged(), now.merged(), len(old.Arms) > 0)
	for _, change := range changesBetween(old, now) {
		if fresh[change.Key] || change.plansMore(len(lost) == 0) {
			added = append(added, change)
		} else {
			forbidden = append(forbidden, change)
		}
	}
	mode := c.Experiment.Reboot
	same := old.Experiment.Reboot == now.Experiment.Reboot &&
		old.planless(old).WithReboot(mode).means(now.planless(old).WithReboot(mode))
	switch {
	case len(lost) == 0 && same && more:
		return added, nil, nil // the other changes are defaults that are written down
	case len(forbidden) == 0 && len(lost) > 0:
		forbidden = lost
	case len(forbidden) == 0:
		forbidden, added = added, nil
	}
	if len(forbidden) == 0 {
		forbidden = []Change{{Key: "the order of the keys", Was: listOf(old.keys), Is: listOf(now.keys)}}
	}
	return added, forbidden, nil
}

// Earlier returns the configuration of an earlier text of the same file, read like c.
func (c *Config) Earlier(text string) (*Config, error) {
	return Stored(c.shown, []byte(text), c.Hostname, c.settings)
}

// both returns the configuration of was and c as they are stored, without another reboot mode.
func (c *Config) both(was []byte) (old, now *Config, err error) {
	if old, err = c.Earlier(string(was)); err != nil {
		return nil, nil, err
	}
	now, err = c.Earlier(c.Text)
	return old, now, err
}

// against returns which keys of old c does not plan, or with other iterations or fewer executions,
// another first arm, and whether c plans more than old.
func (c *Config) against(old *Config) (lost []Change, more bool) {
	more = len(c.keys) > len(old.keys)
	if len(old.Arms) > 0 && (len(c.Arms) == 0 || c.Arms[0].Name != old.Arms[0].Name) {
		lost = append(lost, Change{Key: "the first arm", Was: old.Arms[0].Name, Is: c.armNames()[0]})
	}
	for _, k := range old.keys {
		at := "the plan of " + k.String()
		was, is := old.Planned(k), c.Planned(k)
		switch {
		case !slices.Contains(c.keys, k):
			lost = append(lost, Change{Key: at, Was: strconv.Itoa(was) + " executions"})
		case is < was:
			lost = append(lost, Change{Key: at, Was: strconv.Itoa(was) + " executions",
				Is: strconv.Itoa(is)})
		case c.Iterations(k) != old.Iterations(k):
			lost = append(lost, Change{Key: at, Was: strconv.Itoa(old.Iterations(k)) + " iterations",
				Is: strconv.Itoa(c.Iterations(k))})
		}
		more = more || is > was
	}
	return lost, more
}

// planless returns c with only the VMs, variants, benchmarks and arms of old, and without the plan:
// numbers of executions and iterations, keys, and what is derived from them.
func (c *Config) planless(old *Config) *Config {
	m := *c
	m.keys = nil
	m.Experiment.Executions, m.Experiment.Iterations, m.Experiment.Skip = 0, 0, nil
	if c.lines["experiment.max_reboots"] == 0 && old.lines["experiment.max_reboots"] == 0 {
		m.Experiment.MaxReboots = 0
	}
	m.Variants = only(c.Variants, old.Variants, func(v Variant) string { return v.Name })
	vmName := func(v VM) string { return v.Name }
	m.VMs = only(c.VMs, old.VMs, vmName)
	for i, vm := range m.VMs {
		of, _ := find(old.VMs, func(v VM) bool { return v.Name == vm.Name })
		name := func(variant string) string { return variant }
		m.VMs[i].Variants, m.VMs[i].Iterations = only(vm.Variants, of.Variants, name), 0
		slices.Sort(m.VMs[i].Variants)
	}
	m.Benchmarks = only(c.Benchmarks, old.Benchmarks, func(b Benchmark) string { return b.Name })
	for i := range m.Benchmarks {
		m.Benchmarks[i].Sizes = nil
	}
	m.Arms = only(c.Arms, old.Arms, func(a Arm) string { return a.Name })
	for i, arm := range m.Arms {
		m.Arms[i].VMs = slices.DeleteFunc(slices.Clone(arm.VMs), func(o Override) bool {
			return o.VM != "" && !slices.ContainsFunc(old.VMs, func(v VM) bool { return v.Name == o.VM })
		})
	}
	return &m
}

// only returns the members of list whose names are in old, in a slice of its own.
func only[T any](list, old []T, name func(T) string) []T {
	return slices.DeleteFunc(slices.Clone(list), func(item T) bool {
		return !slices.ContainsFunc(old, func(o T) bool { return name(o) == name(item) })
	})
}

// freshNames returns the paths of VMs, variants, benchmarks and, if there were arms, arms that only
// is has. The first arm gives every key another name.
func freshNames(was, is *node, arms bool) map[string]bool {
	fresh := map[string]bool{}
	for _, section := range []string{"vms", "variants", "benchmarks", "arms"} {
		for _, name := range is.child(section).names() {
			if was.child(section).child(name) == nil && (section != "arms" || arms) {
				fresh[join(section, name)] = true
			}
		}
	}
	return fresh
}

// plansMore reports whether a change is one of a number of executions, and not to fewer, or of the
// keys that are planned, if none is lost.
func (c Change) plansMore(noneLost bool) bool {
	switch at := strings.LastIndexByte(c.Key, '.'); c.Key[at+1:] {
	case "executions":
		was, first := strconv.Atoi(c.Was)
		is, second := strconv.Atoi(c.Is)
		if first == nil && second == nil {
			return is > was
		}
		return noneLost
	case "variants":
		return noneLost && strings.HasPrefix(c.Key, "vms.")
	case "skip":
		return noneLost
	}
	return false
}

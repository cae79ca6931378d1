package config

import (
	"slices"
	"strconv"
	"strings"
)

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

package config

import (
	"cmp"
	"fmt"
	"slices"

	"krund/internal/experiment/key"
)

// maxKeys bounds the product of VMs, benchmarks, variants and arms.
const maxKeys = 10_000

// check finds mistakes that span sections and derives the keys.
func (c *Config) check(root *node, found *problems) {
	broken := len(found.list) > 0
	c.checkVariants(found)
	c.checkSuites(found)
	c.checkHome(found)
	c.checkEnvironment(found)
	c.checkStop(found)
	if n := c.count(); n > maxKeys {
		found.add(c.lines.of("vms"), fmt.Sprintf("there are %d keys", n), fmt.Sprintf("plan at most %d",
			maxKeys))
		return
	}
	c.checkArms(root, found)
	c.checkSizes(root, found)
	c.keys = c.plannedKeys()
	c.checkInstrument(found)
	c.checkPatterns(root, broken, found)
	c.checkEmpty(broken, found)
	c.checkEntries(found)
	c.checkSlots(found)
}

// checkStart finds demands that have no effect. An experiment that was started with them can be
// read and goes on.
func (c *Config) checkStart(found *problems) {
	c.checkMinimum(found)
	c.checkHardwareEvery(found)
}

// checkHardwareEvery reports restarts of the hardware in between where all or no executions have
// one.
func (c *Config) checkHardwareEvery(found *problems) {
	e := c.Experiment
	what := map[string]string{RebootHardware: "every restart is one of the hardware",
		RebootNone: "nothing is restarted"}[e.Reboot]
	if e.HardwareEvery > 0 && what != "" {
		found.add(c.lines.of("experiment.hardware_every"), fmt.Sprintf("experiment.hardware_every is %d, "+
			"and with reboot = %q %s", e.HardwareEvery, e.Reboot, what),
			fmt.Sprintf("remove it, or write reboot = %q or %q", RebootKexec, RebootSoft))
	}
}

// checkHome reports a home limit for an account that krund does not create: it bounds only the home
// of such an account.
func (c *Config) checkHome(found *problems) {
	if c.Limits.Home > 0 && c.Experiment.Account != AccountFresh {
		found.add(c.lines.of("limits.home", "limits"),
			fmt.Sprintf("limits.home is set, and experiment.account is %q", c.Experiment.Account),
			fmt.Sprintf("remove it, or make the account %q", AccountFresh))
	}
}

// checkEnvironment reports an environment that depends on who starts krund where others start it:
// after a restart that is the system, and the account for benchmarks has an environment of its own.
func (c *Config) checkEnvironment(found *problems) {
	e := c.Experiment
	for _, other := range []struct{ name, is, must string }{
		{"account", e.Account, AccountCaller}, {"reboot", e.Reboot, RebootNone},
	} {
		if e.Environment == EnvironmentCaller && other.is != other.must {
			found.add(c.lines.of("experiment.environment"), fmt.Sprintf("experiment.environment is %q, and "+
				"experiment.%s is %q", e.Environment, other.name, other.is),
				fmt.Sprintf("write %s = %q, or remove it", other.name, other.must))
		}
	}
}

// checkInstrument reports a VM that is to be instrumented and has no runner of krund.
func (c *Config) checkInstrument(found *problems) {
	seen := map[string]bool{}
	for _, k := range c.keys {
		vm, _, _, err := c.Lookup(k)
		if err != nil || vm.Instrument == "" || vm.CanInstrument() || seen[vm.Name] {
			continue
		}
		seen[vm.Name] = true
		at, arm := join("vms", vm.Name)+".instrument", join("arms", k.Arm)
		line := c.lines.of(join(arm+".vms", vm.Name)+".instrument", arm+".instrument", at)
		found.add(line, fmt.Sprintf("%s is to be instrumented, and its runner is %q, which has no part of "+
			"krund in the measured process", join("vms", vm.Name), vm.Runner),
			"remove it; in an arm, write arms.NAME.vms.NAME.instrument for each of the other VMs")
	}
}

// count returns the number of keys, including skipped ones.
func (c *Config) count() int {
	n := 0
	for _, vm := range c.VMs {
		for _, name := range vm.Variants {
			benchmarks := len(c.Benchmarks)
			if v, _ := find(c.Variants, func(v Variant) bool { return v.Name == name }); v.Suite != nil {
				benchmarks = len(v.Suite.Benchmarks)
			}
			n += benchmarks * len(c.armNames())
		}
	}
	return n
}

// allKeys returns all keys in Krun's order, including skipped ones.
func (c *Config) allKeys() []key.Key {
	var keys []key.Key
	for _, vm := range c.VMs {
		for _, benchmark := range c.Benchmarks {
			for _, variant := range vm.Variants {
				if !c.exists(vm, benchmark, variant) {
					continue
				}
				for _, arm := range c.armNames() {
					keys = append(keys, key.Key{Benchmark: benchmark.Name, VM: vm.Name, Variant: variant,
						Arm: arm})
				}
			}
		}
	}
	return keys
}

// Skipped returns the keys that experiment.skip leaves out, in Krun's order.
func (c *Config) Skipped() []key.Key {
	return slices.DeleteFunc(c.allKeys(), func(k key.Key) bool { return slices.Contains(c.keys, k) })
}

// plannedKeys returns the keys of allKeys without the skipped ones.
func (c *Config) plannedKeys() []key.Key {
	return c.anchored(slices.DeleteFunc(c.allKeys(), func(k key.Key) bool {
		return slices.ContainsFunc(c.Experiment.Skip, func(p key.Pattern) bool { return p.Match(k) })
	}))
}

// checkSizes reports sizes for VMs that do not exist on any machine.
func (c *Config) checkSizes(root *node, found *problems) {
	for _, b := range c.Benchmarks {
		for _, s := range b.Sizes {
			if s.VM != "" {
				c.checkVM(root, join(join("benchmarks", b.Name)+".vms", s.VM), s.VM, found)
			}
		}
	}
}

// checkVM reports a section for a VM that does not exist on any machine.
func (c *Config) checkVM(root *node, at, vm string, found *problems) {
	var known []string
	for _, k := range append(keysOfAllMachines(root), c.allKeys()...) {
		if !slices.Contains(known, k.VM) {
			known = append(known, k.VM)
		}
	}
	if !slices.Contains(known, vm) {
		found.add(c.lines.of(at), at+": there is no such VM", didYouMean(vm, known,
			fmt.Sprintf("define [%s]", join("vms", vm))))
	}
}

func (c *Config) checkVariants(found *problems) {
	var known []string
	for _, v := range c.Variants {
		known = append(known, v.Name)
	}
	for _, vm := range c.VMs {
		at := join("vms", vm.Name)
		for i, name := range vm.Variants {
			if slices.Contains(known, name) {
				continue
			}
			line := c.lines.of(fmt.Sprintf("%s.variants[%d]", at, i), at)
			found.add(line, fmt.Sprintf("%s: there is no variant %s", at, quoteShort(name)),
				didYouMean(name, known, fmt.Sprintf("define [%s]", join("variants", name))))
		}
	}
}

// checkPatterns reports patterns that match no key. Such a pattern is probably misspelled, and the
// key that it was meant to skip would be measured. A pattern may be meant for a VM or benchmark
// that exists only on some machines.
func (c *Config) checkPatterns(root *node, broken bool, found *problems) {
	c.checkList("experiment.skip", c.Experiment.Skip, root, broken, found)
	c.checkList("experiment.negative_controls", c.Experiment.NegativeControls, root, broken, found)
	c.checkList("stop.keep", c.Stop.Keep, root, broken, found)
}

func (c *Config) checkList(list string, patterns []key.Pattern, root *node, broken bool, found *problems) {
	idle := unmatched(patterns, c.allKeys())
	if broken { // another mistake may have removed a VM's variants
		idle = unmatched(idle, c.possibleKeys())
	}
	if len(idle) > 0 {
		idle = unmatched(idle, keysOfAllMachines(root))
	}
	for _, p := range idle {
		found.add(c.lines.of(patternPath(list, p)), fmt.Sprintf("%s: %q matches no key", list, p),
			"correct its names or remove it")
	}
}

// unmatched returns the patterns that match none of the keys.
func unmatched(patterns []key.Pattern, keys []key.Key) []key.Pattern {
	return slices.DeleteFunc(slices.Clone(patterns),
		func(p key.Pattern) bool { return slices.ContainsFunc(keys, p.Match) })
}

// possibleKeys returns the keys that would exist if every VM had every variant.
func (c *Config) possibleKeys() []key.Key {
	all := Config{Benchmarks: c.Benchmarks, Variants: c.Variants, Arms: c.Arms}
	for _, vm := range c.VMs {
		for _, v := range c.Variants {
			vm.Variants = append(slices.Clone(vm.Variants), v.Name)
		}
		all.VMs = append(all.VMs, vm)
	}
	if all.count() > maxKeys {
		return nil
	}
	return all.allKeys()
}

// keysOfAllMachines returns the keys of the base and of every machine section, whatever machine
// this is, as far as they can be read.
func keysOfAllMachines(root *node) []key.Key {
	base, machines := layers(root, &problems{})
	if len(machines) == 0 {
		return nil
	}
	trees := []*node{base}
	all := base
	for _, m := range machines {
		all = merge(all, m.node)
		trees = append(trees, merge(base, m.node))
	}
	var keys []key.Key
	for _, tree := range append(trees, all) {
		c := newReader(&problems{}, nil, true).config(tree)
		if c.count() <= maxKeys {
			keys = append(keys, c.allKeys()...)
		}
	}
	return keys
}

func (c *Config) checkEmpty(broken bool, found *problems) {
	switch {
	case len(c.keys) > 0:
	case len(c.VMs) == 0 && c.lines["vms"] == 0:
		found.add(1, "there are no VMs, so the schedule is empty", "write [vms.NAME] for at least one")
	case len(c.Benchmarks) == 0 && c.lines["suites"] > 0: // checkSuites says why
	case len(c.Benchmarks) == 0 && c.lines["benchmarks"] == 0:
		found.add(1, "there are no benchmarks, so the schedule is empty",
			"write [benchmarks] with at least one")
	case broken: // they are probably just malformed
	case len(c.VMs) == 0:
		found.add(c.lines.of("vms"), "there are no VMs, so the schedule is empty",
			"write [vms.NAME] for at least one")
	case len(c.Benchmarks) == 0:
		found.add(c.lines.of("benchmarks"), "there are no benchmarks, so the schedule is empty",
			"write NAME = { parameter = 1 } for at least one")
	case len(c.allKeys()) > 0:
		found.add(c.lines.of("experiment.skip"), "the skip patterns leave nothing, so the schedule is empty",
			"remove one")
	}
}

// checkEntries reports variants that lack the entry that a runner needs.
func (c *Config) checkEntries(found *problems) {
	for _, k := range c.keys {
		vm, variant, _, err := c.Lookup(k)
		if err != nil || variant.Entry != "" || variant.Suite != nil || !vm.NeedsEntry() || vm.Runner == "" {
			continue
		}
		at := join("variants", variant.Name)
		found.add(c.lines.of(at+".entry", at), at+" has no entry",
			`write entry = "FILE", the file that the runner loads`)
	}
}

// checkSlots bounds the schedule and derives the reboot limit.
func (c *Config) checkSlots(found *problems) {
	e := &c.Experiment
	slots := c.Slots()
	if slots > maxSlots {
		found.add(c.lines.of("experiment.executions", "experiment"),
			fmt.Sprintf("the executions of %d keys are %d slots", len(c.keys), slots),
			fmt.Sprintf("plan at most %d", maxSlots))
	}
	if slots == 0 && len(c.keys) > 0 {
		found.add(c.lines.of("experiment.shard", "experiment"),
			fmt.Sprintf("the part %s has no executions", e.Shard),
			"plan at least as many executions as parts")
	}
	e.MaxReboots = cmp.Or(e.MaxReboots, e.Attempts*slots+slots/10+10)
}

package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/experiment/key"
)

// Arm is one of the builds or settings that the experiment compares. The first is the base.
type Arm struct {
	Name       string
	Null       bool       // a second copy of the base: what differs between the two is noise
	Inject     float64    // a null arm whose iterations take this part longer: 0.01 is 1%
	Revision   string     // what was built, for people; "" for none
	Benchmarks string     // absolute path of the benchmarks' directory; "": the experiment's
	VMs        []Override // what differs from [vms], the one for all VMs first
	// Anchor: a frozen build, of which a few keys are measured to see the machine change.
	Anchor bool
	Keys   []key.Pattern // of an anchor; none: some of all
}

// section is where the arm is described.
func (a Arm) section() string {
	if a.Anchor {
		return "anchor"
	}
	return join("arms", a.Name)
}

// AnchorArm is the name of the arm of [anchor], which is the last one.
const AnchorArm = "anchor"

// mostAnchored bounds the keys of an anchor.
const mostAnchored = 16

// Override replaces parts of a VM in an arm.
type Override struct {
	VM   string   // name; "" for all VMs
	Path string   // "": that of the VM
	Args []string // nil: those of the VM
	Env  []string // "NAME=value", in addition to those of the VM or in place of them

	Instrument string // one of the levels; "": that of the VM
}

// arms reads the section of that name, and the one of the anchor.
func (r *reader) arms(s *section) []Arm {
	list := tables(r, "arms", s.get("arms", ""), func(name string, s *section) Arm {
		arm := s.arm(name)
		arm.Null, arm.Revision = s.flag("null", false), s.text("revision", "")
		arm.Inject = s.percentage("inject")
		arm.Null = arm.Null || arm.Inject > 0
		return arm
	})
	n := s.get("anchor", "")
	if n == nil {
		return list
	}
	own := s.section("anchor", n)
	arm := own.arm(AnchorArm)
	arm.Anchor, arm.Keys = true, own.patterns("keys")
	own.done()
	return append(list, arm)
}

// percentage reads a text such as "1%"; without one it is 0.
func (s *section) percentage(name string) float64 {
	const least, most = 0.0001, 0.5
	text := s.text(name, "")
	if text == "" {
		return 0
	}
	number, found := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if v /= 100; !found || err != nil || !(v >= least && v <= most) {
		s.bad(s.node.child(name), name, `write how much slower: "0.01%" to "50%"`)
		return 0
	}
	return v
}

// Copy reports whether the arm is a copy of the base that differs from it by noise only.
func (a Arm) Copy() bool { return a.Null && a.Inject == 0 }

// Hold returns by how many parts per million the iterations of k are to take longer.
func (c *Config) Hold(k key.Key) int {
	const million = 1e6
	a, _ := find(c.Arms, func(a Arm) bool { return a.Name == k.Arm })
	return int(math.Round(a.Inject * million))
}

// arm reads what any arm may differ in.
func (s *section) arm(name string) Arm {
	arm := Arm{Name: name, Benchmarks: s.filled("benchmarks", ""), VMs: []Override{s.override("")}}
	vms := s.section(s.path+".vms", s.get("vms", "{}"))
	for _, vm := range vms.node.names() {
		own := s.section(join(vms.path, vm), vms.node.table[vm])
		arm.VMs = append(arm.VMs, own.override(vm))
		own.done()
	}
	return arm
}

func (s *section) override(vm string) Override {
	o := Override{VM: vm, Path: s.filled("path", ""), Args: s.vmArgs(), Env: s.env(),
		Instrument: s.instrument("")}
	if o.Args == nil && s.node.child("args") != nil {
		o.Args = []string{} // no arguments instead of those of the VM
	}
	return o
}

// apply replaces the parts of vm that o overrides.
func (o Override) apply(vm *VM) {
	if o.VM != "" && o.VM != vm.Name {
		return
	}
	if o.Path != "" {
		vm.Path = o.Path
	}
	if o.Args != nil {
		vm.Args = o.Args
	}
	if o.Instrument != "" {
		vm.Instrument = levelOf(o.Instrument)
	}
	if len(o.Env) == 0 {
		return
	}
	env := slices.DeleteFunc(slices.Clone(vm.Env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.ContainsFunc(o.Env, func(own string) bool { return strings.HasPrefix(own, name+"=") })
	})
	vm.Env = append(env, o.Env...)
	slices.Sort(vm.Env)
}

// arm returns the arm whose files and settings k uses: for a null arm, the base. The zero Arm
// changes nothing. It returns an error if k has an arm that is not in the configuration, or none
// although there are arms.
func (c *Config) arm(k key.Key) (Arm, error) {
	if len(c.Arms) == 0 && k.Arm == "" {
		return Arm{}, nil
	}
	arm, ok := find(c.Arms, func(a Arm) bool { return a.Name == k.Arm })
	if !ok {
		return Arm{}, fmt.Errorf("%s: no arm %q; krund was started with another configuration", k, k.Arm)
	}
	if arm.Null {
		return c.Arms[0], nil
	}
	return arm, nil
}

// benchmarksOf returns the benchmarks' directory of k.
func (c *Config) benchmarksOf(k key.Key) string {
	if arm, err := c.arm(k); err == nil && arm.Benchmarks != "" {
		return arm.Benchmarks
	}
	return c.Experiment.Benchmarks
}

// armNames are the names of the arms; without arms, the one name of keys that have none.
func (c *Config) armNames() []string {
	if len(c.Arms) == 0 {
		return []string{""}
	}
	names := make([]string, len(c.Arms))
	for i, arm := range c.Arms {
		names[i] = arm.Name
	}
	return names
}

// checkArms reports arms that cannot be compared, overrides without effect, and an order that does
// not fit.
func (c *Config) checkArms(root *node, found *problems) {
	c.checkOrder(found)
	c.checkAnchor(root, found)
	if len(c.Arms) == 1 && !c.Arms[0].Anchor {
		at := join("arms", c.Arms[0].Name)
		found.add(c.lines.of(at), at+" is the only arm, so it is compared with nothing",
			"add another arm, or null = true in one, or remove it")
	}
	for i, arm := range c.Arms {
		at := arm.section()
		if arm.Null {
			c.checkNull(i, at, found)
		}
		if arm.Inject > 0 {
			c.checkInject(at, found)
		}
		for _, o := range arm.VMs {
			c.checkOverride(root, at, o, found)
		}
	}
}

// checkAnchor reports an anchor that is none.
func (c *Config) checkAnchor(root *node, found *problems) {
	at := len(c.Arms) - 1
	if at < 0 || !c.Arms[at].Anchor {
		return
	}
	arm, line := c.Arms[at], c.lines.of("anchor")
	hasPath := func(o Override) bool { return o.Path != "" }
	keys := slices.DeleteFunc(c.plannedKeys(), func(k key.Key) bool { return k.Arm != AnchorArm })
	switch {
	case at == 0:
		found.add(line, "there is [anchor], and there are no [arms]",
			"name what is measured beside it, and its revision, in [arms.NAME]")
	case slices.ContainsFunc(c.Arms[:at], func(a Arm) bool { return a.Name == AnchorArm }):
		found.add(line, "there are [anchor] and [arms.anchor]", "give the arm another name")
	case arm.Benchmarks == "" && !slices.ContainsFunc(arm.VMs, hasPath):
		found.add(line, "[anchor] has no build of its own, so it changes with the program",
			"copy a build to where nothing changes it, and name it: benchmarks or path, as in an arm")
	case len(keys) == 0 || len(keys) > mostAnchored:
		found.add(c.lines.of("anchor.keys", "anchor"), fmt.Sprintf("the anchor has %d keys", len(keys)),
			fmt.Sprintf("name 8 to %d of anchor.keys that differ in what they exercise", mostAnchored))
	case len(c.Stop.Rules) > 0:
		found.add(line, "there are [anchor] and [stop]",
			"remove one: of an anchor every experiment measures the same number of executions")
	}
	c.checkList("anchor.keys", arm.Keys, root, false, found)
}

// anchored leaves out the keys that are not those of the anchor in its arm. Without a list, these
// are spread over all.
func (c *Config) anchored(keys []key.Key) []key.Key {
	at := len(c.Arms) - 1
	if at < 0 || !c.Arms[at].Anchor {
		return keys
	}
	list, all := c.Arms[at].Keys, 0
	for _, k := range keys {
		if k.Arm == AnchorArm {
			all++
		}
	}
	n := 0
	return slices.DeleteFunc(keys, func(k key.Key) bool {
		if k.Arm != AnchorArm {
			return false
		}
		n++
		if list == nil { // drawn where the next of 16 equal parts begins
			return all > mostAnchored && n*mostAnchored/all == (n-1)*mostAnchored/all
		}
		return !slices.ContainsFunc(list, func(p key.Pattern) bool { return p.Match(k) })
	})
}

func (c *Config) checkNull(i int, at string, found *problems) {
	if i == 0 {
		found.add(c.lines.of(at+".null"), at+" is the first arm, which is the base, and null",
			"move it after the arm that it is a copy of")
		return
	}
	for _, name := range []string{"path", "args", "env", "instrument", "vms", "benchmarks",
		"revision"} {
		if line, ok := c.lines[at+"."+name]; ok {
			found.add(line, fmt.Sprintf("%s has %s and is null", at, name),
				"remove one: a null arm is a copy of the first arm")
		}
	}
}

// checkInject reports what libkrun cannot hold, and a rule that would wait for the arm.
func (c *Config) checkInject(at string, found *problems) {
	line := c.lines.of(at + ".inject")
	if len(c.Stop.Rules) > 0 {
		found.add(line, fmt.Sprintf("there are %s.inject and [stop]", at),
			"remove one: a slowdown that is known is measured as often as the others")
	}
	for _, vm := range c.VMs {
		if vm.Runner == RunnerExternal {
			found.add(line, fmt.Sprintf("%s.inject cannot slow %s, which measures itself", at, vm.Name),
				"remove one: only iterations that libkrun measures can be held")
		}
	}
}

func (c *Config) checkOverride(root *node, at string, o Override, found *problems) {
	if o.VM == "" {
		if o.Path != "" && len(c.VMs) > 1 {
			found.add(c.lines.of(at+".path"), fmt.Sprintf("%s.path is for one VM, and there are %d", at,
				len(c.VMs)), fmt.Sprintf("write %s.vms.NAME.path", at))
		}
		return
	}
	c.checkVM(root, join(at+".vms", o.VM), o.VM, found)
}

// checkOrder selects the order of an experiment with arms: blocked, which is only for these.
func (c *Config) checkOrder(found *problems) {
	line, given := c.lines["experiment.order"]
	order := &c.Experiment.Order
	switch {
	case len(c.Arms) > 0 && !given:
		*order = OrderBlocked
	case len(c.Arms) > 0 && *order != OrderBlocked:
		found.add(line, fmt.Sprintf("experiment.order is %q, and there are [arms]", *order),
			fmt.Sprintf("remove it: arms are run in blocks, order = %q", OrderBlocked))
	case len(c.Arms) == 0 && *order == OrderBlocked && !c.doubtful["arms"]:
		found.add(line, fmt.Sprintf("experiment.order is %q, and there are no [arms]", *order),
			fmt.Sprintf("define them, or write %q", OrderInterleaved))
	}
}

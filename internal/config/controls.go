package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// A Policy says what krund does about one property of the machine.
type Policy string

// The policies. For a property that only can be looked at (the kernel's
// command line, a sensor), Apply is the same as Warn.
const (
	Require Policy = "require" // bring it about; when that cannot be, do not measure
	Apply   Policy = "apply"   // bring it about; when that cannot be, say so and go on
	Warn    Policy = "warn"    // only look, and say so when it is not as it should be
	Off     Policy = "off"     // leave it alone
)

// Control is what the configuration says about one property.
type Control struct {
	Name   string
	Policy Policy
	Stated bool // the file states the policy; otherwise it is the default

	options map[string]any // bool, int64, string or []string; every option of the table
}

// Relaxed is the control for development: a demand that only the defaults
// make is but a warning, so that an experiment without reboots runs on a
// laptop and leaves its settings alone. What the file states, it gets.
func (c Control) Relaxed() Control {
	if !c.Stated && c.Policy != Off {
		c.Policy = Warn
	}
	return c
}

// Text returns an option that is a string. Like its siblings it panics when
// the table has no such option: that is a bug.
func (c Control) Text(option string) string { return optionOf[string](c, option) }

// Whole returns an option that is a whole number.
func (c Control) Whole(option string) int64 { return optionOf[int64](c, option) }

// Flag returns an option that is true or false.
func (c Control) Flag(option string) bool { return optionOf[bool](c, option) }

// List returns an option that is a list of strings; the slice is the
// caller's.
func (c Control) List(option string) []string { return slices.Clone(optionOf[[]string](c, option)) }

func optionOf[T any](c Control, option string) T {
	v, ok := c.options[option].(T)
	if !ok {
		panic(fmt.Sprintf("config: control %s has no option %q of type %T", c.Name, option, v))
	}
	return v
}

// A controlSpec is one row of the table of known controls.
type controlSpec struct {
	name    string
	policy  Policy // the default
	options []optionSpec
}

// An optionSpec is an option of a control. Its type is that of normal, the
// default.
type optionSpec struct {
	name        string
	normal      any            // bool, int64, string or []string
	least, most int64          // of an int64
	choices     []string       // of a string; nil is any of shape
	shape       *regexp.Regexp // of a string; nil is any
	example     string         // of a string with a shape
}

var (
	cpuList     = regexp.MustCompile(`^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$`)
	mallocFlags = regexp.MustCompile(`^[A-Za-z<>]*$`)
)

// controlTable returns every control. Required is what Krun set or insisted
// on in the study (Barrett et al. 2017, section 3.5, and Krun's platform
// code). Hyper-threading, which the study switched off in the firmware, and
// the NMI watchdog are switched off where that can be done. What Krun did not
// touch is off, except for what can only be looked at.
func controlTable() []controlSpec {
	return []controlSpec{
		{name: "smt", policy: Apply},
		{name: "frequency", policy: Require, options: []optionSpec{
			{name: "khz", normal: int64(0), most: 100_000_000},
			{name: "free", normal: false},
		}},
		{name: "turbo", policy: Require, options: []optionSpec{{name: "msr", normal: false}}},
		{name: "cstates", policy: Off, options: []optionSpec{{name: "latency_us", normal: int64(0), most: 1_000_000}}},
		{name: "tickless", policy: Require},
		{name: "isolcpus", policy: Require},
		{name: "perf_rate", policy: Require, options: []optionSpec{
			{name: "rate", normal: int64(1), least: 1, most: 1_000_000},
			{name: "percent", normal: int64(1), least: 1, most: 99},
		}},
		{name: "nmi_watchdog", policy: Apply},
		{name: "aslr", policy: Require, options: []optionSpec{{name: "value", normal: int64(2), most: 2}}},
		{name: "swap", policy: Off},
		{name: "overcommit", policy: Require, options: []optionSpec{
			{name: "mode", normal: int64(2), most: 2},
			{name: "ratio", normal: int64(0), most: 1000},
		}},
		{name: "thp", policy: Off, options: []optionSpec{
			{name: "enabled", normal: "never", choices: []string{"always", "madvise", "never"}},
			{name: "defrag", normal: "", choices: []string{"", "always", "defer", "defer+madvise", "madvise", "never"}},
		}},
		{name: "ksm", policy: Off, options: []optionSpec{{name: "unmerge", normal: false}}},
		{name: "numa_balancing", policy: Off},
		{name: "writeback", policy: Off},
		{name: "stat_interval", policy: Off, options: []optionSpec{{name: "seconds", normal: int64(120), least: 1, most: 1_000_000}}},
		{name: "rt_throttle", policy: Off, options: []optionSpec{{name: "runtime_us", normal: int64(-1), least: -1, most: 1_000_000}}},
		{name: "irq_affinity", policy: Off},
		{name: "shield", policy: Off, options: []optionSpec{
			{name: "cpus", normal: "", shape: cpuList, example: "1-3,5"},
			{name: "type", normal: "root", choices: []string{"root", "isolated"}},
		}},
		{name: "services", policy: Off, options: []optionSpec{{name: "stop", normal: []string{}}}},
		{name: "network", policy: Off, options: []optionSpec{{name: "down", normal: []string{}}}},
		{name: "apm", policy: Require},
		{name: "malloc", policy: Require, options: []optionSpec{{name: "flags", normal: "cfgrux", shape: mallocFlags, example: "cfgrux"}}},
		{name: "temperature", policy: Require},
		{name: "kernel_log", policy: Warn},
		{name: "throttle", policy: Apply},
		{name: "virtualisation", policy: Warn},
		{name: "fingerprint", policy: Warn},
	}
}

// ControlNames returns the names of all controls in the order of the table.
func ControlNames() []string {
	table := controlTable()
	names := make([]string, len(table))
	for i, spec := range table {
		names[i] = spec.name
	}
	return names
}

// controls reads a policy, or a table with a policy and options, per name.
func (r *reader) controls(n *node) []Control {
	all := r.section("controls", n)
	defer all.done()
	var list []Control
	for _, spec := range controlTable() {
		list = append(list, all.control(spec))
	}
	return list
}

var policies = []string{string(Require), string(Apply), string(Warn), string(Off)}

func (s *section) control(spec controlSpec) Control {
	c := Control{Name: spec.name, Policy: spec.policy, options: map[string]any{}}
	n := s.get(spec.name, strconv.Quote(string(spec.policy)))
	if n != nil && n.table == nil {
		c.Stated = true
		c.Policy = Policy(s.oneOf(n, spec.name, string(spec.policy), policies))
		n = nil
	}
	options := s.section(join(s.path, spec.name), n)
	if n.child("policy") != nil {
		c.Stated = true
		c.Policy = Policy(options.oneOf(n.child("policy"), "policy", string(spec.policy), policies))
	}
	options.known = append(options.known, "policy")
	for _, o := range spec.options {
		c.options[o.name] = options.option(o)
	}
	options.done()
	return c
}

// option reads an option by the type of its default.
func (s *section) option(o optionSpec) any {
	switch normal := o.normal.(type) {
	case bool:
		return s.flag(o.name, normal)
	case int64:
		return s.whole(o.name, normal, o.least, o.most)
	case []string:
		return s.texts(o.name, normal, nil)
	case string:
		if o.choices != nil {
			return s.choice(o.name, normal, o.choices...)
		}
		v := s.text(o.name, normal)
		if o.shape != nil && !o.shape.MatchString(v) {
			s.bad(s.node.child(o.name), o.name, "write it like "+strconv.Quote(o.example))
		}
		return v
	}
	panic(fmt.Sprintf("config: option %s has a default of type %T", o.name, o.normal))
}

package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
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

	options map[string]any // string, int64, time.Duration or []string; every option of the table
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

// Duration returns an option that is a duration.
func (c Control) Duration(option string) time.Duration { return optionOf[time.Duration](c, option) }

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

// An optionSpec is an option of a control. The type of normal is the type of
// the option; a duration has a string here and unit set.
type optionSpec struct {
	name        string
	normal      any // string, int64, time.Duration or []string
	choices     []string
	least, most int64
}

// controlTable returns every control. Required by default is what Krun
// checked or set in the study (Barrett et al. 2017, section 3.5, and Krun's
// platform code); what else may matter warns; what costs comfort or is a
// matter of taste is off.
func controlTable() []controlSpec {
	return []controlSpec{
		{name: "frequency", policy: Require, options: []optionSpec{
			{name: "governor", normal: "performance"},
			{name: "limit", normal: "base", choices: []string{"base", "max", "keep"}},
		}},
		{name: "turbo", policy: Require},
		{name: "tickless", policy: Require},
		{name: "isolcpus", policy: Require},
		{name: "perf_rate", policy: Require, options: []optionSpec{{name: "samples", normal: int64(1), least: 1, most: 100_000}}},
		{name: "nmi_watchdog", policy: Warn},
		{name: "aslr", policy: Require, options: []optionSpec{{name: "mode", normal: int64(2), least: 0, most: 2}}},
		{name: "overcommit", policy: Require, options: []optionSpec{{name: "mode", normal: int64(2), least: 0, most: 2}}},
		{name: "swap", policy: Warn},
		{name: "thp", policy: Off, options: []optionSpec{
			{name: "mode", normal: "never", choices: []string{"never", "madvise", "always"}},
		}},
		{name: "ksm", policy: Warn},
		{name: "numa_balancing", policy: Warn},
		{name: "writeback", policy: Off, options: []optionSpec{{name: "interval", normal: time.Duration(0)}}},
		{name: "stat_interval", policy: Off, options: []optionSpec{{name: "interval", normal: 2 * time.Minute}}},
		{name: "cstates", policy: Off, options: []optionSpec{{name: "latency", normal: time.Duration(0)}}},
		{name: "smt", policy: Warn},
		{name: "irq_affinity", policy: Off, options: []optionSpec{{name: "cpus", normal: ""}}},
		{name: "rt_throttle", policy: Off},
		{name: "shield", policy: Off, options: []optionSpec{
			{name: "cpus", normal: ""},
			{name: "type", normal: "root", choices: []string{"root", "isolated"}},
		}},
		{name: "services", policy: Off, options: []optionSpec{{name: "stop", normal: []string{}}}},
		{name: "network", policy: Off, options: []optionSpec{{name: "interfaces", normal: []string{"*"}}}},
		{name: "apm", policy: Require},
		{name: "malloc", policy: Require, options: []optionSpec{{name: "flags", normal: "cfgrux"}}},
		{name: "temperature", policy: Require},
		{name: "kernel_log", policy: Warn},
		{name: "throttle", policy: Warn},
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
	n := s.get(spec.name, string(spec.policy))
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
	case int64:
		return s.whole(o.name, normal, o.least, o.most)
	case time.Duration:
		return s.duration(o.name, shortDuration(normal), 0, false)
	case []string:
		return s.texts(o.name, normal, nil)
	case string:
		if o.choices != nil {
			return s.choice(o.name, normal, o.choices...)
		}
		return s.text(o.name, normal)
	}
	panic(fmt.Sprintf("config: option %s has a default of type %T", o.name, o.normal))
}

// shortDuration is d as one writes it: "2m", not "2m0s".
func shortDuration(d time.Duration) string {
	s := d.String()
	if d == 0 {
		return s
	}
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

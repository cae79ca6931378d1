// Package setting holds what controls (internal/control) and probes (internal/machine/probe) have
// in common: how they declare themselves (Descriptor), what a configuration asks of them (Policy,
// Demand), and what they report (Finding, Problem, Table). A setting is one property of the machine
// that krund sets, or only reads.
//
// The types are here, and not in internal/control, so that there is one Policy and one Descriptor
// for both, while probes, which only read, and the configuration, which only parses, import nothing
// that changes a machine. The package is a leaf and touches no machine. Start reading at
// Descriptor.
package setting

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// A Descriptor declares one setting, beside the code that sets or reads it. Everything else about a
// setting is derived from its descriptor: how the configuration is parsed, its defaults, the table
// of `krunctl check`, the [controls] of configs/example.toml, and the tables in docs/config.md and
// docs/controls.md.
type Descriptor struct {
	Name    string // as in [controls]
	Brief   string // what krund sets or watches: "one hardware thread per core"
	Why     string // why it matters to a measurement, in one line
	Policy  Policy // by default
	Options []Option
	What    string // what is set or read, in Markdown
	Notes   string // further remarks, in Markdown
}

// An Option is a value beside the policy. Its type is that of its default.
type Option struct {
	Name     string
	Default  any            // bool, int64, string or []string
	Min, Max int64          // of an int64, both included
	Choices  []string       // of a string; nil: any string of Shape
	Shape    *regexp.Regexp // of a string; nil: any string
	Example  string         // of a string with a Shape
	Values   string         // what the values are, if the fields above do not define it: "list of CPUs"
	Doc      string         // one line in Markdown
}

// A Demand is what a configuration requests for one setting.
type Demand struct {
	Name   string
	Policy Policy
	Stated bool // the file states the policy; otherwise it is the default

	options map[string]any // every option of the descriptor
}

// Default returns the demand of a configuration that does not mention the setting.
func (d Descriptor) Default() Demand {
	options := map[string]any{}
	for _, o := range d.Options {
		options[o.Name] = o.Default
	}
	return Demand{Name: d.Name, Policy: d.Policy, options: options}
}

// Under returns the demand with another policy.
func (d Demand) Under(p Policy) Demand {
	d.Policy = p
	return d
}

// With returns the demand with another value of an option. An unknown option or a wrong type is a
// bug: With panics, and so do the methods that return options.
func (d Demand) With(option string, value any) Demand {
	if old, known := d.options[option]; !known || fmt.Sprintf("%T", old) != fmt.Sprintf("%T", value) {
		panic(fmt.Sprintf("setting: %s has no option %q of type %T", d.Name, option, value))
	}
	d.options = maps.Clone(d.options)
	d.options[option] = value
	return d
}

// Relaxed returns the demand for development: what only the defaults require becomes a warning, so
// that an experiment without reboots runs on a laptop and leaves its settings alone.
func (d Demand) Relaxed() Demand {
	if !d.Stated && d.Policy != Off {
		d.Policy = Warn
	}
	return d
}

// Text returns an option that is a string.
func (d Demand) Text(option string) string { return optionOf[string](d, option) }

// Whole returns an option that is a whole number.
func (d Demand) Whole(option string) int64 { return optionOf[int64](d, option) }

// Flag returns an option that is true or false.
func (d Demand) Flag(option string) bool { return optionOf[bool](d, option) }

// List returns a copy of an option that is a list of strings.
func (d Demand) List(option string) []string { return slices.Clone(optionOf[[]string](d, option)) }

func optionOf[T any](d Demand, option string) T {
	v, ok := d.options[option].(T)
	if !ok {
		panic(fmt.Sprintf("setting: %s has no option %q of type %T", d.Name, option, v))
	}
	return v
}

// Demands are what a configuration requests for all settings, each once.
type Demands []Demand

// Defaults returns the demands of an empty configuration.
func Defaults(descriptors []Descriptor) Demands {
	list := make(Demands, len(descriptors))
	for i, d := range descriptors {
		list[i] = d.Default()
	}
	return list
}

// Of returns the demand for the setting of that name. An unknown name is a bug and panics.
func (l Demands) Of(name string) Demand {
	i := slices.IndexFunc(l, func(d Demand) bool { return d.Name == name })
	if i < 0 {
		panic("setting: no setting " + name)
	}
	return l[i]
}

// With returns a copy in which demands replace those of the same names.
func (l Demands) With(demands ...Demand) Demands {
	l = slices.Clone(l)
	for i := range l {
		for _, d := range demands {
			if d.Name == l[i].Name {
				l[i] = d
			}
		}
	}
	return l
}

// Relaxed returns a copy in which every demand is relaxed.
func (l Demands) Relaxed() Demands {
	l = slices.Clone(l)
	for i, d := range l {
		l[i] = d.Relaxed()
	}
	return l
}

// A Policy is what krund does about a setting that is not as wanted.
type Policy string

// The policies, strictest first.
const (
	Require Policy = "require" // set it; when it cannot be set, do not measure
	Apply   Policy = "apply"   // set it if possible; record it otherwise
	Warn    Policy = "warn"    // never touch it; report it when it differs
	Off     Policy = "off"     // never touch it, never report it
)

// Changes reports whether a control under this policy may change the machine.
func (p Policy) Changes() bool { return p == Require || p == Apply }

// A Status is the state of a setting.
type Status string

// The statuses. A check returns any except StatusSet; applying turns StatusWillSet into StatusSet
// or StatusCannot.
const (
	StatusOK      Status = "ok"       // as wanted, without a change by krund
	StatusWillSet Status = "will_set" // differs; applying will set it
	StatusSet     Status = "set"      // krund set it and read it back
	StatusDiffers Status = "differs"  // differs, and the policy forbids setting it
	// differs or is unknown, and krund cannot set it on this machine
	StatusCannot      Status = "cannot"
	StatusNeedsReboot Status = "needs_reboot" // differs; only a kernel argument and a reboot change it
	StatusOff         Status = "off"          // policy off
)

// Volatile are the controls whose findings differ from one execution to the next without anybody's
// doing, where krund leaves them alone.
var Volatile = []string{"irq_affinity", "services", "timers", "network", "caches", "rps_cpus", "shield"}

// Fit reports whether a setting in this status is as wanted, or will be after applying.
func (s Status) Fit() bool {
	return s == StatusOK || s == StatusWillSet || s == StatusSet || s == StatusOff
}

// A Finding is what is known about one setting or reading of the machine: a row of the table, and
// part of every record.
type Finding struct {
	Name   string `json:"name"`             // the control's or probe's name in the configuration
	Policy Policy `json:"policy"`           // what the configuration asks for
	Status Status `json:"status"`           // its state
	Found  string `json:"found"`            // the value on the machine, in readable form
	Wanted string `json:"wanted"`           // the requested value
	Detail string `json:"detail,omitempty"` // further remarks: exceptions, errors of the kernel
	Why    string `json:"why,omitempty"`    // why it matters, in one line
	Fix    string `json:"fix,omitempty"`    // what to do when it is not as wanted
}

// Fails reports whether the finding forbids measuring: it is required and not as wanted.
func (f Finding) Fails() bool { return f.Policy == Require && !f.Status.Fit() }

// A Problem is a reason why this machine is not fit to measure, with what the user can do about it.
type Problem struct {
	Control string `json:"control"`
	What    string `json:"what"`
	Fix     string `json:"fix"`
}

func (p Problem) String() string {
	if p.Fix == "" {
		return fmt.Sprintf("%s: %s", p.Control, p.What)
	}
	return fmt.Sprintf("%s: %s; %s", p.Control, p.What, p.Fix)
}

// problem returns the Problem of a finding that Fails.
func (f Finding) problem() Problem {
	what := fmt.Sprintf("is %s, wanted %s", f.Found, f.Wanted)
	if f.Detail != "" {
		what += " (" + f.Detail + ")"
	}
	fix := fmt.Sprintf(`set %s = "warn" in [controls] to measure anyway`, f.Name)
	if f.Fix != "" {
		fix = f.Fix + "; or " + fix
	}
	return Problem{Control: f.Name, What: what, Fix: fix}
}

// Problems returns one Problem for each finding that forbids measuring.
func Problems(findings []Finding) []Problem {
	var problems []Problem
	for _, f := range findings {
		if f.Fails() {
			problems = append(problems, f.problem())
		}
	}
	return problems
}

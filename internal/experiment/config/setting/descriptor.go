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

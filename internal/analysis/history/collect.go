package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// Measured is an experiment: its data and their analysis, with the same keys and executions in the
// same order.
type Measured struct {
	Data *dataset.Dataset // Source is its directory
	Doc  *warmup.Document
}

// Collector puts executions together by version, key and machine.
type Collector struct {
	versions []Version
	at       map[string]int // of a label in versions
	keys     []Key
	of       map[[2]string]int // of a key and a machine in keys
	fixed    bool              // versions were given
	nights   map[[2]string]int // by machine and revision: how often it was measured
	latest   map[string]int    // by machine: the last version measured
	unknown  []string
	named    bool // keys keep the names of their machines
	sources  map[[2]string]Source
}

// Source is where a version was measured on a machine.
type Source struct {
	Dir     string // of the experiment
	Machine string // if several share the experiment; else ""
}

// Source returns where a version of Collected was measured on a machine; "" is the only one.
func (c *Collector) Source(version int, machine string) Source {
	for id, s := range c.sources {
		if id[0] == c.versions[version].Label && (id[1] == machine || machine == "") {
			return s
		}
	}
	return Source{}
}

// NewCollector returns a collector for versions in this order, which may include some that were
// not measured; without any, versions are in the order in which they are added.
func NewCollector(order []string) *Collector {
	c := &Collector{at: map[string]int{}, of: map[[2]string]int{}, fixed: len(order) > 0,
		nights: map[[2]string]int{}, latest: map[string]int{}, sources: map[[2]string]Source{}}
	for _, label := range order {
		c.version(label, "list")
	}
	return c
}

func (c *Collector) version(label, source string) int {
	if v, ok := c.at[label]; ok {
		return v
	}
	v := Version{Label: label, Source: source}
	if source == SourceRevision || source == "list" {
		v.Revision = label
	}
	c.insert(len(c.versions), v)
	return len(c.versions) - 1
}

// insert puts a version at an index, before those that are later.
func (c *Collector) insert(at int, v Version) {
	if at < len(c.versions) {
		for label, i := range c.at {
			c.at[label] = i + arith.One(i >= at)
		}
		for machine, i := range c.latest {
			c.latest[machine] = i + arith.One(i >= at)
		}
	}
	c.at[v.Label] = at
	c.versions = slices.Insert(c.versions, at, v)
	for i := range c.keys {
		c.keys[i].Values = slices.Insert(c.keys[i].Values, at, nil)
	}
}

// night returns the version of another measurement of a revision on a machine: the first is the
// revision's own version, the second one follows what the machine has measured last.
func (c *Collector) night(v int, machine string) int {
	revision := c.versions[v].Revision
	if revision == "" {
		return v
	}
	id := [2]string{machine, revision}
	if c.nights[id]++; c.nights[id] > 1 {
		label := fmt.Sprintf("%s, night %d", revision, c.nights[id])
		at, ok := c.at[label]
		if !ok {
			at = c.latest[machine] + 1
			c.insert(at, Version{Label: label, Source: c.versions[v].Source, Revision: revision})
		}
		v = at
	}
	c.latest[machine] = v
	return v
}

// find returns the version with a label, or with the only label that one of the two begins with, as
// revisions are often abbreviated.
func (c *Collector) find(label, source string) (int, bool) {
	v, ok := c.at[label]
	if ok || !c.fixed {
		return c.version(label, source), true
	}
	matches := 0
	for i, known := range c.versions {
		const fewest = 7 // letters of an abbreviated revision
		short := min(len(known.Label), len(label))
		if short >= fewest && known.Label[:short] == label[:short] {
			v = i
			matches++
		}
	}
	return v, matches == 1
}

// Add adds an experiment. Each arm is a version, whose label is the arm's revision; without one, it
// is name, followed by the arm. Another experiment of the same revision on the same machine is a
// version of its own, labeled "REVISION, night 2": if the two differ, it was not the program. Null
// arms and instrumented keys are left out. The keys of an anchor keep its name; what they measure
// belongs to the version of the last other arm.
func (c *Collector) Add(m Measured, name string) {
	x := measurement{c, map[[2]string]string{}}
	arms := map[string]dataset.Arm{}
	beside := "" // the arm whose version the anchor was measured with
	for _, a := range m.Data.Arms {
		arms[a.Name] = a
		if !a.Null && !a.Anchor {
			beside = a.Name
		}
	}
	for i := range m.Data.Pairs {
		p := &m.Data.Pairs[i]
		arm := arms[p.Key.Arm]
		if arm.Null || p.Instrument() != "" {
			continue
		}
		label, source := name, SourceName
		if arm.Anchor {
			arm = arms[beside]
		}
		switch {
		case arm.Revision != "":
			label, source = arm.Revision, SourceRevision
		case arm.Name != "":
			label += "@" + arm.Name
			if m.Data.Arms[0].Name != arm.Name { // keys have arms of the configuration only
				source = SourceArm
			}
		}
		anchor := arms[p.Key.Arm].Anchor
		control := anchor || slices.Contains(m.Data.NegativeControls, p.Key.String())
		alone := p.Key
		if !anchor {
			alone.Arm = ""
		}
		for _, e := range compare.Executions(p, &m.Doc.Pairs[i], m.Doc.Parameters.Column) {
			k := Key{Name: alone.String(), Machine: cmp.Or(e.Machine, m.Data.Machine), Control: control}
			x.add(label, source, k, e.Value)
			x.from(label, k.Machine, Source{m.Data.Source, e.Machine})
		}
	}
}

// AddValues adds an experiment that was collected alone, with the same result as Add. It returns
// the labels of the versions that it is here, by its own label and the machine.
func (c *Collector) AddValues(v Values) map[[2]string]string {
	x := measurement{c, map[[2]string]string{}}
	for _, k := range v.Keys {
		for at, values := range k.Values {
			if len(values) > 0 {
				x.add(v.Versions[at].Label, v.Versions[at].Source, k, values...)
			}
		}
	}
	return x.labels
}

// AddSeries adds what [ParseValues] has read. Its labels are those of the history; a version that
// is new there comes after the one before it in v. It refuses a second value of what has one.
func (c *Collector) AddSeries(v Values) error {
	before := -1
	for at, version := range v.Versions {
		i, ok := c.at[version.Label]
		if !ok && c.fixed {
			if i, ok = c.find(cmp.Or(version.Revision, version.Label), version.Source); !ok {
				c.unknown = append(c.unknown, version.Label)
				continue
			}
			before = max(before, i)
			if version.Revision != "" && version.Label != version.Revision { // a night of it
				if ok = !slices.ContainsFunc(c.keys, func(k Key) bool { return len(k.Values[i]) > 0 }); ok {
					c.versions[i].Label = version.Label
					c.at[version.Label] = i
				}
			}
		}
		if !ok {
			i = before + 1
			c.insert(i, version)
		}
		before = i
		label := c.versions[i].Label
		for _, k := range v.Keys {
			if len(k.Values[at]) == 0 {
				continue
			}
			to := c.key(k.Name, k.Machine)
			if len(to.Values[i]) > 0 {
				return fmt.Errorf("key %s of version %s is there twice; if two machines measured it, name "+
					"the machine of each", display.Head(k.Name, 100), display.Head(label, 100))
			}
			to.Values[i], to.Control = k.Values[at], to.Control || k.Control
			c.latest[k.Machine] = i
		}
	}
	return nil
}

// measurement is an experiment that is being added.
type measurement struct {
	*Collector
	labels map[[2]string]string // of its versions, by label and machine
}

// add adds executions of a key, of which the values are not used.
func (x measurement) add(label, source string, k Key, values ...float64) {
	v, ok := x.find(label, source)
	if !ok {
		if !slices.Contains(x.unknown, label) {
			x.unknown = append(x.unknown, label)
		}
		return
	}
	night, ok := x.labels[[2]string{label, k.Machine}]
	if !ok { // its index changes when nights are inserted
		night = x.versions[x.night(v, k.Machine)].Label
		x.labels[[2]string{label, k.Machine}] = night
	}
	v = x.at[night]
	to := x.key(k.Name, k.Machine)
	to.Control = to.Control || k.Control
	to.Values[v] = append(to.Values[v], values...)
}

// from notes where a version was measured on a machine.
func (x measurement) from(label, machine string, s Source) {
	if night, ok := x.labels[[2]string{label, machine}]; ok {
		x.sources[[2]string{night, machine}] = s
	}
}

// NameMachines makes Collected name the machine of each key even if there is only one.
func (c *Collector) NameMachines() { c.named = true }

func (c *Collector) key(name, machine string) *Key {
	id := [2]string{name, machine}
	i, ok := c.of[id]
	if !ok {
		i = len(c.keys)
		c.of[id] = i
		c.keys = append(c.keys, Key{Name: name, Machine: machine, Values: make([][]float64, len(c.versions))})
	}
	return &c.keys[i]
}

// Collected returns the versions, the keys with their executions, and the labels that are not among
// the given versions, whose executions are left out. If all executions are from one machine, keys
// do not name it: a key on two machines has two histories, because their levels differ.
func (c *Collector) Collected() (versions []Version, keys []Key, unknown []string) {
	machines := map[string]bool{}
	for _, k := range c.keys {
		machines[k.Machine] = true
	}
	for i := range c.keys {
		if len(machines) == 1 && !c.named {
			c.keys[i].Machine = ""
		}
	}
	return c.versions, c.keys, c.unknown
}

// ParseValues reads Values as JSON; is reports whether that is what the text is.
func ParseValues(text []byte) (v Values, is bool, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&v) != nil || len(v.Versions) == 0 || len(v.Keys) == 0 {
		return Values{}, false, nil
	}
	for _, k := range v.Keys {
		if len(k.Values) != len(v.Versions) {
			return v, false, fmt.Errorf("key %s has values of %d versions, and there are %d",
				display.Head(k.Name, 100), len(k.Values), len(v.Versions))
		}
	}
	return v, true, nil
}

// Names returns short names of experiments' directories: the last part of the path without ".krun",
// or the whole path if another one ends alike.
func Names(directories []string) []string {
	count := map[string]int{}
	short := func(d string) string { return strings.TrimSuffix(filepath.Base(d), ".krun") }
	for _, d := range directories {
		count[short(d)]++
	}
	names := make([]string, len(directories))
	for i, d := range directories {
		if names[i] = short(d); count[names[i]] > 1 {
			names[i] = strings.TrimSuffix(d, ".krun")
		}
	}
	return names
}

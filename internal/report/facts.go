package report

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/durable"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/machine/noise"
	"krund/internal/reading/experiment"
)

// Facts describe the origin of krund's records: where, when and under which controls they were
// measured. Add collects them; the zero value is empty.
type Facts struct {
	Records     int
	First, Last time.Time // begin of the first and the last execution; zero: none
	Values      []Fact    // host, krund, clock, ... with how often each value occurs
	Fingerprint []Fact    // of the machine
	Controls    []ControlFact
	Noise       string // what the machine's noise certificate says, in a few words; "" without one
	settings    []Fact // each control's value during the execution
	runs        map[key.Key][]RunFacts

	// Machines are the facts of each machine of an experiment on several, with its name; nothing
	// else is set then.
	Machine  string
	Machines []*Facts
}

// Each returns the facts of each machine.
func (f *Facts) Each() []*Facts {
	switch {
	case f == nil:
		return nil
	case len(f.Machines) > 0:
		return f.Machines
	case f.Records == 0:
		return nil
	}
	return []*Facts{f}
}

// Fact is a value and the number of records that have it. A name with several values means that
// records differ.
type Fact struct {
	Name, Value string
	Records     int
}

// ControlFact counts how often a control ended in a status. Its values are those of the first
// record, which has the initial ones: in later records krund had already set them.
type ControlFact struct {
	results.Control
	Records int
}

// Fit reports whether the setting was as requested.
func (c *ControlFact) Fit() bool {
	return c.Status == "ok" || c.Status == "set" || c.Status == "off"
}

// RunFacts describe the execution of one record.
type RunFacts struct {
	Pexec, Slot, Attempt int
	Outcome              results.Outcome
	Restart              string         // what was restarted before it; "": nothing, or unknown
	StartupNS            int64          // from exec to the first iteration; 0: not known
	Temperatures         string         // of the hottest sensor: "42.4 °C before, 58.4 °C after"; "" unknown
	Events               []MachineEvent // temperatures, throttling, kernel messages, findings
	Reasons              []string
}

// restarts describe how executions were separated.
var restarts = map[string]string{
	results.RebootHardware: "after a restart of the hardware",
	results.RebootKexec:    "after a restart of the kernel (kexec)",
	results.RebootSoft:     "after a soft reboot",
}

// rebootFact is the name of the fact about how executions were separated.
const rebootFact = "reboot before each execution"

// controls returns the names of the controls with a property, each once.
func (f *Facts) controls(has func(*ControlFact) bool) []string {
	if f == nil {
		return nil
	}
	var names []string
	for i := range f.Controls {
		if c := &f.Controls[i]; has(c) && !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Add adds a record.
func (f *Facts) Add(r *results.Record) {
	f.Records++
	if f.First.IsZero() || r.Started.Before(f.First) {
		f.First = r.Started
	}
	if r.Started.After(f.Last) {
		f.Last = r.Started
	}
	for _, v := range [][2]string{
		{"machine", r.Host}, {"krund", r.Krund}, {"configuration", r.ConfigHash}, {"clock", r.Clock},
		{"counters", r.CounterSource}, {rebootFact, r.Reboot},
	} {
		note(&f.Values, v[0], v[1])
	}
	for _, name := range slices.Sorted(maps.Keys(r.Machine.Fingerprint)) {
		note(&f.Fingerprint, name, r.Machine.Fingerprint[name])
	}
	for _, c := range r.Machine.Controls {
		f.control(c)
		if c.After != "" || !slices.Contains(setting.Volatile, c.Name) {
			note(&f.settings, c.Name, cmp.Or(c.After, c.Found))
		}
	}
	if f.runs == nil {
		f.runs = map[key.Key][]RunFacts{}
	}
	f.runs[r.Key] = append(f.runs[r.Key], runFacts(r))
}

func note(list *[]Fact, name, value string) {
	i := slices.IndexFunc(*list, func(v Fact) bool { return v.Name == name && v.Value == value })
	if i < 0 {
		i = len(*list)
		*list = append(*list, Fact{name, value, 0})
	}
	(*list)[i].Records++
}

func (f *Facts) control(c results.Control) {
	i := slices.IndexFunc(f.Controls, func(v ControlFact) bool {
		return v.Name == c.Name && v.Status == c.Status && v.Policy == c.Policy
	})
	if i < 0 {
		i = len(f.Controls)
		f.Controls = append(f.Controls, ControlFact{c, 0})
	}
	f.Controls[i].Records++
}

func runFacts(r *results.Record) RunFacts {
	f := RunFacts{
		Pexec: r.Pexec, Slot: r.Slot, Attempt: r.Attempt, Outcome: r.Outcome, Reasons: r.Reasons,
		Restart: restarts[r.Reboot],
	}
	if s := r.Startup; s.ExecNS != nil && s.FirstNS != nil {
		f.StartupNS = *s.FirstNS - *s.ExecNS
	}
	f.Events = eventsOf(r)
	var parts []string
	if t, ok := hottest(r.Machine.Temperatures.Before); ok {
		parts = append(parts, t+" before")
	}
	if t, ok := hottest(r.Machine.Temperatures.After); ok {
		parts = append(parts, t+" after")
	}
	f.Temperatures = strings.Join(parts, ", ")
	return f
}

// of returns the facts of a key's executions in the order of datasets: by number of the execution,
// then slot and attempt.
func (f *Facts) of(k key.Key) []RunFacts {
	if f == nil {
		return nil
	}
	return slices.SortedStableFunc(slices.Values(f.runs[k]),
		func(a, b RunFacts) int { return a.Pexec - b.Pexec })
}

// kernelNames are the parts of a fingerprint that must not differ within an experiment whose
// numbers are compared.
var kernelNames = []string{"kernel.release", "kernel.version", "cpu.model", "cpu.microcode"}

// severalMachines warns about executions of more than one machine.
func (f *Facts) severalMachines() (w warmup.Warning, several bool) {
	var names []string
	for _, v := range f.Values {
		if v.Name == "machine" {
			names = append(names, fmt.Sprintf("%s %d", v.Value, v.Records))
		}
	}
	return warmup.Warning{Code: "mixed", Text: fmt.Sprintf("the executions are of %d machines (%s); do not "+
		"compare levels across machines; arms of a shared experiment are compared within machines",
		len(names), strings.Join(names, ", "))}, len(names) > 1
}

// Warnings lists the facts in the records that weaken results, with the remedy. Those of several
// machines begin with the names of the machines.
func (f *Facts) Warnings() []warmup.Warning {
	if f != nil && len(f.Machines) > 0 {
		return machineWarnings(f.Machines)
	}
	if f == nil || f.Records == 0 {
		return nil
	}
	var list []warmup.Warning
	warn := func(code, format string, args ...any) {
		list = append(list, warmup.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	if w, ok := f.severalMachines(); ok {
		list = append(list, w)
	}
	for _, v := range f.Values {
		switch {
		case v.Name == rebootFact && v.Value == results.RebootNone:
			warn("no_reboot", "%d of %d executions ran without a reboot before; set reboot = \"hardware\" "+
				"to start each from the same state", v.Records, f.Records)
		case (v.Name == "krund" || v.Name == "configuration") && v.Records < f.Records:
			warn("mixed", "%d of %d executions have %s %s; do not compare executions across", v.Records,
				f.Records, v.Name, v.Value)
		}
	}
	for _, v := range f.Fingerprint {
		if slices.Contains(kernelNames, v.Name) && v.Records < f.Records {
			warn("mixed", "%d of %d executions ran with %s %s; measure all of them on one kernel and machine",
				v.Records, f.Records, v.Name, v.Value)
		}
	}
	if f.virtual() {
		warn("virtual_machine", "the machine is virtual: its host controls frequency, processors and "+
			"interrupts; measure on hardware")
	}
	if unfit := f.unfit(); len(unfit) > 0 {
		warn("controls", "controls without the requested value: %s; see the table of controls for the "+
			"reasons; with policy \"require\" krund refuses to measure", strings.Join(unfit, ", "))
	}
	reruns := 0
	for _, runs := range f.runs {
		for _, r := range runs {
			reruns += arith.One(r.Outcome == results.Rerun)
		}
	}
	if reruns > 0 {
		warn("reruns", "%d of %d executions were disturbed and rerun; see the pages of their keys for the "+
			"reasons", reruns, f.Records)
	}
	return list
}

// machineWarnings lists the warnings of each machine, each text once.
func machineWarnings(machines []*Facts) []warmup.Warning {
	var list []warmup.Warning
	names := map[warmup.Warning][]string{}
	for _, m := range machines {
		for _, w := range m.Warnings() {
			if names[w] == nil {
				list = append(list, w)
			}
			names[w] = append(names[w], m.Machine)
		}
	}
	for i, w := range list {
		list[i].Text = "on " + strings.Join(names[w], ", ") + ", " + w.Text
	}
	return list
}

// virtual reports whether krund detected a virtual machine.
func (f *Facts) virtual() bool {
	for _, c := range f.Controls {
		if strings.Contains(c.Detail, "virtual machine") || c.Name == "virtualisation" && !c.Fit() {
			return true
		}
	}
	return slices.ContainsFunc(f.Fingerprint, func(v Fact) bool {
		return (v.Name == "hypervisor" || strings.HasPrefix(v.Name, "virtualisation")) && v.Value != "" &&
			v.Value != "none"
	})
}

// Names returns the records of a key's executions in the order of datasets.
func (f *Facts) Names(k key.Key) []results.Name {
	runs := f.of(k)
	names := make([]results.Name, len(runs))
	for i, r := range runs {
		names[i] = results.Name{Slot: r.Slot, Attempt: r.Attempt}
	}
	return names
}

// FactsOf reads the facts in the records of the experiment arg, of each machine; nil for files of
// other tools. say gets what is left out.
func FactsOf(fsys durable.FS, in experiment.Input, arg string, say func(string, ...any)) (*Facts, error) {
	if in.Data.Format != experiment.Format {
		return nil, nil
	}
	parts := experiment.Parts(fsys, arg)
	if len(parts) == 1 {
		return factsOfPart(fsys, in, parts[0], say)
	}
	all := &Facts{}
	for _, part := range parts {
		facts, err := factsOfPart(fsys, in, part, say)
		if err != nil {
			return nil, err
		}
		if facts.Records > 0 {
			facts.Machine = experiment.MachineOf(part)
			all.Machines = append(all.Machines, facts)
		}
	}
	return all, nil
}

// factsOfPart reads the facts of one machine.
func factsOfPart(fsys durable.FS, in experiment.Input, arg string, say func(string, ...any)) (*Facts,
	error) {
	f, err := experiment.Open(fsys, arg)
	if err != nil {
		return nil, err
	}
	facts, err := ReadFacts(f.Reader(), in.Pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Dir(), err)
	}
	switch c, err := noise.Read(fsys, filepath.Join(f.Dir(), "noise.json")); {
	case err == nil:
		facts.Noise = c.Summary(facts.First)
	case !errors.Is(err, fs.ErrNotExist):
		say("the noise certificate is left out: %s", err)
	}
	return facts, nil
}

// ReadFacts reads the facts in the records of the keys that match pattern; nil matches all.
// Unusable records are omitted, because the dataset's problems name them.
func ReadFacts(r *results.Reader, pattern *key.Pattern) (*Facts, error) {
	list, err := r.List()
	if err != nil {
		return nil, err
	}
	facts := &Facts{}
	for rec := range r.Usable(list.Records, func(error) {}) {
		if pattern == nil || pattern.Match(rec.Key) {
			facts.Add(&rec)
		}
	}
	return facts, nil
}

// AddRecords adds the facts, and makes the report read the other columns and the events when they
// are written, because all of them together may not fit into memory.
func (in *Material) AddRecords(facts *Facts, r *results.Reader) {
	in.Facts = facts
	names := make([][]results.Name, len(in.Data.Pairs)) // of each pair, in the order of the dataset
	for i, pair := range in.Data.Pairs {
		names[i] = facts.Names(pair.Key)
	}
	in.Series = func(pair, execution int) (dataset.Execution, error) {
		if execution >= len(names[pair]) {
			return dataset.Execution{}, nil
		}
		rec, err := r.Load(names[pair][execution])
		if err != nil {
			return dataset.Execution{}, err
		}
		return experiment.Execution(&rec, nil), nil
	}
}

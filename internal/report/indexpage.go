package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
	"krund/internal/experiment/results"
)

// indexPage is the data of index.html.
type indexPage struct {
	Material
	Title      string
	Iterations string // number in every execution; "" if they differ
	When       string
	On         []machineView
	Confidence string
	Rows       []Row
	Shares     []ClassRow
	Why        []whyRow
	Failures   []Reason
	Failed     int // executions
	Weaknesses []Weakness
	Machines   compare.Levels
	Pairs      int // number of pairs with a class
	Analysed   int // executions
}

// machineView is where and how executions were measured.
type machineView struct {
	Name       string
	Hardware   string // processor and kernel
	Conditions string
	FitText    string   // of how many controls were as requested; "": none was checked
	Unfit      []string // names of controls that were not
}

// machineViews returns a view of each machine.
func machineViews(doc *warmup.Document, facts *Facts) []machineView {
	each := facts.Each()
	if len(each) == 0 {
		each = []*Facts{nil}
	}
	views := make([]machineView, len(each))
	for i, f := range each {
		v := machineView{Name: doc.Source.Machine, Hardware: f.hardware(), Conditions: f.conditions(),
			Unfit: f.unfit()}
		if len(each) > 1 {
			v.Name = f.Machine
		}
		if names := f.controlNames(); len(names) > 0 {
			v.FitText = fmt.Sprintf("%d of %d as wanted", len(names)-len(v.Unfit), len(names))
		}
		views[i] = v
	}
	return views
}

func (s *site) index() error {
	doc, facts := s.in.Document, s.in.Facts
	p := indexPage{
		Material: s.in, Title: cmp.Or(doc.Source.Experiment, doc.Source.Name, "Results"),
		Iterations: iterations(doc), When: facts.when(), On: machineViews(doc, facts),
		Confidence: percentText(doc.Parameters.Confidence),
		Rows:       Rows(doc), Shares: ClassRows(doc), Weaknesses: weaknesses(doc, facts),
	}
	if s.in.Data != nil {
		p.Machines = compare.LevelsOf(s.in.Data, doc, MachineConfidence, MachineKeys)
	}
	p.Why = s.in.whyRows(p.Rows)
	p.Failures, p.Failed = s.in.failures()
	p.Pairs, p.Analysed = classified(doc)
	return s.page("index.html", "index.html", p)
}

// iterations returns the number of iterations of all analyzed executions, or its range.
func iterations(doc *warmup.Document) string {
	var all span
	for i := range doc.Pairs {
		for _, e := range doc.Pairs[i].Executions {
			if e.Status == warmup.Analysed {
				all.add(e.Iterations)
			}
		}
	}
	if all.high == 0 {
		return ""
	}
	return all.String()
}

// when is the time of the measurements.
func (f *Facts) when() string {
	var first, last time.Time
	for _, m := range f.Each() {
		if first.IsZero() || m.First.Before(first) {
			first = m.First.UTC()
		}
		if m.Last.After(last) {
			last = m.Last.UTC()
		}
	}
	if last.IsZero() {
		return ""
	}
	const day, minute = "2 January 2006", "15:04"
	if first.Format(day) == last.Format(day) {
		return fmt.Sprintf("%s, %s to %s UTC", first.Format(day), first.Format(minute), last.Format(minute))
	}
	return fmt.Sprintf("%s to %s (UTC)", first.Format(day+", "+minute), last.Format(day+", "+minute))
}

// value returns the value of a name in a list of facts, followed by ", ..." when records differ.
func value(list []Fact, name string) string {
	text := ""
	for _, v := range list {
		switch {
		case v.Name != name || v.Value == "":
		case text == "":
			text = v.Value
		default:
			return text + ", ..."
		}
	}
	return text
}

// hardware describes the processor and the kernel.
func (f *Facts) hardware() string {
	if f == nil {
		return ""
	}
	var parts []string
	if cpu := value(f.Fingerprint, "cpu.model"); cpu != "" {
		parts = append(parts, cpu)
	}
	if kernel := value(f.Fingerprint, "kernel.release"); kernel != "" {
		parts = append(parts, "kernel "+kernel)
	}
	if f.virtual() {
		parts = append(parts, "virtual")
	}
	return strings.Join(parts, ", ")
}

// conditions describes how executions were separated and counted.
func (f *Facts) conditions() string {
	if f == nil || f.Records == 0 {
		return ""
	}
	parts := []string{cmp.Or(map[string]string{
		results.RebootHardware: "a reboot before each execution",
		results.RebootKexec:    "a new kernel before each execution (kexec)",
		results.RebootSoft:     "a soft reboot before each execution",
		results.RebootNone:     "no reboots",
	}[value(f.Values, rebootFact)], "a reboot before some executions")}
	if source := value(f.Values, "counters"); source != "" && source != "none" {
		parts = append(parts, "counters by "+source)
	}
	if krund := value(f.Values, "krund"); krund != "" {
		parts = append(parts, "krund "+krund)
	}
	if f.Noise != "" {
		parts = append(parts, f.Noise)
	}
	return strings.Join(parts, ", ")
}

// controlNames returns the names of the controls that were checked, each once.
func (f *Facts) controlNames() []string {
	return f.controls(func(c *ControlFact) bool { return c.Status != "off" })
}

// unfit returns the names of the controls that were not as requested in some execution.
func (f *Facts) unfit() []string { return f.controls(func(c *ControlFact) bool { return !c.Fit() }) }

// longName is the number of letters of a benchmark's name from which packages are shortened.
const longName = 32

// shortNames returns names of benchmarks as tables show them: if one is long, the packages of all
// are shortened to their first letters, as JMH does ("o.a.c.m.FastSin.sin"), unless different
// benchmarks would then look the same.
func shortNames(names []string) map[string]string {
	short, plain, owner := map[string]string{}, map[string]string{}, map[string]string{}
	long, clash := false, false
	for _, name := range names {
		plain[name] = display.PlainLine(name)
		s := shortName(plain[name])
		if other, ok := owner[s]; ok && other != name {
			clash = true
		}
		short[name], owner[s] = s, name
		long = long || utf8.RuneCountInString(plain[name]) > longName
	}
	if clash || !long {
		return plain
	}
	return short
}

// benchmarks returns the names of a document's benchmarks.
func benchmarks(doc *warmup.Document) []string {
	names := make([]string, len(doc.Pairs))
	for i := range doc.Pairs {
		names[i] = doc.Pairs[i].Benchmark
	}
	return names
}

// shortName shortens the leading parts of a name that look like packages: lower case, before the
// last two.
func shortName(name string) string {
	parts := strings.Split(name, ".")
	for i := range max(len(parts)-2, 0) {
		first, _ := utf8.DecodeRuneInString(parts[i])
		if !unicode.IsLower(first) {
			break
		}
		parts[i] = string(first)
	}
	return strings.Join(parts, ".")
}

package report

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// remark is a text of one kind about several keys.
type remark struct {
	kind  string
	Keys  []string // each once
	Texts []string // of each key; they may differ in their numbers
}

// remarks are grouped by kind.
type remarks []remark

func (list *remarks) add(kind, text, key string) {
	i := slices.IndexFunc(*list, func(r remark) bool { return r.kind == kind })
	if i < 0 {
		i = len(*list)
		*list = append(*list, remark{kind: kind})
	}
	if r := &(*list)[i]; !slices.Contains(r.Keys, key) {
		r.Keys, r.Texts = append(r.Keys, key), append(r.Texts, text)
	}
}

// line is the text of the first key, with the first keys and the number of the others.
func (r *remark) line(named int) string {
	keys := strings.Join(r.Keys[:min(named, len(r.Keys))], ", ")
	if more := len(r.Keys) - named; more > 0 {
		keys += fmt.Sprintf(" and %d more", more)
	}
	return keys + ": " + r.Texts[0]
}

// warningsOf groups the pairs' warnings by code.
func warningsOf(doc *warmup.Document) (list remarks) {
	for i := range doc.Pairs {
		for _, w := range doc.Pairs[i].Warnings {
			list.add(w.Code, w.Text, doc.Pairs[i].Key)
		}
	}
	return list
}

// Weakness is a circumstance that weakens the results: a line of a page, with its details.
type Weakness struct {
	Text string
	Keys []string // nil: all
}

// weaknesses lists the circumstances that concern all keys, then those of some, the most frequent
// first.
func weaknesses(doc *warmup.Document, facts *Facts) []Weakness {
	var list []Weakness
	for _, w := range documentWarnings(doc, facts) {
		list = append(list, Weakness{w.Text, nil})
	}
	grouped := warningsOf(doc)
	slices.SortStableFunc(grouped, func(a, b remark) int { return len(b.Keys) - len(a.Keys) })
	for _, g := range grouped {
		list = append(list, Weakness{g.Texts[0], g.Keys})
	}
	return list
}

// firstClause returns a text up to its first semicolon or colon, in one line.
func firstClause(text string) string {
	const least, most = 20, 200
	text = display.Clip(display.PlainLine(text), most)
	end := len(text)
	for _, mark := range []string{"; ", ": "} {
		if i := strings.Index(text, mark); i >= least {
			end = min(end, i)
		}
	}
	return text[:end]
}

// warningNotes returns a document's warnings, those of pairs grouped.
func warningNotes(doc *warmup.Document) []string {
	var notes []string
	for _, w := range doc.Warnings {
		notes = append(notes, w.Text)
	}
	for _, g := range warningsOf(doc) {
		notes = append(notes, g.line(3))
	}
	return notes
}

// documentWarnings returns the warnings about all keys: which programs were measured, of the
// records, then of the analysis.
func documentWarnings(doc *warmup.Document, facts *Facts) []warmup.Warning {
	list := []warmup.Warning{}
	of := doc.Warnings
	if len(of) > 0 && of[0].Code == warmup.WarnPrograms {
		list, of = append(list, of[0]), of[1:]
	}
	return append(append(list, facts.Warnings()...), of...)
}

// compared are the names of facts that should be equal on both sides of a comparison: a difference
// may explain a change. The comparison itself warns of different machines.
var compared = append([]string{"krund", "clock", "counters", rebootFact}, kernelNames...)

// CompareWarnings lists the facts in the records that weaken a comparison of two experiments: the
// differences between the sides, then what weakens each of them. Either may be nil.
func CompareWarnings(before, after *Facts) []warmup.Warning {
	list := []warmup.Warning{}
	if before != nil && after != nil {
		if text := settingsDiffer(before, after); text != "" {
			list = append(list, warmup.Warning{Code: "differs", Text: "the sides differ in " + text +
				"; measure both under the same"})
		}
		for _, name := range compared {
			a, b := before.value(name), after.value(name)
			if a != "" && b != "" && a != b {
				list = append(list, warmup.Warning{Code: "differs",
					Text: fmt.Sprintf("%s is %s before and %s after, and may be why numbers differ; measure "+
						"both with the same", name, a, b)})
			}
		}
	}
	for _, side := range []struct {
		name  string
		facts *Facts
	}{{"before", before}, {"after", after}} {
		for _, w := range side.facts.Warnings() {
			list = append(list, warmup.Warning{Code: w.Code, Text: side.name + ": " + w.Text})
		}
	}
	return list
}

// settingsDiffer names the settings of the machine that were not the same on both sides, with both
// values; those of which records have only a hash come last.
func settingsDiffer(before, after *Facts) string {
	const most, longest = 6, 60 // named; characters of a value
	a, b := before.inEffect(), after.inEffect()
	var list, hashes []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		old, now := a[name], b[name]
		switch {
		case old == "" || now == "" || old == now:
		case hashed.MatchString(old):
			hashes = append(hashes, name)
		default:
			list = append(list, fmt.Sprintf("%s (%s → %s)", name,
				display.Clip(display.PlainLine(old), longest), display.Clip(display.PlainLine(now), longest)))
		}
	}
	list = append(list, hashes...)
	if n := len(list) - most; n > 0 {
		list = append(list[:most], fmt.Sprintf("%d more", n))
	}
	return strings.Join(list, ", ")
}

// hashed is a value of a fingerprint that is a hash of many settings.
var hashed = regexp.MustCompile(`^(dpkg: \d+, )?[0-9a-f]{16,}$`)

// inEffect returns the settings of the machine during the executions: the controls, and what else a
// fingerprint has that someone can change. A name with several values has all of them.
func (f *Facts) inEffect() map[string]string {
	values := map[string][]string{}
	for _, v := range f.settings {
		values[v.Name] = append(values[v.Name], v.Value)
	}
	for _, v := range f.Fingerprint {
		name, state := strings.CutPrefix(v.Name, "state.")
		_, control := strings.CutPrefix(name, "control.")
		if !control && (state || strings.HasPrefix(name, "mitigation.") ||
			slices.Contains([]string{"kernel.cmdline", "packages"}, name)) {
			values[name] = append(values[name], v.Value)
		}
	}
	all := map[string]string{}
	for name, list := range values {
		slices.Sort(list)
		all[name] = strings.Join(slices.Compact(list), " or ")
	}
	return all
}

// Weaken adds to a comparison the warnings about its two sides: those of the analysis for each key,
// then CompareWarnings. Either of the facts may be nil; two arms of an experiment have the same.
func Weaken(r *compare.Result, before, after compare.Side, factsBefore, factsAfter *Facts) {
	index := map[string]*compare.Change{}
	for i := range r.Changes {
		index[r.Changes[i].Key] = &r.Changes[i]
	}
	for _, side := range []struct {
		name string
		compare.Side
	}{{"before", before}, {"after", after}} {
		for k, i := range side.Keys() {
			c := index[k.String()]
			for _, w := range side.Doc.Pairs[i].Warnings {
				c.Warnings = append(c.Warnings, warmup.Warning{Code: w.Code, Text: side.name + ": " + w.Text})
			}
		}
	}
	if factsBefore == factsAfter {
		r.Warnings = append(r.Warnings, factsBefore.Warnings()...)
		return
	}
	r.Warnings = append(r.Warnings, CompareWarnings(factsBefore, factsAfter)...)
}

// value returns the value of a name in the records.
func (f *Facts) value(name string) string {
	if v := value(f.Values, name); v != "" {
		return v
	}
	return value(f.Fingerprint, name)
}

// Reason is why executions were not analyzed.
type Reason struct {
	Reason string
	Count  int   // executions
	Keys   []int // indexes of their pages, each once, in the order of the document
}

const (
	mostReasons = 12  // lines about failures; the others are counted together
	reasonBytes = 200 // of a reason
)

// failures groups the executions that failed, or whose values cannot be used, by reason, the most
// frequent first. Executions that were run again, and those that are only too short, have warnings.
func (in *Material) failures() (list []Reason, total int) {
	at := map[string]int{}
	for i := range in.Document.Pairs {
		p := &in.Document.Pairs[i]
		for e := range p.Executions {
			reason := in.failure(i, e)
			if reason == "" {
				continue
			}
			total++
			n, ok := at[reason]
			if !ok {
				n = len(list)
				at[reason] = n
				list = append(list, Reason{Reason: reason})
			}
			list[n].Count++
			list[n].Keys = slices.Compact(append(list[n].Keys, i))
		}
	}
	slices.SortStableFunc(list, func(a, b Reason) int { return cmp.Compare(b.Count, a.Count) })
	if len(list) > mostReasons {
		rest := Reason{Reason: display.Count(len(list)-mostReasons+1, "other reason")}
		for _, f := range list[mostReasons-1:] {
			rest.Count, rest.Keys = rest.Count+f.Count, append(rest.Keys, f.Keys...)
		}
		rest.Keys = slices.Compact(slices.Sorted(slices.Values(rest.Keys)))
		list = append(list[:mostReasons-1], rest)
	}
	return list, total
}

// failure returns the reason why an execution failed: the first one, after its outcome; "" if it
// did not.
func (in *Material) failure(pair, execution int) string {
	e := &in.Document.Pairs[pair].Executions[execution]
	const rerun = "rerun"
	reason := e.Problem
	switch {
	case e.Status == warmup.Analysed || e.Outcome == rerun || e.Level != nil:
		return ""
	case e.Status == warmup.NotCompleted:
		reason = e.Outcome
		if reasons := in.Data.Pairs[pair].Executions[execution].Reasons; len(reasons) > 0 {
			reason += ": " + reasons[0]
		}
	}
	return display.Clip(display.PlainLine(reason), reasonBytes)
}

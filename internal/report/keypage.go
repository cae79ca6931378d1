package report

import (
	"fmt"
	"io"
	"slices"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/explain"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

func pageName(i int) string { return fmt.Sprintf("k%04d", i) }

// pairPage is the data of pair.html.
type pairPage struct {
	Material
	Index      int
	Name       string
	Pair       *warmup.Pair
	Row        Row
	Executions []executionView
	Previous   string // file names of the neighbors; "": none
	Next       string
	Others     []otherKey // that may be drawn beside this one
	More       int        // other keys that are not among Others

	Stopped *dataset.Stopped // nil: no execution was skipped as not needed
	Why     *explain.Key     // nil: there is no evidence

	Distribution       string // file in plots/; "": none
	DistributionHeight float64
}

// otherKey is a key whose data another key's page may load.
type otherKey struct {
	Index     int
	Name, Key string // of its files; of the key
}

// mostOthers bounds the keys that a page offers to draw beside its own: all pages together would
// otherwise grow with the square of the keys.
const mostOthers = 200

// others returns the other keys that were measured, those of the same benchmark first, and the
// number of those that are not in the list.
func (s *site) others(not int) (list []otherKey, more int) {
	pairs := s.in.Document.Pairs
	for _, same := range []bool{true, false} {
		for i := range pairs {
			p := &pairs[i]
			if i == not || len(p.Executions) == 0 || (p.Benchmark == pairs[not].Benchmark) != same {
				continue
			}
			if len(list) == mostOthers {
				more++
				continue
			}
			list = append(list, otherKey{i, pageName(i), p.Key})
		}
	}
	return list, more
}

func (s *site) pair(i int) error {
	doc := s.in.Document
	p := pairPage{Material: s.in, Index: i, Name: pageName(i), Pair: &doc.Pairs[i],
		Row: rowOf(&doc.Pairs[i]), Why: s.in.explained(i)}
	p.Others, p.More = s.others(i)
	for k := range s.in.Data.Stopped {
		if stopped := &s.in.Data.Stopped[k]; slices.Contains(stopped.Keys, p.Pair.Key) {
			p.Stopped = stopped
		}
	}
	if i > 0 {
		p.Previous = pageName(i-1) + ".html"
	}
	if i+1 < len(doc.Pairs) {
		p.Next = pageName(i+1) + ".html"
	}
	for e := range p.Pair.Executions {
		view, err := s.execution(i, e)
		if err != nil {
			return err
		}
		p.Executions = append(p.Executions, view)
	}
	if err := s.distribution(&p); err != nil {
		return err
	}
	unit := display.UnitOf(doc.Unit)
	if err := s.write("data/"+p.Name+".js", func(w io.Writer) error {
		return writePairData(w, i, doc.Parameters.Column, unit, p.Executions)
	}); err != nil {
		return err
	}
	return s.page("keys/"+p.Name+".html", "pair.html", p)
}

// executionView is the view of an execution on the pages.
type executionView struct {
	Index     int
	Number    int
	Label     string // "2: warmup", "3: error"
	Analysis  *warmup.Execution
	Facts     *RunFacts
	Run       Run
	HasMore   bool   // columns, events or evidence, in a file of their own
	SVG       string // file beside the page
	Height    float64
	Columns   []dataset.Column           // all except the one analyzed
	Timeline  *explain.Timeline          // nil: there are no events
	Explained *explain.ExecutionFindings // nil: nothing is known
}

// explainedExecution returns the explanation of an execution's outliers and changepoints; nil:
// there is none.
func (in *Material) explainedExecution(pair int, a *warmup.Execution) *explain.ExecutionFindings {
	k := in.explained(pair)
	if k == nil || a.Status != warmup.Analysed {
		return nil
	}
	for i := range k.Executions {
		if x := &k.Executions[i]; x.Number == a.Number && x.Iterations == a.Iterations {
			return x
		}
	}
	return nil
}

// Class is the class of an analyzed execution, else the reason why it was not analyzed.
func (v *executionView) Class() string {
	if v.Analysis.Status == warmup.Analysed {
		return string(v.Analysis.Classification)
	}
	return string(v.Analysis.Status)
}

// Limits of the static plots of a report.
const (
	staticCores = 4   // whose cycles are shown
	pageColumns = 408 // of a series: see panel.series
)

// view prepares an execution.
func (in *Material) view(pair, execution int) (executionView, error) {
	p := &in.Document.Pairs[pair]
	a := &p.Executions[execution]
	data := &in.Data.Pairs[pair].Executions[execution]
	values, _ := data.Values(in.Document.Parameters.Column)
	v := executionView{Index: execution, Number: a.Number, Analysis: a, Run: NewRun(values, a)}
	facts := in.Facts.of(p.ParsedKey())
	if len(facts) == len(p.Executions) && facts[execution].Pexec == a.Number {
		v.Facts = &facts[execution]
		v.Run.Events = placed(v.Facts.Events)
	}
	v.Explained = in.explainedExecution(pair, a)
	v.Label = fmt.Sprintf("%d: %s", a.Number, v.Class())
	if a.Status == warmup.NotCompleted {
		v.Label = fmt.Sprintf("%d: %s", a.Number, a.Outcome)
	}
	series := *data
	if in.Series != nil {
		var err error
		if series, err = in.Series(pair, execution); err != nil {
			return v, err
		}
	}
	for _, c := range series.Columns {
		if (c.Name != in.Document.Parameters.Column || c.Core != dataset.NoCore) && c.Len() > 0 {
			v.Columns = append(v.Columns, c)
		}
	}
	if v.Timeline = explain.NewTimeline(&series); v.Timeline != nil {
		v.Run.Lanes = v.Timeline.Lanes
	}
	return v, nil
}

// execution prepares an execution, and writes its plot and its other columns.
func (s *site) execution(i, e int) (executionView, error) {
	v, err := s.in.view(i, e)
	if err != nil {
		return v, err
	}
	v.HasMore = len(v.Columns) > 0 || v.Timeline != nil || v.Explained != nil
	if v.HasMore {
		if err := s.write(fmt.Sprintf("data/%s-%d.js", pageName(i), e), func(w io.Writer) error {
			if err := writeColumns(w, i, e, v.Columns); err != nil {
				return err
			}
			return writeEvents(w, i, e, &v)
		}); err != nil {
			return v, err
		}
	}
	if len(v.Run.Values) == 0 {
		return v, nil
	}
	v.SVG = fmt.Sprintf("%s-%d.svg", pageName(i), e)
	names := []string{UserColumns, dataset.CoreCycles}
	if v.Timeline != nil {
		names = append(names, "minor_faults")
	}
	v.Run.Panels = Panels(v.Columns, names, staticCores, v.Run.Lanes)
	f := s.in.figure(i, &v)
	v.Height = float64(f.height())
	err = s.plot(v.SVG, f)
	v.Columns, v.Timeline, v.Run.Panels, v.Run.Lanes = nil, nil, nil, nil // they are written: let them go
	return v, err
}

// Figures prepares the plots of the executions with these numbers, all if there are none, with the
// named columns beside their values: see Panels. An execution without iterations has none. lacks
// are the names of the columns that none of them has.
func (in *Material) Figures(executions []int, names []string, most int) (list []Drawing, lacks []string,
	err error) {
	drawn := map[string]bool{UserColumns: true, "": true}
	for i := range in.Document.Pairs {
		for e := range in.Document.Pairs[i].Executions {
			number := in.Document.Pairs[i].Executions[e].Number
			if len(executions) > 0 && !slices.Contains(executions, number) {
				continue
			}
			v, err := in.view(i, e)
			if err != nil {
				return nil, nil, err
			}
			if v.Analysis.Iterations == 0 {
				continue
			}
			v.Run.Panels = Panels(v.Columns, names, most, v.Run.Lanes)
			for _, p := range v.Run.Panels {
				drawn[p.Title] = true
			}
			list = append(list, in.figure(i, &v))
		}
	}
	return list, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return drawn[name] }), nil
}

func (in *Material) figure(pair int, v *executionView) *Figure {
	title := fmt.Sprintf("%s, execution %s", in.Document.Pairs[pair].Key, v.Label)
	return &Figure{Title: title, Column: in.Document.Parameters.Column, Run: v.Run,
		Unit: v.Run.axis(display.UnitOf(in.Document.Unit))}
}

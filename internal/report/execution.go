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
	if k == nil || len(k.Sources) == 0 || a.Status != warmup.Analysed {
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

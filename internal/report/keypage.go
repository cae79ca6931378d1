package report

import (
	"fmt"
	"io"
	"slices"

	"krund/internal/analysis/dataset"
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
	Why     *whyView         // nil: there is no evidence

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
		Row: rowOf(&doc.Pairs[i]), Why: s.in.why(i)}
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

package similarity

import (
	"errors"
	"fmt"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/parallel"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
)

// Format is the version of Document. docs/output.md describes its fields.
const Format = 1

// Document compares the executions of every key of a dataset.
type Document struct {
	Format    int           `json:"format"`
	Source    dataset.Info  `json:"source"`
	Column    string        `json:"column"`
	Threshold float64       `json:"threshold"`
	Frames    int           `json:"frames"`
	Alphabet  int           `json:"alphabet"`
	Merge     float64       `json:"merge"`
	Linkage   string        `json:"linkage"` // "average"
	Keys      []KeyDocument `json:"keys"`
	Problems  []string      `json:"problems"`
}

// KeyDocument compares the executions of one key. Executions are identified by their numbers, from
// 1.
type KeyDocument struct {
	Name       key.Key             `json:"-"`
	Key        string              `json:"key"`
	Executions []int               `json:"executions"` // the executions compared
	LeftOut    []warmup.LeftOut    `json:"left_out"`
	Lengths    []int               `json:"lengths"`
	Compared   int                 `json:"compared"`
	Verdict    Verdict             `json:"verdict"`
	Averages   *MeasuresDocument   `json:"averages"` // null for fewer than two executions
	Above      int                 `json:"above"`
	Outliers   []int               `json:"outliers"`
	Rest       Verdict             `json:"verdict_of_rest"`
	Same       *SameDocument       `json:"same"` // null for fewer than two executions
	ByRun      []ExecutionDocument `json:"by_execution"`
	Pairs      []PairDocument      `json:"pairs"` // (1, 2), (1, 3), ..., (2, 3), ...
}

// MeasuresDocument are Measures with names.
type MeasuresDocument struct {
	M1 float64 `json:"m1"`
	M2 float64 `json:"m2"`
	M3 float64 `json:"m3"`
	M4 float64 `json:"m4"`
	M5 float64 `json:"m5"`
}

// ExecutionDocument holds the mean dissimilarities of an execution to all others.
type ExecutionDocument struct {
	Execution int `json:"execution"`
	MeasuresDocument
}

// PairDocument holds the dissimilarities of two executions.
type PairDocument struct {
	A int `json:"a"`
	B int `json:"b"`
	MeasuresDocument
}

// SameDocument is the result of SAME. Clusters count from 1.
type SameDocument struct {
	Verdict         Verdict     `json:"verdict"`
	Clusters        int         `json:"clusters"`
	Cluster         []int       `json:"cluster_of_execution"`
	LastMerge       float64     `json:"last_merge"`
	Cosine          float64     `json:"cosine"`
	WaveHedges      float64     `json:"wave_hedges"`
	KumarHassebrook float64     `json:"kumar_hassebrook"`
	RMSE            float64     `json:"scaled_rmse"`
	Distances       [][]float64 `json:"distances"`
}

// CompareKeys compares the executions of every key of d on the given number of goroutines. The
// errors are those of Of.
func CompareKeys(d *dataset.Dataset, column string, s Options, workers int) (*Document, error) {
	doc := &Document{
		Format: Format, Source: d.Info, Column: column, Threshold: s.Threshold, Frames: s.Frames,
		Alphabet: s.Alphabet, Merge: s.Merge, Linkage: "average",
		Keys: make([]KeyDocument, len(d.Pairs)), Problems: append([]string{}, d.Problems...),
	}
	failed := make([]error, len(d.Pairs))
	parallel.Each(len(d.Pairs), workers, func(i int) {
		series := warmup.SeriesOf(&d.Pairs[i], column)
		r, err := Of(series.Series, s)
		if err != nil {
			failed[i] = fmt.Errorf("%s: %w", series.Key, err)
			return
		}
		doc.Keys[i] = newKeyDocument(&series, r)
	})
	return doc, errors.Join(failed...)
}

func newKeyDocument(s *warmup.KeySeries, r *Result) KeyDocument {
	k := KeyDocument{
		Name: s.Key, Key: s.Key.String(), Executions: append([]int{}, s.Numbers...), LeftOut: s.LeftOut,
		Lengths: append([]int{}, r.Lengths...), Compared: r.Used, Verdict: r.Verdict, Above: r.Above,
		Outliers: s.NumbersOf(r.Outliers), Rest: r.Rest, ByRun: []ExecutionDocument{},
		Pairs: []PairDocument{},
	}
	if r.Same == nil {
		return k
	}
	k.Averages = new(newMeasures(r.Averages))
	for i, m := range r.ByRun {
		k.ByRun = append(k.ByRun, ExecutionDocument{s.Numbers[i], newMeasures(m)})
		for j := i + 1; j < len(s.Numbers); j++ {
			k.Pairs = append(k.Pairs, PairDocument{s.Numbers[i], s.Numbers[j], newMeasures(r.Pair(i, j))})
		}
	}
	same := SameDocument{
		Verdict: verdict(r.Same.Dissimilar), Clusters: r.Same.Count,
		Cluster: make([]int, len(r.Same.Clusters)), LastMerge: r.Same.LastMerge, Cosine: r.Same.Means[0],
		WaveHedges: r.Same.Means[1], KumarHassebrook: r.Same.Means[2], RMSE: r.Same.Means[3],
		Distances: r.Same.Distances,
	}
	for i, c := range r.Same.Clusters {
		same.Cluster[i] = c + 1
	}
	k.Same = &same
	return k
}

func newMeasures(m Measures) MeasuresDocument { return MeasuresDocument{m[0], m[1], m[2], m[3], m[4]} }

// Measures returns the values without their names.
func (m *MeasuresDocument) Measures() Measures { return Measures{m.M1, m.M2, m.M3, m.M4, m.M5} }

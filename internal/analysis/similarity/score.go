package similarity

import (
	"cmp"
	"math"
	"slices"

	"krund/internal/analysis/warmup"
)

// Ratings are people's verdicts about keys.
type Ratings struct {
	Raters   []string
	Subjects []Subject
}

// Subject is a key with the verdict of each rater; "" where a rater gave none.
type Subject struct {
	Key  string
	Said []Verdict
}

// label returns the verdict that all raters of a subject agree on; "" if they do not.
func (s Subject) label() Verdict {
	var label Verdict
	for _, v := range s.Said {
		if label != "" && v != "" && v != label {
			return ""
		}
		label = cmp.Or(label, v)
	}
	return label
}

// Score is the agreement of raters with each other and of the methods with them (Bauer et al.,
// section 4). docs/output.md describes its fields.
type Score struct {
	Format   int             `json:"format"`
	Sources  []string        `json:"sources"`
	Raters   []string        `json:"raters"`
	Subjects int             `json:"subjects"`
	Observed warmup.Real     `json:"observed_agreement"` // null with Problem
	Kappa    warmup.Real     `json:"fleiss_kappa"`
	Strength string          `json:"strength"`
	Problem  string          `json:"problem"` // why there is no kappa; "" if there is one
	Pairs    []PairAgreement `json:"pairs"`
	// Subjects on which all their raters agree, by verdict, and those of them that are no key of
	// the sources or cannot be judged.
	Similar    int              `json:"labeled_similar"`
	Dissimilar int              `json:"labeled_dissimilar"`
	Missing    int              `json:"labeled_missing"`
	Methods    []MethodScore    `json:"methods"` // heuristic, SAME
	Thresholds []ThresholdScore `json:"thresholds"`
}

// PairAgreement is how often two raters agree on the subjects that both rated.
type PairAgreement struct {
	A      string `json:"a"`
	B      string `json:"b"`
	Both   int    `json:"both"`
	Agreed int    `json:"agreed"`
}

// MethodScore is the confusion matrix of a method against the labels.
type MethodScore struct {
	Method string `json:"method"`
	Rates
}

// ThresholdScore is the confusion matrix of the heuristic with another threshold.
type ThresholdScore struct {
	Threshold float64 `json:"threshold"`
	Rates
}

// Rates is a confusion matrix with its rates; positive is dissimilar.
type Rates struct {
	Confusion
	Sensitivity warmup.Real `json:"sensitivity"`
	Specificity warmup.Real `json:"specificity"`
	Accuracy    warmup.Real `json:"accuracy"`
	Flagged     warmup.Real `json:"flagged"`
}

func ratesOf(c Confusion) Rates {
	return Rates{c, warmup.Real(c.Sensitivity()), warmup.Real(c.Specificity()), warmup.Real(c.Accuracy()),
		warmup.Real(c.Flagged())}
}

// ScoreOf scores the verdicts of documents against ratings. A key is found by its name or by that
// of its benchmark.
func ScoreOf(docs []*Document, r Ratings) *Score {
	s := &Score{Format: Format, Sources: []string{}, Raters: r.Raters, Subjects: len(r.Subjects),
		Pairs: []PairAgreement{}}
	keys := map[string]*KeyDocument{}
	for _, d := range docs {
		s.Sources = append(s.Sources, d.Source.Source)
		for i := range d.Keys {
			keys[d.Keys[i].Name.Benchmark] = &d.Keys[i]
		}
	}
	for _, d := range docs {
		for i := range d.Keys {
			keys[d.Keys[i].Key] = &d.Keys[i]
		}
	}
	s.agree(r)
	const steps = 20
	var heuristic, same Confusion
	var thresholds [steps]Confusion // index i: i/steps
	for _, subject := range r.Subjects {
		label := subject.label()
		if label == "" {
			continue
		}
		dissimilar := label == Dissimilar
		if dissimilar {
			s.Dissimilar++
		} else {
			s.Similar++
		}
		k := keys[subject.Key]
		if k == nil || k.Averages == nil {
			s.Missing++
			continue
		}
		heuristic.Add(dissimilar, k.Verdict == Dissimilar)
		same.Add(dissimilar, k.Same.Verdict == Dissimilar)
		for i := range thresholds {
			thresholds[i].Add(dissimilar, k.Averages.Measures().Dissimilar(float64(i)/steps))
		}
	}
	s.Methods = []MethodScore{{"heuristic", ratesOf(heuristic)}, {"SAME", ratesOf(same)}}
	for i, c := range thresholds {
		if i > 0 {
			s.Thresholds = append(s.Thresholds, ThresholdScore{float64(i) / steps, ratesOf(c)})
		}
	}
	return s
}

// agree fills in the agreement of the raters.
func (s *Score) agree(r Ratings) {
	var table [][]int
	for _, subject := range r.Subjects {
		row := []int{0, 0}
		for _, v := range subject.Said {
			switch v {
			case Similar:
				row[0]++
			case Dissimilar:
				row[1]++
			}
		}
		table = append(table, row)
	}
	a, err := Kappa(table)
	if err != nil {
		s.Problem = err.Error()
		a = Agreement{Kappa: math.NaN(), Observed: math.NaN()}
	} else {
		s.Strength = Strength(a.Kappa)
	}
	s.Observed, s.Kappa = warmup.Real(a.Observed), warmup.Real(a.Kappa)
	for i := range r.Raters {
		for j := i + 1; j < len(r.Raters); j++ {
			p := PairAgreement{A: r.Raters[i], B: r.Raters[j]}
			for _, subject := range r.Subjects {
				if x, y := subject.Said[i], subject.Said[j]; x != "" && y != "" {
					p.Both++
					if x == y {
						p.Agreed++
					}
				}
			}
			if p.Both > 0 {
				s.Pairs = append(s.Pairs, p)
			}
		}
	}
}

// Best returns the threshold with the largest sum of sensitivity and specificity (Youden's index),
// the smallest of them; 0 if there is none because one of the labels does not occur.
func (s *Score) Best() float64 {
	best, at := 0.0, 0.0
	for _, t := range s.Thresholds {
		if sum := float64(t.Sensitivity + t.Specificity); sum > best {
			best, at = sum, t.Threshold
		}
	}
	return at
}

// GroupAverages are the mean measures of the keys of a group (Bauer et al., Figures 2 and 3).
type GroupAverages struct {
	Group string `json:"group"`
	Keys  int    `json:"keys"`
	MeasuresDocument
}

// Mean is the mean of the five measures.
func (g *GroupAverages) Mean() float64 {
	sum := 0.0
	for _, v := range g.Measures() {
		sum += v
	}
	return sum / float64(len(g.Measures()))
}

// AverageGroups averages the measures over the keys of each group, the most dissimilar group first.
// group returns the group of a key.
func AverageGroups(docs []*Document, group func(*KeyDocument) string) []GroupAverages {
	sums := map[string]*GroupAverages{}
	for _, d := range docs {
		for i := range d.Keys {
			k := &d.Keys[i]
			if k.Averages == nil {
				continue
			}
			name := group(k)
			if sums[name] == nil {
				sums[name] = &GroupAverages{Group: name}
			}
			g := sums[name]
			g.Keys++
			add, n := k.Averages.Measures(), float64(g.Keys)
			now := g.Measures()
			for m := range now {
				now[m] += (add[m] - now[m]) / n
			}
			g.MeasuresDocument = newMeasures(now)
		}
	}
	var list []GroupAverages
	for _, g := range sums {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b GroupAverages) int {
		return cmp.Or(cmp.Compare(b.Mean(), a.Mean()), cmp.Compare(a.Group, b.Group))
	})
	return list
}

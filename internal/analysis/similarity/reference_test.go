package similarity

import (
	"math"
	"path/filepath"
	"reflect"
	"testing"

	"krund/internal/experiment/fixtures"
	"krund/rig/must"
)

func near(a, b float64) bool {
	return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b))
}

func list(m Measures) []float64 {
	l := m.List()
	return l[:]
}

func nearAll(a, b []float64) bool {
	for i := range a {
		if !near(a[i], b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

// casesFile is testdata/cases.json.gz: the schemes of the paper's Figure 1, degenerate series, SAX,
// LZ76 and kappa, computed by another implementation (Python); the kappas of 0.430 and 0.210 are
// Fleiss' own and a textbook's.
type casesFile struct {
	Breakpoints map[string][]float64
	Pairs       []struct {
		Case, Verdict string
		X, Y, M       []float64
		Above         int    `json:"count_above"`
		SaxX          string `json:"sax_x"`
		SaxY          string `json:"sax_y"`
		LZ76          []int
	}
	Sax []struct {
		X    []float64
		W, A int
		Sax  string
		PAAZ []float64 `json:"paa_z"`
	}
	LZ76 []struct {
		S       string
		Phrases int
	}
}

func TestCases(t *testing.T) {
	var c casesFile
	fixtures.JSON(t, "testdata/cases.json.gz", &c)
	compared := 0
	for _, p := range c.Pairs {
		r, err := Of([][]float64{p.X, p.Y}, nil, Options{})
		if err != nil {
			t.Errorf("%s: %v", p.Case, err)
			continue
		}
		m := r.pair(0, 1)
		if !nearAll(m, p.M) || r.Above != p.Above || string(r.Verdict) != p.Verdict ||
			!nearAll(list(*r.Averages), p.M) {
			t.Errorf("%s: %v, %d above, %s; want %v, %d, %s", p.Case, m, r.Above, r.Verdict, p.M, p.Above,
				p.Verdict)
		}
		x, y := SAX(p.X, DefaultFrames, DefaultAlphabet), SAX(p.Y, DefaultFrames, DefaultAlphabet)
		must.Be(t, string(x) == p.SaxX && string(y) == p.SaxY, p.Case, "words", x, "and", y, "want", p.SaxX,
			"and", p.SaxY)
		phrases := []int{LZ76(x), LZ76(y), LZ76(append(x, y...))}
		must.Be(t, reflect.DeepEqual(phrases, p.LZ76), p.Case, "phrases", phrases, "want", p.LZ76)
		compared++
	}
	for _, s := range c.Sax {
		must.Equal(t, string(SAX(s.X, s.W, s.A)), s.Sax, "SAX of", len(s.X), s.W)
		got := PAA(normalized(s.X), s.W)
		must.Be(t, nearAll(got, s.PAAZ), "PAA of", len(s.X), "in", s.W, got, "want", s.PAAZ)
		compared++
	}
	for _, l := range c.LZ76 {
		must.Equal(t, LZ76([]byte(l.S)), l.Phrases, "LZ76 of", l.S)
		compared++
	}
	for letters, want := range c.Breakpoints {
		got := breakpoints(int(letters[0] - '0'))
		must.Be(t, nearAll(got, want), "breakpoints of", letters, got, "want", want)
		compared++
	}
	t.Logf("%d cases compared", compared)
}

// TestFixtureBenchmarks compares real benchmarks, 10 executions of 3000 iterations, with another
// implementation (Python, numpy and scipy).
func TestFixtureBenchmarks(t *testing.T) {
	dir := fixtures.Path(t, "jmh")
	var expected struct {
		Benchmarks []struct {
			ID         string
			Avg        []float64
			Above      int `json:"count_above"`
			Dissimilar bool
			LZ76       []int
			Sax        string `json:"sax_fork1"`
			Pairs      [][]float64
			Same       struct {
				Mean4      []float64
				D          [][]float64
				Labels     []int
				Dissimilar bool
				LastMerge  map[string]float64 `json:"last_merge"`
			}
		}
	}
	fixtures.JSON(t, filepath.Join(dir, "expected_bauer.json.gz"), &expected)
	pairs := 0
	for _, want := range expected.Benchmarks {
		var series struct{ Forks [][]float64 }
		fixtures.JSON(t, filepath.Join(dir, "series", want.ID+".json.gz"), &series)
		got, err := Of(series.Forks, nil, Options{})
		if err != nil {
			t.Errorf("%s: %v", want.ID, err)
			continue
		}
		if !nearAll(list(*got.Averages), want.Avg) || got.Above != want.Above ||
			(got.Verdict == Dissimilar) != want.Dissimilar {
			t.Errorf("%s: %v, %d above, %s; want %v, %d, %v", want.ID, got.Averages, got.Above, got.Verdict,
				want.Avg, want.Above, want.Dissimilar)
		}
		must.Need(t, len(got.Pairs) == len(want.Pairs), want.ID, len(got.Pairs), "pairs, want",
			len(want.Pairs))
		for i := range want.Pairs {
			pairs++
			must.Be(t, nearAll(list(got.Pairs[i].Measures), want.Pairs[i]), want.ID, "pair", i, got.Pairs[i],
				"want", want.Pairs[i])
		}
		for i, f := range series.Forks {
			word := SAX(f, DefaultFrames, DefaultAlphabet)
			if i == 0 && string(word) != want.Sax || LZ76(word) != want.LZ76[i] {
				t.Errorf("%s: execution %d is %s with %d phrases, want %d", want.ID, i, word, LZ76(word),
					want.LZ76[i])
			}
		}
		same := got.Same
		means := []float64{same.Cosine, same.WaveHedges, same.KumarHassebrook, same.RMSE}
		must.Be(t, nearAll(means, want.Same.Mean4) && (same.Verdict == Dissimilar) == want.Same.Dissimilar &&
			samePartition(same.Cluster, want.Same.Labels), want.ID, "SAME", same, "want", want.Same)
		for i := range want.Same.D {
			must.Be(t, nearAll(got.Same.Distances[i], want.Same.D[i]), want.ID, "distances of", i, "are",
				got.Same.Distances[i], "want", want.Same.D[i])
		}
		must.Be(t, near(got.Same.LastMerge, want.Same.LastMerge["average"]), want.ID, "last merge at",
			got.Same.LastMerge, "want", want.Same.LastMerge)
	}
	t.Logf("%d benchmarks, %d pairs compared", len(expected.Benchmarks), pairs)
}

// samePartition compares clusters whatever they are called.
func samePartition(a, b []int) bool {
	for i := range a {
		for j := range a {
			if (a[i] == a[j]) != (b[i] == b[j]) {
				return false
			}
		}
	}
	return len(a) == len(b)
}

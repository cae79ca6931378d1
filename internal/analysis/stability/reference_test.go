package stability

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"krund/internal/analysis/bootstrap"
	"krund/internal/experiment/fixtures"
	"krund/rig/must"
)

func within(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*max(1, math.Abs(want))
}

// missing turns null into NaN.
func missing(values []*float64) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = math.NaN()
		if v != nil {
			all[i] = *v
		}
	}
	return all
}

// primitivesFile is testdata/primitives.json.gz: the KLD similarity by the authors' Java (null
// bandwidths are NaN), and what their filter of outliers and the CV give.
type primitivesFile struct {
	KLD []struct {
		Case       string
		A, B       []float64
		Similarity float64
		BandwidthA *float64 `json:"bandwidth_a"`
		BandwidthB *float64 `json:"bandwidth_b"`
		Q1A        float64  `json:"q1_a"`
		Q3A        float64  `json:"q3_a"`
	}
	Histograms []struct {
		Values, Counts []float64
		Min            float64 `json:"inlier_min"`
		Max            float64 `json:"inlier_max"`
		Inliers        int
		CoV            float64 `json:"cov_all"`
	}
}

func TestPrimitives(t *testing.T) {
	var p primitivesFile
	fixtures.JSON(t, "testdata/primitives.json.gz", &p)
	for _, c := range p.KLD {
		a, b := sampleOf(c.A, OnePass), sampleOf(c.B, OnePass)
		for _, h := range []struct {
			got  float64
			want *float64
		}{{a.bandwidth, c.BandwidthA}, {b.bandwidth, c.BandwidthB}} {
			if h.want == nil && h.got > 0 || h.want != nil &&
				math.Abs(h.got-*h.want) > 1e-9*math.Abs(*h.want) {
				t.Errorf("%s (%d): bandwidth %v", c.Case, len(c.A), h.got)
			}
		}
		if q1, q3 := type6(a.values, 0.25), type6(a.values, 0.75); !within(q1, c.Q1A, 1e-12) ||
			!within(q3, c.Q3A, 1e-12) {
			t.Errorf("%s (%d): quartiles %v and %v, want %v and %v", c.Case, len(c.A), q1, q3, c.Q1A, c.Q3A)
		}
		got := similarityOf(c.A, c.B, OnePass)
		must.Be(t, within(got, c.Similarity, 1e-9), c.Case, len(c.A), "similarity", got, "want", c.Similarity)
		got = similarityOf(c.A, c.B, TwoPass)
		must.Be(t, within(got, c.Similarity, 1e-7) || c.Case == "tiny_rel_variance", c.Case, len(c.A),
			"similarity", got, "in two passes, want", c.Similarity)
	}
	for i, c := range p.Histograms {
		h := NewHistogram(c.Values, c.Counts)
		kept, limits := h.Inliers()
		if !within(limits[0], c.Min, 1e-15) || !within(limits[1], c.Max, 1e-15) ||
			len(kept.Values) != c.Inliers || !within(h.moments().cv(), c.CoV, 1e-9) {
			t.Errorf("histogram %d: %d within %v, CV %v; want %d within %v to %v, %v", i, len(kept.Values),
				limits, h.moments().cv(), c.Inliers, c.Min, c.Max, c.CoV)
		}
	}
	t.Logf("%d similarities and %d histograms compared", len(p.KLD), len(p.Histograms))
}

// TestFixtureDecisions compares where the rules stop, given the authors' values of the criteria,
// with the authors' decisions.
func TestFixtureDecisions(t *testing.T) {
	type judged struct {
		Forks []struct {
			Values   []*float64
			Recorded int `json:"stop_recorded"` // null is 0: not reached
			JMH      int `json:"stop_jmh"`
			Paper    int `json:"stop_paper"`
		}
		Between  []*float64 `json:"fork_values_f2_f5"`
		Recorded int        `json:"forks_recorded"`
	}
	var file struct{ Benchmarks []map[string]json.RawMessage }
	fixtures.JSON(t, fixtures.Path(t, "laaber/decisions.json.gz"), &file)
	executions, counts := 0, 0
	for _, b := range file.Benchmarks {
		for _, c := range Criteria {
			var j judged
			must.Do(t, json.Unmarshal(b[string(c)], &j))
			for f, fork := range j.Forks {
				for profile, want := range map[Profile]int{Study: fork.Recorded, JMH: fork.JMH,
					Paper: fork.Paper} {
					executions++
					must.Equal(t, (Rule{Criterion: c, Profile: profile}).Warmup(missing(fork.Values), 5),
						want, b["benchmark"], c, profile, "execution", f+1, "stop")
				}
			}
			// Of CV the file has the changes, not the values.
			values := append([]float64{0}, missing(j.Between)...)
			for i := 1; c == CV && i < len(values); i++ {
				values[i] += values[i-1]
			}
			must.Equal(t, (Rule{Criterion: c, Profile: Study}).Executions(values, 2), j.Recorded,
				b["benchmark"], "executions")
			counts++
		}
	}
	t.Logf("%d decisions within executions, %d on executions compared", executions, counts)
}

// TestFixtureSaving compares the time saved with the paper's.
func TestFixtureSaving(t *testing.T) {
	var file struct {
		Projects map[string]map[Criterion]struct {
			Rows     [][]int
			Overhead float64
			Total    float64 `json:"expected_total_s"`
			Part     float64 `json:"expected_saving"`
			Hours    float64 `json:"expected_saving_h"`
		}
	}
	fixtures.JSON(t, fixtures.Path(t, "laaber/time_saving.json.gz"), &file)
	compared := 0
	for project, criteria := range file.Projects {
		for c, want := range criteria {
			var s Saving
			for _, row := range want.Rows {
				s.Add(row[1:1+row[0]], 10, want.Overhead, 5, 50, 50)
			}
			if !within(s.Total, want.Total, 1e-9) || math.Abs(s.Part()-want.Part) > 1e-6 ||
				math.Abs((s.Full-s.Total)/3600-want.Hours) > 0.0051 || c.Overhead() != want.Overhead {
				t.Errorf("%s %s: %+v, %v saved; want %v s, %v", project, c, s, s.Part(), want.Total,
					want.Part)
			}
			compared++
		}
	}
	t.Logf("%d savings compared", compared)
}

// TestFixtureBootstrap compares widths and ratios, which are random, with those of pa 0.1 and of a
// textbook bootstrap.
func TestFixtureBootstrap(t *testing.T) {
	type summary struct {
		Mean float64 `json:"rciw_mean"`
		SD   float64 `json:"rciw_sd"`
	}
	var file struct {
		Single []struct {
			Case        string
			Tree        [][][]float64
			Metric      float64
			PA, Uniform summary
		}
		Ratio []struct {
			Case    string
			A, B    [][][]float64
			PA      struct{ Ratio, Lower, Upper float64 }
			Uniform struct{ Lower, Upper float64 } `json:"independent_uniform"`
		}
	}
	fixtures.JSON(t, fixtures.Path(t, "laaber/bootstrap.json.gz"), &file)
	for _, c := range file.Single {
		for index, want := range map[bootstrap.Index]summary{bootstrap.PA: c.PA,
			bootstrap.Uniform: c.Uniform} {
			h := hierarchy(t, c.Tree, index)
			// One interval's width is known to a few percent: the mean of many is compared.
			const runs = 10
			width, means := 0.0, make([]float64, 1000)
			for seed := range uint64(runs) {
				h.Fill(means, seed, 2)
				low, high := bootstrap.Quantiles(means, 0.99)
				width += (high - low) / h.Metric / runs
			}
			if !within(h.Metric, c.Metric, 1e-12) ||
				math.Abs(width-want.Mean) > 4*want.SD/math.Sqrt(runs)+0.02*want.Mean {
				t.Errorf("%s %v: metric %v, width %v; want %v, %v ± %v", c.Case, index, h.Metric, width,
					c.Metric, want.Mean, want.SD)
			}
		}
	}
	for _, c := range file.Ratio {
		for index, want := range map[bootstrap.Index][2]float64{bootstrap.PA: {c.PA.Lower, c.PA.Upper},
			bootstrap.Uniform: {c.Uniform.Lower, c.Uniform.Upper}} {
			a, b := hierarchy(t, c.A, index), hierarchy(t, c.B, index)
			as, bs := make([]float64, 10000), make([]float64, 10000)
			a.Fill(as, 1, 2)
			b.Fill(bs, 2, 2)
			median, low, high := Ratio(as, bs, 0.99, index)
			ratio := b.Metric / a.Metric
			if index == bootstrap.PA {
				ratio = median
			}
			// Equal ranks divided give intervals so narrow that their ends are known to a large
			// part of their width only.
			tolerance := map[bootstrap.Index]float64{bootstrap.PA: 0.35,
				bootstrap.Uniform: 0.08}[index] * (want[1] - want[0])
			if math.Abs(low-want[0]) > tolerance || math.Abs(high-want[1]) > tolerance ||
				math.Abs(median-ratio) > 0.001 ||
				index == bootstrap.PA && math.Abs(ratio-c.PA.Ratio) > 0.0005 {
				t.Errorf("%s %v: %v (%v), %v to %v; want %v, %v", c.Case, index, ratio, median, low, high,
					c.PA.Ratio, want)
			}
		}
	}
	t.Logf("%d intervals, %d ratios compared, both ways of drawing", len(file.Single), len(file.Ratio))
}

func hierarchy(t *testing.T, tree [][][]float64, index bootstrap.Index) *bootstrap.Hierarchy {
	t.Helper()
	h := must.Get(bootstrap.NewHierarchy(tree, index, bootstrap.Tables{}))(t)
	return h
}

// TestFixtureDistributions runs the criteria from histograms, often, and compares where they stop
// on average.
func TestFixtureDistributions(t *testing.T) {
	type distribution struct {
		N              int
		Mean, Q05, Q95 float64
	}
	var file struct {
		Cases map[string]struct {
			Iterations [][][2]float64
			Expected   map[string]json.RawMessage
		}
	}
	fixtures.JSON(t, fixtures.Path(t, "laaber/e2e_distributions.json.gz"), &file)
	compared := 0
	for name, c := range file.Cases {
		var steps []*Histogram
		for _, pairs := range c.Iterations {
			var values, counts []float64
			for _, p := range pairs {
				values, counts = append(values, p[0]), append(counts, p[1])
			}
			steps = append(steps, NewHistogram(values, counts))
		}
		p := Default()
		p.Profile, p.Exact = Study, true
		var exact []float64
		must.Do(t, json.Unmarshal(c.Expected["cv_exact"], &exact))
		q := newSequence(&p, CV, 0, nil)
		var got []float64
		for i, h := range steps {
			got = append(got, q.next(h))
			must.Be(t, within(got[i], exact[i], 1e-9), name, "CV of step", i+1, got[i], "want", exact[i])
		}
		p.Exact = false
		for _, run := range []struct {
			criterion Criterion
			index     bootstrap.Index
			runs      int
			rules     map[string]Profile
		}{
			{CV, 0, 15, map[string]Profile{"cv_study": Study, "cv_jmh": JMH}},
			{KLD, 0, 6, map[string]Profile{"kld": Study}},
			{RCIW, bootstrap.Uniform, 4, map[string]Profile{"rciw_uniform_study": Study,
				"rciw_uniform_jmh": JMH}},
			{RCIW, bootstrap.PA, 1, map[string]Profile{"rciw_pa_study": Study, "rciw_pa_jmh": JMH}},
		} {
			stops := map[string][]float64{}
			for seed := range run.runs {
				p.Seed, p.Index = uint64(seed), run.index
				q := newSequence(&p, run.criterion, 0, bootstrap.Tables{})
				var values []float64
				reached := func(profile Profile) int {
					return Rule{Criterion: run.criterion, Profile: profile}.Warmup(values, 5)
				}
				for _, h := range steps {
					if reached(Study) > 0 && reached(JMH) > 0 {
						break
					}
					values = append(values, q.next(h))
				}
				for expected, profile := range run.rules {
					stop := reached(profile)
					if stop == 0 {
						stop = 50
					}
					stops[expected] = append(stops[expected], float64(stop))
				}
			}
			for expected, got := range stops {
				var from map[string]distribution
				must.Do(t, json.Unmarshal(c.Expected[expected], &from))
				want, ok := from["java"]
				if !ok {
					want = from["python"]
				}
				const between = 3.29 // standard deviations, from 5% to 95% of a normal distribution
				sd, mean := (want.Q95-want.Q05)/between, bootstrap.MeanOf(got)
				tolerance := 4*sd*math.Sqrt(1/float64(len(got))+1/float64(want.N)) + 0.5
				compared++
				must.Be(t, math.Abs(mean-want.Mean) <= tolerance, name, expected, "stops at", mean,
					"on average, want", want.Mean, "±", tolerance)
			}
		}
	}
	t.Logf("%d distributions compared", compared)
}

// TestFixtureSeries compares real benchmarks: where steps of a second end, the record of Traini et
// al. of what would have been measured, and the CV of all calls.
func TestFixtureSeries(t *testing.T) {
	type recorded struct {
		Recorded [][2]int
		Warmup   []int `json:"warmup_iterations"`
		Forks    int
	}
	type exact struct {
		Stop   []int     // null is 0
		Values []float64 `json:"fork_values"`
		Forks  int
	}
	var file struct {
		Benchmarks []struct {
			ID            string
			CV, RCIW, KLD recorded
			Boundaries    [][]int
			Deterministic struct {
				Sequences         [][]float64 `json:"cv_sequences"`
				Study, JMH, Paper exact
			} `json:"cv_deterministic"`
		}
	}
	dir := fixtures.Path(t, "jmh")
	fixtures.JSON(t, filepath.Join(dir, "expected_laaber.json.gz"), &file)
	second := Length{Seconds: 1}
	for _, b := range file.Benchmarks {
		var s struct{ Forks [][]float64 }
		fixtures.JSON(t, filepath.Join(dir, "series", b.ID+".json.gz"), &s)
		var steps []*Steps
		for _, f := range s.Forks {
			steps = append(steps, Cut(f, second, 0.1))
		}
		for f, want := range b.Boundaries {
			must.EqualList(t, steps[f].Ends[:len(want)], want, b.ID, "steps of execution", f+1, "end at")
		}
		for _, r := range []recorded{b.CV, b.RCIW, b.KLD} {
			for f, want := range r.Recorded {
				from, to := steps[f].Start(r.Warmup[f]), steps[f].Start(r.Warmup[f]+10)
				must.Be(t, from-1 == want[0] && to-1 == want[1], b.ID, "execution", f+1, "measures", from, to,
					want)
			}
		}
		p := Default()
		p.Exact, p.Step, p.Batch, p.QualityResamples = true, second, 0.1, 100
		for f, want := range b.Deterministic.Sequences {
			q := newSequence(&p, CV, 0, nil)
			for k, v := range want {
				if got := q.next(steps[f].Histogram(k, k+1)); !within(got, v, 1e-9) {
					t.Errorf("%s: CV after step %d of execution %d is %v, want %v", b.ID, k+1, f+1, got, v)
				}
			}
		}
		for profile, want := range map[Profile]exact{Study: b.Deterministic.Study, JMH: b.Deterministic.JMH,
			Paper: b.Deterministic.Paper} {
			p.Profile = profile
			r := must.Get(Of(s.Forks, []Criterion{CV}, p))(t)
			o := r.Criteria[0]
			for f, w := range o.Warmups {
				stop := w.Steps
				if !w.Reached {
					stop = 0
				}
				must.Equal(t, stop, want.Stop[f], b.ID, profile, "execution", f+1, "stops at")
				must.Be(t, within(o.Values[f], want.Values[f], 1e-9), b.ID, profile, "CV after execution",
					f+1, o.Values[f], "want", want.Values[f])
			}
			must.Be(t, o.Reached == (want.Forks > 0) && (!o.Reached || o.Used == want.Forks), b.ID, profile,
				o.Used, "executions, want", want.Forks)
		}
	}
	t.Logf("%d benchmarks compared", len(file.Benchmarks))
}

package warmup

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/changepoint"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// level makes iterations of n at each of some levels, with a spread of 1%.
func level(r *rand.Rand, parts ...float64) []float64 {
	var x []float64
	for i := 0; i+1 < len(parts); i += 2 {
		for range int(parts[i]) {
			x = append(x, parts[i+1]*(1+0.01*r.NormFloat64()))
		}
	}
	return x
}

func wall(values []float64) dataset.Column {
	return dataset.Column{Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore, Reals: values}
}

func completed(columns ...dataset.Column) dataset.Execution {
	return dataset.Execution{Outcome: results.Completed, Columns: columns}
}

// experiment has a pair of each kind.
func experiment() *dataset.Dataset {
	r := rand.New(rand.NewPCG(1, 1))
	d := &dataset.Dataset{Info: dataset.Info{Source: "test", Format: "made up", Machine: "m"}}
	add := func(benchmark string, e dataset.Execution) {
		d.Add(key.Key{Benchmark: benchmark, VM: "vm", Variant: "default-c"}, e)
	}
	for range 5 {
		add("warm", completed(wall(level(r, 30, 1.5, 370, 1))))
		add("flat", completed(wall(level(r, 400, 1))))
		add("late", completed(wall(level(r, 350, 1, 50, 2))))
	}
	add("mixed", completed(wall(level(r, 400, 1))))
	add("mixed", completed(wall(level(r, 40, 1.2, 360, 1))))
	add("mixed", dataset.Execution{Outcome: results.Error, Columns: []dataset.Column{wall(level(r, 17, 1))}})
	add("mixed", dataset.Execution{Outcome: results.Timeout})
	add("mixed", completed(wall([]float64{})))
	add("mixed", completed(wall([]float64{1, math.NaN(), 1, 1})))
	add("mixed", completed(wall([]float64{1, 1, -1, 1})))
	add("mixed", completed(wall([]float64{1, 2, 3})))
	d.Pairs = append(d.Pairs, dataset.Pair{Key: key.Key{Benchmark: "none", VM: "vm", Variant: "v"}})
	return d
}

// quick are the study's parameters with fewer resamples.
func quick(mode classify.Mode) Parameters {
	p := Default(mode)
	p.Resamples = 2000
	return p
}

func mustAnalyze(t *testing.T, d *dataset.Dataset, p Parameters, o Options) *Document {
	t.Helper()
	doc := must.Get(Analyze(d, p, o))(t)
	return doc
}

func (d *Document) pair(t *testing.T, benchmark string) *Pair {
	t.Helper()
	for i := range d.Pairs {
		if d.Pairs[i].Benchmark == benchmark {
			return &d.Pairs[i]
		}
	}
	t.Fatalf("no pair of %s", benchmark)
	return nil
}

func TestAnalyze(t *testing.T) {
	for _, mode := range []classify.Mode{classify.Paper, classify.Relative} {
		doc := mustAnalyze(t, experiment(), quick(mode), Options{})
		for benchmark, want := range map[string]classify.PairClass{
			"warm": "warmup", "flat": "flat", "late": "no steady state", "mixed": "good inconsistent",
			"none": "",
		} {
			must.Equal(t, doc.pair(t, benchmark).Classification, want, mode)
		}
		warm, flat, late := doc.pair(t, "warm"), doc.pair(t, "flat"), doc.pair(t, "late")
		about := func(s *arith.Spread, low, high float64) bool {
			return s != nil && s.Median >= low && s.Median <= high
		}
		must.Be(t, about(warm.SteadyIteration, 29, 32), mode, "warm is steady from", warm.SteadyIteration)
		must.Be(t, about(warm.SteadySeconds, 43, 47), mode, "warm is steady after", warm.SteadySeconds)
		p := warm.SteadyPerformance
		must.Be(t, p != nil && p.Low <= 1.0005 && p.High >= 0.9995 && p.Half <= 0.01, mode, "warm runs in", p)
		must.Be(t, flat.SteadyIteration == nil && flat.SteadySeconds == nil && flat.SteadyPerformance != nil,
			mode, "flat", flat)
		must.Be(t, late.SteadyIteration == nil && late.SteadyPerformance == nil &&
			late.Counts.NoSteadyState == 5, mode, "late has a steady state", late)
		if doc.Totals.Status != (StatusCounts{Analysed: 17, NotCompleted: 2, NoIterations: 1, Refused: 3}) {
			t.Errorf("%v: totals %+v", mode, doc.Totals)
		}
	}
}

// TestNothingIsDropped: each execution reports why it was not analyzed.
func TestNothingIsDropped(t *testing.T) {
	mixed := mustAnalyze(t, experiment(), quick(classify.Paper), Options{}).pair(t, "mixed")
	for i, want := range []struct {
		status  Status
		problem string
	}{
		{Analysed, ""}, {Analysed, ""},
		{NotCompleted, "its outcome is error"},
		{NotCompleted, "its outcome is timeout"},
		{NoIterations, "no iteration was completed"},
		{Refused, "iteration 2 has no value"},
		{Refused, "iteration 3 took -1 s"},
		{Refused, "3 values, need 4"},
	} {
		e := mixed.Executions[i]
		must.Be(t, e.Status == want.status && strings.Contains(e.Problem, want.problem) && e.Number == i+1,
			"execution", i+1, e.Status, e.Problem, want.status, want.problem)
	}
	must.Equal(t, mixed.Executions[2].Iterations, 17, "the crashed execution", "iterations, want 17")
	must.Be(t, mixed.Iterations != nil && *mixed.Iterations == 400, "analysed executions have",
		mixed.Iterations, "iterations, want 400")
}

// marshal returns the document as it is stored.
func marshal(t *testing.T, doc *Document) string {
	t.Helper()
	b := must.Get(json.MarshalIndent(doc, "", " "))(t)
	return string(b)
}

func TestSameForAnyNumberOfWorkers(t *testing.T) {
	d := experiment()
	want := marshal(t, mustAnalyze(t, d, quick(classify.Paper), Options{}))
	for _, workers := range []int{1, 2, 7} {
		must.Equal(t, marshal(t, mustAnalyze(t, d, quick(classify.Paper), Options{Workers: workers})), want,
			workers, "workers give another document")
	}
	changed := quick(classify.Paper)
	changed.Seed++
	got := marshal(t, mustAnalyze(t, d, changed, Options{}))
	must.Be(t, got != want, "another seed gives the same document")
}

func TestUnchangedPairsAreTakenOver(t *testing.T) {
	d := experiment()
	p := quick(classify.Paper)
	old := mustAnalyze(t, d, p, Options{})
	reused := func(o Options) int {
		last := Progress{}
		o.Progress = func(p Progress) { last = p }
		doc := mustAnalyze(t, d, p, o)
		must.Equal(t, last.Executions, last.Of, "progress ended at")
		must.Equal(t, marshal(t, doc), marshal(t, mustAnalyze(t, d, p, Options{})),
			"taking pairs over gives another document")
		return last.Reused
	}
	must.Equal(t, reused(Options{Previous: old}), 23, "executions taken over, want all 23")
	d.Pairs[1].Executions[2].Columns[0].Reals[399] += 1e-9
	must.Equal(t, reused(Options{Previous: old}), 18,
		"executions taken over after one value changed, want 18")
	p.Delta = classify.Delta{Value: 0.01}
	must.Equal(t, reused(Options{Previous: old}), 0,
		"executions taken over after a parameter changed, want 0")
	other := *old
	other.Version++
	must.Equal(t, reused(Options{Previous: &other}), 0, "executions taken over from another version, want 0")
}

func TestColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	counts := func(core int, base float64) dataset.Column {
		c := dataset.Column{Name: dataset.CoreCycles, Unit: "cycles", Core: core}
		for _, v := range level(r, 100, 2*base, 300, base) {
			c.Counts = append(c.Counts, uint64(v))
		}
		return c
	}
	d := &dataset.Dataset{}
	k := key.Key{Benchmark: "b", VM: "v", Variant: "x"}
	for range 3 {
		d.Add(k, completed(wall(level(r, 400, 1)), counts(0, 1e9), counts(1, 1e4),
			dataset.Column{Name: "gc", Unit: dataset.Nanoseconds, Core: dataset.NoCore,
				Ints: make([]int64, 400)}))
	}
	p := quick(classify.Relative)
	p.Column = dataset.CoreCycles
	doc := mustAnalyze(t, d, p, Options{})
	pair := &doc.Pairs[0]
	must.Be(t, doc.Unit == "cycles" && pair.Classification == "warmup" && pair.SteadySeconds != nil,
		"cycles: unit", doc.Unit, pair.Classification, "steady after", pair.SteadySeconds)
	must.Be(t, math.Abs(pair.SteadySeconds.Median-100) <= 3, "the first 100 iterations took",
		pair.SteadySeconds.Median, "s on the wall clock")
	c := pair.Executions[0].Cores
	must.Be(t, c != nil && c.Main == 0 && c.Share == 1 && len(c.Moves) == 0, "cores", c)
	must.Equal(t, len(doc.Warnings), 0, "mode relative warns of", doc.Warnings)
	paper := quick(classify.Paper)
	paper.Column = dataset.CoreCycles
	if doc := mustAnalyze(t, d, paper, Options{}); len(doc.Warnings) != 1 ||
		doc.Warnings[0].Code != warnUnit ||
		!strings.Contains(doc.Warnings[0].Text, "a delta of 1 ms with") {
		t.Errorf("mode paper on cycles warns of %v", doc.Warnings)
	}
	p.Column = "gc"
	if doc := mustAnalyze(t, d, p, Options{}); doc.Unit != "s" || doc.Pairs[0].Classification != "flat" {
		t.Errorf("gc: %q in %q", doc.Pairs[0].Classification, doc.Unit)
	}
	p.Column = "jit"
	doc = mustAnalyze(t, d, p, Options{})
	e := doc.Pairs[0].Executions[0]
	must.Be(t, e.Status == NoIterations && strings.Contains(e.Problem, `no column "jit"`),
		"a column that is not there", e)
}

func TestWarnings(t *testing.T) {
	doc := mustAnalyze(t, experiment(), quick(classify.Paper), Options{})
	codes := func(benchmark string) string {
		var list []string
		for _, w := range doc.pair(t, benchmark).Warnings {
			list = append(list, w.Code)
		}
		return fmt.Sprint(list)
	}
	for benchmark, want := range map[string]string{
		"none": "[no_executions]", "warm": "[few_executions]", "mixed": "[executions_missing few_executions]",
	} {
		must.Equal(t, codes(benchmark), want)
	}
	d := &dataset.Dataset{}
	dependent, noise := make([]float64, 150), 0.0
	r := rand.New(rand.NewPCG(5, 5))
	for i := range dependent {
		noise = 0.9*noise + r.NormFloat64()
		dependent[i] = max(0, 1e-5*(1+0.1*noise))
	}
	dependent[60] = 0
	d.Add(key.Key{Benchmark: "odd"}, completed(wall(dependent)))
	d.Add(key.Key{Benchmark: "odd"}, completed(wall(level(r, 300, 1))))
	d.Add(key.Key{Benchmark: "round"}, completed(wall(slices.Repeat([]float64{0.1}, 1000))))
	doc = mustAnalyze(t, d, quick(classify.Paper), Options{})
	must.Equal(t, codes("odd"),
		"[few_executions unequal_lengths few_iterations below_delta "+"zero_durations dependence]", "odd")
	d.Problems = []string{"record 7 is damaged"}
	w := mustAnalyze(t, d, quick(classify.Paper), Options{}).Warnings
	must.Be(t, len(w) == 1 && w[0].Text == d.Problems[0], "what could not be read is not in the document", w)
	must.Equal(t, codes("round"), "[few_executions rounding]", "round")
}

func TestParametersRefused(t *testing.T) {
	for _, change := range []func(*Parameters){
		func(p *Parameters) { p.Column = "" },
		func(p *Parameters) { p.Window = Amount{} },
		func(p *Parameters) { p.Steady = Amount{} },
		func(p *Parameters) { p.Resamples = 0 },
		func(p *Parameters) { p.Confidence = 1 },
	} {
		p := Default(classify.Paper)
		change(&p)
		_, err := Analyze(experiment(), p, Options{})
		must.Fail(t, err, ErrParameters, p, "want ErrParameters")
	}
	p := quick(classify.Paper)
	p.Penalty = changepoint.Manual(-1)
	doc := mustAnalyze(t, experiment(), p, Options{})
	e := doc.Pairs[0].Executions[0]
	must.Be(t, e.Status == Refused && strings.Contains(e.Problem, "penalty"), "a negative penalty", e)
}

func TestAmount(t *testing.T) {
	for _, c := range []struct {
		text string
		want Amount
		of   int // out of 2005
	}{
		{"10%", Amount{10, true}, 200}, {"25%", Amount{25, true}, 501}, {"200", Amount{200, false},
			200}, {"0.05%", Amount{0.05, true}, 1},
	} {
		got, err := ParseAmount(c.text)
		if err != nil || got != c.want || got.Of(2005) != c.of || got.String() != c.text {
			t.Errorf("%q: %v, %v, of 2005: %d", c.text, got, err, got.Of(2005))
		}
	}
	for _, text := range []string{"", "0", "-3", "1.5", "101%", "x", "NaN%"} {
		got, err := ParseAmount(text)
		must.Be(t, err != nil, text, "was taken for", got)
	}
}

func TestHowLong(t *testing.T) {
	d := experiment()
	doc := mustAnalyze(t, d, quick(classify.Paper), Options{})
	o := ShorterOptions{Percents: []float64{5, 50}, Samples: 50, Resamples: 500}
	study := must.Get(HowLong(d, doc, o))(t)
	// Four pairs have executions. "late" changes in its last eighth, so that half of it is flat; a
	// twentieth of "warm" ends before it is warm.
	half, little := study.Iterations[1], study.Iterations[0]
	must.Be(t, half.N == 200 && half.Classification.Compared == 4 && half.Classification.Same == 3 &&
		little.Classification.Same <= 2, "half of the iterations", half, "a twentieth", little)
	must.Need(t, len(study.Executions) == 4 && len(study.Both) == 4, study)
	two, both := study.Executions[0], study.Both[3]
	must.Be(t, two.N == 2 && two.Overall.Compared == 200, "executions", two)
	// No pair has more than five executions: 3 and 5 of two lengths each.
	must.Be(t, both.Iterations == 200 && both.Executions == 5 && both.Overall.Compared == 200, both)
	o.Workers = 3
	again, err := HowLong(d, doc, o)
	must.Be(t, err == nil && reflect.DeepEqual(again, study), "three workers give another study", err)
}

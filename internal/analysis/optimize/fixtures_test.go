package optimize_test

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/optimize"
	"krund/internal/analysis/warmup"
	"krund/internal/exchange"
	"krund/internal/experiment/fixtures"
	"krund/rig/must"
)

// The tests in this file compare with what the authors' program computed for
// their result files. The files are not part of the project: the tests skip
// where KRUND_FIXTURES does not name a directory that has them.

func fixture(t *testing.T, name string) io.Reader {
	t.Helper()
	return fixtures.Open(t, fixtures.Path(t, "uoptime", name))
}

// table reads a CSV file as a map for each row.
func table(t *testing.T, name string) []map[string]string {
	t.Helper()
	rows := must.Get(csv.NewReader(fixture(t, name)).ReadAll())(t)
	var list []map[string]string
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, column := range rows[0] {
			m[column] = row[i]
		}
		list = append(list, m)
	}
	return list
}

func real(t *testing.T, s string) float64 {
	t.Helper()
	v := must.Get(strconv.ParseFloat(s, 64))(t)
	return v
}

func position(t *testing.T, row map[string]string) optimize.Position {
	t.Helper()
	return optimize.Position{int32(real(t, row["sr"])), int32(real(t, row["it"])), int32(real(t, row["bed"]))}
}

func dashed(at optimize.Position) string { return fmt.Sprintf("%d-%d-%d", at[0], at[1], at[2]) }

// files reads the result files once for all subtests.
type files map[string]*optimize.Suite

func (f files) get(t *testing.T, name string) *optimize.Suite {
	t.Helper()
	if f[name] == nil {
		s := must.Get(exchange.ReadUOpTime(fixture(t, "data/"+name+".csv.gz")))(t)
		s.Source = name
		f[name] = s
	}
	return f[name]
}

func near(a, b, tolerance float64) bool {
	return a == b || math.Abs(a-b) <= tolerance*max(math.Abs(a), math.Abs(b))
}

// TestGrid compares CV, RMAD and averages of every candidate of every benchmark.
func TestGrid(t *testing.T) {
	suites := files{}
	exact, compared := 0, 0
	for _, row := range table(t, "expected_grid.csv.gz") {
		s := suites.get(t, row["file"])
		e, ok := optimize.EstimateAt(s, row["benchmark"], position(t, row))
		must.Need(t, ok, row["file"], row["benchmark"])
		must.Equal(t, e.Values, int(real(t, row["n"])), "values")
		for column, got := range map[string]warmup.Real{"cv": e.CV, "rmad": e.RMAD, "mean": e.Mean,
			"median": e.Median} {
			want := real(t, row[column])
			compared++
			exact += arith.One(float64(got) == want)
			must.Be(t, near(float64(got), want, 1e-12), row, column, got)
		}
	}
	t.Logf("%d values compared, %d of them to the last bit", compared, exact)
	must.Equal(t, exact, compared, compared-exact, "values differ in their last bits")
}

// rowsOf collects the authors' rows of a metric by file and benchmark.
func rowsOf(t *testing.T, metric string) map[string]map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]map[string]string{}
	for _, row := range table(t, "expected_optimize.csv.gz") {
		if row["metric"] != metric {
			continue
		}
		if all[row["file"]] == nil {
			all[row["file"]] = map[string]map[string]string{}
		}
		all[row["file"]][row["benchmark"]] = row
	}
	return all
}

// TestChoices compares the configurations chosen, what is said of them, and
// what they save: for all files with CV, which draws nothing at random, for one with the others.
func TestChoices(t *testing.T) {
	suites := files{}
	for _, c := range []struct {
		metric    optimize.Metric
		published bool
		fixture   string
	}{
		{optimize.CV, true, "cv"}, {optimize.RMAD, true, "rmad"}, {optimize.RCIW1, true, "rciw1"},
		{optimize.RCIW2, true, "rciw2"}, {optimize.RCIW3, true, "rciw3"}, {optimize.RCIW3, false,
			"rciw3_paper"},
	} {
		t.Run(c.fixture, func(t *testing.T) {
			var tally tally
			for file, rows := range rowsOf(t, c.fixture) {
				if !must.Slow && (c.metric != optimize.CV || testing.Short()) && file != "toml-v2.0.2" {
					continue
				}
				s := suites.get(t, file)
				results := must.Get(optimize.Optimize(s, optimize.Options{Metric: c.metric,
					Published: c.published, Seed: 1, Workers: 4}, nil))(t)
				must.Need(t, len(results) == len(rows), file, len(results), "benchmarks", len(rows))
				for i := range results {
					tally.add(t, &results[i], c.metric, rows[results[i].Name])
				}
			}
			tally.report(t, c.metric)
		})
	}
}

// tally counts what agrees.
type tally struct {
	rows, elsewhere, near, measured, wide, intervals int
}

func (y *tally) add(t *testing.T, r *optimize.Result, m optimize.Metric, row map[string]string) {
	t.Helper()
	y.rows++
	got, want := r.Minimal.At, position(t, row)
	random := row["choices"] != ""
	allowed := strings.Contains("|"+row["choices"], "|"+dashed(got)+":")
	if !random && got != want || random && got != want && !allowed {
		y.elsewhere++
		t.Logf("%s %s: chose %v (%g), want %v (%s), %s", row["file"], r.Name, got, r.Minimal.Metric(m), want,
			row["instability"], row["choices"])
	}
	if got != want {
		return
	}
	for column, v := range map[string]float64{"avg": float64(r.Minimal.Average),
		"full_avg": float64(r.Full.Average), "avg_diff": float64(r.AverageDiff), "time_s": r.Minimal.Seconds,
		"time_saved": r.SavedSeconds} {
		must.Be(t, near(v, real(t, row[column]), 1e-12), r.Name, column, v, "want", row[column])
	}
	instability := real(t, row["instability"])
	y.measured++
	metric := float64(r.Minimal.Metric(m))
	y.near += arith.One(near(metric, instability, 0.06))
	must.Be(t, random || metric == instability, r.Name, "metric", metric, "want", instability)
	if row["full_ci_lo"] == "" {
		return
	}
	y.intervals++
	low, high := real(t, row["full_ci_lo"]), real(t, row["full_ci_hi"])
	tolerance, full := 0.06*(high-low), r.Full.Interval
	y.wide += arith.One(math.Abs(float64(full.Low)-low) > tolerance ||
		math.Abs(float64(full.High)-high) > tolerance)
}

func (y *tally) report(t *testing.T, m optimize.Metric) {
	t.Helper()
	t.Logf("%d rows compared, %d chosen elsewhere; metric within 6%%: %d of %d; interval of the full one "+
		"off by more than 6%% of its width: %d of %d",
		y.rows, y.elsewhere, y.near, y.measured, y.wide, y.intervals)
	allowed := 0
	switch m {
	case optimize.RCIW1, optimize.RCIW3:
		allowed = 1 + y.rows/100 // nine bootstraps do not show every choice that chance can make
	case optimize.RCIW2:
		allowed = 1 + y.rows/30 // it jumps where values are few: the same estimate expects 1.3%
	}
	must.Be(t, y.rows != 0 && y.elsewhere <= allowed, y.elsewhere, "of", y.rows,
		"configurations are not the authors'")
	must.Be(t, float64(y.near) >= 0.8*float64(y.measured) && float64(y.wide) <= 0.1*float64(y.intervals),
		"too many values differ")
}

// TestIntervals compares the intervals of the full configuration with the range
// of ten independent bootstraps.
func TestIntervals(t *testing.T) {
	var doc struct {
		Rows []struct {
			File, Benchmark string
			CI              map[string][4]float64 `json:"ci_range"`
		}
	}
	fixtures.JSON(t, fixtures.Path(t, "uoptime", "expected_full_ci.json.gz"), &doc)
	suites := files{}
	compared, outside := 0, 0
	estimates := map[string]map[string]optimize.Result{}
	for _, row := range doc.Rows {
		if !must.Slow && row.File != doc.Rows[0].File {
			continue
		}
		if estimates[row.File] == nil {
			results, err := optimize.Optimize(suites.get(t, row.File), optimize.Options{Metric: optimize.CV,
				Published: true, Workers: 4}, nil)
			must.Do(t, err)
			estimates[row.File] = map[string]optimize.Result{}
			for _, r := range results {
				estimates[row.File][r.Name] = r
			}
		}
		full := estimates[row.File][row.Benchmark].Full
		for kind, got := range map[string]optimize.Interval{"mean": full.OfMean, "t": full.OfT,
			"median": full.OfMedian} {
			want := row.CI[kind]
			room := 0.03 * (want[3] - want[0])
			low, high := float64(got.Low), float64(got.High)
			compared++
			if low < want[0]-room || low > want[1]+room || high < want[2]-room || high > want[3]+room {
				outside++
				t.Logf("%s %s: %s interval %v, want %v", row.File, row.Benchmark, kind, got, want)
			}
		}
	}
	t.Logf("%d intervals compared, %d outside", compared, outside)
	must.Be(t, compared != 0 && outside <= 1+compared/100, "too many intervals are elsewhere")
}

// TestSavings adds up the authors' rows, and ours where there is no chance in
// them.
func TestSavings(t *testing.T) {
	suites := files{}
	rows := map[string][]optimize.Result{}
	for _, row := range table(t, "expected_optimize.csv.gz") {
		r := optimize.Result{Name: row["benchmark"], AverageDiff: warmup.Real(real(t, row["avg_diff"]))}
		r.Minimal.Seconds = real(t, row["time_s"])
		r.Full.Seconds = r.Minimal.Seconds + real(t, row["time_saved"])
		at := row["file"] + row["metric"]
		rows[at] = append(rows[at], r)
	}
	compared := 0
	for _, row := range table(t, "expected_savings.csv.gz") {
		var lists [][]optimize.Result
		o := optimize.Options{Metric: optimize.Metric(row["metric"]), Published: true, Resamples: 1}
		s := suites.get(t, row["file"])
		switch row["variant"] {
		case "uoptime":
			lists = append(lists, rows[row["file"]+row["metric"]])
			if o.Metric == optimize.CV || o.Metric == optimize.RMAD {
				results := must.Get(optimize.Optimize(s, o, nil))(t)
				lists = append(lists, results)
			}
		case "minimum":
			results := must.Get(optimize.Choose(s, optimize.Minimum, o))(t)
			lists = append(lists, results)
		}
		for _, results := range lists {
			compared++
			got := optimize.Saved(results)
			for column, v := range map[string]float64{
				"benchmarks": float64(len(results)), "full_s": got.FullSeconds, "min_s": got.Seconds,
				"saved_s": got.SavedSeconds, "saved_fraction": float64(got.Saved),
				"le1pct": float64(got.Within1), "le3pct": float64(got.Within3),
				"le5pct": float64(got.Within5), "le10pct": float64(got.Within10),
			} {
				must.Be(t, math.Abs(v-real(t, row[column])) <= 1e-11*max(1, math.Abs(v)), row["file"],
					row["variant"], row["metric"], column, v, "want", row[column])
			}
		}
	}
	t.Logf("%d sums compared", compared)
	must.Be(t, compared != 0, "nothing was compared")
}

type changesFile struct {
	Threshold float64
	Projects  map[string]map[string]struct {
		Inputs    map[string]map[string]map[string][]any
		Published []changesRow `json:"as_published_slowdowns_only"`
		TwoSided  []changesRow `json:"two_sided"`
		Table2    struct {
			Full, Min int
			FPR       [3]float64 `json:"fpr_pct"`
			FNR       [3]float64 `json:"fnr_pct"`
		}
	}
}

type changesRow struct {
	V1, V2                       string
	N, Full, Min, FP, FN, TP, TN int
	FPR, FNR                     float64
	FullList                     []string `json:"full_list"`
	MinList                      []string `json:"min_list"`
}

// TestChanges repeats the comparisons of all versions from the authors'
// averages and intervals, and of µOpTime from the measurements.
func TestChanges(t *testing.T) {
	var doc changesFile
	fixtures.JSON(t, fixtures.Path(t, "uoptime", "expected_changes.json.gz"), &doc)
	suites := files{}
	compared := 0
	for project, strategies := range doc.Projects {
		for strategy, c := range strategies {
			pairs := map[string]map[string]optimize.Both{}
			for version, in := range c.Inputs {
				pairs[version] = pairsOf(in["full"], in["min"])
			}
			var published []optimize.Comparison
			for i, row := range c.Published {
				got := optimize.Compare(pairs[row.V1], pairs[row.V2], doc.Threshold, true)
				published = append(published, got)
				sameComparison(t, project+" "+strategy, &got, row)
				two := optimize.Compare(pairs[row.V1], pairs[row.V2], doc.Threshold, false)
				sameComparison(t, project+" "+strategy+" two-sided", &two, c.TwoSided[i])
				compared += 2
			}
			sameTable(t, project+" "+strategy, optimize.Sum(published), c.Table2.Full, c.Table2.Min,
				c.Table2.FPR, c.Table2.FNR)
			if strategy != "random" { // the authors' draws cannot be repeated
				compared += measuredChanges(t, suites, strategy, c.Published, doc.Threshold)
			}
		}
	}
	t.Logf("%d comparisons of versions agree", compared)
}

func pairsOf(full, reduced map[string][]any) map[string]optimize.Both {
	pairs := map[string]optimize.Both{}
	of := func(v []any) optimize.Summary {
		at := func(i int) warmup.Real { return warmup.Real(v[i].(float64)) }
		return optimize.Summary{Average: at(0), Interval: optimize.Interval{Low: at(1), High: at(2)}}
	}
	for name, v := range full {
		if r, both := reduced[name]; both {
			pairs[name] = optimize.Both{Full: of(v), Reduced: of(r)}
		}
	}
	return pairs
}

func sameComparison(t *testing.T, what string, c *optimize.Comparison, want changesRow) {
	t.Helper()
	var full, reduced []string
	for _, x := range c.All {
		if x.Full != optimize.Unchanged {
			full = append(full, x.Name)
		}
		if x.Reduced != optimize.Unchanged {
			reduced = append(reduced, x.Name)
		}
	}
	got := [...]int{c.Benchmarks, c.Full, c.Reduced, c.FP, c.FN, c.TP, c.TN}
	if got != [...]int{want.N, want.Full, want.Min, want.FP, want.FN, want.TP, want.TN} ||
		!near(c.FPR, want.FPR, 1e-12) || !near(c.FNR, want.FNR, 1e-12) ||
		!slices.Equal(full, want.FullList) || !slices.Equal(reduced, want.MinList) {
		t.Errorf("%s: %s to %s: %+v, want %+v", what, want.V1, want.V2, c, want)
	}
}

func sameTable(t *testing.T, what string, r optimize.Rates, full, reduced int, fpr, fnr [3]float64) {
	t.Helper()
	got := append(r.FPR[:], r.FNR[:]...)
	must.Be(t, r.Full == full && r.Reduced == reduced, what, r.Full, r.Reduced, "changes", full, reduced)
	for i, want := range append(fpr[:], fnr[:]...) {
		must.Be(t, math.Abs(100*got[i]-want) <= 0.005+1e-9, what, "rates", got, "want", fpr, fnr)
	}
}

// measuredChanges computes a project's comparisons from the measurements.
func measuredChanges(t *testing.T, suites files, strategy string, want []changesRow, limit float64) int {
	t.Helper()
	versions := []*optimize.Suite{suites.get(t, want[0].V1)}
	for _, row := range want {
		versions = append(versions, suites.get(t, row.V2))
	}
	o := optimize.Options{Metric: optimize.RMAD, Published: true, Workers: 4}
	results, err := optimize.Optimize(versions[0], o, nil)
	if strategy == "minimum" {
		results, err = optimize.Choose(versions[0], optimize.Minimum, o)
	}
	must.Do(t, err)
	list := must.Get(optimize.Versions(versions, results, limit, o))(t)
	for i := range list {
		sameComparison(t, "measured", &list[i], want[i])
	}
	return len(list)
}

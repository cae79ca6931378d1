package compare

import (
	"math/rand/v2"
	"slices"
	"testing"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/experiment/fixtures"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

// TestJMH splits the forks of identical code, 10 of each of 21 JMH benchmarks (KRUND_FIXTURES), at
// random into 5 against 5: no more than 5 % of the tables may have a false verdict, and changes
// that were injected must be found at least as often as by Welch's test on the logarithms of the
// medians of the second halves.
func TestJMH(t *testing.T) {
	forks := jmhForks(t)
	split := func(r *rand.Rand) []row {
		rows := make([]row, len(forks))
		for i, list := range forks {
			list = slices.Clone(list)
			r.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
			rows[i] = row{list[:len(list)/2], list[len(list)/2:]}
		}
		return rows
	}
	c := scenario{table: split}.run(jmhTables, 1)
	c.log(t, "JMH, 21 benchmarks, 5 against 5")
	c.check(t, "JMH", 0.05)
	rate := float64(c.falseTables) / float64(c.tables)
	must.Be(t, rate <= 0.05, c.falseTables, "of", c.tables, "tables have a false verdict")
	must.Be(t, c.without <= 0, c.without, "keys have no effect")
	for i := range injected {
		must.Be(t, i <= 0 || c.found[i] >= c.foundWelch[i], "a factor of", injected[i], "was found in",
			c.found[i], "keys, by Welch's test in", c.foundWelch[i])
	}
	few(t, split)
	keys := float64(c.keys)
	if a, b := float64(c.below1)/keys, float64(c.below5)/keys; a > 0.015 || b < 0.02 || b > 0.06 {
		t.Errorf("%.4f of the p-values are below 0.01, %.4f below 0.05", a, b)
	}
}

// few changes a tenth of the keys, drawn at random: as many are found as by Welch's test.
func few(t *testing.T, split func(*rand.Rand) []row) {
	t.Helper()
	random, o := rand.New(rand.NewPCG(5, 77)), Options{}.withDefaults()
	for _, factor := range injected[1:] {
		found, welch, changed := 0, 0, 0
		for range jmhTables {
			rows := split(random)
			tenth := random.Perm(len(rows))[:len(rows)/10]
			for _, i := range tenth {
				rows[i] = multiplied(rows[i:i+1], factor)[0]
			}
			f, w := decide(rows, false, o), welchChanged(rows, o)
			for _, i := range tenth {
				changed++
				found += arith.One(f.rows[i].change(0, o) == Worse)
				welch += arith.One(w[i])
			}
		}
		t.Logf("a tenth of the keys changed by a factor of %v: found %.3f (Welch %.3f) of %d", factor,
			float64(found)/float64(changed), float64(welch)/float64(changed), changed)
		// 1.02 is close to the margin, which Welch's test does not have.
		must.Be(t, factor == injected[1] || found >= welch, "a factor of", factor, "was found", found,
			"times, by Welch's test", welch)
	}
}

// jmhForks returns the reduced forks of each benchmark; the median of the second half is in mean.
func jmhForks(t *testing.T) [][]reduced {
	t.Helper()
	var all [][]reduced
	for _, name := range fixtures.Glob(t, "jmh", "series", "*.gz") {
		d := jmhData(t, name)
		s := analyzed(t, d)
		list := s.reduced(0, Options{}.withDefaults())
		for i := range list {
			values, _ := d.Pairs[0].Executions[i].Values(dataset.Wall)
			list[i].mean = arith.MedianOf(values[len(values)/2:])
		}
		all = append(all, list)
	}
	return all
}

func jmhData(t *testing.T, name string) *dataset.Dataset {
	t.Helper()
	var series struct {
		ID    string
		Forks [][]float64
	}
	fixtures.JSON(t, name, &series)
	d := &dataset.Dataset{}
	for i, values := range series.Forks {
		d.Add(key.Key{Benchmark: series.ID, VM: "jmh", Variant: "x"}, execution(i+1, values))
	}
	return d
}

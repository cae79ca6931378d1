package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/classify"
	"krund/rig/must"
)

// ladder makes the table of `krunctl compare --by restart` of an experiment: before are the
// executions that follow a restart of the hardware, one in every, after those that follow a faster
// one. All in one boot of the hardware share that boot's deviation from the level, another one for
// each key. The executions of each kind have a standard deviation of their own, and the faster ones
// a shift. The order is round-robin, or with random a permutation of the keys in each round.
type ladder struct {
	name                    string
	keys, executions, every int
	boots, hardware, faster float64 // standard deviations
	random                  bool
}

func (l ladder) table(r *rand.Rand, shift float64) []row {
	rows, boot := make([]row, l.keys), make([]float64, l.keys)
	slot := 0
	for range l.executions {
		order := make([]int, l.keys)
		for i := range order {
			order[i] = i
		}
		if l.random {
			order = r.Perm(l.keys)
		}
		for _, k := range order {
			side, v := &rows[k].after, shift+l.faster*r.NormFloat64()
			if slot%l.every == 0 {
				for i := range boot {
					boot[i] = l.boots * r.NormFloat64()
				}
				side, v = &rows[k].before, l.hardware*r.NormFloat64()
			}
			slot++
			v = math.Exp(v + boot[k])
			*side = append(*side, reduced{Execution: Execution{Number: len(*side) + 1, Value: v,
				Class: classify.Flat}, mean: v})
		}
	}
	return rows
}

// same returns the share of tables with a key that is the same, and the share of such keys.
func (l ladder) same(tables int, shift float64) (ofTables, ofKeys float64) {
	r, o := rand.New(rand.NewPCG(4, 5)), Options{}.withDefaults()
	wrong := 0
	for range tables {
		f, n := decide(l.table(r, shift), false, o), 0
		for i := range f.rows {
			n += arith.One(f.rows[i].change(0, o) == Same)
		}
		wrong += arith.One(n > 0)
		ofKeys += float64(n) / float64(tables*l.keys)
	}
	return float64(wrong) / float64(tables), ofKeys
}

// TestRestarts: when executions after a faster restart differ by the margin, at most 5 % of the
// tables of `krunctl compare --by restart` have a key that is called the same, however few boots
// there are and however much varies between them.
func TestRestarts(t *testing.T) {
	const sd = 0.003
	for _, l := range []ladder{
		{"1 key, 15 executions, 3 boots", 1, 15, 5, 0, sd, sd, false},
		{"1 key, 3 boots, variation between them", 1, 15, 5, sd, sd, sd, false},
		{"1 key, 3 boots, only between them", 1, 15, 5, sd, sd / 10, sd / 10, false},
		{"1 key, 10 executions, 2 boots", 1, 10, 5, 0, sd, sd, false},
		{"4 keys of 20, 16 boots", 4, 20, 5, 0, sd, sd, false},
		{"4 keys of 20, variation between boots", 4, 20, 5, sd, sd, sd, false},
		{"4 keys of 20, only between boots", 4, 20, 5, sd, sd / 10, sd / 10, false},
		{"4 keys of 30, 5 boots, random", 4, 30, 24, sd, sd, sd, true},
		{"4 keys of 60, 10 boots, random, only between", 4, 60, 24, sd, sd / 10, sd / 10, true},
		{"2 keys of 40, 5 boots, only between", 2, 40, 16, sd, sd / 10, sd / 10, false},
		{"20 keys of 30, random", 20, 30, 5, sd, sd, sd, true},
		{"4 keys of 20, hardware varies 4 times as much", 4, 20, 5, 0, 4 * sd, sd, false},
		{"4 keys of 20, hardware varies a quarter", 4, 20, 5, 0, sd / 4, sd, false},
		{"1 key of 15, hardware varies 4 times as much", 1, 15, 5, 0, 4 * sd, sd, false},
	} {
		tables := must.Often(300, 1000)
		margin := math.Log1p(DefaultMargin)
		_, found := l.same(tables, 0)
		for _, shift := range []float64{margin, -margin} {
			rate, _ := l.same(tables, shift)
			t.Logf("%-48s %.3f of the tables at the margin; no difference: %.3f of the keys", l.name, rate,
				found)
			low, _ := Binomial(int(math.Round(rate*float64(tables))), tables, 0.99)
			must.Be(t, low <= 0.05, l.name, rate, "of the tables")
		}
	}
}

// Expected values from R 4.2: anova(lm(log(x) ~ boot)), the variance components from its mean
// squares, and qf for the interval.
func TestRestartSpreadOf(t *testing.T) {
	s, ok := RestartSpreadOf([][]float64{{1.00, 1.02, 1.01}, {}, {1.05, 1.06}, {0.98, 0.99, 1.00, 0.97}})
	must.Need(t, ok && s.Boots == 3 && s.Executions == 9, s, ok)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"between", s.Between, 0.032363951014},
		{"within", s.Within, 0.011228123386},
		{"share", s.Share, 0.892568235282},
		{"p", s.P, 0.001229750086},
		{"low", s.Range[0], 0.4896821429},
		{"high", s.Range[1], 0.9973527123},
	} {
		must.Be(t, math.Abs(c.got-c.want) <= 1e-9, c.name, c.got, "want", c.want)
	}
}

func TestRestartSpreadRefuses(t *testing.T) {
	for name, boots := range map[string][][]float64{
		"nothing":             nil,
		"one boot":            {{1, 2, 3}},
		"one execution each":  {{1}, {2}, {3}},
		"a level of zero":     {{1, 0}, {1, 2}},
		"an infinite level":   {{1, math.Inf(1)}, {1, 2}},
		"no level":            {{1, math.NaN()}, {1, 2}},
		"all values the same": {{1, 1}, {1, 1}},
	} {
		s, ok := RestartSpreadOf(boots)
		must.Be(t, !ok, name, s)
	}
}

// TestRestartSpreadErrors: without variation between boots the F test rejects in 5 % of 4,000
// experiments of 6 boots with 2 to 5 executions, within three standard errors; and with a share of
// a half, the interval contains it in 95 %.
func TestRestartSpreadErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const times = 4000
	rejected, covered := 0, 0
	for _, between := range []float64{0, 0.01} {
		for range times {
			var boots [][]float64
			for i := range 6 {
				boot, level := between*r.NormFloat64(), []float64{}
				for range 2 + i%4 {
					level = append(level, math.Exp(boot+0.01*r.NormFloat64()))
				}
				boots = append(boots, level)
			}
			s, ok := RestartSpreadOf(boots)
			switch {
			case !ok:
				t.Fatal("no estimate")
			case between == 0 && s.P <= 0.05:
				rejected++
			case between > 0 && s.Range[0] <= 0.5 && s.Range[1] >= 0.5:
				covered++
			}
		}
	}
	error := func(p float64) float64 { return 3 * math.Sqrt(p*(1-p)/times) }
	if got := float64(rejected) / times; math.Abs(got-0.05) > error(0.05) {
		t.Errorf("rejected in %.4f of the experiments without variation between boots", got)
	}
	got := float64(covered) / times
	must.Be(t, math.Abs(got-0.95) <= error(0.95), "the interval contains the share in", got)
}

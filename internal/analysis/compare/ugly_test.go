package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"krund/internal/analysis/arith"
)

// ugly is a kind of table without a change, of data that a t test is not made for.
type ugly struct {
	shape         string
	keys          int
	before, after int
	spread        float64 // of the after side, in spreads of the before side
	blocks        bool
	was           float64 // percent of tables with a false verdict before states were looked for
}

func (u ugly) String() string {
	size := fmt.Sprintf("%d against %d", u.before, u.after)
	if u.blocks {
		size = fmt.Sprintf("%d blocks", u.before)
	}
	if u.spread != 1 {
		size += fmt.Sprintf(", %g times the spread", u.spread)
	}
	return fmt.Sprintf("%s, %s, %d keys", u.shape, size, u.keys)
}

// exchangeable reports whether the executions of both sides have the same distribution.
func (u ugly) exchangeable() bool { return u.spread == 1 }

// shapes have a mean of 0. States are 2 apart, or of one of ten executions 3, with 0.2 within.
var shapes = map[string]func(*rand.Rand) float64{
	"normal": gauss, "lognormal": skewed, "t, 3 df": student3,
	"two states 90:10": func(r *rand.Rand) float64 { return states(r, 0.1, 3) },
	"two states 50:50": func(r *rand.Rand) float64 { return states(r, 0.5, 2) },
}

func states(r *rand.Rand, share, gap float64) float64 {
	v := 0.2*r.NormFloat64() - share*gap
	if r.Float64() < share {
		v += gap
	}
	return v
}

// table makes keys whose spreads are those of 200 JMH benchmarks. Blocks differ by 5 spreads of the
// key, in what they share over the keys as much as in what they do not.
func (u ugly) table(r *rand.Rand) []row {
	common := make([]float64, u.before)
	for i := range common {
		common[i] = r.NormFloat64()
	}
	rows := make([]row, u.keys)
	for i := range rows {
		sd := 0.016 * math.Exp(1.286*r.NormFloat64())
		one := func(n int, spread float64) []reduced {
			list := make([]reduced, n)
			for k := range list {
				list[k] = reduced{Execution: Execution{Number: k + 1,
					Value: math.Exp(sd * spread * shapes[u.shape](r))}}
			}
			return list
		}
		rows[i] = row{one(u.before, 1), one(u.after, u.spread)}
		for k := 0; u.blocks && k < u.before; k++ {
			effect := math.Exp(5 * sd * (common[k] + r.NormFloat64()) / math.Sqrt2)
			rows[i].before[k].Value *= effect
			rows[i].after[k].Value *= effect
		}
	}
	return rows
}

// uglyTables are those of which the rates before are known.
func uglyTables() []ugly {
	var list []ugly
	keys := []int{1, 10, 100}
	sizes := []ugly{{before: 3, after: 3, spread: 1}, {before: 5, after: 5, spread: 1},
		{before: 10, after: 10, spread: 1}, {before: 30, after: 30, spread: 1},
		{before: 30, after: 10, spread: 1}, {before: 5, after: 5, spread: 4},
		{before: 10, after: 10, spread: 4}, {before: 10, after: 30, spread: 4}}
	for _, s := range []struct {
		shape string
		was   [3][8]float64 // by keys and sizes
	}{
		{"normal", [3][8]float64{{5.1, 4.9, 4.9, 5.3, 3.6, 7.1, 5.2, 4.9},
			{5.1, 5.0, 4.9, 4.6, 3.6, 7.4, 5.8, 4.8}, {6.1, 5.7, 3.5, 4.9, 4.7, 12.1, 5.7, 4.4}}},
		{"lognormal", [3][8]float64{{3.4, 2.9, 2.9, 4.0, 6.1, 17.4, 14.1, 6.2},
			{4.0, 2.1, 1.0, 1.3, 8.6, 37, 38, 17}, {6.0, 2.1, 0.5, 0.8, 8.9, 71, 81, 39}}},
		{"t, 3 df", [3][8]float64{{3.7, 3.8, 4.2, 4.4, 2.8, 5.5, 4.4, 3.9},
			{3.0, 2.8, 2.5, 3.6, 2.8, 3.5, 2.9, 3.0}, {3.5, 2.0, 2.0, 2.8, 2.8, 5.3, 2.1, 2.3}}},
		{"two states 90:10", [3][8]float64{{2.9, 2.3, 1.8, 4.5, 9.9, 32, 32, 5.6},
			{3.0, 1.4, 0.7, 1.9, 5.9, 38, 77, 28}, {12.5, 1.2, 0.1, 0.7, 0.9, 58, 91, 73}}},
		{"two states 50:50", [3][8]float64{{3.6, 5.5, 5.0, 5.1, 4.4, 7.0, 5.6, 4.9},
			{24.2, 10.6, 6.3, 4.7, 5.3, 41, 12, 5.6}, {81.3, 15.4, 10.7, 6.1, 18.2, 97, 23, 8.9}}},
	} {
		for k, row := range s.was {
			for i, was := range row {
				u := sizes[i]
				u.shape, u.keys, u.was = s.shape, keys[k], was
				list = append(list, u)
			}
		}
	}
	blocks := []int{3, 5, 10, 30}
	for _, s := range []struct {
		shape string
		keys  int
		was   [4]float64
	}{
		{"normal", 10, [4]float64{4.4, 5.0, 4.9, 4.0}}, {"lognormal", 10, [4]float64{1.8, 1.0, 1.0, 2.1}},
		{"t, 3 df", 10, [4]float64{3.8, 3.4, 3.5, 3.2}},
		{"two states 90:10", 10, [4]float64{3.1, 1.2, 0.4, 1.8}},
		{"two states 50:50", 10, [4]float64{15.4, 3.3, 4.9, 4.8}},
		{"two states 50:50", 100, [4]float64{22.5, 11.1, 4.2, 6.4}},
	} {
		for i, was := range s.was {
			list = append(list, ugly{s.shape, s.keys, blocks[i], blocks[i], 1, true, was})
		}
	}
	return list
}

// TestSimulationsOfUglyData: where the executions of both sides have the same distribution, no more
// than 5 % of the tables have a false verdict.
func TestSimulationsOfUglyData(t *testing.T) {
	o := Options{}.withDefaults()
	for i, u := range uglyTables() {
		if u.keys > uglyKeys {
			continue
		}
		random := rand.New(rand.NewPCG(uint64(i), 31))
		wrong, remarked := 0, 0
		for range uglyRepetitions {
			f := decide(u.table(random), u.blocks, o)
			if count(f, o) > 0 {
				wrong++
				remarked += arith.One(f.remarked(o))
			}
		}
		low, high := Binomial(wrong, uglyRepetitions, 0.95)
		percent := func(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
		t.Logf("| %s | %.1f%% | %.1f%% (%.1f, %.1f) | %.0f%% of %d |", u, u.was,
			percent(wrong, uglyRepetitions), 100*low, 100*high, percent(remarked, wrong), wrong)
		if least, _ := Binomial(wrong, uglyRepetitions, 0.999); u.exchangeable() && least > 0.05 {
			t.Errorf("%s: %d of %d tables have a false verdict", u, wrong, uglyRepetitions)
		}
	}
}

// remarked reports whether the table, or each change, has a remark that it may be none.
func (f family) remarked(o Options) bool {
	if f.differ() {
		return true
	}
	for i := range f.rows {
		d := &f.rows[i]
		changed := d.change(0, o) == Better || d.change(0, o) == Worse
		if changed && d.states == nil && d.steady.unequalSpreads() == 0 {
			return false
		}
	}
	return true
}

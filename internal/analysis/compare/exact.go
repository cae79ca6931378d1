package compare

import (
	"math"

	"krund/internal/analysis/classify"
)

// mostTables bounds the tables that exactTest lists.
const mostTables = 2_000_000

// classTest returns the p-value of the exact test of Fisher, Freeman and Halton that both sides
// have the same distribution of classes: the probability, given the totals, of all tables that are
// no more probable than the observed one. least is the smallest p-value that a table with these
// totals can have; 1 when a side has no classified execution. When the classes have too many tables
// (beyond about 400 executions a side), good (flat, warmup) and bad classes are compared.
func classTest(before, after classify.Counts) (p, least float64) {
	if before.Total() == 0 || after.Total() == 0 {
		return 1, 1
	}
	var x, y []int
	tables := 1
	for _, class := range classify.Classes {
		x, y = append(x, before.Of(class)), append(y, after.Of(class))
		tables = min(tables*(before.Of(class)+after.Of(class)+1), mostTables+1)
	}
	if tables > mostTables {
		return goodTest(before, after)
	}
	return exactTest(x, y)
}

// goodTest is the exact test on the numbers of good and bad executions, Fisher's test of a table of
// two by two.
func goodTest(before, after classify.Counts) (p, least float64) {
	g, h := good(before), good(after)
	return exactTest([]int{g, before.Total() - g}, []int{h, after.Total() - h})
}

// good is the number of flat and warmup executions.
func good(c classify.Counts) int { return c.Flat + c.Warmup }

// exactTest is the p-value of a table of two rows, and the smallest that their totals allow.
func exactTest(x, y []int) (p, least float64) {
	totals := make([]int, len(x))
	row, all := 0, 0
	for i := range x {
		totals[i] = x[i] + y[i]
		row += x[i]
		all += totals[i]
	}
	f := factorials(all)
	observed := 0.0
	for i := range x {
		observed += f.choose(totals[i], x[i])
	}
	const tie = 1e-7 // relative; equal probabilities differ by rounding, as in R's fisher.test
	limit := observed + math.Log1p(tie)
	base, rarest := f.choose(all, row), math.Inf(1)
	var list func(i, left, rest int, sum float64)
	list = func(i, left, rest int, sum float64) {
		rest -= totals[i] // executions of the classes after i
		if i == len(totals)-1 {
			sum += f.choose(totals[i], left)
			probability := math.Exp(sum - base)
			if sum <= limit {
				p += probability
			}
			if sum < rarest-math.Log1p(tie) {
				rarest, least = sum, 0
			}
			if sum <= rarest+math.Log1p(tie) {
				least += probability
			}
			return
		}
		for n := max(0, left-rest); n <= min(totals[i], left); n++ {
			list(i+1, left-n, rest, sum+f.choose(totals[i], n))
		}
	}
	list(0, row, all, 0)
	return min(p, 1), min(least, 1)
}

// logs are the logarithms of the factorials.
type logs []float64

func factorials(n int) logs {
	f := make(logs, n+1)
	for i := 2; i <= n; i++ {
		f[i] = f[i-1] + math.Log(float64(i))
	}
	return f
}

// choose is the logarithm of the binomial coefficient.
func (f logs) choose(n, k int) float64 { return f[n] - f[k] - f[n-k] }

package compare

import (
	"math"
	"slices"

	"krund/internal/analysis/arith"
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

// skewedAtLeast raises the p-value of a key whose sides have different numbers of executions, and
// whose logarithms are skewed, to that of Wilcoxon's rank sum test, which holds whatever the
// distribution, if it is the same on both sides. A t test of 30 against 10 values whose logarithms
// are lognormal finds a change where there is none: the mean of the smaller side is skewed, too.
func (e *estimate) skewedAtLeast(x, y []float64) {
	const (
		errors = 2.6  // standard errors of the skewness of normal values, √(6/n)
		doubt  = 0.05 // a larger p-value makes no verdict
		most   = 100  // values, beyond which the means are nearly normal
	)
	if !e.ok || !e.unbalanced() || e.sides[0] == 0 || len(x)+len(y) > most || e.p() > doubt {
		return
	}
	var residuals []float64
	for _, side := range [][]float64{x, y} {
		m := arith.MeanOf(side)
		for _, v := range side {
			residuals = append(residuals, v-m)
		}
	}
	square, cube := 0.0, 0.0
	for _, v := range residuals {
		square, cube = square+v*v, cube+v*v*v
	}
	n := float64(len(residuals))
	if math.Abs(cube/n)/math.Pow(square/n, 1.5) > errors*math.Sqrt(6/n) {
		e.atLeast(rankSumP(x, y))
	}
}

// rankSumP is the exact two-sided p-value of Wilcoxon's rank sum test, given the ties: the numbers
// of choices of as many of all values as the smaller side has, by the sum of their ranks.
func rankSumP(x, y []float64) float64 {
	if len(x) > len(y) {
		x, y = y, x
	}
	all := slices.Sorted(slices.Values(slices.Concat(x, y)))
	twice := func(v float64) int { // the mean of the ranks of equal values, doubled
		first, _ := slices.BinarySearch(all, v)
		after, _ := slices.BinarySearch(all, math.Nextafter(v, math.Inf(1)))
		return first + after + 1
	}
	sum := 0
	for _, v := range x {
		sum += twice(v)
	}
	most := 2 * len(all) * len(x)
	ways := make([][]float64, len(x)+1) // by the number of values chosen and their sum
	for i := range ways {
		ways[i] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for _, v := range all {
		rank := twice(v)
		for k := len(x); k > 0; k-- {
			for s := rank; s <= most; s++ {
				ways[k][s] += ways[k-1][s-rank]
			}
		}
	}
	low, high, total := 0.0, 0.0, 0.0
	for s, n := range ways[len(x)] {
		total += n
		if s <= sum {
			low += n
		}
		if s >= sum {
			high += n
		}
	}
	return min(1, 2*min(low, high)/total)
}

package compare

import (
	"math"
	"slices"
	"testing"

	"krund/internal/analysis/classify"
	"krund/rig/must"
)

// near reports whether two numbers differ by less than a relative error.
func near(a, b, relative float64) bool { return math.Abs(a-b) <= relative*math.Abs(b) }

// TestPrior checks against limma 3.54.1 (fitFDist; R 4.2.2).
func TestPrior(t *testing.T) {
	v := []float64{0.0001, 0.0004, 0.00025, 0.0009, 0.00016, 0.0036, 0.00049, 0.000064, 0.0064, 0.0001,
		0.00081, 0.0000001}
	alike := []float64{1.0, 1.1, .9, 1.05, .95, 1.02, .97, 1.01, .99, 1.03}
	eight := slices.Repeat([]float64{8}, len(v))
	for _, c := range []struct {
		name              string
		variances, df     []float64
		variance, freedom float64
		keys              int
	}{
		{"heavy tail", v, eight, 4.49711177704665e-05, 0.784620599897975, 12},
		{"different freedom", v, []float64{8, 7, 6, 8, 8, 4, 8, 8, 3, 8, 8, 8}, 4.57804199282318e-05,
			0.777005482551706, 12},
		// limma has infinite freedom here, and bounds the sum by that of the keys, 80
		{"no more than chance", alike, eight[:10], 1.002, 80, 10},
		{"zeros are left out", append([]float64{0, 0}, v...), append([]float64{8, 8}, eight...),
			4.49711177704665e-05, 0.784620599897975, 12},
		{"few keys", v[:9], eight[:9], 0, 0, 0},
	} {
		p := priorOf(c.variances, c.df, 0)
		must.Be(t, near(p.Variance, c.variance, 1e-7) && near(p.Freedom, c.freedom, 1e-7) && p.Keys == c.keys,
			c.name, p, c.variance, c.freedom)
	}
}

// TestNoncentral checks against R 4.2.2: pt with ncp, and the root of the power in ncp.
func TestNoncentral(t *testing.T) {
	for _, c := range []struct{ t, freedom, delta, want float64 }{
		{2.5, 8, 2, 0.361325962330301}, {4.78, 8.6, 6, 0.815836870664566}, {40, 2, 60, 0.894370291939},
		// by integrate: pt approximates here
		{3, 1000, 1, 0.0230339115232449}, {1.5, 1, 0, 0.187167041810998}, // 1/2 - atan(1.5)/pi
	} {
		got := newNoncentral(c.freedom).tail(c.t, c.delta)
		must.Be(t, near(got, c.want, 1e-6), c, got)
	}
	for _, c := range []struct{ level, freedom, want float64 }{
		{.05, 8, 3.20091964865032}, {.05 / 40, 8.6, 5.83121693824143}, {.0375 / 21, 4, 9.20509413057671},
		{.01, 58, 3.51863037423938}, {.05, 1e6, 2.80158447755764},
		// few degrees of freedom: a midpoint rule of 4,500 steps over Z
		{.005, 1, 163.17389}, {.0005, 1, 1631.72230}, {.05, 1.5, 7.82904}, {.0005, 2.5, 30.36520},
	} {
		got := detectable(c.level, c.freedom)
		must.Be(t, near(got, c.want, 1e-5), c, got)
	}
	got := quantileOf(.0375/42, 8.6)
	must.Be(t, near(got, 4.45167089944351, 1e-9), "quantile of t", got)
	got = tailOf(4.2, 8.6)
	must.Be(t, near(got, 0.00127565812103144, 1e-9), "tail of t", got)
	got = fTail(25, 4, 4)
	must.Be(t, near(got, 0.00432407828857533, 1e-9), "tail of F", got)
}

// TestExact checks against fisher.test of R 4.2.2.
func TestExact(t *testing.T) {
	for _, c := range []struct {
		x, y []int
		want float64
	}{
		{[]int{5, 0}, []int{0, 5}, 2. / 252},
		{[]int{10, 3, 0, 2}, []int{0, 7, 0, 3}, 0.00189857927776892},
		{[]int{6, 3, 1, 20}, []int{1, 8, 1, 15}, 0.078912439389217},
		{[]int{3, 1}, []int{1, 3}, 0.485714285714286},
		{[]int{4, 0}, []int{9, 0}, 1},
	} {
		for range 2 {
			got, _ := exactTest(c.x, c.y)
			must.Be(t, near(got, c.want, 1e-9), c.x, c.y, got, "want", c.want)
			c.x, c.y = c.y, c.x
		}
	}
	// 1000 executions a side have too many tables of four classes: good and bad are compared.
	many := classify.Counts{Flat: 250, Warmup: 250, Slowdown: 250, NoSteadyState: 250}
	p, _ := classTest(many, many)
	must.Equal(t, p, 1, "many executions")
	p, least := classTest(classify.Counts{}, many)
	must.Be(t, p == 1 && least == 1, "a side without classes was tested")
}

// TestEstimates checks against t.test of R 4.2.2 on the logarithms.
func TestEstimates(t *testing.T) {
	x := observations(10.1, 10.3, 9.9, 10.2, 10.0)
	y := observations(10.6, 10.9, 10.2, 10.8, 10.7)
	longer := observations(10.6, 10.9, 10.2, 10.8, 10.7, 10.5, 10.4, 10.9)
	for _, c := range []struct {
		name             string
		before, after    []Observation
		paired           bool
		test             Test
		freedom, p       float64
		effect, low, hig float64
	}{
		{"student", x, y, false, StudentT, 8, 0.00479646666256, 0.05192149934675, 0.0209177686777241,
			0.0829252300157800},
		{"paired", x, y, true, StudentT, 4, 0.0011916373981, 0.051921499346752, 0.0343930250619020,
			0.0694499736316019},
		{"other size", x, longer, false, StudentT, 11, 0.00145732906508493, 0.05052990194689,
			0.0241216761054773, 0.0769381277882949},
		{"small side varies more", observations(10.1, 10.3, 9.9, 10.2, 10.0, 10.15, 10.05),
			observations(10.6, 11.1, 9.9), false, WelchT, 2.08941661480179, 0.342349844955735,
			0.0409827322636418, -0.0978219639332413, 0.179787428460525},
		{"other variance", observations(10.1, 10.3, 9.9, 10.2, 10.0, 10.1, 10.2, 9.8),
			observations(10.6, 14, 7, 12, 9, 8, 11, 10.5), false, WelchT, 7.07747409405116, 0.972251978100313,
			-0.00285345509588586, -0.189697902275384, 0.183990992083612},
	} {
		list, _ := estimates([]sample{{c.before, c.after}}, c.paired)
		e := &list[0]
		must.Equal(t, e.test, c.test, c.name)
		half := e.half(0.05)
		if !near(e.freedom, c.freedom, 1e-9) || !near(e.p(), c.p, 1e-9) || !near(e.effect(), c.effect,
			1e-9) ||
			!near(e.effect()-half, c.low, 1e-9) || !near(e.effect()+half, c.hig, 1e-9) {
			t.Errorf("%s: %+v, p %v, half %v", c.name, e, e.p(), half)
		}
	}
}

func observations(values ...float64) []Observation {
	list := make([]Observation, len(values))
	for i, v := range values {
		list[i] = Observation{Block: i + 1, Value: v}
	}
	return list
}

// TestCorrections checks against p.adjust of R 4.2.2.
func TestCorrections(t *testing.T) {
	p := []float64{.01, .02, .03, .005}
	for c, want := range map[Correction][]float64{
		Holm: {.03, .04, .04, .02}, BH: {.02, 0.08 / 3, .03, .02}, None: p,
	} {
		for _, share := range []float64{1, 0.75} {
			got := make([]float64, len(p))
			var family []hypothesis
			for i := range p {
				family = append(family, hypothesis{p[i], &got[i]})
			}
			c.adjust(family, share)
			for i := range p {
				if !near(got[i], want[i]/share, 1e-12) {
					t.Errorf("%s, share %v: %v, want %v", c, share, got, want)
					break
				}
			}
		}
	}
}

// TestPartition: the step-down with a fixed share for intervals, written out for 4 tests.
func TestPartition(t *testing.T) {
	p := []float64{0.0123, 0.014, 0.4, 0.003}
	for _, c := range []struct {
		correction Correction
		corrected  []float64
		level      float64
	}{
		// of alpha 0.05: 0.0125, 0.0125 (0.4 + 0.6*4/3) = 0.015, 0.0125 (0.4 + 0.6*2), 0.0125 (0.4
		// + 0.6*4)
		{Holm, []float64{0.041, 0.041, 4. / 7, 0.012}, 0.4 * 0.05 / 4},
		{BH, []float64{0.014 * 4 / 3, 0.014 * 4 / 3, 0.4, 0.012}, 3 * 0.05 / 4},
		{None, p, 0.05},
	} {
		got := make([]float64, len(p))
		var family []hypothesis
		for i := range p {
			family = append(family, hypothesis{p[i], &got[i]})
		}
		level := c.correction.withIntervals(family, 0.05, 1)
		for i := range p {
			must.Be(t, near(got[i], c.corrected[i], 1e-9), c.correction, i, got[i], c.corrected[i])
		}
		must.Be(t, near(level, c.level, 1e-12), c.correction, level, c.level)
	}
}

// TestBinomial checks against binom.test of R 4.2.2.
func TestBinomial(t *testing.T) {
	for _, c := range []struct {
		hits      int
		low, high float64
	}{{8, 0.0174248089944806, 0.077291968226016}, {0, 0, 0.0182753403551362}, {200, 0.981724659644864, 1}} {
		low, high := Binomial(c.hits, 200, .95)
		must.Be(t, math.Abs(low-c.low) <= 1e-9 && math.Abs(high-c.high) <= 1e-9, c.hits, "of 200", low, "to",
			high)
	}
}

// TestShorth: the mean of the shortest half.
func TestShorth(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3}, {[]float64{1, 2}, 1.5}, {[]float64{1, 1, 1, 9}, 1},
		{[]float64{1, 5, 6, 7, 20}, 6}, {[]float64{1, 2, 3, 4, 5}, 3}, // 1-3, 2-4 and 3-5 are equally short
		{[]float64{-3, -2, 10}, -2.5},
	} {
		got := shorth(c.values)
		must.Be(t, near(got, c.want, 1e-12), c.values, got, "want", c.want)
	}
}

// TestSides: when one side varies more in the whole table, each has its own variance, shrunk
// towards those of the same side. The numbers are those of R 4.2.2, of the formulas of limma's
// fitFDist with the cautious degrees of freedom, and of Welch.
func TestSides(t *testing.T) {
	table := func(wide float64) []sample {
		var list []sample
		for i := range 12 {
			s := math.Exp(-3+6*float64(i)/11) / 100
			of := func(center, factor float64, values ...float64) []Observation {
				for k := range values {
					values[k] = math.Exp(s * (center + factor*values[k]))
				}
				return observations(values...)
			}
			list = append(list, sample{of(0, 1, -1, -.5, .1, .4, 1), of(1, wide, -1.1, -.3, .2, .3, 1.4)})
		}
		return list
	}
	list, _ := estimates(table(4), false)
	if e := &list[4]; e.test != WelchT || !near(e.freedom, 4.783237219411866, 1e-6) ||
		!near(e.p(), 0.432456775003259, 1e-6) {
		t.Errorf("one side varies more: %+v, p %v", e, e.p())
	}
	samples := table(1)
	for i := range samples[:6] { // the sides in turns
		samples[i].before, samples[i].after = samples[i].after, samples[i].before
	}
	list, _ = estimates(samples, false)
	must.Equal(t, list[4].test, ModeratedT, "no side varies more", list[4])
}

// TestAttainable: tests whose p-value cannot be small enough are none (Tarone 1990).
func TestAttainable(t *testing.T) {
	for _, c := range []struct {
		name string
		in   Correction
		want int
		x, y [][]int // the table of each key
	}{
		{"5 against 5: 2/252 is above 0.0125/4 and 0.0125/2", Holm, 0, slices.Repeat([][]int{{5, 0}}, 4),
			slices.Repeat([][]int{{0, 5}}, 4)},
		{"one key alone: 2/252 is below 0.0125", Holm, 1, [][]int{{5, 0}, {5, 0}}, [][]int{{0, 5}, {5, 0}}},
		{"10 against 10, whichever class an execution has", Holm, 3, slices.Repeat([][]int{{5, 5}}, 3),
			slices.Repeat([][]int{{5, 5}}, 3)},
		{"all of one class", Holm, 0, slices.Repeat([][]int{{10, 0}}, 3), slices.Repeat([][]int{{10, 0}}, 3)},
		{"each key alone", None, 4, slices.Repeat([][]int{{5, 0}}, 4), slices.Repeat([][]int{{0, 5}}, 4)},
	} {
		var family []discrete
		for i := range c.x {
			p, least := exactTest(c.x[i], c.y[i])
			family = append(family, discrete{hypothesis{p, nil}, least})
		}
		must.Equal(t, len(c.in.attainable(family, 0.0125)), c.want, c.name, "tests")
	}
	// 8 of 10 are flat: at the extreme, the other two are on one side, 2 C(8,3)/C(10,5)
	_, least := exactTest([]int{4, 1}, []int{4, 1})
	must.Be(t, near(least, 2*56./252, 1e-12), "the smallest p-value is", least)
}

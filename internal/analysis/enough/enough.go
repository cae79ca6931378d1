// Package enough answers how many executions are enough, from the executions of a pilot: to know
// the level of a key to some half width, and to find a change of some size; what that takes; and
// how to split the same time between boots, executions and iterations.
//
// The variation is that of logarithms, at three levels (Kalibera and Jones, "Rigorous benchmarking
// in reasonable time", ISMM 2013): between boots, between the executions of a boot, and between the
// iterations of an execution. A pilot shows little of it: a number of executions that rests on its
// standard deviation alone is too small for every second key. So there are two numbers: one if
// executions vary as measured, and one that is enough for nine of ten keys. Start reading at [Of].
package enough

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/warmup"
)

// Pilot is what was measured of a key.
type Pilot struct {
	Key        string
	Executions []Execution // those that count, in any order
	// Differences are those of the logarithms of two arms in each block, if the key is the base of
	// arms in blocks; else nil.
	Differences []float64
	// Judged is false for an arm beside the base, whose change is the base's.
	Judged bool
	Costs  Costs
}

// Execution is one process execution of a pilot.
type Execution struct {
	Level  float64   // see compare.Execution
	Boot   string    // in which it ran; "" if unknown
	Tenths []float64 // see compare.Tenths; nil if it is too short
	// Iterations is the number of iterations that Level is of, WarmUp that of those before the
	// steady state; Steady is false if there is none.
	Iterations, WarmUp int
	Steady             bool
	Seconds            float64 // before the steady state; NaN if unknown
}

// Costs are the seconds that a boot, the start of an execution with its warm-up, and an iteration
// take; NaN (null) if unknown. Boot is 0 if the machine is not restarted.
type Costs struct {
	Boot      warmup.Real `json:"boot_seconds"`
	Start     warmup.Real `json:"start_seconds"`
	Iteration warmup.Real `json:"iteration_seconds"`
}

// Options of Of.
type Options struct {
	Level  float64 // wanted half width of a level, relative: 0.01 is ± 1 %
	Change float64 // to be found: 0.02 is 2 %
	// First is the first stage, by key, if the pilots are the second one (Stein 1945).
	First map[string]Pilot
}

// Defaults of Options.
const (
	DefaultLevel  = 0.01
	DefaultChange = 0.02
)

// Confidence is that of the interval of a level.
const Confidence = 0.95

// Assurance is the share of keys for which a number of executions is enough.
const Assurance = 0.9

// nominal is what a promise of Assurance is computed with: executions have heavier tails than a
// normal distribution, with which 0.9 would be kept for 0.85 of the keys. A pilot of three needs
// even more (docs/enough.md).
func nominal(freedom float64) float64 {
	if freedom <= fewest-1 {
		return 0.975
	}
	return 0.95
}

// Document is the answer; docs/output.md describes its fields. Numbers of executions are 0 if they
// are unknown or more than compare.MostExecutions; a number that is unknown is NaN (null).
type Document struct {
	Format     int      `json:"format"`
	Source     string   `json:"source"`
	Pilot      string   `json:"pilot"` // the first stage; "" without one
	Unit       string   `json:"unit"`  // of levels
	Level      float64  `json:"level"`
	Change     float64  `json:"change"`
	Margin     float64  `json:"margin"` // of the comparison that is to find the change
	Confidence float64  `json:"confidence"`
	Power      float64  `json:"power"`
	Assurance  float64  `json:"assurance"`
	Tests      int      `json:"tests"` // keys in that comparison
	Keys       []Key    `json:"keys"`
	Notes      []string `json:"notes"`
}

// Key is the answer for a key.
type Key struct {
	Key        string    `json:"key"`
	Executions int       `json:"executions"` // measured
	WarmUp     WarmUp    `json:"warm_up"`
	Costs      Costs     `json:"costs"`
	Variation  Variation `json:"variation"`
	// Mean is the geometric mean of the levels, HalfWidth that of its interval, relative.
	Mean      warmup.Real `json:"mean"`
	HalfWidth warmup.Real `json:"half_width"`
	ForLevel  Needed      `json:"for_level"`
	// ForChange is executions per side, or blocks of one on each side if Paired.
	ForChange  Needed `json:"for_change"`
	Paired     bool   `json:"paired"`
	Split      *Split `json:"split"` // null if it cannot be told
	Bottleneck string `json:"bottleneck"`
	Unknown    string `json:"unknown"` // why the pilot cannot tell; "" if it can
}

// WarmUp is where the steady states of the executions begin: the median, and the latest one.
type WarmUp struct {
	Steady     int         `json:"steady"` // executions with a steady state
	Iterations int         `json:"iterations"`
	Latest     int         `json:"iterations_latest"`
	Seconds    warmup.Real `json:"seconds"`
	Last       warmup.Real `json:"seconds_latest"`
}

// Needed are numbers of executions, and the seconds that they take.
type Needed struct {
	About int `json:"about"` // if executions vary as measured
	// TwoStages includes the executions of the pilot, whose variation then decides the interval;
	// for a level only.
	TwoStages int         `json:"two_stages"`
	Sure      int         `json:"sure"` // for nine of ten keys
	Takes     warmup.Real `json:"about_seconds"`
	TwoTake   warmup.Real `json:"two_stages_seconds"`
	SureTakes warmup.Real `json:"sure_seconds"`
}

// Of answers for each pilot.
func Of(source string, pilots []Pilot, o Options) *Document {
	d := &Document{Format: 1, Source: source, Level: o.Level, Change: o.Change,
		Margin:     compare.MarginFor(o.Change, compare.DefaultMargin),
		Confidence: Confidence, Power: compare.Power, Assurance: Assurance, Keys: []Key{}, Notes: []string{}}
	stages := 0 // second ones
	for i := range pilots {
		measured := len(pilots[i].Executions)
		if o.First != nil && measured > 0 {
			stages++
		}
		if pilots[i].Judged && measured+len(o.First[pilots[i].Key].Executions) > 0 {
			d.Tests++
		}
	}
	for i := range pilots {
		k := Key{Key: pilots[i].Key, Executions: len(pilots[i].Executions), Costs: pilots[i].Costs,
			WarmUp: warmUpOf(pilots[i].Executions)}
		k.answer(&pilots[i], d.Tests, stages, o)
		d.Keys = append(d.Keys, k)
	}
	return d
}

// answer fills in what the pilot tells. tests is the number of keys in the comparison, stages that
// of the keys with a second stage.
func (k *Key) answer(p *Pilot, tests, stages int, o Options) {
	first, second := p, []Execution(nil)
	if o.First != nil {
		f := o.First[p.Key] // without executions if it is missing
		first, second = &f, p.Executions
		k.Executions += len(f.Executions)
		k.WarmUp = warmUpOf(slices.Concat(f.Executions, second))
	}
	v, why := variationOf(first.Executions)
	k.Variation, k.Unknown = v, why
	k.Mean, k.HalfWidth, k.ForLevel, k.ForChange = nan, nan, unknownNeeded, unknownNeeded
	if why != "" {
		return
	}
	width := math.Log1p(o.Level)
	center, measured := v.center(slices.Concat(first.Executions, second))
	k.Mean = warmup.Real(math.Exp(center))
	k.HalfWidth = warmup.Real(math.Expm1(v.tQuantile() * v.sd() / math.Sqrt(measured)))
	k.ForLevel = v.executions(p.Costs, unitsFor(width, v.sd(), sameVariation),
		v.twoStages(width),
		unitsFor(width, v.sd(), v.prediction))
	if p.Judged {
		k.change(p, v, tests, o)
	}
	k.Split = v.split(p.Costs)
	k.Bottleneck = v.bottleneck()
	if why := differs(first.Executions, second, v, stages); why != "" {
		k.Unknown, k.Mean, k.HalfWidth = why, nan, nan
	}
}

// change fills in the executions that show a change.
func (k *Key) change(p *Pilot, v Variation, tests int, o Options) {
	sd, freedom, perUnit := v.sd(), v.Freedom, v.PerBoot
	k.Paired = len(p.Differences) >= fewest
	if k.Paired {
		sd, freedom = math.Sqrt(varianceOf(p.Differences)), float64(len(p.Differences)-1)
		perUnit = 1 // one execution of each side in a block
	}
	need := compare.Need{SD: sd, Paired: k.Paired}
	about := need.PerSide(o.Change, tests, compare.Options{})
	need.SD *= compare.UpperSD(freedom)
	k.ForChange = v.counted(p.Costs, perUnit, float64(about), math.NaN(),
		float64(need.PerSide(o.Change, tests, compare.Options{})))
	for _, seconds := range []*warmup.Real{&k.ForChange.Takes, &k.ForChange.SureTakes} {
		*seconds *= 2 // sides
	}
}

// executions converts numbers of units, 0 or NaN if unknown.
func (v Variation) executions(c Costs, about, two, sure float64) Needed {
	return v.counted(c, v.PerBoot, about, two, sure)
}

// counted converts numbers of units of so many executions.
func (v Variation) counted(c Costs, perUnit, about, two, sure float64) Needed {
	n := unknownNeeded
	each := c.unit(v.PerBoot, float64(v.Iterations)) / v.PerBoot
	for _, x := range []struct {
		units   float64
		into    *int
		seconds *warmup.Real
	}{{about, &n.About, &n.Takes}, {two, &n.TwoStages, &n.TwoTake}, {sure, &n.Sure, &n.SureTakes}} {
		if x.units > 0 && x.units*perUnit <= compare.MostExecutions {
			*x.into = int(math.Ceil(x.units*perUnit - rounding))
			*x.seconds = warmup.Real(x.units * perUnit * each)
		}
	}
	return n
}

const rounding = 1e-9

// unit is the time of a boot with so many executions of so many iterations.
func (c Costs) unit(executions, iterations float64) float64 {
	return float64(c.Boot) + executions*(float64(c.Start)+iterations*float64(c.Iteration))
}

var nan = warmup.Real(math.NaN())

var unknownNeeded = Needed{Takes: nan, TwoTake: nan, SureTakes: nan}

func square(v float64) float64 { return v * v }

func warmUpOf(list []Execution) WarmUp {
	var iterations, seconds []float64
	for _, e := range list {
		if e.Steady {
			iterations, seconds = append(iterations, float64(e.WarmUp)), append(seconds, e.Seconds)
		}
	}
	w := WarmUp{Steady: len(iterations), Seconds: nan, Last: nan}
	if w.Steady == 0 {
		return w
	}
	slices.Sort(iterations)
	slices.Sort(seconds)
	w.Iterations, w.Latest = int(math.Ceil(arith.Median(iterations))), int(iterations[len(iterations)-1])
	w.Seconds, w.Last = warmup.Real(arith.Median(seconds)), warmup.Real(seconds[len(seconds)-1])
	return w
}

// Split is how the time of a boot (an execution, if each has its own or there is none) gives the
// smallest variance: boots or executions are as many as the time allows.
type Split struct {
	PerBoot    int `json:"executions_per_boot"` // 0: all; the machine is not restarted
	Iterations int `json:"steady_iterations"`   // of an execution, after its warm-up
	// Variance is that of the result, relative to the split that was measured, at equal time.
	Variance warmup.Real `json:"variance"`
}

// Bounds of what is recommended: more than ten executions per boot gain little, even if boots do
// not differ (with boots of two minutes and executions of one, 20 % of the variance), and a pilot
// can easily miss that they do. Iterations beyond ten times those of the pilot have not been seen.
const (
	mostPerBoot    = 10
	mostIterations = 10
)

// split returns the optimum r_i = sqrt(c_(i+1)/c_i T_i²/T_(i+1)²) (Kalibera and Jones, section 7);
// nil if costs or components are unknown.
func (v Variation) split(c Costs) *Split {
	known := float64(c.Boot + c.Start + c.Iteration + v.Iteration)
	if math.IsNaN(known) || !(c.Iteration > 0) {
		return nil
	}
	s := &Split{PerBoot: 1}
	t1, t2, t3 := square(float64(v.Iteration)), square(float64(v.Execution)), 0.0
	start := float64(c.Start)
	switch {
	case v.Unit == "boot":
		t3 = square(float64(v.Boot))
		s.PerBoot = optimum(float64(c.Boot), start, t2, t3, mostPerBoot)
	default: // boots cannot be told from executions
		start += float64(c.Boot)
		c.Boot, c.Start = 0, warmup.Real(start)
	}
	s.Iterations = optimum(start, float64(c.Iteration), t1, t2, mostIterations*v.Iterations)
	variance := func(perBoot, iterations float64) float64 {
		return (t3 + (t2+t1/iterations)/perBoot) * c.unit(perBoot, iterations)
	}
	now := variance(v.PerBoot, float64(v.Iterations))
	s.Variance = warmup.Real(variance(float64(s.PerBoot), float64(s.Iterations)) / now)
	if !(s.Variance < 1) {
		s.Variance, s.PerBoot, s.Iterations = 1, int(math.Round(v.PerBoot)), v.Iterations
	}
	return s
}

// optimum returns how often to repeat what costs below within what costs above, with the variances
// of both; 1 to most. A variance of 0 means that no effect was seen.
func optimum(above, below, variance, variationAbove float64, most int) int {
	if variance == 0 || above == 0 {
		return 1
	}
	return int(min(float64(most), max(1, math.Ceil(math.Sqrt(above/below*variance/variationAbove)))))
}

// bottleneck says what limits the result.
func (v Variation) bottleneck() string {
	text := fmt.Sprintf("executions vary by %s", compare.Percent(v.sd()))
	if v.Unit == "boot" {
		text = fmt.Sprintf("boots vary by %s, executions of a boot by %s", compare.Percent(float64(v.Boot)),
			compare.Percent(float64(v.Execution)))
	}
	if math.IsNaN(float64(v.Sampling)) {
		return text + "; they are too short to tell what iterations add"
	}
	text += fmt.Sprintf(", iterations by %s", compare.Percent(float64(v.Sampling)))
	// shares of the variance of a unit's mean
	unit := square(v.sd())
	iterations := square(float64(v.Sampling)) / v.PerBoot / unit
	boots := 0.0
	if v.Unit == "boot" {
		boots = square(float64(v.Boot)) / unit
	}
	const small, large = 0.1, 0.5
	switch {
	case boots >= large:
		text += ": more boots help, more executions in a boot do not"
	case iterations < small:
		text += ": longer executions do not help"
	case iterations >= large:
		text += ": longer executions help"
	default:
		text += fmt.Sprintf(": longer executions take away at most %s of the result's variance",
			compare.Percent(iterations))
	}
	if v.Unit == "boot" && v.Boot == 0 {
		text += fmt.Sprintf("; boots: no effect seen, at most %s of an execution's variance (90 %%)",
			compare.Percent(float64(v.BootShare)))
	}
	return text
}

// differs returns a sentence if the second stage has another level than the first one, else "": the
// machine or the program has then changed, and the mean of both stages describes neither. stages is
// the number of keys that are tested, of which one in twenty may differ by chance.
func differs(first, second []Execution, v Variation, stages int) string {
	if len(second) == 0 {
		return ""
	}
	const most, all = 0.01, 0.05 // of a key, and of the table
	level := min(most, all/float64(max(1, stages)))
	n, m := v.units, max(1, float64(len(second))/v.PerBoot)
	a, b := arith.MeanOf(logLevels(first)), arith.MeanOf(logLevels(second))
	t := math.Abs(a-b) / (v.sd() * math.Sqrt(1/n+1/m))
	if 2*(1-distuv.StudentsT{Sigma: 1, Nu: v.Freedom}.CDF(t)) >= level {
		return ""
	}
	return fmt.Sprintf("the second stage differs by %s from the first: machine or program have changed",
		compare.Percent(math.Expm1(math.Abs(b-a))))
}

package compare

import (
	"fmt"
	"math"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
)

// Verdict is the result of a comparison. Smaller values are better.
type Verdict string

// The verdicts.
const (
	Better     Verdict = "better"
	Worse      Verdict = "worse"
	Same       Verdict = "same"        // the change is smaller than the margin
	Changed    Verdict = "changed"     // changed, and neither better nor worse
	CannotTell Verdict = "cannot tell" // see Change.Reason
)

// Result is the comparison of two sides: two experiments, or two arms of one. docs/output.md
// describes its JSON form.
type Result struct {
	Before Party             `json:"before"`
	After  Party             `json:"after"`
	Unit   string            `json:"unit"`
	Rules  warmup.Parameters `json:"rules"` // of the analyses of both sides

	Confidence float64    `json:"confidence"` // 1 - alpha, of the table
	Margin     float64    `json:"margin"`     // changes of less than this are none: 0.01 is 1 %
	Power      float64    `json:"power"`      // with which Detectable is found
	Correction Correction `json:"correction"`
	Tests      int        `json:"tests"` // that decide: TestsSteady + TestsClass
	// TestsSteady have SteadyShare of alpha, TestsClass the rest. Class tests that cannot be
	// significant are not counted.
	TestsSteady int     `json:"tests_steady"`
	TestsClass  int     `json:"tests_class"`
	SteadyShare float64 `json:"steady_share"`
	// Level is the confidence of each interval Low, High of the steady state, so that all of them
	// hold together with Confidence.
	Level  float64 `json:"level"`
	Paired bool    `json:"paired"` // by block
	Prior  Prior   `json:"prior"`  // of the steady state's variances
	// FirstIterations is the number of iterations that Change.FirstTotal adds up.
	FirstIterations int `json:"first_iterations"`

	// FirstPlace is the effect of the first place in a block where it exceeds chance; else nil.
	FirstPlace *FirstPlace `json:"first_place,omitempty"`
	// Restarts are about the experiment whose kinds of restart are compared; else nil.
	Restarts []KeySpread `json:"-"`
	// Groups is how the keys of one experiment differ; nil for two experiments.
	Groups *Groups `json:"groups,omitempty"`

	// keys in the order of before, followed by those that occur only in after
	Changes     []Change         `json:"changes"`
	Counts      map[Verdict]int  `json:"counts"` // of the keys' verdicts
	NullArm     *NullArm         `json:"null_arm"`
	Calibration *Calibration     `json:"calibration"`
	Injected    *Injected        `json:"injected,omitempty"`
	Seen        []Seen           `json:"seen,omitempty"`
	Warnings    []warmup.Warning `json:"warnings"`
}

// Seen is whether a slowdown that is known was found: every iteration of the arm, a copy of the
// base, was held for a part of its time.
type Seen struct {
	Arm   string  `json:"arm"`
	Size  float64 `json:"size"`  // 0.01 is 1%
	Found int     `json:"found"` // keys that are worse
	Of    int     `json:"of"`    // keys that were compared
}

// warn adds a warning about the table.
func (r *Result) warn(code, format string, args ...any) {
	r.Warnings = append(r.Warnings, warmup.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
}

// warn adds a warning about the key.
func (c *Change) warn(code, format string, args ...any) {
	c.Warnings = append(c.Warnings, warmup.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
}

// Party is one side.
type Party struct {
	warmup.Source
	Arm string `json:"arm"` // "" unless the side is an arm of an experiment
}

// Change is the comparison of one key.
type Change struct {
	Key string `json:"key"`
	// Of groups: the key of the base ("" if there is none), the level, and the row of Groups.
	Base  string `json:"base,omitempty"`
	Level string `json:"level,omitempty"`
	Row   string `json:"row,omitempty"`
	// OnlyIn is "before" or "after" for keys that occur on only one side.
	OnlyIn string `json:"only_in"`

	Before           classify.PairClass `json:"classification_before"`
	After            classify.PairClass `json:"classification_after"`
	CountsBefore     classify.Counts    `json:"counts_before"`
	CountsAfter      classify.Counts    `json:"counts_after"`
	ExecutionsBefore []Execution        `json:"executions_before"`
	ExecutionsAfter  []Execution        `json:"executions_after"`

	Steady *Effect `json:"steady"` // nil: see Reason
	Class  *Class  `json:"class"`  // nil without classified executions on a side

	// The quantities beside the verdict, each a family of its own; nil when a side has fewer than
	// two values.
	SteadyMean      *Effect `json:"steady_mean"`
	SteadyIteration *Effect `json:"steady_iteration"` // of the executions with a steady state
	First           *Effect `json:"first"`            // time to the first result
	FirstTotal      *Effect `json:"first_total"`      // sum of the first iterations

	// FirstFrom is where First begins; "" for a key that occurs on only one side.
	FirstFrom Begin `json:"first_from"`

	// Null is the effect from before to the null arm; nil without one.
	Null *Effect `json:"null"`

	// Layout is the share of the layout in memory in the variance between executions; nil unless
	// the experiment is blocked and its layouts are random.
	Layout *LayoutShare `json:"layout"`

	// States are the two groups into which the executions fall; nil if they do not.
	States *States `json:"states,omitempty"`

	// Machines is how much the machines differ; nil unless several share the experiment.
	Machines *MachineEffect `json:"machines,omitempty"`

	// The level of instrumentation of each side: "columns", "events", or "". If they differ, there
	// is no verdict, unless the sides are arms that nothing else distinguishes.
	InstrumentBefore string `json:"instrument_before,omitempty"`
	InstrumentAfter  string `json:"instrument_after,omitempty"`

	Verdict  Verdict          `json:"verdict"` // of the key: steady state and class
	Reason   string           `json:"reason"`  // of CannotTell and Changed
	Help     *Help            `json:"help"`    // what would help; nil when not known
	Warnings []warmup.Warning `json:"warnings"`

	// OtherTime is how many executions of both sides are not compared, because the experiment was
	// extended and the other side was not measured in turns with them.
	OtherTime int `json:"other_time,omitempty"`

	apart bool // see Apart
	looks int  // at the executions of both sides, of one experiment
}

// Execution is a process execution reduced to a number.
type Execution struct {
	Number int            `json:"number"` // from 1; the block when paired
	Value  float64        `json:"value"`  // in the unit of the result
	Rule   Rule           `json:"rule"`
	Class  classify.Class `json:"class"` // "" if it could not be classified
	// Machine is where it was measured, if several machines share the experiment.
	Machine string `json:"machine,omitempty"`
	// Stage is how often the experiment had been extended before.
	Stage int `json:"stage,omitempty"`
}

// Block returns what the executions of one block have in common: the number and the stage.
func (e Execution) Block() int { return dataset.BlockOf(e.Number, e.Stage) }

// Begin is where the time to the first result begins. It ends with the first iteration.
type Begin string

// The first result is counted from the start of the process if all executions of the key have this
// time, and the times are compared; else it is the first iteration alone.
const (
	FromProcess   Begin = "process"
	FromIteration Begin = "iteration"
)

// Test is the name of a test.
type Test string

// The tests.
const (
	ModeratedT Test = "moderated t" // variance shrunk towards those of the other keys
	StudentT   Test = "student t"
	WelchT     Test = "welch t"
)

// Effect is the change of one quantity of a key.
type Effect struct {
	// BeforeExecutions and AfterExecutions have a value. When paired, both are the number of
	// complete blocks.
	BeforeExecutions int `json:"before_executions"`
	AfterExecutions  int `json:"after_executions"`
	// IncompleteBlocks were left out because an arm has no value there.
	IncompleteBlocks int `json:"incomplete_blocks"`
	// Before and After are the geometric means of the executions; means if there is no Ratio.
	Before warmup.Real `json:"before"`
	After  warmup.Real `json:"after"`
	// Ratio is After/Before. It is nil when a value is not positive; then Difference is
	// After - Before, else nil.
	Ratio      *Interval `json:"ratio"`
	Difference *Interval `json:"difference"`

	P             float64 `json:"p"`           // of no change
	Corrected     float64 `json:"p_corrected"` // a change if at most alpha
	SameP         float64 `json:"p_margin"`    // of a change of at least the margin
	SameCorrected float64 `json:"p_margin_corrected"`

	Test    Test    `json:"test"`
	Freedom float64 `json:"freedom"` // degrees of freedom
	// SD is the standard deviation between executions that the test uses: of the logarithm for a
	// Ratio, else in the unit; when paired, of the difference within a block.
	SD warmup.Real `json:"sd"`
	// Detectable is the smallest change, relative to Before, that gets a verdict with Power: it is
	// above the margin. 0.03 is 3 %. NaN (null) when nothing does.
	Detectable warmup.Real `json:"detectable"`
}

// Interval is an estimate with confidence intervals. Low and High have the level of Result.Level
// and agree with the test: they lie on the side of a significant change, and else contain no
// change. SameLow and SameHigh are the interval of the equivalence test: within the margin if it is
// significant, else not. AloneLow and AloneHigh have the level of Result.Confidence. An interval
// that ends exactly at no change, or at the margin, does not contain its end.
type Interval struct {
	Estimate  warmup.Real `json:"estimate"`
	Low       warmup.Real `json:"low"`
	High      warmup.Real `json:"high"`
	AloneLow  warmup.Real `json:"alone_low"`
	AloneHigh warmup.Real `json:"alone_high"`
	SameLow   warmup.Real `json:"same_low"`
	SameHigh  warmup.Real `json:"same_high"`
}

// Of returns the interval that belongs to a verdict about the change: that of the test that made
// it.
func (i *Interval) Of(v Verdict) (low, high warmup.Real) {
	if v == Same {
		return i.SameLow, i.SameHigh
	}
	return i.Low, i.High
}

// Class is the test of the executions' classes.
type Class struct {
	P         float64 `json:"p"`
	Corrected float64 `json:"p_corrected"`
	Verdict   Verdict `json:"verdict"` // CannotTell: the classes may differ by chance
}

// Help is what would decide a key: a new experiment, or as many executions added to this one, whose
// next look has half of the error (look.go).
type Help struct {
	// Executions is the number of executions on each side of it (of blocks when paired).
	Executions int `json:"more_executions"`
	// Shows is the change, relative to before, that they would show with Power if it is as
	// measured; if Same, they would show that the change, if it is as measured, is below this size.
	Shows float64 `json:"would_show"`
	Same  bool    `json:"would_show_same"`
}

// NullArm is a second copy of before.
type NullArm struct {
	Party
	// Differs are the keys whose interval (AloneLow, AloneHigh) excludes no change.
	Differs []string `json:"differs"`
	// Unfit: a key of the null arm differs after correction, so that this machine cannot support
	// the verdicts.
	Unfit bool `json:"unfit"`
}

// Injected is how often a slowdown of one key is found in tables of the same data without a change,
// with the executions exchanged at random between the sides.
type Injected struct {
	Size   float64 `json:"size"`   // 0.01 is 1 %
	Tables int     `json:"tables"` // 0: no key can be compared
	Found  int     `json:"found"`  // the key was worse
	Rate   float64 `json:"rate"`   // with its 95 % interval
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Calibration is the false verdicts among tables of the same data with the executions exchanged at
// random between the sides.
type Calibration struct {
	Splits int     `json:"splits"` // tables
	False  int     `json:"false"`  // tables with a change
	Rate   float64 `json:"rate"`   // False / Splits
	Low    float64 `json:"low"`    // 95 % interval of the rate (Clopper and Pearson 1934)
	High   float64 `json:"high"`
	Keys   int     `json:"keys"` // with a p-value, of each table
	// Histogram has the numbers of p-values of the steady state in 20 equal bins from 0 to 1.
	Histogram []int `json:"histogram"`
}

// Summary counts the verdicts about a level, or about after. Smaller values are better.
type Summary struct {
	Level string `json:"level"` // of groups; "" is after
	Keys  int    `json:"keys"`  // that are compared, or have nothing to be compared with
	// Lower and Higher have a verdict by their steady state; LowerRatio and HigherRatio are the
	// geometric means of their ratios after/before (NaN: none).
	Lower       int       `json:"lower"`
	Higher      int       `json:"higher"`
	LowerRatio  float64   `json:"-"`
	HigherRatio float64   `json:"-"`
	Ratio       float64   `json:"-"` // geometric mean of all ratios; NaN: none
	Same        int       `json:"same"`
	Classes     int       `json:"classes"` // have a verdict by the classes of their executions alone
	CannotTell  int       `json:"cannot_tell"`
	Alone       int       `json:"alone"` // have nothing to be compared with
	Changes     []*Change `json:"-"`
}

// Summaries returns a summary of each level; without groups, one.
func (r *Result) Summaries() []Summary {
	levels := []string{""}
	if r.Groups != nil {
		levels = r.Groups.Levels
	}
	list := make([]Summary, len(levels))
	for i, level := range levels {
		s := Summary{Level: level}
		var lower, higher, all []float64
		for k := range r.Changes {
			c := &r.Changes[k]
			if c.Level != level {
				continue
			}
			s.Keys++
			s.Changes = append(s.Changes, c)
			ratio, significant := c.significant(1 - r.Confidence)
			if ratio > 0 {
				all = append(all, math.Log(ratio))
			}
			switch {
			case c.OnlyIn != "":
				s.Alone++
			case c.Verdict == Same:
				s.Same++
			case c.Verdict == CannotTell:
				s.CannotTell++
			case !significant:
				s.Classes++
			case c.lower():
				s.Lower++
				lower = append(lower, math.Log(ratio))
			default:
				s.Higher++
				higher = append(higher, math.Log(ratio))
			}
		}
		s.LowerRatio, s.HigherRatio, s.Ratio = geometric(lower), geometric(higher), geometric(all)
		list[i] = s
	}
	return list
}

// significant returns the ratio of the steady states (NaN: there is none), and whether they differ.
func (c *Change) significant(alpha float64) (ratio float64, ok bool) {
	switch {
	case c.Steady == nil:
		return math.NaN(), false
	case c.Steady.Ratio != nil:
		ratio = float64(c.Steady.Ratio.Estimate)
	default:
		ratio = math.NaN()
	}
	return ratio, c.Steady.Corrected <= alpha && c.Verdict != CannotTell && c.Verdict != Same
}

// lower reports whether after has the smaller values.
func (c *Change) lower() bool {
	if c.Steady.Ratio != nil {
		return c.Steady.Ratio.Estimate < 1
	}
	return c.Steady.Difference.Estimate < 0
}

// geometric returns the geometric mean of values, whose logarithms are given; NaN of none.
func geometric(logs []float64) float64 {
	if len(logs) == 0 {
		return math.NaN()
	}
	return math.Exp(arith.MeanOf(logs))
}

package changepoint

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/display"
)

// Cost is the goodness of fit of one segment: minus twice the log-likelihood, up to a constant,
// under the named model.
type Cost int

const (
	// MeanVariance is for normal values whose mean and variance both change: C = n (log 2π + log v
	// + 1), v the mean squared deviation of the segment. R: cpt.meanvar(test.stat="Normal"). A
	// segment has at least 2 values.
	MeanVariance Cost = iota
	// Mean is for normal values of known variance 1 whose mean changes: C = sum of squared
	// deviations. R: cpt.mean(test.stat="Normal"). With AsR arithmetic the penalty has the unit of
	// the data squared; with Stable the series is divided by its noise first.
	Mean
	// EmpiricalDistribution detects any change of distribution and is robust to heavy tails
	// (ed-PELT: Haynes, Fearnhead and Eckley 2017; R: changepoint.np::cpt.np).
	EmpiricalDistribution
)

var costNames = []string{MeanVariance: "meanvar", Mean: "mean", EmpiricalDistribution: "ed"}

// String returns the name in outputs, which ParseCost parses.
func (c Cost) String() string { return costNames[c] }

// ParseCost parses the name of a value.
func ParseCost(s string) (Cost, error) { return display.Word[Cost]("cost", s, costNames) }

// MarshalText returns the text of String.
func (c Cost) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText parses text with ParseCost.
func (c *Cost) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCost(string(text))
	return err
}

// Arithmetic selects how MeanVariance and Mean compute a segment's cost.
type Arithmetic int

const (
	// AsR matches R bit for bit: see the package comment.
	AsR Arithmetic = iota
	// Stable first subtracts the median from the series and divides it by the power of two below
	// the median of |x|, then adds StableFloor^2 to every variance. Rounding decides nothing,
	// multiplying the series by a power of two changes nothing, and spreads below about a millionth
	// of the typical value are treated as equal. For Mean it divides the series by its noise: the
	// median step between neighbors, which changes of the mean hardly affect, over that of normal
	// values of variance 1.
	Stable
)

var arithmeticNames = []string{AsR: "r", Stable: "stable"}

// String returns the name in outputs.
func (a Arithmetic) String() string { return arithmeticNames[a] }

// MarshalText returns the text of String.
func (a Arithmetic) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText parses the name.
func (a *Arithmetic) UnmarshalText(text []byte) (err error) {
	*a, err = display.Word[Arithmetic]("arithmetic", string(text), arithmeticNames)
	return err
}

// StableFloor is the smallest standard deviation that Stable arithmetic resolves, relative to the
// series' typical magnitude: about the resolution of a microsecond clock on an iteration of one
// second.
const StableFloor = 1e-6

// DefaultQuantiles is the number of quantiles that EmpiricalDistribution compares (R: cpt.np's
// nquantiles).
const DefaultQuantiles = 10

// Options of Detect. The zero value with Penalty LogN(15) selects the study's analysis.
type Options struct {
	Cost       Cost
	Arithmetic Arithmetic
	Penalty    Penalty
	MinSegment int // values per segment; 0: the minimum of the cost (2 for MeanVariance, else 1)
	Quantiles  int // for EmpiricalDistribution; 0: DefaultQuantiles
}

// Errors that Detect's errors wrap.
var (
	// ErrTooShort: R's "Minimum segment legnth is too large to include a change in this data", and
	// series of no values.
	ErrTooShort = errors.New("series too short to hold a change")
	// ErrNotFinite: a NaN ("Missing value" in R) or an infinity.
	ErrNotFinite = errors.New("not a finite number")
	// ErrMagnitude: the squares of the values, or their sums, overflow a double. R continues with
	// infinities and returns meaningless results.
	ErrMagnitude = errors.New("values too large to square")
	// ErrOptions: a negative penalty, an impossible minimum segment length.
	ErrOptions = errors.New("invalid changepoint options")
)

// minimum returns the minimum segment length to use, or an error.
func (o Options) minimum() (int, error) {
	least := 1
	if o.Cost == MeanVariance {
		least = 2
	}
	switch {
	case o.MinSegment == 0:
		return least, nil
	case o.MinSegment < least:
		return 0, fmt.Errorf("minimum segment length %d, cost %v needs %d: %w", o.MinSegment, o.Cost, least,
			ErrOptions)
	}
	return o.MinSegment, nil
}

// check rejects what R rejects, and values for which R returns meaningless results.
func check(series []float64, minimum int) error {
	if most := largest(series); most-most != 0 {
		i := slices.IndexFunc(series, func(v float64) bool { return v-v != 0 })
		return fmt.Errorf("value %d is %v: %w", i+1, series[i], ErrNotFinite)
	}
	if n := len(series); n < 2*minimum {
		return fmt.Errorf("%d values, need %d (twice the minimum segment length): %w", n, 2*minimum,
			ErrTooShort)
	}
	return nil
}

// largest returns the largest absolute value, NaN if a value is NaN. Such numbers have the order of
// their bits, which are compared without a branch.
func largest(series []float64) float64 {
	var most uint64
	for _, v := range series {
		most = max(most, math.Float64bits(v)<<1)
	}
	return math.Float64frombits(most >> 1)
}

// Penalty is the penalty of a changepoint. The zero value is a penalty of 0.
type Penalty struct {
	kind  penaltyKind
	value float64
}

type penaltyKind int

const (
	manual penaltyKind = iota
	timesLogN
	sic
	mbic
	aic
	hannanQuinn
	crops
)

var penaltyNames = map[penaltyKind]string{sic: "sic", mbic: "mbic", aic: "aic", hannanQuinn: "hannan-quinn",
	crops: "crops"}

// Manual is a fixed penalty.
func Manual(value float64) Penalty { return Penalty{manual, value} }

// LogN is a penalty of coefficient × log n, where n is the number of values analyzed (after
// outliers are removed). The study uses LogN(15).
func LogN(coefficient float64) Penalty { return Penalty{timesLogN, coefficient} }

// R's named penalties, where p is the number of parameters a change adds (2 for MeanVariance, else
// 1).
var (
	SIC         = Penalty{kind: sic}         // (p+1) log n; BIC is another name
	MBIC        = Penalty{kind: mbic}        // (p+2) log n, and each segment costs the log of its length more
	AIC         = Penalty{kind: aic}         // 2 (p+1)
	HannanQuinn = Penalty{kind: hannanQuinn} // 2 (p+1) log log n
)

// CROPS chooses the penalty for each series at the knee of the curve of changepoints against
// penalty, between 4 log n and 100,000 log n (Traini et al. 2023): see [Knee].
var CROPS = Penalty{kind: crops}

// String returns the form that ParsePenalty parses.
func (p Penalty) String() string {
	value := strconv.FormatFloat(p.value, 'g', -1, 64)
	switch p.kind {
	case manual:
		return value
	case timesLogN:
		return value + "logn"
	}
	return penaltyNames[p.kind]
}

// MarshalText returns the text of String.
func (p Penalty) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses text with ParsePenalty.
func (p *Penalty) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePenalty(string(text))
	return err
}

// ParsePenalty parses a penalty ("120"), a multiple of log n ("15logn", "15 log n"), or a name:
// sic, bic, mbic, aic, hannan-quinn, crops.
func ParsePenalty(s string) (Penalty, error) {
	text := strings.ToLower(strings.ReplaceAll(s, " ", ""))
	if text == "bic" {
		return SIC, nil
	}
	for kind, name := range penaltyNames {
		if text == name {
			return Penalty{kind: kind}, nil
		}
	}
	number, isLog := strings.CutSuffix(text, "logn")
	v, err := strconv.ParseFloat(strings.TrimSuffix(number, "*"), 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return Penalty{}, fmt.Errorf("penalty %q: write a number, a multiple of log n such as 15logn, sic, "+
			"mbic, aic, hannan-quinn or crops", s)
	}
	if isLog {
		return LogN(v), nil
	}
	return Manual(v), nil
}

// penalty is the penalty's value for a series of n values (R: penalty_decision).
func (p Penalty) penalty(n int, cost Cost) (float64, error) {
	parameters := 1.0
	if cost == MeanVariance {
		parameters = 2
	}
	logN := arith.Log(float64(n))
	v := p.value
	switch p.kind {
	case timesLogN:
		v = p.value * logN
	case sic:
		v = (parameters + 1) * logN
	case mbic:
		v = (parameters + 2) * logN
	case aic:
		v = 2 * (parameters + 1)
	case hannanQuinn:
		v = 2 * (parameters + 1) * arith.Log(logN)
	}
	if !(v >= 0) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("penalty %v is %v for %d values: %w", p, v, n, ErrOptions)
	}
	return v, nil
}

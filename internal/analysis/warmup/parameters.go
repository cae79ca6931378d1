package warmup

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"krund/internal/analysis/bootstrap"
	"krund/internal/analysis/changepoint"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/outlier"
)

// Parameters determine the result of an analysis of given data. They are part of its output.
type Parameters struct {
	// Column is the name of the column analyzed. A per-core column is summed over the cores.
	Column string `json:"column"`
	// Mode is the set of rules: see classify.Mode, steady.Of.
	Mode classify.Mode `json:"mode"`
	// Outliers selects the method of outlier detection, Window the length of its window.
	Outliers outlier.Rule `json:"outliers"`
	Window   Amount       `json:"window"`
	// Steady is the number of iterations at the end that must be equivalent.
	Steady Amount `json:"steady"`
	// Delta is the smallest relevant difference of means.
	Delta classify.Delta `json:"delta"`
	// RawDeltas excludes the variance from the bounds: see classify.Rule.Raw.
	RawDeltas bool `json:"raw_deltas"`

	Cost       changepoint.Cost       `json:"cost"`
	Penalty    changepoint.Penalty    `json:"penalty"`
	Arithmetic changepoint.Arithmetic `json:"arithmetic"`

	Scheme     bootstrap.Scheme `json:"bootstrap_scheme"`
	Resamples  int              `json:"bootstrap_resamples"`
	Confidence float64          `json:"confidence"`
	Seed       uint64           `json:"seed,string"`
}

// Default returns the default parameters of a mode. Those of classify.Paper are the study's.
func Default(mode classify.Mode) Parameters {
	p := Parameters{
		Column:     dataset.Wall,
		Mode:       mode,
		Window:     Amount{Value: 10, Percent: true},
		Steady:     Amount{Value: 25, Percent: true},
		Delta:      classify.PaperDelta,
		Penalty:    changepoint.LogN(15),
		Resamples:  bootstrap.DefaultResamples,
		Confidence: bootstrap.DefaultConfidence,
		Seed:       1,
	}
	if mode == classify.Relative {
		p.Delta = classify.RelativeDelta
		p.Arithmetic = changepoint.Stable
		p.Scheme = bootstrap.Nested
	}
	return p
}

// Set sets a parameter by the name that docs/analysis.md has for it. An empty value changes
// nothing, except for raw-deltas, which has none. The error wraps ErrParameters if there is no such
// name.
func (p *Parameters) Set(name, value string) error {
	switch {
	case name == "raw-deltas":
		p.RawDeltas = true
		return nil
	case value == "":
		return nil
	}
	var err error
	switch name {
	case "steady":
		p.Steady, err = ParseAmount(value)
	case "delta":
		p.Delta, err = classify.ParseDelta(value)
	case "outliers":
		p.Outliers, err = outlier.ParseRule(value)
	case "window":
		p.Window, err = ParseAmount(value)
	case "penalty":
		p.Penalty, err = changepoint.ParsePenalty(value)
	case "cost":
		if p.Cost, err = changepoint.ParseCost(value); p.Cost == changepoint.Mean {
			p.Arithmetic = changepoint.Stable // else the penalty would have the unit of the column
		}
	case "resamples":
		if p.Resamples, err = strconv.Atoi(value); err != nil || p.Resamples < 1 {
			err = fmt.Errorf("it must be a positive number, not %q", value)
		}
	case "seed":
		p.Seed, err = strconv.ParseUint(value, 10, 64)
	default:
		err = fmt.Errorf("%w: the rules are outliers, window, penalty, cost, raw-deltas, resamples and seed",
			ErrParameters)
	}
	return err
}

// ErrParameters reports invalid parameters.
var ErrParameters = errors.New("invalid analysis parameters")

// mostResamples bounds the memory of a bootstrap: 8 bytes each.
const mostResamples = 10_000_000

func (p Parameters) check() error {
	switch {
	case p.Column == "":
		return fmt.Errorf("no column is named: %w", ErrParameters)
	case !(p.Window.Value > 0) || !(p.Steady.Value > 0):
		return fmt.Errorf("window %v, steady %v: %w", p.Window, p.Steady, ErrParameters)
	case p.Resamples < 1 || p.Resamples > mostResamples || !(p.Confidence > 0 && p.Confidence < 1):
		return fmt.Errorf("%d resamples, confidence %v: %w", p.Resamples, p.Confidence, ErrParameters)
	}
	return nil
}

// rule returns the classification rule for an execution in which the given number of iterations
// must be steady.
func (p Parameters) rule(steady int) classify.Rule {
	return classify.Rule{Mode: p.Mode, Delta: p.Delta, Raw: p.RawDeltas, Steady: steady}
}

func (p Parameters) changepoints() changepoint.Options {
	return changepoint.Options{Cost: p.Cost, Penalty: p.Penalty, Arithmetic: p.Arithmetic}
}

func (p Parameters) bootstrap(workers int) bootstrap.Options {
	return bootstrap.Options{
		Scheme: p.Scheme, Resamples: p.Resamples, Confidence: p.Confidence, Seed: p.Seed,
		Workers: workers, Exact: p.Mode == classify.Relative,
	}
}

// Amount is a number of iterations, or a percentage of their total.
type Amount struct {
	Value   float64
	Percent bool
}

// ParseAmount parses "200" or "10%".
func ParseAmount(s string) (Amount, error) {
	text, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || !(v > 0) || v > math.MaxInt32:
		return Amount{}, fmt.Errorf("%q: write a number of iterations (200) or a percentage (10%%)", s)
	case percent && v > 100:
		return Amount{}, fmt.Errorf("%q is more than all iterations", s)
	case !percent && v != math.Trunc(v):
		return Amount{}, fmt.Errorf("%q is not a whole number of iterations", s)
	}
	return Amount{Value: v, Percent: percent}, nil
}

// String returns the form that ParseAmount parses.
func (a Amount) String() string {
	s := strconv.FormatFloat(a.Value, 'g', -1, 64)
	if a.Percent {
		return s + "%"
	}
	return s
}

// MarshalText returns the text of String.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText parses text with ParseAmount.
func (a *Amount) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAmount(string(text))
	return err
}

// Of returns the number of iterations out of n; a percentage is truncated to an integer as in
// warmup_stats (int(0.1*n)).
func (a Amount) Of(n int) int {
	if a.Percent {
		return int(a.Value / 100 * float64(n))
	}
	return int(a.Value)
}

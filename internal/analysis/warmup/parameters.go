package warmup

import (
	"errors"
	"fmt"

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

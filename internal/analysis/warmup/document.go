package warmup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/bootstrap"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/steady"
	"krund/internal/experiment/key"
)

// Format and Version begin every document. Version increases with a change that would mislead
// readers unaware of it; adding a field does not increase it.
const (
	Format  = "krund-analysis"
	Version = 1
)

// Document is the result of an analysis. docs/analysis.md describes each field. Indexes of
// iterations count from 0, numbers of iterations and executions from 1. Slices are never nil, so
// that JSON has [] and not null.
type Document struct {
	Format     string     `json:"format"`
	Version    int        `json:"version"`
	Source     Source     `json:"source"`
	Parameters Parameters `json:"parameters"`
	Unit       string     `json:"unit"` // of the values analyzed, "s" for times; "" for a count
	Pairs      []Pair     `json:"pairs"`
	Totals     Totals     `json:"totals"`
	Warnings   []Warning  `json:"warnings"` // about the whole; each pair has its own
	HowLong    *Study     `json:"how_long,omitempty"`
}

// Source describes where the data came from.
type Source struct {
	Name       string `json:"name"`
	Format     string `json:"format"`
	Machine    string `json:"machine"`
	Experiment string `json:"experiment"`
	Programs   string `json:"programs,omitempty"` // see dataset.Info
}

// Totals is the study's Table 1: pairs and executions per class.
type Totals struct {
	Pairs      map[classify.PairClass]int `json:"pairs"` // excluding pairs without a class
	Executions classify.Counts            `json:"executions"`
	Status     StatusCounts               `json:"status"`
}

// Pair is the result for the executions of a key.
type Pair struct {
	Key       string `json:"key"`
	Benchmark string `json:"benchmark"`
	VM        string `json:"vm"`
	Variant   string `json:"variant"`
	Arm       string `json:"arm,omitempty"`
	// Instrument is "columns" or "events" if the executions are instrumented, else "".
	Instrument string `json:"instrument,omitempty"`
	// InputHash covers the data and the parameters: a pair whose hash is unchanged is reused from
	// an earlier document.
	InputHash string `json:"input_hash"`
	// Iterations is the number of iterations of every analyzed execution; nil when they differ or
	// there are none.
	Iterations     *int               `json:"iterations"`
	Classification classify.PairClass `json:"classification"` // "" when no execution was analyzed
	Counts         classify.Counts    `json:"counts"`
	Status         StatusCounts       `json:"status"`
	// The steady state; nil when an analyzed execution has none. For pairs that are consistently
	// flat SteadyIteration and SteadySeconds are nil, too.
	SteadyIteration *arith.Spread `json:"steady_iteration"`
	// wall-clock time before it; nil without a wall column
	SteadySeconds     *arith.Spread `json:"steady_seconds"`
	SteadyPerformance *Performance  `json:"steady_performance"`
	// Levels summarizes the levels of the executions, analyzed or too short; nil without any.
	Levels     *Levels      `json:"levels"`
	Georges    GeorgesCount `json:"georges"`
	Executions []Execution  `json:"executions"`
	Warnings   []Warning    `json:"warnings"`
}

// ParsedKey returns the pair's key as a value.
func (r *Pair) ParsedKey() key.Key {
	return key.Key{Benchmark: r.Benchmark, VM: r.VM, Variant: r.Variant, Arm: r.Arm}
}

// Performance is the steady-state performance with its confidence interval, in the document's unit
// per iteration.
type Performance struct {
	Mean      float64          `json:"mean"`
	Half      float64          `json:"half"` // ± of the study
	Low       float64          `json:"low"`
	High      float64          `json:"high"`
	Scheme    bootstrap.Scheme `json:"scheme"`
	Resamples int              `json:"resamples"`
}

// Levels are the executions' levels (see steady.LevelOf) in the document's unit.
type Levels struct {
	arith.Spread
	Mean   float64 `json:"mean"`
	Count  int     `json:"count"`  // executions with a level
	Steady int     `json:"steady"` // of those, the ones whose level is that of a steady state
}

// GeorgesCount compares the rule of Georges et al. with the classification.
type GeorgesCount struct {
	Steady        int `json:"steady"`          // executions it finds steady
	SteadyWithout int `json:"steady_no_state"` // of those, classified as no steady state
}

// Status reports whether an execution was analyzed.
type Status string

// The statuses.
const (
	Analysed     Status = "analysed"
	NotCompleted Status = "not completed" // excluded because of its outcome
	NoIterations Status = "no iterations" // completed, but this column has no values
	Refused      Status = "refused"       // the values cannot be analyzed; see Problem
)

// StatusCounts counts executions by status.
type StatusCounts struct {
	Analysed     int `json:"analysed"`
	NotCompleted int `json:"not_completed"`
	NoIterations int `json:"no_iterations"`
	Refused      int `json:"refused"`
}

// Execution is the analysis of one process execution. All fields after Level are zero or empty
// unless Status is Analysed.
type Execution struct {
	Number     int    `json:"number"`
	Outcome    string `json:"outcome"`
	Status     Status `json:"status"`
	Problem    string `json:"problem"` // why it was not analyzed
	Iterations int    `json:"iterations"`
	// Level is the value that represents the execution; nil when its values cannot be used. An
	// execution that is too short for changepoints has one, although it is refused.
	Level *steady.Level `json:"level"`

	Window         int            `json:"window"` // iterations
	SteadyLength   int            `json:"steady_length"`
	Outliers       []int          `json:"outliers"`
	CommonOutliers []int          `json:"common_outliers"` // those another execution has, too
	Penalty        float64        `json:"penalty"`
	Cost           float64        `json:"cost"`
	Changepoints   []int          `json:"changepoints"` // last index of each segment but the last
	Segments       []Segment      `json:"segments"`
	Classification classify.Class `json:"classification"`
	Steady         *Steady        `json:"steady"` // nil: no steady state
	Georges        Georges        `json:"georges"`
	Cores          *Cores         `json:"cores"` // nil: no per-core cycles
}

// Segment is a stretch of iterations between changepoints.
type Segment struct {
	Start      int     `json:"start"`  // index of its first iteration, outliers included
	End        int     `json:"end"`    // index after its last iteration that is not an outlier
	Values     int     `json:"values"` // iterations without outliers
	Mean       float64 `json:"mean"`
	Variance   float64 `json:"variance"`   // mean squared deviation
	Equivalent bool    `json:"equivalent"` // to the last segment
	Lag1       Real    `json:"lag1"`       // autocorrelation of successive values
	Dependent  bool    `json:"dependent"`  // Lag1 rejects independence
}

// Steady is an execution's steady state: see steady.State.
type Steady struct {
	FirstSegment int            `json:"first_segment"`
	Iteration    int            `json:"iteration"`
	Seconds      Real           `json:"seconds"` // wall-clock time before it; null without a wall column
	Mean         float64        `json:"mean"`    // the level
	Ranges       []steady.Range `json:"ranges"`
}

// Georges is the result of the rule of Georges et al. for an execution.
type Georges struct {
	Found     bool `json:"found"`
	Iteration int  `json:"iteration"` // from 1; 0 when not found
	CoV       Real `json:"cov"`
}

// Cores is the result of the per-core cycle counts: see findMigrations.
type Cores struct {
	Main   int         `json:"main"`   // the most frequent main core over the iterations; -1: none
	Share  float64     `json:"share"`  // of the iterations whose main core is Main
	Spread float64     `json:"spread"` // share of the iterations without a main core
	Moves  []Migration `json:"moves"`  // in order
}

// Warning is a circumstance that weakens a result, with a remedy.
type Warning struct {
	Code string `json:"code"` // stable, for programs
	Text string `json:"text"`
}

// Real is a number that is null in JSON when it is undefined (NaN).
type Real float64

// MarshalJSON writes null for NaN and the infinities.
func (r Real) MarshalJSON() ([]byte, error) {
	if v := float64(r); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(r), 'g', -1, 64), nil
}

// Reals are numbers that are null in JSON where they are undefined.
type Reals []float64

// MarshalJSON writes a list of Real.
func (r Reals) MarshalJSON() ([]byte, error) {
	list := make([]Real, len(r))
	for i, v := range r {
		list[i] = Real(v)
	}
	return json.Marshal(list)
}

// UnmarshalJSON reads null as NaN.
func (r *Real) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*r = Real(math.NaN())
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	*r = Real(v)
	return err
}

// ErrDocument reports that a text is not an analysis this version can read.
var ErrDocument = errors.New("not a readable analysis of krund")

// Encode returns the document as the text of analysis.json: JSON with a line per pair, execution
// and segment, so that lists of numbers stay on one line and two analyses can be compared line by
// line.
func (d *Document) Encode() ([]byte, error) {
	compact, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode the analysis: %w", err)
	}
	return breakLines(compact), nil
}

// Decode parses the output of Encode. The errors wrap ErrDocument.
func Decode(text []byte) (*Document, error) {
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	if head.Format != Format {
		return nil, fmt.Errorf("%w: its format is %q, not %q", ErrDocument, head.Format, Format)
	}
	if head.Version != Version {
		return nil, fmt.Errorf("%w: it has version %d, this krunctl reads %d; analyze again", ErrDocument,
			head.Version, Version)
	}
	var d Document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	if err := d.Parameters.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	return &d, nil
}

// breakLines puts each member or element of an object or array that contains further objects on its
// own line.
func breakLines(compact []byte) []byte {
	broken := holders(compact)
	var out bytes.Buffer
	out.Grow(len(compact) + len(compact)/8)
	var open []bool // for each enclosing object or array: is it broken into lines?
	from := 0
	newLine := func(until int) {
		out.Write(compact[from:until])
		from = until
		out.WriteByte('\n')
		for range open {
			out.WriteByte(' ')
		}
	}
	structure(compact, func(i int, c byte) {
		switch c {
		case '{', '[':
			open = append(open, broken[i])
			if broken[i] {
				newLine(i + 1)
			}
		case '}', ']':
			last := open[len(open)-1]
			open = open[:len(open)-1]
			if last {
				newLine(i)
			}
		case ',':
			if open[len(open)-1] {
				newLine(i + 1)
			}
		}
	})
	out.Write(compact[from:])
	out.WriteByte('\n')
	return out.Bytes()
}

// holders returns the offsets of the objects and arrays that contain an object, at any depth.
func holders(compact []byte) map[int]bool {
	holds := map[int]bool{}
	var open []int
	structure(compact, func(i int, c byte) {
		switch c {
		case '{', '[':
			for k := len(open) - 1; c == '{' && k >= 0 && !holds[open[k]]; k-- {
				holds[open[k]] = true
			}
			open = append(open, i)
		case '}', ']':
			open = open[:len(open)-1]
		}
	})
	return holds
}

// structure calls use for the brackets, braces and commas of valid JSON outside strings.
func structure(compact []byte, use func(i int, c byte)) {
	inString, escaped := false, false
	for i, c := range compact {
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		case !inString && (c == '{' || c == '[' || c == '}' || c == ']' || c == ','):
			use(i, c)
		}
	}
}

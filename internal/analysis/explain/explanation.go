package explain

import (
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
)

// Format increases with a change that would mislead readers of the JSON document.
const Format = 1

// Document is what explains the outliers and changepoints of an experiment. docs/output.md
// describes each field. Iterations are indexes from 0, numbers of executions count from 1. Slices
// are never nil.
type Document struct {
	Format int          `json:"format"`
	Source dataset.Info `json:"source"`
	Parameters
	Keys     []Key    `json:"keys"`
	Problems []string `json:"problems"` // sentences about data that could not be read
}

// Parameters determine the result for given data.
type Parameters struct {
	Alpha     float64 `json:"alpha"`      // bound on the probability of a wrong explanation: see Explain
	Draws     int     `json:"draws"`      // random exchanges of evidence between executions
	OddsRatio float64 `json:"odds_ratio"` // smallest one of a statement
	Share     float64 `json:"share"`      // smallest share of the targets that a statement explains
	Seed      uint64  `json:"seed,string"`
}

// Default returns the default parameters.
func Default() Parameters {
	return Parameters{Alpha: 0.05, Draws: 1999, OddsRatio: 4, Share: 0.05, Seed: 1}
}

// Key is the explanation of the executions of a key.
type Key struct {
	Key        string  `json:"key"`
	Name       key.Key `json:"-"`
	Instrument string  `json:"instrument"` // of its executions: "off", "columns" or "events"
	// Sources is the evidence that the executions have; Missing are sentences about the evidence
	// that they lack, and how to get it.
	Sources []string `json:"sources"`
	Missing []string `json:"missing"`
	// Statements are the causes that are established, in the order in which they were found.
	Statements []Statement `json:"statements"`
	// Candidates are the best of the other causes that were tested, by their corrected p.
	Candidates   []Candidate         `json:"candidates"`
	Tested       int                 `json:"tested"` // number of candidates
	Outliers     Coverage            `json:"outliers"`
	Changepoints Coverage            `json:"changepoints"`
	Executions   []ExecutionFindings `json:"executions"`
	// LeftOut are the executions that were not analyzed.
	LeftOut  []warmup.LeftOut `json:"left_out"`
	Warnings []string         `json:"warnings"`
}

// Coverage counts the outliers or changepoints of a key.
type Coverage struct {
	Total     int `json:"total"`
	Explained int `json:"explained"` // those that a statement with a cause covers: no SameBursts
	Diagnosed int `json:"diagnosed"` // those that only a symptom covers: see Cause.Symptom
}

// Target is what a statement is about.
type Target string

// The targets.
const (
	Outliers     Target = "outliers"
	Changepoints Target = "changepoints"
)

// Feature is what was looked for at a target.
type Feature string

// The features.
const (
	Present       Feature = "present"       // the iteration has an event, or a count above 0
	Extraordinary Feature = "extraordinary" // the iteration has far more of it than its neighbors
	Around        Feature = "around"        // the outlier and the iterations around it have it more often
	Near          Feature = "near"          // an event within two iterations of the changepoint
	First         Feature = "first"         // the first event after a long pause, at the changepoint
	Last          Feature = "last"          // the last event before a long pause, at the changepoint
	Shift         Feature = "shift"         // the level of the column changes at the changepoint
	Time          Feature = "time"          // its time accounts for a third of the change or the extra time
)

// Candidate is a cause that was tested on the targets that no earlier statement explains.
type Candidate struct {
	Target  Target  `json:"target"`
	Cause   Cause   `json:"cause"`
	Source  string  `json:"source"` // "events gc", "column minor_faults"
	Name    string  `json:"name"`   // of the events; "" for events of any name and for columns
	Feature Feature `json:"feature"`

	Targets  int     `json:"targets"`  // number of outliers or changepoints
	Hits     int     `json:"hits"`     // those with the feature
	Expected float64 `json:"expected"` // mean number of hits over all lags
	// OddsRatio of the feature at targets and elsewhere, with Haldane and Anscombe's correction.
	OddsRatio float64 `json:"odds_ratio"`
	Explained float64 `json:"share"` // (Hits - Expected) / Targets
	P         float64 `json:"p"`     // of this candidate alone
	Corrected float64 `json:"p_corrected"`
	// Smallest is the smallest P that these targets and events can give: the share of the lags, or
	// of the exchanges, that match best.
	Smallest float64 `json:"p_smallest"`
	// Time is the share of the outliers' extra time that garbage collections, pauses or other tasks
	// took; nil for other causes, and if that is unknown.
	Time *float64 `json:"time"`
}

// Statement is an established cause, or what comes in the same bursts as outliers.
type Statement struct {
	Candidate
	Text string `json:"text"` // a sentence
	// SameBursts: the outliers have it no more often than the iterations around them, so it is not
	// named as a cause.
	SameBursts bool `json:"same_bursts"`
	// With are other evidences of most of the same targets, which may be consequences of the cause.
	With []string `json:"with"`
}

// ExecutionFindings lists what is to be explained in an execution.
type ExecutionFindings struct {
	Number       int       `json:"number"`
	Iterations   int       `json:"iterations"`
	Outliers     []Finding `json:"outliers"`
	Changepoints []Finding `json:"changepoints"`
	Steady       Steady    `json:"steady"`
}

// Finding is an outlier or a changepoint.
type Finding struct {
	// Iteration is that of the outlier, or the first one after the changepoint.
	Iteration int `json:"iteration"`
	// Ratio is the duration of the outlier to the mean of its segment, or the mean after the
	// changepoint to the mean before.
	Ratio     float64  `json:"ratio"`
	Cause     Cause    `json:"cause"`     // "": unexplained, or only in the same bursts
	Statement int      `json:"statement"` // index in Key.Statements; -1: unexplained
	Text      string   `json:"text"`      // a sentence
	Evidence  []string `json:"evidence"`  // other things that changed there; no causes
}

// Steady compares the statistical steady state with what the VM still did. A field is nil if there
// is no such iteration or no evidence.
type Steady struct {
	From        *int `json:"from"`         // first iteration of the steady state
	LastCompile *int `json:"last_compile"` // in which the last compilation ended
	LastDeopt   *int `json:"last_deopt"`
	LastCode    *int `json:"last_code"` // in which the code cache was flushed or full
	// Compiles and Deopts are the numbers of iterations of the steady state with any.
	Compiles int      `json:"steady_compiles"`
	Deopts   int      `json:"steady_deopts"`
	Text     string   `json:"text"`
	Warnings []string `json:"warnings"`
}

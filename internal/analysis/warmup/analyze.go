// Package warmup analyzes a whole experiment: outliers, changepoints, classification and steady
// state of every process execution, and their combination for each pair. It runs the packages
// beside it in the order that package analysis describes.
//
// [Analyze] turns a dataset.Dataset into a [Document], which is the file analysis.json (specified
// in docs/analysis.md) and the basis of every report. Results depend only on the data and the
// [Parameters]: not on the number of workers or on earlier analyses. Start reading at [Analyze].
package warmup

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"math"
	"slices"
	"sync"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/parallel"
)

// Options control how an analysis runs; except for NoPerformance they do not affect its result.
type Options struct {
	// NoPerformance leaves out SteadyPerformance of pairs that are not reused: its bootstrap takes
	// most of the time.
	NoPerformance bool
	// Workers is the number of goroutines; below 2: one.
	Workers int
	// Previous is an earlier document of the same experiment, or nil. Pairs whose data and
	// parameters have not changed are reused from it.
	Previous *Document
	// Progress, if not nil, is called after every execution and pair, from
	// one goroutine at a time.
	Progress func(Progress)
	// Damaged, if not nil, is called for each pair of Previous that is not reused because its
	// result cannot be that of the data.
	Damaged func(key string, why error)
}

// Progress is the progress of an analysis.
type Progress struct {
	Executions, Of int // completed, and total
	Reused         int // executions reused
}

// mostPairs bounds the memory of an analysis, which is about 10 kB for each pair beside its data.
const mostPairs = 50_000

// Analyze analyzes every pair of a dataset, of which there are at most 50,000. The dataset is not
// changed. Other errors wrap ErrParameters; problems of single executions are reported in the
// document.
func Analyze(d *dataset.Dataset, p Parameters, o Options) (*Document, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if len(d.Pairs) > mostPairs {
		return nil, fmt.Errorf("it has %d keys, more than the %d of an analysis; choose some with --key",
			len(d.Pairs), mostPairs)
	}
	parameters, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("hash the parameters: %w", err)
	}
	doc := &Document{
		Format: Format, Version: Version,
		Source: Source{Name: d.Source, Format: d.Format, Machine: d.Machine, Experiment: d.Experiment,
			Programs: d.Programs},
		Parameters: p,
		Unit:       Unit(d, p.Column),
		Pairs:      make([]Pair, 0, len(d.Pairs)),
	}
	progress := Progress{}
	for i := range d.Pairs {
		progress.Of += len(d.Pairs[i].Executions)
	}
	report := &reporter{tell: o.Progress, now: progress}
	previous := o.Previous.byHash()
	for i := range d.Pairs {
		hash := inputHash(&d.Pairs[i], p.Column, parameters)
		doc.Pairs = append(doc.Pairs, analyzePair(&d.Pairs[i], p, o, previous[hash], hash, report))
	}
	doc.Totals = total(doc.Pairs)
	doc.Warnings = slices.Concat(documentWarnings(doc, d.Problems), controlWarnings(doc, d.NegativeControls),
		stoppedWarnings(doc, d.Stopped))
	return doc, nil
}

// analyzePair analyzes one pair, or reuses its old result; nil: there is none with its hash.
func analyzePair(pair *dataset.Pair, p Parameters, o Options, old *Pair, hash string,
	report *reporter) Pair {
	if old != nil {
		why := old.holds(pair, p)
		if why == nil {
			report.change(func(p *Progress) {
				p.Executions += len(pair.Executions)
				p.Reused += len(pair.Executions)
			})
			return *old
		}
		if o.Damaged != nil {
			o.Damaged(pair.Key.String(), why)
		}
	}
	w := prepare(pair, p)
	w.result.InputHash = hash
	parallel.Each(len(pair.Executions), o.Workers, func(i int) {
		w.analyze(i, p)
		report.change(func(p *Progress) { p.Executions++ })
	})
	return w.finish(p, o)
}

// byHash returns the pairs of a document of this version by their input hash, which covers the key.
func (d *Document) byHash() map[string]*Pair {
	if d == nil || d.Format != Format || d.Version != Version {
		return nil
	}
	pairs := make(map[string]*Pair, len(d.Pairs))
	for i := range d.Pairs {
		pairs[d.Pairs[i].InputHash] = &d.Pairs[i]
	}
	return pairs
}

// Unit is the unit of a column's values in analysis (dataset.Seconds for
// every time), from the first execution that has it; "" also when none has.
func Unit(d *dataset.Dataset, column string) string {
	for i := range d.Pairs {
		for k := range d.Pairs[i].Executions {
			if values, unit := d.Pairs[i].Executions[k].Values(column); values != nil {
				return unit
			}
		}
	}
	return ""
}

// total counts pairs and executions by class.
func total(pairs []Pair) Totals {
	t := Totals{Pairs: map[classify.PairClass]int{}}
	for i := range pairs {
		p := &pairs[i]
		if p.Classification != classify.None {
			t.Pairs[p.Classification]++
		}
		t.Executions.Flat += p.Counts.Flat
		t.Executions.Warmup += p.Counts.Warmup
		t.Executions.Slowdown += p.Counts.Slowdown
		t.Executions.NoSteadyState += p.Counts.NoSteadyState
		t.Status.Analysed += p.Status.Analysed
		t.Status.NotCompleted += p.Status.NotCompleted
		t.Status.NoIterations += p.Status.NoIterations
		t.Status.Refused += p.Status.Refused
	}
	return t
}

// reporter counts executions and reports the count.
type reporter struct {
	mutex sync.Mutex
	tell  func(Progress)
	now   Progress
}

func (r *reporter) change(by func(*Progress)) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	by(&r.now)
	if r.tell != nil {
		r.tell(r.now)
	}
}

// revision changes whenever the same data and parameters may give a different result, so that
// earlier results are not reused.
const revision = 2

// inputHash covers everything that a pair's result depends on: the parameters as JSON, and the pair
// with the columns that an analysis of one column reads.
func inputHash(pair *dataset.Pair, column string, parameters []byte) string {
	h := hasher{Hash: sha256.New()}
	h.number(revision)
	h.text(string(parameters))
	h.text(pair.Key.String())
	h.number(len(pair.Executions))
	for i := range pair.Executions {
		e := &pair.Executions[i]
		h.number(e.Number)
		h.text(string(e.Outcome))
		if e.Instrument != "" {
			h.text(e.Instrument)
		}
		if e.Uncovered() || e.Doubt() != "" { // which are warnings
			h.text(fmt.Sprint("loop", *e.Loop, e.Doubt()))
		}
		h.number(len(e.Columns))
		for k := range e.Columns {
			c := &e.Columns[k]
			if c.Name != column && c.Name != dataset.Wall && c.Name != dataset.CoreCycles {
				h.number(c.Len())
				continue
			}
			h.column(c)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// hasher writes values with an unambiguous encoding of lists.
type hasher struct {
	hash.Hash
	buffer []byte
}

// flush adds what was collected. A hash.Hash never fails.
func (h *hasher) flush() {
	h.Write(h.buffer)
	h.buffer = h.buffer[:0]
}

func (h *hasher) number(n int) {
	h.buffer = binary.LittleEndian.AppendUint64(h.buffer, uint64(n))
	h.flush()
}

func (h *hasher) text(s string) {
	h.number(len(s))
	h.buffer = append(h.buffer, s...)
	h.flush()
}

func (h *hasher) column(c *dataset.Column) {
	h.text(c.Name)
	h.text(c.Unit)
	h.number(c.Core)
	h.number(len(c.Reals))
	h.number(len(c.Ints))
	h.number(len(c.Counts))
	for _, v := range c.Reals {
		h.buffer = binary.LittleEndian.AppendUint64(h.buffer, math.Float64bits(v))
	}
	for _, v := range c.Ints {
		h.buffer = binary.LittleEndian.AppendUint64(h.buffer, uint64(v))
	}
	for _, v := range c.Counts {
		h.buffer = binary.LittleEndian.AppendUint64(h.buffer, v)
	}
	h.flush()
}

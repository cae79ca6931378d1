package report

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"krund/internal/analysis/dataset"
	"krund/internal/durable"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/machine/noise"
	"krund/internal/reading/experiment"
)

// FactsOf reads the facts in the records of the experiment arg, of each machine; nil for files of
// other tools. say gets what is left out.
func FactsOf(fsys durable.FS, in experiment.Input, arg string, say func(string, ...any)) (*Facts, error) {
	if in.Data.Format != experiment.Format {
		return nil, nil
	}
	parts := experiment.Parts(fsys, arg)
	if len(parts) == 1 {
		return factsOfPart(fsys, in, parts[0], say)
	}
	all := &Facts{}
	for _, part := range parts {
		facts, err := factsOfPart(fsys, in, part, say)
		if err != nil {
			return nil, err
		}
		if facts.Records > 0 {
			facts.Machine = experiment.MachineOf(part)
			all.Machines = append(all.Machines, facts)
		}
	}
	return all, nil
}

// factsOfPart reads the facts of one machine.
func factsOfPart(fsys durable.FS, in experiment.Input, arg string, say func(string, ...any)) (*Facts,
	error) {
	f, err := experiment.Open(fsys, arg)
	if err != nil {
		return nil, err
	}
	facts, err := ReadFacts(f.Reader(), in.Pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Dir(), err)
	}
	switch c, err := noise.Read(fsys, filepath.Join(f.Dir(), "noise.json")); {
	case err == nil:
		facts.Noise = c.Summary(facts.First)
	case !errors.Is(err, fs.ErrNotExist):
		say("the noise certificate is left out: %s", err)
	}
	return facts, nil
}

// ReadFacts reads the facts in the records of the keys that match pattern; nil matches all.
// Unusable records are omitted, because the dataset's problems name them.
func ReadFacts(r *results.Reader, pattern *key.Pattern) (*Facts, error) {
	list, err := r.List()
	if err != nil {
		return nil, err
	}
	facts := &Facts{}
	for rec := range r.Usable(list.Records, func(error) {}) {
		if pattern == nil || pattern.Match(rec.Key) {
			facts.Add(&rec)
		}
	}
	return facts, nil
}

// AddRecords adds the facts, and makes the report read the other columns and the events when they
// are written, because all of them together may not fit into memory.
func (in *Material) AddRecords(facts *Facts, r *results.Reader) {
	in.Facts = facts
	names := make([][]results.Name, len(in.Data.Pairs)) // of each pair, in the order of the dataset
	for i, pair := range in.Data.Pairs {
		names[i] = facts.Names(pair.Key)
	}
	in.Series = func(pair, execution int) (dataset.Execution, error) {
		if execution >= len(names[pair]) {
			return dataset.Execution{}, nil
		}
		rec, err := r.Load(names[pair][execution])
		if err != nil {
			return dataset.Execution{}, err
		}
		return experiment.Execution(&rec, nil), nil
	}
}

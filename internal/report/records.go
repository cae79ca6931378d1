package report

import (
	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
)

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
func (in *Input) AddRecords(facts *Facts, r *results.Reader) {
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

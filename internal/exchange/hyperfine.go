package exchange

import (
	"fmt"
	"io"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/results"
)

// FormatHyperfine is dataset.Info.Format of hyperfine's results.
const FormatHyperfine = "hyperfine JSON"

// ReadHyperfine reads hyperfine's results (--export-json). Every time is a process execution of one
// iteration, in seconds; an execution with a nonzero exit status is an error. The errors wrap
// ErrFormat, or are those of r.
func ReadHyperfine(r io.Reader, o ImportOptions) (*dataset.Dataset, error) {
	var f struct {
		Results []struct {
			Command   *string
			Times     []float64
			ExitCodes []*int `json:"exit_codes"`
		}
	}
	if err := decodeJSON(r, &f); err != nil {
		return nil, fmt.Errorf("read hyperfine results: %w", err)
	}
	if f.Results == nil {
		return nil, fmt.Errorf("read hyperfine results: %w: there are no results", ErrFormat)
	}
	d := &dataset.Dataset{Info: dataset.Info{Format: FormatHyperfine}}
	names := newNamer(o, "command")
	for i, result := range f.Results {
		if result.Command == nil {
			return nil, fmt.Errorf("read hyperfine results: %w: result %d has no command", ErrFormat, i+1)
		}
		k := names.key(*result.Command)
		if len(result.Times) == 0 {
			d.Pairs = append(d.Pairs, dataset.Pair{Key: k})
		}
		for i, t := range result.Times {
			e := dataset.Execution{Outcome: results.Completed,
				Columns: []dataset.Column{wallOf([]float64{t}, "s")}}
			if i < len(result.ExitCodes) && (result.ExitCodes[i] == nil || *result.ExitCodes[i] != 0) {
				e.Outcome, e.Reasons = results.Error, []string{"terminated by a signal"}
				if code := result.ExitCodes[i]; code != nil {
					e.Reasons[0] = fmt.Sprintf("exit status %d", *code)
				}
			}
			d.Add(k, e)
		}
	}
	return d, nil
}

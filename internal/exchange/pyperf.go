package exchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/results"
)

// FormatPyperf is dataset.Info.Format of pyperf's results.
const FormatPyperf = "pyperf JSON"

type pyperfMetadata struct {
	Name, Unit, Hostname string
	Implementation       string `json:"python_implementation"`
}

func (m pyperfMetadata) over(outer pyperfMetadata) pyperfMetadata {
	return pyperfMetadata{cmp.Or(m.Name, outer.Name), cmp.Or(m.Unit, outer.Unit),
		cmp.Or(m.Hostname, outer.Hostname), cmp.Or(m.Implementation, outer.Implementation)}
}

type pyperfFile struct {
	Benchmarks []struct {
		Metadata pyperfMetadata
		Runs     []struct {
			Metadata pyperfMetadata
			Warmups  [][2]float64 // loops, and the value of one
			Values   []float64
		}
	}
	Metadata pyperfMetadata
	Version  json.RawMessage
}

// ReadPyperf reads pyperf's results (-o FILE). A run is a process execution; its iterations are the
// warmups, then the values, each a mean over pyperf's loops. Runs that only calibrated the loops
// are omitted. The unit "second" becomes seconds; others (byte, integer) stay. The errors wrap
// ErrFormat, or are those of r.
func ReadPyperf(r io.Reader, o ImportOptions) (*dataset.Dataset, error) {
	var f pyperfFile
	if err := decodeJSON(r, &f); err != nil {
		return nil, fmt.Errorf("read pyperf results: %w", err)
	}
	if f.Version == nil || f.Benchmarks == nil {
		return nil, fmt.Errorf("read pyperf results: %w: there is no version or no benchmarks", ErrFormat)
	}
	d := &dataset.Dataset{Info: dataset.Info{Format: FormatPyperf, Machine: f.Metadata.Hostname}}
	var names *namer
	for i, b := range f.Benchmarks {
		if b.Runs == nil {
			return nil, fmt.Errorf("read pyperf results: %w: benchmark %d has no runs", ErrFormat, i+1)
		}
		outer := b.Metadata.over(f.Metadata)
		calibrations := 0
		for _, run := range b.Runs {
			m := run.Metadata.over(outer)
			if names == nil {
				names = newNamer(o, cmp.Or(m.Implementation, "python"))
				d.Machine = m.Hostname
			}
			if len(run.Values) == 0 {
				calibrations++
				continue
			}
			values := make([]float64, 0, len(run.Warmups)+len(run.Values))
			for _, w := range run.Warmups {
				values = append(values, w[1])
			}
			d.Add(names.key(cmp.Or(m.Name, fmt.Sprintf("benchmark_%d", i+1))), dataset.Execution{
				Outcome: results.Completed, Columns: []dataset.Column{wallOf(append(values, run.Values...),
					cmp.Or(m.Unit, "second"))},
			})
		}
		if calibrations > 0 {
			d.Problems = append(d.Problems,
				fmt.Sprintf("%s: %d runs only calibrated pyperf's loops and are left out",
					cmp.Or(outer.Name, "a benchmark"), calibrations))
		}
	}
	return d, nil
}

package exchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"krund/internal/display"
)

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

// readPyperf reads pyperf's results (-o FILE). A run is a process execution; its iterations are the
// warmups, then the values, each a mean over pyperf's loops. Runs that only calibrated the loops
// are omitted. The unit "second" becomes seconds; others (byte, integer) stay.
func readPyperf(in io.Reader, g *gatherer) error {
	var f pyperfFile
	if err := decodeJSON(in, &f); err != nil {
		return err
	}
	if f.Version == nil {
		return fmt.Errorf("%w: there is no version", ErrFormat)
	}
	executions, calibrations := 0, 0
	for i, b := range f.Benchmarks {
		outer := b.Metadata.over(f.Metadata)
		for _, run := range b.Runs {
			m := run.Metadata.over(outer)
			g.d.Machine = cmp.Or(g.d.Machine, m.Hostname)
			if len(run.Values) == 0 {
				calibrations++
				continue
			}
			values := make([]float64, 0, len(run.Warmups)+len(run.Values))
			for _, w := range run.Warmups {
				values = append(values, w[1])
			}
			executions++
			at := place{benchmark: cmp.Or(m.Name, fmt.Sprintf("benchmark_%d", i+1)), execution: executions,
				vm: cmp.Or(m.Implementation, g.vm), unit: cmp.Or(m.Unit, "second")}
			if err := g.add(at, append(values, run.Values...)...); err != nil {
				return err
			}
		}
	}
	if calibrations > 0 {
		g.d.Problems = append(g.d.Problems, fmt.Sprintf("left out: %s that only calibrated pyperf's loops",
			display.Count(calibrations, "run")))
	}
	return nil
}

package exchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
)

// readCriterion reads sample.json of criterion 0.3 to 0.7 (target/criterion/NAME/new): samples with
// the number of iterations and the nanoseconds of all of them. A file is one process execution; the
// name of the benchmark is in another file, see nameOfCriterion.
func readCriterion(in io.Reader, g *gatherer) error {
	var f struct{ Iters, Times []float64 }
	if err := decodeJSON(in, &f); err != nil {
		return err
	}
	if len(f.Iters) != len(f.Times) {
		return fmt.Errorf("%w: iters has %d values and times %d", ErrFormat, len(f.Iters), len(f.Times))
	}
	values := make([]float64, len(f.Times))
	for i := range values {
		if !(f.Iters[i] > 0) {
			return fmt.Errorf("%w: sample %d has %g iterations", ErrFormat, i+1, f.Iters[i])
		}
		values[i] = f.Times[i] / f.Iters[i]
	}
	return g.add(place{benchmark: "criterion", execution: 1, unit: "ns"}, values...)
}

// nameOfCriterion renames the benchmark of a sample.json after its directory,
// target/criterion/GROUP/FUNCTION/new.
func nameOfCriterion(d *dataset.Dataset, file string) {
	path, err := filepath.Abs(file)
	if err != nil || d.Format != FormatCriterion {
		return
	}
	dir := filepath.Dir(filepath.Dir(path))
	name := filepath.Base(dir)
	for dir = filepath.Dir(dir); filepath.Base(dir) != "criterion" && len(dir) > 1; dir = filepath.Dir(dir) {
		name = filepath.Base(dir) + "/" + name
	}
	if filepath.Base(dir) == "criterion" {
		d.Pairs[0].Key.Benchmark = PlainName(name)
	}
}

// readPytest reads pytest-benchmark 3 to 5 (--benchmark-json FILE --benchmark-save-data): the
// rounds of a benchmark are the iterations of one process execution, in seconds.
func readPytest(in io.Reader, g *gatherer) error {
	var f struct {
		Benchmarks []struct {
			Fullname, Name string
			Stats          struct{ Data []float64 }
		}
	}
	if err := decodeJSON(in, &f); err != nil {
		return err
	}
	for _, b := range f.Benchmarks {
		if len(b.Stats.Data) == 0 {
			return fmt.Errorf("%w: %s has no single times; write them with pytest --benchmark-save-data",
				ErrFormat, display.Clip(cmp.Or(b.Fullname, b.Name), mostName))
		}
		err := g.add(place{benchmark: cmp.Or(b.Fullname, b.Name), execution: 1, unit: "s"}, b.Stats.Data...)
		if err != nil {
			return err
		}
	}
	return nil
}

// readGoogle reads JSON of Google Benchmark 1.5 or later (--benchmark_format=json): the repetitions
// of a benchmark are the iterations of one process execution. Aggregates are left out, and so are
// repetitions with an error.
func readGoogle(in io.Reader, g *gatherer) error {
	var f struct {
		Benchmarks []struct {
			Name    string
			RunName string   `json:"run_name"`
			RunType string   `json:"run_type"`
			Real    *float64 `json:"real_time"`
			Unit    string   `json:"time_unit"`
			Failed  bool     `json:"error_occurred"`
		}
	}
	if err := decodeJSON(in, &f); err != nil {
		return err
	}
	for _, b := range f.Benchmarks {
		if b.RunType == "aggregate" || b.Failed || b.Real == nil {
			continue
		}
		at := place{benchmark: cmp.Or(b.RunName, b.Name), execution: 1, unit: cmp.Or(b.Unit, "ns")}
		if err := g.add(at, *b.Real); err != nil {
			return err
		}
	}
	return nil
}

// readBenchmarkDotNet reads the full JSON of BenchmarkDotNet 0.13 or later (--exporters fulljson):
// a launch is a process execution, a measured iteration of the workload one of its iterations, in
// nanoseconds per operation, without the overhead if that was subtracted (stage Result).
func readBenchmarkDotNet(in io.Reader, g *gatherer) error {
	type measurement struct {
		IterationMode, IterationStage string
		LaunchIndex                   int
		Operations, Nanoseconds       float64
	}
	var f struct {
		Benchmarks []struct {
			FullName     string
			Measurements []measurement
		}
	}
	if err := decodeJSON(in, &f); err != nil {
		return err
	}
	for _, b := range f.Benchmarks {
		stage := "Actual"
		result := func(m measurement) bool { return m.IterationStage == "Result" }
		if slices.ContainsFunc(b.Measurements, result) {
			stage = "Result"
		}
		for _, m := range b.Measurements {
			if m.IterationMode != "Workload" || m.IterationStage != stage || !(m.Operations > 0) {
				continue
			}
			at := place{benchmark: b.FullName, execution: m.LaunchIndex, unit: "ns"}
			if err := g.add(at, m.Nanoseconds/m.Operations); err != nil {
				return err
			}
		}
	}
	return nil
}

// readHyperfine reads hyperfine's results (--export-json). Every time is a process execution of one
// iteration, in seconds; an execution with a nonzero exit status is an error.
func readHyperfine(in io.Reader, g *gatherer) error {
	var f struct {
		Results []struct {
			Command   *string
			Times     []float64
			ExitCodes []*int `json:"exit_codes"`
		}
	}
	if err := decodeJSON(in, &f); err != nil {
		return err
	}
	executions := 0
	for i, result := range f.Results {
		if result.Command == nil {
			return fmt.Errorf("%w: result %d has no command", ErrFormat, i+1)
		}
		at := place{benchmark: *result.Command, vm: g.vm, unit: "s"}
		if err := g.add(at); err != nil {
			return err
		}
		for i, t := range result.Times {
			executions++
			at.execution, at.failed = executions, ""
			if i < len(result.ExitCodes) {
				switch code := result.ExitCodes[i]; {
				case code == nil:
					at.failed = "terminated by a signal"
				case *code != 0:
					at.failed = fmt.Sprintf("exit status %d", *code)
				}
			}
			if err := g.add(at, t); err != nil {
				return err
			}
		}
	}
	return nil
}

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

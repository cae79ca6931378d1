package exchange

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
)

// jmhResult holds the fields read from one entry of a file.
type jmhResult struct {
	Benchmark string
	Mode      string
	Params    map[string]string
	Time      string `json:"measurementTime"` // "1 s"
	Primary   *struct {
		ScoreUnit string
		RawData   [][]float64
		Histogram [][][][]float64 `json:"rawDataHistogram"` // fork, iteration, pairs of value and count
	} `json:"primaryMetric"`
}

// readJMH reads JMH's results (-rf json). A fork is a process execution, a measurement iteration an
// in-process one; warmup iterations are not in these files, so measure with -wi 0. Times per
// operation are converted to seconds; throughput (ops/s) keeps its unit. In mode sample an
// iteration has the mean of its calls, and Calls. Parameters become part of the benchmark's name.
func readJMH(in io.Reader, g *gatherer) error {
	var list []jmhResult
	if err := decodeJSON(in, &list); err != nil {
		return err
	}
	at := place{vm: g.vm}
	for i, entry := range list {
		if entry.Benchmark == "" || entry.Primary == nil {
			return fmt.Errorf("%w: entry %d has no benchmark or no primaryMetric", ErrFormat, i)
		}
		at.benchmark = entry.Benchmark
		for _, p := range slices.Sorted(maps.Keys(entry.Params)) {
			at.benchmark += fmt.Sprintf("-%s=%s", p, entry.Params[p])
		}
		if entry.Mode != "" && entry.Mode != "avgt" && entry.Mode != "ss" {
			at.benchmark += "-" + entry.Mode // a benchmark may be measured in several modes
		}
		at.unit, at.calls, at.failed = strings.TrimSuffix(entry.Primary.ScoreUnit, "/op"), nil, ""
		if err := g.add(at); err != nil {
			return err
		}
		add := func(values []float64) error {
			at.execution++
			if at.failed = ""; len(values) == 0 {
				at.failed, at.calls = "the fork has no iterations", nil
			}
			return g.add(at, values...)
		}
		for _, fork := range entry.Primary.RawData {
			if err := add(fork); err != nil {
				return err
			}
		}
		if len(entry.Primary.RawData) > 0 {
			continue
		}
		for f, fork := range entry.Primary.Histogram {
			calls, means, err := sampled(fork, strings.TrimSuffix(entry.Primary.ScoreUnit, "/op"))
			if err != nil {
				return fmt.Errorf("%w: entry %d: fork %d, %w", ErrFormat, i, f+1, err)
			}
			calls.Seconds = planned(entry.Time)
			at.calls, at.unit = calls, "s"
			if err := add(means); err != nil {
				return err
			}
		}
	}
	return nil
}

// mostJSON limits the size of a file that is read into memory, in bytes.
const mostJSON = 1 << 30

// decodeJSON parses exactly one JSON value.
func decodeJSON(r io.Reader, into any) error {
	text, err := io.ReadAll(io.LimitReader(r, mostJSON+1))
	if err != nil {
		return err
	}
	if len(text) > mostJSON {
		return fmt.Errorf("%w: it has more than %d bytes; split it into several files", ErrFormat, mostJSON)
	}
	err = json.Unmarshal(text, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%w: %s", ErrFormat, wrongKind(wrong))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return nil
}

// wrongKind describes a value of the wrong kind in terms of the file.
func wrongKind(e *json.UnmarshalTypeError) string {
	const most = 40 // bytes
	where := cmp.Or(strings.ToLower(strings.TrimPrefix(e.Field, ".")), "the file")
	kind, digits, _ := strings.Cut(e.Value, " ") // "number 17.5"
	if digits != "" {
		return fmt.Sprintf("%s is %s, which is out of range (near byte %d)", where,
			display.Head(digits, most), e.Offset)
	}
	return fmt.Sprintf("%s is of type %s, which it must not be (near byte %d)", where, kind, e.Offset)
}

// mostCalls limits the calls of one time in an iteration; whole numbers below are exact.
const mostCalls = 1 << 53

// sampled returns the calls of a fork in mode sample, and the mean of each iteration in seconds.
func sampled(fork [][][]float64, unit string) (*dataset.Calls, []float64, error) {
	calls, means := &dataset.Calls{}, []float64(nil)
	for n, pairs := range fork {
		var h dataset.Histogram
		total, sum := 0.0, 0.0
		for _, p := range pairs {
			if len(p) != 2 || !(p[0] >= 0) || !(p[1] >= 1 && p[1] <= mostCalls) || p[1] != math.Floor(p[1]) {
				return nil, nil, fmt.Errorf("iteration %d: %.40q is not a time and a number of calls", n+1,
					fmt.Sprint(p))
			}
			seconds, ok := inSeconds(p[:1], unit)
			if !ok {
				return nil, nil, fmt.Errorf("iteration %d: the unit %.40q is not one of time", n+1, unit)
			}
			h.Values, h.Counts = append(h.Values, seconds[0]), append(h.Counts, p[1])
			total += p[1]
			sum += p[1] * seconds[0]
		}
		if total == 0 || math.IsInf(sum, 0) {
			return nil, nil, fmt.Errorf("iteration %d: it has no calls, or their times are too large", n+1)
		}
		calls.Iterations, means = append(calls.Iterations, h), append(means, sum/total)
	}
	return calls, means, nil
}

// planned parses JMH's duration of an iteration, such as "10 s"; a second if there is none.
func planned(text string) float64 {
	number, unit, _ := strings.Cut(text, " ")
	v, err := strconv.ParseFloat(number, 64)
	seconds, ok := inSeconds([]float64{v}, unit)
	if err != nil || !ok || !(seconds[0] > 0) || math.IsInf(seconds[0], 0) {
		return 1
	}
	return seconds[0]
}

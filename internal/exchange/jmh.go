package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// FormatJMH is dataset.Info.Format of JMH's results.
const FormatJMH = "JMH JSON"

// jmhResult holds the fields read from one entry of a file.
type jmhResult struct {
	Benchmark string
	Mode      string
	VMName    string `json:"vmName"`
	Params    map[string]string
	Time      string `json:"measurementTime"` // "1 s"
	Primary   *struct {
		ScoreUnit string
		RawData   [][]float64
		Histogram [][][][]float64 `json:"rawDataHistogram"` // fork, iteration, pairs of value and count
	} `json:"primaryMetric"`
}

// ReadJMH reads JMH's results (-rf json). A fork is a process execution, a measurement iteration an
// in-process one; warmup iterations are not in these files, so measure with -wi 0. Times per
// operation are converted to seconds; throughput (ops/s) keeps its unit. In mode sample an
// iteration has the mean of its calls, and Calls. Parameters become part of the benchmark's name.
// The errors wrap ErrFormat, or are those of r.
func ReadJMH(r io.Reader, o ImportOptions) (*dataset.Dataset, error) {
	var list []jmhResult
	if err := decodeJSON(r, &list); err != nil {
		return nil, fmt.Errorf("read JMH results: %w", err)
	}
	d := &dataset.Dataset{Info: dataset.Info{Format: FormatJMH}}
	names := newNamer(o, "JVM")
	for i, entry := range list {
		if entry.Benchmark == "" || entry.Primary == nil {
			return nil, fmt.Errorf("read JMH results: %w: entry %d has no benchmark or no primaryMetric",
				ErrFormat, i)
		}
		name := entry.Benchmark
		for _, p := range slices.Sorted(maps.Keys(entry.Params)) {
			name += fmt.Sprintf("-%s=%s", p, entry.Params[p])
		}
		if entry.Mode != "" && entry.Mode != "avgt" && entry.Mode != "ss" {
			name += "-" + entry.Mode // a benchmark may be measured in several modes
		}
		k := names.key(name)
		unit := strings.TrimSuffix(entry.Primary.ScoreUnit, "/op")
		if len(entry.Primary.RawData) == 0 {
			if err := addSampled(d, k, &list[i], unit); err != nil {
				return nil, fmt.Errorf("read JMH results: %w: entry %d: %w", ErrFormat, i, err)
			}
		}
		for _, fork := range entry.Primary.RawData {
			e := dataset.Execution{Outcome: results.Completed, Columns: []dataset.Column{wallOf(fork, unit)}}
			if len(fork) == 0 {
				e.Outcome, e.Reasons = results.Error, []string{"the fork has no iterations"}
			}
			d.Add(k, e)
		}
	}
	return d, nil
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
	where := "the file"
	if e.Field != "" {
		where = strings.ToLower(strings.TrimPrefix(e.Field, "."))
	}
	is, digits, _ := strings.Cut(e.Value, " ") // "number 17.5"
	want := "a number"
	switch e.Type.Kind() {
	case reflect.String:
		want = "a text"
	case reflect.Slice, reflect.Array:
		want = "a list"
	case reflect.Struct, reflect.Map:
		want = "an object"
	case reflect.Bool:
		want = "true or false"
	default:
		if digits != "" && is == "number" {
			const most = 40 // bytes
			return fmt.Sprintf("%s is %s, which is out of range (near byte %d)", where,
				display.Head(digits, most), e.Offset)
		}
	}
	return fmt.Sprintf("%s is of type %s, not %s (near byte %d)", where, is, want, e.Offset)
}

// mostCalls limits the calls of one time in an iteration; whole numbers below are exact.
const mostCalls = 1 << 53

// addSampled adds the forks of an entry in mode sample, or if it has none an empty pair.
func addSampled(d *dataset.Dataset, k key.Key, entry *jmhResult, unit string) error {
	if len(entry.Primary.Histogram) == 0 {
		d.Pairs = append(d.Pairs, dataset.Pair{Key: k})
		return nil
	}
	for f, fork := range entry.Primary.Histogram {
		calls := &dataset.Calls{Seconds: planned(entry.Time)}
		var means []float64
		for n, pairs := range fork {
			h, mean, err := sampled(pairs, unit)
			if err != nil {
				return fmt.Errorf("fork %d, iteration %d: %w", f+1, n+1, err)
			}
			calls.Iterations, means = append(calls.Iterations, h), append(means, mean)
		}
		e := dataset.Execution{Outcome: results.Completed, Calls: calls,
			Columns: []dataset.Column{wallOf(means, "s")}}
		if len(means) == 0 {
			e.Outcome, e.Reasons, e.Calls = results.Error, []string{"the fork has no iterations"}, nil
		}
		d.Add(k, e)
	}
	return nil
}

// sampled returns the histogram of an iteration in seconds, and its mean.
func sampled(pairs [][]float64, unit string) (h dataset.Histogram, mean float64, err error) {
	total, sum := 0.0, 0.0
	for _, p := range pairs {
		if len(p) != 2 || !(p[0] >= 0) || !(p[1] >= 1 && p[1] <= mostCalls) || p[1] != math.Floor(p[1]) {
			return h, 0, fmt.Errorf("%.40q is not a time and a number of calls", fmt.Sprint(p))
		}
		seconds, ok := inSeconds(p[:1], unit)
		if !ok {
			return h, 0, fmt.Errorf("the unit %.40q is not one of time", unit)
		}
		h.Values, h.Counts = append(h.Values, seconds[0]), append(h.Counts, p[1])
		total += p[1]
		sum += p[1] * seconds[0]
	}
	if total == 0 || math.IsInf(sum, 0) {
		return h, 0, fmt.Errorf("it has no calls, or their times are too large")
	}
	return h, sum / total, nil
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

package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
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
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
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
				display.Clip(digits, most), e.Offset)
		}
	}
	return fmt.Sprintf("%s is of type %s, not %s (near byte %d)", where, is, want, e.Offset)
}

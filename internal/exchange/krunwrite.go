package exchange

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dsnet/compress/bzip2"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/results"
)

// WriteKrunJSON writes a dataset as Krun's results (NAME_results.json.bz2), compressed with bzip2,
// as warmup_stats and ReadKrunJSON read them. Times are exact decimals of seconds; counts keep
// their 64 bits. Executions that were rerun are omitted, as in Krun; failed ones are empty. Columns
// unknown to Krun are not written, and wall times in a unit other than time are an error. config is
// stored as the file's "config".
func WriteKrunJSON(w io.Writer, d *dataset.Dataset, config string) error {
	packer, err := bzip2.NewWriter(w, &bzip2.WriterConfig{Level: bzip2.BestCompression})
	if err == nil {
		k := krunWriter{b: bufio.NewWriterSize(packer, 1<<16)}
		if err = k.file(d, config); err == nil {
			err = errors.Join(k.b.Flush(), packer.Close())
		}
	}
	if err != nil {
		return fmt.Errorf("write Krun results: %w", err)
	}
	return nil
}

type krunWriter struct {
	b     *bufio.Writer
	pairs []krunPair
}

// krunPair is a pair in the form that Krun stores.
type krunPair struct {
	key        string
	executions []*dataset.Execution
}

func (k *krunWriter) file(d *dataset.Dataset, config string) error {
	failed := false
	for i := range d.Pairs {
		p := krunPair{key: d.Pairs[i].Key.String()}
		if strings.Count(p.key, ":") != 2 {
			return fmt.Errorf("key %q: Krun's keys have no colons in their parts", p.key)
		}
		for j := range d.Pairs[i].Executions {
			e := &d.Pairs[i].Executions[j]
			if dataset.Replaced(e.Outcome) {
				continue
			}
			if err := e.Check(); err != nil {
				return fmt.Errorf("%s: %w", p.key, err)
			}
			failed = failed || krunFlag(e) != "C"
			p.executions = append(p.executions, e)
		}
		k.pairs = append(k.pairs, p)
	}
	slices.SortStableFunc(k.pairs, func(a, b krunPair) int { return cmp.Compare(a.key, b.key) })
	uname := "krund " + cmp.Or(strings.Join(strings.Fields(d.Machine), "_"), "unknown")
	return errors.Join(
		k.counts("{", "aperf_counts", dataset.APERF),
		k.value(",", "audit", map[string]string{"uname": strings.ToValidUTF8(uname, "\uFFFD")}),
		k.value(",", "config", strings.ToValidUTF8(config, "\uFFFD")),
		k.counts(",", "core_cycle_counts", dataset.CoreCycles),
		k.value(",", "error_flag", failed),
		k.member(",", "eta_estimates", func(e *dataset.Execution) (any, error) { return total(e), nil }),
		k.counts(",", "mperf_counts", dataset.MPERF),
		k.member(",", "pexec_flags", func(e *dataset.Execution) (any, error) { return krunFlag(e), nil }),
		k.member(",", "wallclock_times", krunTimes),
		k.text("\n}\n"))
}

func krunFlag(e *dataset.Execution) string {
	switch e.Outcome {
	case results.Completed, "":
		return "C"
	case results.Timeout:
		return "T"
	}
	return "E"
}

// value writes a member of an object after the text before.
func (k *krunWriter) value(before, name string, v any) error {
	quoted, err := json.Marshal(name)
	if err != nil {
		return err
	}
	text, err := json.Marshal(v)
	return errors.Join(err, k.text(fmt.Sprintf("%s\n %s: %s", before, quoted, text)))
}

func (k *krunWriter) text(s string) error {
	_, err := k.b.WriteString(s)
	return err
}

// member writes an object that maps each key to a list with a value per execution.
func (k *krunWriter) member(before, name string, value func(*dataset.Execution) (any, error)) error {
	err := k.text(fmt.Sprintf("%s\n %q: {", before, name))
	separator := ""
	for _, p := range k.pairs {
		values := make([]any, len(p.executions))
		for i, e := range p.executions {
			v, err := value(e)
			if err != nil {
				return fmt.Errorf("%s: execution %d: %w", p.key, e.Number, err)
			}
			values[i] = v
		}
		err = errors.Join(err, k.value(separator, p.key, values))
		separator = ","
	}
	return errors.Join(err, k.text("\n }"))
}

// counts writes a counter as lists per core.
func (k *krunWriter) counts(before, name, column string) error {
	return k.member(before, name, func(e *dataset.Execution) (any, error) {
		cores := [][]uint64{}
		if krunFlag(e) == "C" {
			for _, c := range e.Cores(column) {
				cores = append(cores, append([]uint64{}, c.Counts...))
			}
		}
		return cores, nil
	})
}

// krunTimes returns an execution's times in seconds, or none for a failed one.
func krunTimes(e *dataset.Execution) (any, error) {
	c, ok := e.Column(dataset.Wall, dataset.NoCore)
	times := []json.Number{}
	switch {
	case !ok || krunFlag(e) != "C":
	case c.Unit == dataset.Nanoseconds && c.Ints != nil:
		if slices.Contains(c.Ints, dataset.MissingInt) {
			return nil, fmt.Errorf("%w: an iteration has no time", ErrFormat)
		}
		for _, ns := range c.Ints {
			times = append(times, json.Number(secondsText(ns)))
		}
	case c.Unit == dataset.Seconds && c.Ints == nil && c.Counts == nil:
		for _, v := range c.Reals {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("%w: an iteration took %v s, which JSON cannot represent",
					ErrFormat, v)
			}
			times = append(times, json.Number(strconv.FormatFloat(v, 'g', -1, 64)))
		}
	default:
		return nil, fmt.Errorf("%w: its values are in %q, but Krun requires seconds", ErrFormat, c.Unit)
	}
	return times, nil
}

func total(e *dataset.Execution) float64 {
	sum := 0.0
	if c, ok := e.Column(dataset.Wall, dataset.NoCore); ok {
		values, unit := c.Floats()
		for _, v := range values {
			if unit == dataset.Seconds && !math.IsNaN(v) && !math.IsInf(v, 0) {
				sum += v
			}
		}
	}
	return sum
}

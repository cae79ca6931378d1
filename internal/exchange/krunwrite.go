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
	if err != nil {
		return fmt.Errorf("write Krun results: %w", err)
	}
	b := bufio.NewWriterSize(packer, 1<<16)
	k := krunWriter{b: b}
	if err := k.file(d, config); err != nil {
		return fmt.Errorf("write Krun results: %w", err)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write Krun results: %w", err)
	}
	if err := packer.Close(); err != nil {
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
	k.b.WriteString("{")
	k.counts("aperf_counts", dataset.APERF)
	fmt.Fprintf(k.b, " \"audit\": {\n  \"uname\": %s\n },\n \"config\": %s,\n",
		jsonString("krund "+cmp.Or(strings.Join(strings.Fields(d.Machine), "_"),
			"unknown")), jsonString(config))
	k.counts("core_cycle_counts", dataset.CoreCycles)
	fmt.Fprintf(k.b, " \"error_flag\": %t,\n", failed)
	eta := k.member("eta_estimates", func(e *dataset.Execution) error {
		k.b.WriteString(strconv.FormatFloat(total(e), 'g', -1, 64))
		return nil
	})
	k.b.WriteString(",\n")
	k.counts("mperf_counts", dataset.MPERF)
	flags := k.member("pexec_flags", func(e *dataset.Execution) error {
		k.b.WriteString(jsonString(krunFlag(e)))
		return nil
	})
	k.b.WriteString(",\n")
	times := k.member("wallclock_times", k.wall)
	k.b.WriteString("\n}\n")
	return errors.Join(eta, flags, times)
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

// member writes an object that maps each key to a list with an element per execution.
func (k *krunWriter) member(name string, execution func(*dataset.Execution) error) error {
	fmt.Fprintf(k.b, " %s: {", jsonString(name))
	for i, p := range k.pairs {
		if i > 0 {
			k.b.WriteString(",")
		}
		fmt.Fprintf(k.b, "\n  %s: [", jsonString(p.key))
		for j, e := range p.executions {
			if j > 0 {
				k.b.WriteString(",\n   ")
			}
			if err := execution(e); err != nil {
				return fmt.Errorf("%s: execution %d: %w", p.key, e.Number, err)
			}
		}
		k.b.WriteString("]")
	}
	k.b.WriteString("\n }")
	return nil
}

// counts writes a counter as lists per core.
func (k *krunWriter) counts(name, column string) {
	k.b.WriteString("\n")
	_ = k.member(name, func(e *dataset.Execution) error { // the callback returns no errors
		k.b.WriteString("[")
		if krunFlag(e) == "C" {
			for i, c := range e.Cores(column) {
				if i > 0 {
					k.b.WriteString(",\n    ")
				}
				k.list(len(c.Counts), func(buf []byte, i int) []byte {
					return strconv.AppendUint(buf,
						c.Counts[i], 10)
				})
			}
		}
		k.b.WriteString("]")
		return nil
	})
	k.b.WriteString(",\n")
}

// wall writes an execution's times in seconds, or none for a failed one.
func (k *krunWriter) wall(e *dataset.Execution) error {
	c, ok := e.Column(dataset.Wall, dataset.NoCore)
	if !ok || krunFlag(e) != "C" {
		k.b.WriteString("[]")
		return nil
	}
	switch {
	case c.Unit == dataset.Nanoseconds && c.Ints != nil:
		if slices.Contains(c.Ints, dataset.MissingInt) {
			return fmt.Errorf("%w: an iteration has no time", ErrFormat)
		}
		k.list(len(c.Ints), func(buf []byte, i int) []byte { return append(buf, secondsText(c.Ints[i])...) })
	case c.Unit == dataset.Seconds && c.Ints == nil && c.Counts == nil:
		for _, v := range c.Reals {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%w: an iteration took %v s, which JSON cannot represent", ErrFormat, v)
			}
		}
		k.list(len(c.Reals), func(buf []byte, i int) []byte {
			return strconv.AppendFloat(buf, c.Reals[i], 'g',
				-1, 64)
		})
	default:
		return fmt.Errorf("%w: its values are in %q, but Krun requires seconds", ErrFormat, c.Unit)
	}
	return nil
}

func (k *krunWriter) list(n int, value func([]byte, int) []byte) {
	var buf [40]byte
	k.b.WriteByte('[')
	for i := range n {
		if i > 0 {
			k.b.WriteString(", ")
		}
		k.b.Write(value(buf[:0], i))
	}
	k.b.WriteByte(']')
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

func jsonString(s string) string {
	text, err := json.Marshal(strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		return `""` // strings have no errors
	}
	return string(text)
}

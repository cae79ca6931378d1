package exchange

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/optimize"
)

// FormatUOpTime is dataset.Info.Format of µOpTime's result files.
const FormatUOpTime = "µOpTime CSV"

// The columns of µOpTime's result files. Other columns may occur between them.
var uoptimeColumns = []string{"b_name", "ir_pos", "sr_pos", "it_pos", "bed_pos", "ns_per_op"}

// mostRepetitions is the maximum plausible number of repetitions of a level; a larger number is a
// mistake.
const mostRepetitions = 1_000_000

// IsUOpTime reports from the beginning of a file whether it is meant as a result file of µOpTime:
// its header has one of the two columns that are unique to µOpTime. ReadUOpTime reports missing
// columns.
func IsUOpTime(head []byte) bool {
	in := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(head, []byte(byteOrderMark))))
	columns, err := in.Read()
	return err == nil && (slices.Contains(columns, uoptimeColumns[0]) || slices.Contains(columns,
		uoptimeColumns[5]))
}

// ReadUOpTime reads a result file of µOpTime's benchmark runner (Japke et al.,
// TOSEM 2025): a CSV table with a row for each second that a Go benchmark was
// run, its name (b_name), the positions, from 1, of the instance (ir_pos), suite
// run (sr_pos), iteration (it_pos) and second (bed_pos), and the nanoseconds per
// operation (ns_per_op). Benchmarks keep their order; the full configuration of
// all of them is the largest position that occurs on each level. Positions that
// occur twice are kept, with a warning. The errors wrap ErrFormat and name the
// line, or are those of r.
func ReadUOpTime(r io.Reader) (*optimize.Suite, error) {
	t, err := newTable(r, "µOpTime results")
	if err != nil {
		return nil, err
	}
	at, err := t.columns("a result file of µOpTime begins with "+strings.Join(uoptimeColumns, ","),
		uoptimeColumns...)
	if err != nil {
		return nil, err
	}
	u := uoptimeReader{at: at, index: map[string]int{}, seen: map[uoptimePlace]bool{},
		full: optimize.Position{1, 1, 1}}
	if err := t.each(u.row); err != nil {
		return nil, err
	}
	return u.suite()
}

type uoptimePlace struct {
	benchmark int
	instance  int32
	at        optimize.Position
}

type uoptimeReader struct {
	at         map[string]int // of the columns
	index      map[string]int
	benchmarks []optimize.Benchmark
	seen       map[uoptimePlace]bool
	full       optimize.Position
}

func (u *uoptimeReader) row(record []string) error {
	var positions [4]int32
	for i := range positions {
		text := record[u.at[uoptimeColumns[i+1]]]
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 1 || n > mostRepetitions {
			return fmt.Errorf("%s %q is not a position; positions count from 1", uoptimeColumns[i+1], text)
		}
		positions[i] = int32(n)
	}
	text := record[u.at["ns_per_op"]]
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value >= 0) || math.IsInf(value, 0) {
		return fmt.Errorf("ns_per_op %q is not a time; remove rows of failed runs", text)
	}
	name := record[u.at["b_name"]]
	if name == "" {
		return errors.New("b_name is empty")
	}
	if err := tooLong("benchmark", name); err != nil {
		return err
	}
	i, known := u.index[name]
	if !known {
		name = strings.Clone(name)
		i = len(u.benchmarks)
		u.index[name] = i
		u.benchmarks = append(u.benchmarks, optimize.Benchmark{Name: name, Seconds: 1})
	}
	b := &u.benchmarks[i]
	place := uoptimePlace{i, positions[0], optimize.Position(positions[1:])}
	if u.seen[place] && len(b.Warnings) == 0 {
		b.Warnings = append(b.Warnings, fmt.Sprintf("instance %d, suite run %d, iteration %d, second %d "+
			"was measured twice; all values count", positions[0], positions[1], positions[2], positions[3]))
	}
	u.seen[place] = true
	b.Rows = append(b.Rows, optimize.Row{Instance: place.instance, At: place.at, Value: value})
	for k := range u.full {
		u.full[k] = max(u.full[k], place.at[k])
	}
	return nil
}

func (u *uoptimeReader) suite() (*optimize.Suite, error) {
	if len(u.benchmarks) == 0 {
		return nil, fmt.Errorf("read µOpTime results: %w: there are no rows below the head", ErrFormat)
	}
	for i := range u.benchmarks {
		u.benchmarks[i].Full = u.full
	}
	return &optimize.Suite{
		Info: dataset.Info{Format: FormatUOpTime},
		Unit: "ns",
		Levels: []optimize.Level{optimize.SuiteRuns(), {Name: "iterations"},
			{Name: "seconds", Duration: true}},
		Benchmarks: u.benchmarks,
	}, nil
}

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
	"krund/internal/analysis/history"
	"krund/internal/analysis/optimize"
	"krund/internal/durable"
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

// SteadyState is an annotation of a fork, in the format of Traini et al. (EMSE 2023): where its
// steady state begins, and where a technique ended warm-up.
type SteadyState struct {
	Benchmark string
	Number    int // of the execution, from 1
	Steady    bool
	Start     int     // first steady iteration, from 0
	Technique string  // "" if the row is about none
	Seconds   float64 // error of the technique's end of warm-up; negative: too early
	Low, High float64 // interval of the ratio of the technique's result to the steady one
}

// mostAnnotations limits the number of rows of a file of annotations.
const mostAnnotations = 5_000_000

// ReadSteadyStates reads a CSV table with the columns benchmark, fork (from 0), classification
// ("steady state" or another) and steady_state_starts (from 0), and for the rows of techniques
// technique, timewaste (seconds) and interval ("(low, high)"). Other columns may occur. The errors
// wrap ErrFormat and name the line, or are those of r.
func ReadSteadyStates(r io.Reader) ([]SteadyState, error) {
	t, err := newTable(r, "the annotations")
	if err != nil {
		return nil, err
	}
	required := []string{"benchmark", "fork", "classification", "steady_state_starts"}
	at, err := t.columns("needed are "+strings.Join(required, ", "), required...)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"technique", "timewaste", "interval"} {
		at[name] = slices.Index(t.head, name)
	}
	var list []SteadyState
	err = t.each(func(row []string) error {
		s, err := steadyStateOf(row, at)
		if err == nil && len(list) == mostAnnotations {
			err = fmt.Errorf("there are more than %d rows", mostAnnotations)
		}
		list = append(list, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// steadyStateOf parses a row. at has the indexes of the columns; -1 if there is none.
func steadyStateOf(row []string, at map[string]int) (s SteadyState, err error) {
	s.Benchmark = strings.Clone(row[at["benchmark"]])
	if err := tooLong("benchmark", s.Benchmark); err != nil {
		return s, err
	}
	fork, err := strconv.Atoi(row[at["fork"]])
	if err != nil || fork < 0 || fork >= mostRepetitions {
		return s, fmt.Errorf("fork %q is not a number; forks count from 0", row[at["fork"]])
	}
	s.Number = fork + 1
	if s.Steady = row[at["classification"]] == "steady state"; s.Steady {
		text := row[at["steady_state_starts"]]
		if s.Start, err = strconv.Atoi(text); err != nil || s.Start < 0 || s.Start > math.MaxInt32 {
			return s, fmt.Errorf("steady_state_starts %q is not a number of iterations", text)
		}
	}
	if at["technique"] < 0 || at["timewaste"] < 0 || at["interval"] < 0 {
		return s, nil
	}
	s.Technique = strings.Clone(row[at["technique"]])
	if s.Seconds, err = finite(row[at["timewaste"]]); err != nil {
		return s, fmt.Errorf("timewaste %w", err)
	}
	low, high, found := strings.Cut(strings.Trim(row[at["interval"]], "() "), ",")
	if s.Low, err = finite(low); err != nil || !found {
		return s, fmt.Errorf("interval %q is not (low, high)", row[at["interval"]])
	}
	if s.High, err = finite(strings.TrimSpace(high)); err != nil {
		return s, fmt.Errorf("interval %w", err)
	}
	return s, nil
}

func finite(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return v, nil
}

// ReadSteadyStatesFile reads the named file with ReadSteadyStates.
func ReadSteadyStatesFile(name string) ([]SteadyState, error) {
	return readNamed(name, "the annotations",
		func(f durable.File) ([]SteadyState, error) { return ReadSteadyStates(f) })
}

// NightColumns are those of the table of nights: a time of a key in a version on a machine, the
// oldest version first. Several of a key and version are its executions. revision and machine may
// be empty.
var NightColumns = strings.Split(nightHeader, ",")

const nightHeader = "version,revision,machine,key,value,unit"

// ReadHistory reads what a history is made from: history.Values as JSON, or a table of nights. is
// reports whether the text is either. The error wraps ErrFormat.
func ReadHistory(text []byte) (v history.Values, is bool, err error) {
	if !bytes.HasPrefix(bytes.TrimPrefix(text, []byte(byteOrderMark)), []byte(nightHeader)) {
		return history.ParseValues(text)
	}
	const most = 1 << 23 // versions times keys
	names := gatherer{vm: "default", names: map[string]*namer{}}
	v.Unit = dataset.Seconds
	versions, keys := map[string]int{}, map[[2]string]int{}
	err = eachRow(bytes.NewReader(text), NightColumns, func(cells []string) error {
		for i := range cells {
			cells[i] = strings.Clone(cells[i])
		}
		value, err := strconv.ParseFloat(cells[4], 64)
		if err != nil {
			return fmt.Errorf("%.40q is not a value", cells[4])
		}
		times, isTime := inSeconds([]float64{value}, cells[5])
		at, ok := versions[cells[0]]
		switch {
		case cells[0] == "" || cells[3] == "":
			return errors.New("there is no version or no key")
		case !isTime:
			return fmt.Errorf("%.20q is no unit of time, such as s, ms or ns", cells[5])
		case !ok:
			at = len(v.Versions)
			versions[cells[0]] = at
			version := history.Version{Label: cells[0], Source: history.SourceName, Revision: cells[1]}
			if cells[1] != "" {
				version.Source = history.SourceRevision
			}
			v.Versions = append(v.Versions, version)
		case v.Versions[at].Revision != cells[1]:
			return fmt.Errorf("version %.40q is of revision %.40q, and was of %.40q: give each night of a "+
				"revision a version of its own, such as its date", cells[0], cells[1],
				v.Versions[at].Revision)
		}
		id := [2]string{cells[3], cells[2]}
		k, ok := keys[id]
		if !ok {
			k = len(v.Keys)
			keys[id] = k
			v.Keys = append(v.Keys, history.Key{Name: names.key(place{benchmark: cells[3]}).String(),
				Machine: cells[2]})
		}
		if len(v.Versions)*len(v.Keys) > most {
			return fmt.Errorf("there are more than %d keys times versions", most)
		}
		of := &v.Keys[k]
		of.Values = append(of.Values, make([][]float64, max(0, at+1-len(of.Values)))...)
		of.Values[at] = append(of.Values[at], times...)
		return nil
	})
	if err == nil && len(v.Keys) == 0 {
		err = fmt.Errorf("%w: the table has no values", ErrFormat)
	}
	for i := range v.Keys {
		k := &v.Keys[i]
		k.Values = append(k.Values, make([][]float64, len(v.Versions)-len(k.Values))...)
	}
	return v, err == nil, err
}

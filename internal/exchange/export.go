package exchange

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"sort"
	"strconv"
	"strings"

	"krund/internal/display"
	"krund/internal/experiment/results"
)

// columnID distinguishes series: a counter and a user column may share a name.
type columnID struct {
	kind results.Kind
	name string // including the core
}

func idOf(c results.Column) columnID { return columnID{c.Kind, c.Label()} }

// NewLongExport returns a table with a row for each iteration. It reads all records once to
// determine the columns, because machines with different numbers of processors may have
// contributed. The error names a requested column that no record has.
func NewLongExport(records iter.Seq[results.Record], o ExportOptions) (*Export, error) {
	x := newExport(records, o, "iteration", "start_ns", "wall_ns", "wall_s")
	at := make(map[columnID]int) // index in heads
	wanted := make(map[string]bool)
	for _, name := range o.Columns {
		wanted[name] = false
	}
	for rec := range records {
		for _, c := range rec.Columns {
			name := c.Label()
			if _, ok := wanted[name]; len(o.Columns) > 0 && !ok {
				continue
			}
			wanted[name] = true
			if _, ok := at[idOf(c)]; !ok {
				at[idOf(c)] = len(x.heads)
				for slices.Contains(x.heads, name) { // of another kind
					name = string(c.Kind) + "_" + name
				}
				x.heads = append(x.heads, name)
			}
		}
	}
	for _, name := range o.Columns {
		if !wanted[name] {
			return nil, fmt.Errorf(
				"no record has a column %q; `krunctl show` lists the columns of a record", name)
		}
	}
	x.rows = func(r *results.Record, add func([]string) error) error { return x.iterations(r, at, add) }
	return x, nil
}

// iterations passes the rows of the long form to add; at is the index of each series in heads.
func (x *Export) iterations(r *results.Record, at map[columnID]int, add func([]string) error) error {
	cells := make([]string, len(x.heads))
	own := cells[copy(cells, x.same(r)):]
	for i := x.options.From; i < min(x.options.To, len(r.WallNS)); i++ {
		clear(own)
		own[0] = strconv.Itoa(i)
		if i < len(r.StartNS) {
			own[1] = strconv.FormatInt(r.StartNS[i], 10)
		}
		own[2], own[3] = strconv.FormatInt(r.WallNS[i], 10), secondsText(r.WallNS[i])
		for _, c := range r.Columns {
			if j, ok := at[idOf(c)]; ok {
				cells[j] = c.Text(i)
			}
		}
		if err := add(cells); err != nil {
			return err
		}
	}
	return nil
}

// NewEventsExport returns a table with a row for each event of records.
func NewEventsExport(records iter.Seq[results.Record], o ExportOptions) *Export {
	x := newExport(records, o, "iteration", "kind", "name", "time_ns", "duration_ns", "argument")
	x.rows = func(r *results.Record, add func([]string) error) error {
		same := x.same(r)
		for _, e := range r.Events {
			argument := ""
			if e.Argument != nil {
				argument = strconv.FormatInt(*e.Argument, 10)
			}
			cells := append(same[:len(same):len(same)], iterationAt(r, e.TimeNS),
				display.PlainLine(e.Kind), display.PlainLine(e.Name),
				strconv.FormatInt(e.TimeNS, 10), strconv.FormatInt(e.DurationNS, 10), argument)
			if err := add(cells); err != nil {
				return err
			}
		}
		return nil
	}
	return x
}

// iterationAt returns the number of the iteration that ran at a time; "" if none did.
func iterationAt(r *results.Record, ns int64) string {
	i := sort.Search(len(r.StartNS), func(i int) bool { return r.StartNS[i] > ns }) - 1
	if i < 0 || i >= len(r.WallNS) || ns-r.StartNS[i] >= r.WallNS[i] {
		return ""
	}
	return strconv.Itoa(i)
}

// NewExecutionsExport returns a table with a row for each process execution. It reads all records
// once to determine the columns.
func NewExecutionsExport(records iter.Seq[results.Record], o ExportOptions) *Export {
	x := newExport(records, o, "iterations", "process_wall_ns", "utime_ns", "stime_ns", "maxrss_bytes",
		"exec_to_init_ns", "exec_to_first_ns", "daemon_cpu_ns", "daemon_wake_ups", "kernel_threads_cpu_ns")
	for rec := range records {
		for _, v := range executionValues(&rec) {
			if !slices.Contains(x.heads, v.head) {
				x.heads = append(x.heads, v.head)
			}
		}
	}
	x.rows = func(r *results.Record, add func([]string) error) error {
		cells := make([]string, len(x.heads))
		copy(cells, append(x.same(r), executionCells(r)...))
		for _, v := range executionValues(r) {
			if at := slices.Index(x.heads, v.head); at >= x.fixed {
				cells[at] = v.text
			}
		}
		return add(cells)
	}
	return x
}

// executionCells are the values common to all experiments; "" is unknown.
func executionCells(r *results.Record) []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	known := func(n *int64) string {
		if n == nil {
			return ""
		}
		return number(*n)
	}
	since := func(stamp *int64) string {
		if stamp == nil || r.Startup.ExecNS == nil {
			return ""
		}
		return number(*stamp - *r.Startup.ExecNS)
	}
	kernel := ""
	if k := r.Daemon.KernelThreads; k != nil {
		kernel = number(k.Benchmark.CPUNS)
	}
	p := r.Process
	return []string{strconv.Itoa(len(r.WallNS)), number(p.WallNS), number(p.UTimeNS), number(p.STimeNS),
		number(p.MaxRSSBytes), since(r.Startup.InitNS), since(r.Startup.FirstNS), number(r.Daemon.CPUNS),
		known(r.Daemon.WakeUps), kernel}
}

// executionValue is a value that only some machines record.
type executionValue struct{ head, text string }

// executionValues are the counters read around the whole execution, and the energy it used; "" is
// missing.
func executionValues(r *results.Record) []executionValue {
	text := func(n *uint64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatUint(*n, 10)
	}
	var list []executionValue
	for _, t := range r.Totals {
		list = append(list,
			executionValue{"total_" + results.Column{Name: t.Name, Core: t.Core}.Label(), text(t.Value)})
	}
	for _, e := range r.Energy {
		list = append(list, executionValue{"energy_uj_" + e.Name + "_" + e.Zone, text(e.UJ)})
	}
	return list
}

// ExportOptions select the part of an experiment to export.
type ExportOptions struct {
	Outcome bool     // add a column with the outcome of the record
	Columns []string // labels of the series; none: all
	From    int      // iterations [From, To)
	To      int
	JSON    bool // JSON lines instead of CSV
}

// Export is a table of an experiment, made record by record while it is written.
type Export struct {
	records iter.Seq[results.Record]
	options ExportOptions
	arms    bool // the keys have arms
	heads   []string
	fixed   int // number of columns common to all experiments
	// rows passes the rows of a record to add, which does not keep them.
	rows func(r *results.Record, add func(cells []string) error) error
}

// newExport returns a table without rows; own are the columns after those that identify a record.
func newExport(records iter.Seq[results.Record], o ExportOptions, own ...string) *Export {
	x := &Export{records: records, options: o, arms: haveArms(records)}
	x.heads = append(recordHeads(o.Outcome, x.arms), own...)
	x.fixed = len(x.heads)
	return x
}

// same returns the cells that identify a record.
func (x *Export) same(r *results.Record) []string { return recordCells(r, x.options.Outcome, x.arms) }

// Write writes the table.
func (x *Export) Write(w io.Writer) error {
	out, err := newRows(w, x.options.JSON, x.heads, x.fixed)
	if err != nil {
		return err
	}
	for rec := range x.records {
		if err := x.rows(&rec, out.Write); err != nil {
			return err
		}
	}
	return out.Flush()
}

// recordHeads are the columns that identify a record.
func recordHeads(outcome, arms bool) []string {
	heads := []string{"benchmark", "vm", "variant"}
	if arms {
		heads = append(heads, "arm")
	}
	heads = append(heads, "pexec", "slot", "attempt")
	if outcome {
		heads = append(heads, "outcome")
	}
	return heads
}

// recordCells are the values under recordHeads.
func recordCells(r *results.Record, outcome, arms bool) []string {
	cells := []string{r.Key.Benchmark, r.Key.VM, r.Key.Variant}
	if arms {
		cells = append(cells, r.Key.Arm)
	}
	cells = append(cells, strconv.Itoa(r.Pexec), strconv.Itoa(r.Slot), strconv.Itoa(r.Attempt))
	if outcome {
		cells = append(cells, string(r.Outcome))
	}
	return cells
}

// haveArms reports whether the keys of an experiment have arms: all of them, or none.
func haveArms(records iter.Seq[results.Record]) bool {
	for rec := range records {
		return rec.Key.Arm != ""
	}
	return false
}

// rowWriter takes the cells of a row, in the order of the columns; "" is missing.
type rowWriter interface {
	Write(cells []string) error
	Flush() error
}

// newRows returns a writer of the table as CSV or as JSON lines. fixed is the number of columns
// that are not series.
func newRows(w io.Writer, jsonLines bool, heads []string, fixed int) (rowWriter, error) {
	if jsonLines {
		return &jsonRows{w: w, heads: heads, fixed: fixed}, nil
	}
	rows := display.NewCSV(w)
	return rows, rows.Write(heads)
}

// jsonRows writes an object per row. All cells except names are numbers; missing ones are null.
type jsonRows struct {
	w     io.Writer
	heads []string
	fixed int // number of columns that are not series
}

func (j *jsonRows) Write(cells []string) error {
	var b strings.Builder
	for i, value := range cells {
		name, err := json.Marshal(j.heads[i])
		if err != nil {
			return err
		}
		switch {
		case i < j.fixed && textHeads[j.heads[i]]:
			quoted, err := json.Marshal(value)
			if err != nil {
				return err
			}
			value = string(quoted)
		case value == "":
			value = "null"
		}
		fmt.Fprintf(&b, ",%s:%s", name, value)
	}
	_, err := fmt.Fprintf(j.w, "{%s}\n", b.String()[1:])
	return err
}

func (j *jsonRows) Flush() error { return nil }

var textHeads = map[string]bool{"benchmark": true, "vm": true, "variant": true, "arm": true,
	"outcome": true, "kind": true, "name": true}

// secondsText writes nanoseconds as seconds, exactly: "0.000012345".
func secondsText(ns int64) string {
	sign, abs := "", uint64(ns)
	if ns < 0 {
		sign, abs = "-", -uint64(ns)
	}
	return fmt.Sprintf("%s%d.%09d", sign, abs/1e9, abs%1e9)
}

// ParseIterations reads "FROM-TO", "FROM-" or "N" as the iterations from from to before too.
func ParseIterations(s string) (from, too int, err error) {
	const all = int(^uint(0) >> 1)
	if s == "" {
		return 0, all, nil
	}
	first, last, isRange := strings.Cut(s, "-")
	from, err = strconv.Atoi(first)
	if err != nil || from < 0 {
		return 0, 0, fmt.Errorf(
			"--iterations must be FROM-TO, such as 0-99, FROM-, or one number, not %q", s)
	}
	switch {
	case !isRange:
		return from, from + 1, nil
	case last == "":
		return from, all, nil
	}
	to, err := strconv.Atoi(last)
	if err != nil || to < from || to == all {
		return 0, 0, fmt.Errorf("--iterations %q: TO must not be before FROM", s)
	}
	return from, to + 1, nil
}

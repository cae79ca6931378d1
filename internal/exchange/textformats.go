package exchange

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/durable"
	"krund/internal/experiment/results"
)

// divanLine is a result of divan 0.1: a name in a tree, then the columns fastest, slowest, median
// and mean, each a number and a unit.
var divanLine = regexp.MustCompile(
	`^([│ ]*)[├╰]─ (\S.*?)  +[0-9.]+ [nµm]?s +│ [0-9.]+ [nµm]?s +│ [0-9.]+ [nµm]?s +│ ([0-9.]+) ([nµm]?s)`)

// divanGroup is a line without a result.
var divanGroup = regexp.MustCompile(`^([│ ]*)[├╰]─ (\S+)`)

func readDivan(in io.Reader, g *gatherer) error {
	runs := map[string]int{}
	var path []string // of the groups
	return eachLine(in, func(line string) error {
		m := divanLine.FindStringSubmatch(line)
		group := divanGroup.FindStringSubmatch(line)
		if group == nil {
			path = nil
			return nil
		}
		depth := len([]rune(group[1])) / 3
		path = append(path[:min(depth, len(path))], group[2])
		if m == nil {
			return nil
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return err
		}
		path[len(path)-1] = strings.TrimSpace(m[2])
		name := strings.Join(path, "/")
		runs[name]++
		unit := strings.Replace(m[4], "µ", "u", 1)
		return g.add(place{benchmark: name, execution: runs[name], unit: unit}, value)
	})
}

// eachLine calls read for each line; errors name the line and wrap ErrFormat.
func eachLine(in io.Reader, read func(line string) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if err := read(lines.Text()); err != nil {
			return fmt.Errorf("%w: line %d: %w", ErrFormat, n, err)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%w: %w", ErrFormat, lines.Err())
	}
	return lines.Err()
}

// readReBench reads a data file of ReBench 1.0 or later: lines of invocation, iteration, value,
// unit, criterion, benchmark, executor, suite, extra arguments, cores, input size and variable
// value, separated by tabs. The criterion total counts; an invocation is a process execution, the
// executor the VM. The benchmark is named after all else that is not empty, and after its suite if
// another suite has the same name.
func readReBench(in io.Reader, g *gatherer) error {
	const fewest, suite, machine = 7, 0, 5 // the latter after the fewest
	first := map[string]string{}           // the cells of each name
	return eachLine(in, func(line string) error {
		cells := strings.Split(line, "\t")
		if strings.HasPrefix(line, "#") || len(cells) < fewest || cells[0] == "invocation" ||
			cells[4] != "total" {
			return nil
		}
		execution, err := strconv.Atoi(cells[0])
		if err != nil {
			return fmt.Errorf("%.40q is not an invocation", cells[0])
		}
		value, err := strconv.ParseFloat(cells[2], 64)
		if err != nil {
			return fmt.Errorf("%.40q is not a value", cells[2])
		}
		cells = slices.Concat(cells, make([]string, fewest)) // the last ones may be left out
		name, of := cells[5], strings.Join(cells[5:fewest+machine], "\t")
		for i, cell := range cells[fewest:] {
			if cell != "" && cell != "None" && i != suite && i < machine {
				name += "-" + cell
			}
		}
		id := name + "\t" + cells[6]
		if first[id] == "" {
			first[id] = of
		}
		if first[id] != of {
			name = cmp.Or(cells[fewest+suite], "none") + "-" + name
		}
		return g.add(place{benchmark: name, vm: cells[6], execution: execution, unit: cells[3],
			also: of + ": "}, value)
	})
}

// readHyperfineCSV reads hyperfine's --export-csv, in seconds: the mean of a command is one
// execution.
func readHyperfineCSV(in io.Reader, g *gatherer) error {
	return eachRow(in, hyperfineColumns, func(cells []string) error {
		value, err := strconv.ParseFloat(cells[1], 64)
		if err != nil {
			return fmt.Errorf("%.40q is not a time", cells[1])
		}
		return g.add(place{benchmark: cells[0], execution: 1, unit: "s"}, value)
	})
}

// eachRow calls read for each row of a table whose header begins with the columns.
func eachRow(in io.Reader, columns []string, read func(cells []string) error) error {
	t, err := newTable(in, "the table")
	if err != nil {
		return err
	}
	if len(t.head) < len(columns) || !slices.Equal(t.head[:len(columns)], columns) {
		return t.wrong(fmt.Errorf("the header does not begin with %s", strings.Join(columns, ",")))
	}
	return t.each(read)
}

// readPlain reads the plain CSV. The iterations of an execution follow each other.
func readPlain(in io.Reader, g *gatherer) error {
	last := map[string]int{}
	return eachRow(in, PlainColumns, func(cells []string) error {
		execution, err := strconv.Atoi(cells[1])
		if err != nil {
			return fmt.Errorf("execution %.40q is not a number", cells[1])
		}
		iteration, err := strconv.Atoi(cells[2])
		if err != nil {
			return fmt.Errorf("iteration %.40q is not a number", cells[2])
		}
		value, err := strconv.ParseFloat(cells[3], 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("%.40q is not a value", cells[3])
		}
		place := place{benchmark: strings.Clone(cells[0]), execution: execution,
			unit: strings.Clone(cells[4])}
		id := place.benchmark + "\x00" + cells[1]
		if before, ok := last[id]; ok && iteration <= before {
			return fmt.Errorf("iteration %d of execution %d of %.40q follows iteration %d", iteration,
				execution, cells[0], before)
		}
		last[id] = iteration
		return g.add(place, value)
	})
}

// WritePlain writes the wall times of all completed executions as the plain CSV. Missing values are
// left out; times are in nanoseconds or seconds, exactly as they are.
func WritePlain(w io.Writer, d *dataset.Dataset) error {
	out := csv.NewWriter(w)
	_ = out.Write(PlainColumns) // Flush reports it
	for _, p := range d.Pairs {
		for i := range p.Executions {
			e := &p.Executions[i]
			wall, ok := e.Column(dataset.Wall, dataset.NoCore)
			if !ok || e.Outcome != results.Completed && e.Outcome != "" {
				continue
			}
			for j := range wall.Len() {
				if value := valueText(wall, j); value != "" {
					_ = out.Write([]string{p.Key.String(), strconv.Itoa(e.Number), strconv.Itoa(j),
						value, wall.Unit})
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

// byteOrderMark is the UTF-8 byte order mark, which some programs write.
const byteOrderMark = "\ufeff"

// table is a CSV table with a header. Its errors wrap ErrFormat unless the file cannot be read.
type table struct {
	in   *csv.Reader
	what string // it is about, for errors
	head []string
}

func newTable(r io.Reader, what string) (*table, error) {
	t := &table{in: csv.NewReader(r), what: what}
	head, err := t.in.Read()
	if errors.Is(err, io.EOF) {
		return nil, t.wrong(errors.New("no table: the file is empty"))
	}
	if err != nil {
		return nil, t.unread(err)
	}
	head[0] = strings.TrimPrefix(head[0], byteOrderMark)
	t.head, t.in.ReuseRecord = head, true
	return t, nil
}

// columns returns the indexes of columns. It says hint if one is missing.
func (t *table) columns(hint string, names ...string) (map[string]int, error) {
	at := map[string]int{}
	for _, name := range names {
		if at[name] = slices.Index(t.head, name); at[name] < 0 {
			return nil, t.wrong(fmt.Errorf("line 1: there is no column %s; %s", name, hint))
		}
	}
	return at, nil
}

// each calls row with the cells of each line, which are valid until it returns.
func (t *table) each(row func(cells []string) error) error {
	for {
		cells, err := t.in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return t.unread(err)
		}
		if err := row(cells); err != nil {
			line, _ := t.in.FieldPos(0)
			return t.wrong(fmt.Errorf("line %d: %w", line, err))
		}
	}
}

// unread distinguishes an error of the table from one of reading the file.
func (t *table) unread(err error) error {
	if _, ok := errors.AsType[*csv.ParseError](err); ok {
		return t.wrong(err)
	}
	return fmt.Errorf("read %s: %w", t.what, err)
}

func (t *table) wrong(err error) error { return fmt.Errorf("read %s: %w: %w", t.what, ErrFormat, err) }

// readNamed opens a file for read, and adds its name to the errors of read.
func readNamed[T any](name, what string, read func(durable.File) (T, error)) (value T, err error) {
	file, err := durable.OpenUserFile(name)
	if err != nil {
		return value, fmt.Errorf("read %s: %w", what, err)
	}
	defer func() {
		if closed := file.Close(); err == nil {
			err = closed
		}
	}()
	if value, err = read(file); err != nil {
		return value, fmt.Errorf("%s: %w", name, err)
	}
	return value, nil
}

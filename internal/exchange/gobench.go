package exchange

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// goPrefix begins the names that WriteGo writes, which are made of the parts of the key.
const goPrefix = "Krund/benchmark="

// readGo reads Go's benchmark format (golang.org/design/14313-benchmark-format): the output of `go
// test -bench` and of WriteGo. A line is an iteration, whose time is the mean over b.N calls; the
// lines of one test binary (up to "PASS", "ok" or the next "goos:" or "pexec:") are a process
// execution. ns/op becomes seconds; each other unit becomes a column. Other lines are skipped.
func readGo(in io.Reader, to *gatherer) error {
	g := goReader{d: to.d, names: newNamer(to.options, to.vm)}
	err := eachLine(in, g.line)
	g.flush()
	return err
}

type goReader struct {
	d     *dataset.Dataset
	names *namer
	pkg   string
	order []key.Key
	open  map[key.Key]*goRun
}

// goRun holds the measurements of one benchmark in one execution.
type goRun struct {
	units  []string
	values map[string][]float64
	n      int
}

func (g *goReader) line(s string) error {
	fields := strings.Fields(s)
	if len(fields) == 0 {
		return nil
	}
	switch {
	case fields[0] == "PASS", fields[0] == "FAIL", fields[0] == "ok":
		g.flush()
	case fields[0] == "goos:" || fields[0] == "pexec:":
		g.flush()
	case fields[0] == "pkg:" && len(fields) > 1:
		g.flush()
		g.pkg = fields[1]
	case strings.HasPrefix(fields[0], "Benchmark") && len(fields) >= 4 && len(fields)%2 == 0:
		if n, err := strconv.ParseInt(fields[1], 10, 64); err != nil || n < 1 {
			return nil // text that begins like a result
		}
		return g.result(strings.TrimPrefix(fields[0], "Benchmark"), fields[2:])
	}
	return nil
}

func (g *goReader) result(name string, pairs []string) error {
	k := g.key(name)
	if g.open == nil {
		g.open = map[key.Key]*goRun{}
	}
	run := g.open[k]
	if run == nil {
		run = &goRun{values: map[string][]float64{}}
		g.open[k] = run
		g.order = append(g.order, k)
	}
	for i := 0; i < len(pairs); i += 2 {
		v, err := strconv.ParseFloat(pairs[i], 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", pairs[i])
		}
		unit := pairs[i+1]
		if err := tooLong("unit", unit); err != nil {
			return err
		}
		list, known := run.values[unit]
		if !known {
			run.units = append(run.units, unit)
		}
		if len(list) > run.n {
			return fmt.Errorf("unit %s occurs twice", unit)
		}
		run.values[unit] = append(gaps(list, run.n), v)
	}
	run.n++
	return nil
}

// gaps extends a list with NaN for iterations without a value.
func gaps(list []float64, n int) []float64 {
	for len(list) < n {
		list = append(list, math.NaN())
	}
	return list
}

// key returns a benchmark's key; for names written by WriteGo, the original one.
func (g *goReader) key(name string) key.Key {
	if rest, ok := strings.CutPrefix(name, goPrefix); ok {
		benchmark, rest, ok := strings.Cut(rest, "/vm=")
		vm, rest, ok2 := strings.Cut(rest, "/variant=")
		variant, arm, _ := strings.Cut(rest, "/arm=")
		if k := (key.Key{Benchmark: benchmark, VM: vm, Variant: variant, Arm: arm}); ok && ok2 {
			if _, err := key.Parse(k.String()); err == nil {
				return k
			}
		}
	}
	if g.pkg != "" {
		name = g.pkg + "." + name
	}
	return g.names.key(name)
}

// flush ends the open executions.
func (g *goReader) flush() {
	for _, k := range g.order {
		run := g.open[k]
		e := dataset.Execution{Outcome: results.Completed}
		for _, unit := range run.units {
			values := gaps(run.values[unit], run.n)
			if unit == "ns/op" {
				e.Columns = append([]dataset.Column{wallOf(values, "ns")}, e.Columns...)
				continue
			}
			e.Columns = append(e.Columns, dataset.Column{Name: unit, Unit: unit, Core: dataset.NoCore,
				Reals: values})
		}
		g.d.Add(k, e)
	}
	g.order, g.open = nil, nil
}

// LinesApart makes each line of Go's benchmark format an execution, if all of a file are from one
// process, as those of one `go test -count 10`. It returns how many executions the key with the
// most of them has now; 0: nothing was changed. What differs from one process to the next is in
// none of them.
func LinesApart(d *dataset.Dataset) (executions int) {
	for _, p := range d.Pairs {
		if d.Format != FormatGo || len(p.Executions) != 1 {
			return 0
		}
		wall, ok := p.Executions[0].Column(dataset.Wall, dataset.NoCore)
		if !ok {
			return 0
		}
		executions = max(executions, wall.Len())
	}
	if executions < 2 {
		return 0
	}
	for i := range d.Pairs {
		all := d.Pairs[i].Executions[0]
		d.Pairs[i].Executions = nil
		wall, _ := all.Column(dataset.Wall, dataset.NoCore)
		for k := range wall.Len() {
			e := all
			e.Number, e.Columns = k+1, nil
			for _, c := range all.Columns {
				c.Reals = c.Reals[k : k+1]
				e.Columns = append(e.Columns, c)
			}
			d.Pairs[i].Executions = append(d.Pairs[i].Executions, e)
		}
	}
	return executions
}

// WriteGo writes the wall times of all completed executions in Go's benchmark format, which
// benchstat reads: a line per iteration with exact ns/op, preceded by the number of the execution
// as "pexec:". Per-core columns are summed, and missing values are left out.
func WriteGo(w io.Writer, d *dataset.Dataset) error {
	b := bufio.NewWriter(w)
	for _, info := range [][2]string{{"experiment", d.Experiment}, {"machine", d.Machine}} {
		if v := strings.Join(strings.Fields(info[1]), " "); v != "" {
			fmt.Fprintf(b, "%s: %s\n", info[0], v)
		}
	}
	for _, p := range d.Pairs {
		for i := range p.Executions {
			e := &p.Executions[i]
			if e.Outcome != results.Completed && e.Outcome != "" {
				continue
			}
			if err := e.Check(); err != nil {
				return fmt.Errorf("write Go benchmarks: %s: %w", p.Key, err)
			}
			wall, ok := e.Column(dataset.Wall, dataset.NoCore)
			if !ok || wall.Len() == 0 {
				continue
			}
			fmt.Fprintf(b, "pexec: %d\n", e.Number)
			writeGoRun(b, p.Key, wall, goColumns(e))
		}
	}
	return b.Flush()
}

// goColumn is a column with a name that is valid as a unit.
type goColumn struct {
	unit   string
	values []float64
}

func goColumns(e *dataset.Execution) []goColumn {
	var list []goColumn
	index := map[string]int{}
	for i := range e.Columns {
		c := &e.Columns[i]
		unit := strings.Join(strings.Fields(c.Name), "_")
		if c.Name == dataset.Wall || unit == "" {
			continue
		}
		values, _ := c.Floats()
		at, ok := index[unit]
		if !ok {
			index[unit] = len(list)
			list = append(list, goColumn{unit, append([]float64(nil), values...)})
			continue
		}
		for j := range values {
			list[at].values[j] += values[j]
		}
	}
	return list
}

func writeGoRun(b *bufio.Writer, k key.Key, wall *dataset.Column, columns []goColumn) {
	name := "Benchmark" + goPrefix + PlainName(k.Benchmark) + "/vm=" + PlainName(k.VM) +
		"/variant=" + PlainName(k.Variant)
	if k.Arm != "" {
		name += "/arm=" + PlainName(k.Arm)
	}
	for i := range wall.Len() {
		value, unit := goWall(wall, i)
		if value == "" {
			continue
		}
		fmt.Fprintf(b, "%s 1 %s %s", name, value, unit)
		for _, c := range columns {
			if v := c.values[i]; !math.IsNaN(v) {
				fmt.Fprintf(b, " %s %s", strconv.FormatFloat(v, 'g', -1, 64), c.unit)
			}
		}
		b.WriteString("\n")
	}
}

// goWall returns an iteration's time in nanoseconds, which Go's tools expect, or its value in
// another unit; "" when it is missing.
func goWall(c *dataset.Column, i int) (value, unit string) {
	switch value = valueText(c, i); {
	case value == "", c.Unit == dataset.Nanoseconds:
		return value, "ns/op"
	case c.Ints == nil && c.Unit == dataset.Seconds:
		return shifted(c.Reals[i]), "ns/op"
	}
	return value, strings.Join(strings.Fields(cmp.Or(c.Unit, "value")), "_")
}

// valueText returns a value of a column, exactly as it is; "" if it is missing.
func valueText(c *dataset.Column, i int) string {
	switch {
	case c.Ints != nil && c.Ints[i] != dataset.MissingInt:
		return strconv.FormatInt(c.Ints[i], 10)
	case c.Reals != nil && !math.IsNaN(c.Reals[i]):
		return strconv.FormatFloat(c.Reals[i], 'g', -1, 64)
	}
	return ""
}

// shifted converts seconds to nanoseconds by moving the decimal point, which preserves every digit.
func shifted(seconds float64) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(seconds, 'e', -1, 64), "e")
	n, err := strconv.Atoi(exponent)
	if err != nil {
		return mantissa // an infinity has no exponent
	}
	const nano = 9
	return mantissa + "e" + fmt.Sprintf("%+03d", n+nano)
}

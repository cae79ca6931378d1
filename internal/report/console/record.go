package console

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"krund/internal/analysis/arith"
	"krund/internal/display"
	"krund/internal/execution/verdict"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/results"
)

// Record writes a record for people: what it says of the outcome and the times, and then every
// other field by its name in the file.
func (out *Console) Record(r results.Record) {
	out.Line("record", "slot %d, attempt %d: %s, process execution %d", r.Slot, r.Attempt, r.Key, r.Pexec)
	out.Line("outcome", "%s", r.Outcome)
	out.list(r.Reasons)
	out.Line("iterations", "%d of %d", len(r.WallNS), r.Iterations)
	if text := wallText(r.WallNS); text != "" {
		out.Line("wall", "%s", text)
	}
	if text := startupText(r.Startup); text != "" {
		out.Line("start-up", "%s", text)
	}
	for _, c := range r.Columns {
		empty := ""
		if c.Empty != nil && *c.Empty > 0 {
			empty = fmt.Sprintf(", %d without work", *c.Empty)
		}
		out.Line("column", "%s, %s, %d values%s%s", c.Label(), c.Kind, c.Len(), empty, inBrackets(c.Unit))
	}
	out.Line("command", "%s", display.ShellJoin(r.Process.Argv))
	out.printOutput("stdout", r.Process.Stdout)
	out.printOutput("stderr", r.Process.Stderr)
	out.printControls(r.Machine.Controls)
	for _, c := range verdict.Changes(r.Machine.Throttle) {
		out.Line(string(c.Kind), "%s: %d before, %d after", c.Name, c.Before, c.After)
	}
	out.print("\n")
	rest := r // without what is said above
	rest.Slot, rest.Attempt, rest.Pexec, rest.Outcome, rest.Reasons, rest.Iterations = 0, 0, 0, "", nil, 0
	rest.Startup, rest.StartNS, rest.WallNS, rest.Columns = results.Startup{}, nil, nil, nil
	rest.Process.Argv, rest.Process.Stdout, rest.Process.Stderr = nil, results.Output{}, results.Output{}
	rest.Machine.Controls, rest.Machine.Throttle = nil, results.Throttle{}
	out.fields("", reflect.ValueOf(rest))
	if err := r.Check(); err != nil {
		out.Line("inconsistent", "%v", err)
	}
}

// mostElements is the maximum number of elements of a list that are printed.
const mostElements = 10

// fields writes the fields of a record that are not empty, each by its path of JSON names, as
// docs/output.md lists them. A struct of single values is one line.
func (out *Console) fields(path string, v reflect.Value) {
	v = reflect.Indirect(v)
	below := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	switch {
	case !v.IsValid():
	case v.Kind() == reflect.Map:
		for _, name := range slices.Sorted(maps.Keys(v.Interface().(map[string]string))) {
			out.field(below(name), v.MapIndex(reflect.ValueOf(name)).String())
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range min(v.Len(), mostElements) {
			out.fields(path, v.Index(i))
		}
		if more := v.Len() - mostElements; more > 0 {
			out.field(path, fmt.Sprintf("%d more; --format json has them", more))
		}
	case isTree(v):
		for i := range v.NumField() {
			switch field := v.Type().Field(i); {
			case field.Anonymous:
				out.fields(path, v.Field(i))
			case jsonName(field) != "-":
				out.fields(below(jsonName(field)), v.Field(i))
			}
		}
	default:
		if text := fieldText(path, v); text != "" {
			out.field(path, text)
		}
	}
}

func (out *Console) field(path, text string) {
	out.print("%-32s %s\n", display.Terminal(path), display.Terminal(text))
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// isTree reports whether a value is a struct that has more than single values.
func isTree(v reflect.Value) bool {
	if _, ok := v.Interface().(time.Time); ok || v.Kind() != reflect.Struct {
		return false
	}
	for _, field := range reflect.VisibleFields(v.Type()) {
		of := field.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch of.Kind() {
		case reflect.Slice, reflect.Map, reflect.Struct:
			if !field.Anonymous {
				return true
			}
		}
	}
	return false
}

// fieldText is a value with the unit that its name ends with; "" if it is empty.
func fieldText(name string, v reflect.Value) string {
	known := v.Kind() == reflect.Pointer && !v.IsNil() // 0 is then measured
	v = reflect.Indirect(v)
	if !v.IsValid() || v.IsZero() && !known {
		return ""
	}
	switch {
	case v.Kind() == reflect.Slice:
		texts := make([]string, v.Len())
		for i := range texts {
			texts[i] = fmt.Sprint(v.Index(i))
		}
		return strings.Join(texts, ", ")
	case v.Kind() == reflect.Struct && !v.Type().ConvertibleTo(reflect.TypeFor[time.Time]()):
		var parts []string
		for _, field := range reflect.VisibleFields(v.Type()) {
			name := jsonName(field)
			if text := fieldText(name, v.FieldByIndex(field.Index)); text != "" && !field.Anonymous {
				parts = append(parts, name+" "+text)
			}
		}
		return strings.Join(parts, ", ")
	case v.CanInt() && strings.HasSuffix(name, "_ns"):
		return display.Nanoseconds(float64(v.Int()))
	case v.CanInt() && strings.HasSuffix(name, "_bytes"):
		return display.Bytes(v.Int())
	case v.CanInt() && strings.HasSuffix(name, "milli_c"):
		return fmt.Sprintf("%.1f °C", float64(v.Int())/1000)
	}
	return fmt.Sprint(v)
}

// mostLines is the maximum number of lines of a process's output that are printed.
const mostLines = 40

func (out *Console) printOutput(name string, o results.Output) {
	if o.Bytes == 0 {
		return
	}
	kept := ""
	if o.Truncated {
		kept = ", only the beginning was kept"
	}
	out.Line(name, "%s%s", display.Bytes(o.Bytes), kept)
	lines := strings.Split(strings.TrimSuffix(o.Text, "\n"), "\n")
	for i, l := range lines {
		if i == mostLines {
			out.Line("", "(%d more lines; --format json has them)", len(lines)-i)
			break
		}
		out.print("    | %s\n", display.Terminal(l))
	}
}

// printControls says what krund set, with the values before and during the execution, then what was
// not as wanted, what was, and what it left alone.
func (out *Console) printControls(controls []results.Control) {
	named := map[setting.Status][]string{}
	for _, c := range controls {
		status, text := setting.Status(c.Status), fmt.Sprintf("%s %s", c.Name, cmp.Or(c.Found, "-"))
		if status == setting.StatusSet {
			text = fmt.Sprintf("%s (%s → %s)", c.Name, cmp.Or(c.Found, "-"), cmp.Or(c.After, c.Wanted, "-"))
		}
		named[status] = append(named[status], text)
	}
	if len(controls) > 0 {
		out.Line("set", "%s", cmp.Or(strings.Join(named[setting.StatusSet], ", "), "nothing"))
	}
	for _, c := range controls {
		if !setting.Status(c.Status).Fit() {
			out.Line("not wanted", "%s (%s): %s, wanted %s, found %s%s", c.Name, c.Policy, c.Status,
				cmp.Or(c.Wanted, "-"), cmp.Or(c.Found, "-"), inBrackets(c.Detail))
		}
	}
	for _, rest := range []struct {
		name   string
		status setting.Status
	}{{"as wanted", setting.StatusOK}, {"left alone", setting.StatusOff}} {
		if list := named[rest.status]; len(list) > 0 {
			out.Line(rest.name, "%s", strings.Join(list, ", "))
		}
	}
}

func wallText(wall []int64) string {
	n := len(wall)
	if n == 0 {
		return ""
	}
	sorted := make([]float64, 0, n)
	sum := 0.0
	for _, ns := range wall {
		sorted = append(sorted, float64(ns))
		sum += float64(ns)
	}
	first := sorted[0]
	slices.Sort(sorted)
	return fmt.Sprintf("min %s, median %s, mean %s, p95 %s, max %s, first %s",
		display.Nanoseconds(sorted[0]), display.Nanoseconds(arith.Median(sorted)),
		display.Nanoseconds(sum/float64(n)), display.Nanoseconds(arith.Percentile(sorted, 95)),
		display.Nanoseconds(sorted[n-1]), display.Nanoseconds(first))
}

func startupText(s results.Startup) string {
	if s.ExecNS == nil {
		return ""
	}
	var parts []string
	for _, p := range []struct {
		name string
		at   *int64
	}{{"the runner's first call", s.InitNS}, {"the first iteration", s.FirstNS}, {"the end", s.DoneNS}} {
		if p.at != nil {
			parts = append(parts,
				fmt.Sprintf("%s to %s", display.Nanoseconds(float64(*p.at-*s.ExecNS)), p.name))
		}
	}
	return strings.Join(parts, ", ")
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

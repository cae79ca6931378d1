package console

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"krund/internal/analysis/arith"
	"krund/internal/display"
	"krund/internal/execution/verdict"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/results"
)

// Record writes a record for people: sentences about what a person asks first, then the settings of
// the machine, and then every other field by its name in the file.
func (out *Console) Record(r results.Record) {
	out.Line("record", "slot %d, attempt %d: %s, process execution %d", r.Slot, r.Attempt, r.Key, r.Pexec)
	out.Line("outcome", "%s", r.Outcome)
	out.list(r.Reasons)
	p, l := r.Process, r.Process.Limits
	for _, line := range [][2]string{
		{"experiment", fmt.Sprintf("%s on %s, by krund %s", r.Experiment, r.Host, r.Krund)},
		{"started", fmt.Sprintf("%s, reboot %s, boot %s", r.Started.UTC().Format(time.RFC3339), r.Reboot,
			r.BootID)},
		{"iterations", fmt.Sprintf("%d of %d, parameter %d", len(r.WallNS), r.Iterations, r.Parameter)},
		{"wall", wallText(r.WallNS)},
		{"start-up", startupText(r.Startup)},
		{"clock", fmt.Sprintf("%s, counters %s%s", r.Clock, r.CounterSource, inBrackets(r.CounterReason))},
		{"command", display.ShellJoin(p.Argv)},
		{"ended", endText(p)},
		{"used", fmt.Sprintf("wall %s, user %s, system %s, at most %s of memory", nanoseconds(p.WallNS),
			nanoseconds(p.UTimeNS), nanoseconds(p.STimeNS), display.Bytes(p.MaxRSSBytes))},
		{"kernel log", kernelLogText(r.Machine.KernelLog)},
		{"limits", fmt.Sprintf("heap %s, stack %s, time %s, processes %s, output %s",
			known(l.HeapBytes, display.Bytes, "none"), known(l.StackBytes, display.Bytes, "none"),
			known(l.TimeoutNS, nanoseconds, "none"), known(l.Processes, decimal, "none"),
			known(l.OutputBytes, display.Bytes, "none"))},
	} {
		if line[1] != "" {
			out.Line(line[0], "%s", line[1])
		}
		if line[0] == "kernel log" {
			out.list(r.Machine.KernelLog.Lines)
		}
	}
	for _, c := range r.Columns {
		empty := ""
		if c.Empty != nil && *c.Empty > 0 {
			empty = fmt.Sprintf(", %d without work", *c.Empty)
		}
		out.Line("column", "%s, %s, %d values%s%s", c.Label(), c.Kind, c.Len(), empty, inBrackets(c.Unit))
	}
	out.printOutput("stdout", p.Stdout)
	out.printOutput("stderr", p.Stderr)
	if len(r.Machine.Controls) > 0 {
		out.print("\n")
	}
	out.printControls(r.Machine.Controls)
	for _, c := range verdict.Changes(r.Machine.Throttle) {
		out.Line(string(c.Kind), "%s: %d before, %d after", c.Name, c.Before, c.After)
	}
	if err := r.Check(); err != nil {
		out.Line("inconsistent", "%v", err)
	}
	rest := fields{exec: r.Startup.ExecNS}
	rest.add("", reflect.ValueOf(r))
	out.print("\nother fields, by their names in the file (--format json has also checksums)\n")
	rest.write(out)
}

// said lists the fields that have a sentence, or that only programs compare.
const said = " krund experiment config_hash host slot attempt pexec parameter iterations outcome reasons " +
	"reboot boot_id started clock counter_source counter_reason startup start_ns wall_ns columns " +
	"process.argv process.limits process.not_started process.exit process.signal process.timed_out " +
	"process.interrupted process.wall_ns process.utime_ns process.stime_ns process.maxrss_bytes " +
	"process.stdout process.stderr machine.controls machine.throttle machine.kernel_log "

// mostElements is the maximum number of elements of a list that are printed.
const mostElements = 10

// fields are the fields of a record that are not empty, each with its path of JSON names, as
// docs/output.md lists them, and its text. A struct of single values is one of them.
type fields struct {
	exec *int64 // when the process began, on the record's clock; nil: unknown
	rows [][2]string
}

func (f *fields) add(path string, v reflect.Value) {
	v = reflect.Indirect(v)
	below := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	switch {
	case !v.IsValid() || path != "" && strings.Contains(said, " "+path+" "):
	case v.Kind() == reflect.Map:
		for _, name := range slices.Sorted(maps.Keys(v.Interface().(map[string]string))) {
			if text := v.MapIndex(reflect.ValueOf(name)).String(); text != "" && !isChecksum(text) {
				f.row(below(name), text)
			}
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range min(v.Len(), mostElements) {
			f.add(path, v.Index(i))
		}
		if more := v.Len() - mostElements; more > 0 {
			f.row(path, fmt.Sprintf("%d more; --format json has them", more))
		}
	case isTree(v):
		for i := range v.NumField() {
			switch field := v.Type().Field(i); {
			case field.Anonymous:
				f.add(path, v.Field(i))
			case jsonName(field) != "-":
				f.add(below(jsonName(field)), v.Field(i))
			}
		}
	default:
		if text := f.text(path, v); text != "" {
			f.row(path, text)
		}
	}
}

func (f *fields) row(path, text string) {
	f.rows = append(f.rows, [2]string{display.Terminal(path), display.Terminal(text)})
}

func (f *fields) write(out *Console) {
	width := 0
	for _, row := range f.rows {
		width = max(width, len(row[0]))
	}
	for _, row := range f.rows {
		out.print("%-*s  %s\n", width, row[0], row[1])
	}
}

// isChecksum reports whether a value of the fingerprint ends with a checksum.
func isChecksum(text string) bool {
	const least = 16 // digits
	last := text[strings.LastIndexByte(text, ' ')+1:]
	return len(last) >= least && strings.Trim(last, "0123456789abcdef") == ""
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

// text is a value with the unit that its name ends with; "" if it is empty.
func (f *fields) text(name string, v reflect.Value) string {
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
			value := v.FieldByIndex(field.Index)
			text := f.text(name, value)
			if value.CanInt() && value.IsZero() { // CPU 0 is one, too
				text = "0"
			}
			if text != "" && !field.Anonymous {
				parts = append(parts, name+" "+text)
			}
		}
		return strings.Join(parts, ", ")
	case v.CanInt() && slices.Contains([]string{"begun_ns", "full_ns", "time_ns"},
		name[strings.LastIndexByte(name, '.')+1:]): // a time on the record's clock
		if f.exec == nil {
			return ""
		}
		return nanoseconds(v.Int()-*f.exec) + " after the start of the process"
	case v.CanInt() && strings.HasSuffix(name, "_ns"):
		return display.Nanoseconds(float64(v.Int()))
	case v.CanInt() && strings.HasSuffix(name, "_bytes"):
		return display.Bytes(v.Int())
	case v.CanInt() && strings.HasSuffix(name, "_milli"):
		return fmt.Sprintf("%.2f", float64(v.Int())/1000)
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

func endText(p results.Process) string {
	text := "unknown"
	switch {
	case p.NotStarted != nil:
		text = fmt.Sprintf("not started: %s: %s%s", p.NotStarted.Step, p.NotStarted.Text,
			inBrackets(p.NotStarted.Errno))
	case p.Signal != "":
		text = "by signal " + p.Signal
	case p.Exit != nil:
		text = fmt.Sprintf("exit status %d", *p.Exit)
	}
	if p.TimedOut {
		text += ", killed at the time limit"
	}
	if p.Interrupted {
		text += ", killed because krund was stopped"
	}
	return text
}

func kernelLogText(log results.KernelLog) string {
	switch {
	case log.Lines == nil:
		return "not read"
	case len(log.Lines) == 0 && log.Lost == 0:
		return "nothing unexpected"
	}
	return fmt.Sprintf("%s, %d lost", display.Count(len(log.Lines), "unexpected line"), log.Lost)
}

// known returns the text of a value, or another one if there is none.
func known[T any](value *T, text func(T) string, otherwise string) string {
	if value == nil {
		return otherwise
	}
	return text(*value)
}

func decimal(n int64) string      { return strconv.FormatInt(n, 10) }
func nanoseconds(ns int64) string { return display.Nanoseconds(float64(ns)) }

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

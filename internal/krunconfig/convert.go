package krunconfig

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"krund/internal/config"
	"krund/internal/display"
	"krund/internal/key"
)

// Converted is a configuration of krund, and what a person has to look at.
type Converted struct {
	TOML string
	Left []string // sentences about what was not converted, or not exactly
}

// Convert converts the text of NAME.krun. The error is for a text that is not a Python program, or
// has no VMS.
func Convert(source string) (Converted, error) {
	p, err := parse(source)
	if err != nil {
		return Converted{}, err
	}
	c := &converter{left: p.left, values: map[string]any{}}
	for _, a := range p.assigned {
		c.values[a.name] = a.value
		if !slices.Contains(wanted, a.name) && !p.used[a.name] {
			c.note("line %d: %s has no counterpart", a.line, a.name)
		}
	}
	if _, ok := c.values["VMS"]; !ok {
		return Converted{}, fmt.Errorf("there is no VMS that could be read; is it a configuration of Krun?%s",
			strings.Join(append([]string{""}, p.left...), "\n"))
	}
	c.sections()
	return Converted{TOML: c.b.String(), Left: c.left}, nil
}

// wanted are Krun's variables that are converted.
var wanted = []string{"VMS", "VARIANTS", "BENCHMARKS", "SKIP", "N_EXECUTIONS", "ITERATIONS_ALL_VMS",
	"HEAP_LIMIT", "STACK_LIMIT", "EXECUTION_TIMEOUT", "TEMP_READ_PAUSE", "PRE_EXECUTION_CMDS",
	"POST_EXECUTION_CMDS", "MAIL_TO", "MAX_MAILS", "ENABLE_PINNING", "AMPERF_RATIO_BOUNDS",
	"AMPERF_BUSY_THRESHOLD"}

type converter struct {
	values map[string]any
	b      strings.Builder
	left   []string

	java map[string]bool // variants that a JVM runs
}

func (c *converter) note(format string, args ...any) {
	c.left = append(c.left, fmt.Sprintf(format, args...))
}

func (c *converter) line(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n", args...) }

// number returns the whole number of a variable between 0 and most.
func (c *converter) number(name string, most int64) (n int64, ok bool) {
	v, there := c.values[name]
	n, ok = v.(int64)
	if ok = ok && n >= 0 && n <= most; there && !ok {
		c.note("%s is not a whole number from 0 to %d", name, most)
	}
	return n, ok
}

func (c *converter) sections() {
	c.experiment()
	c.limits()
	c.line("")
	if n, ok := c.number("TEMP_READ_PAUSE", math.MaxInt32); ok {
		c.line("[temperature]\nbase_wait = %q\n", time.Duration(n)*time.Second)
	}
	c.vms()
	c.variants()
	c.benchmarks()
	c.hooks()
	c.notify()
	c.rest()
}

func (c *converter) experiment() {
	c.line("# converted from a configuration of Krun\n\n[experiment]")
	if n, ok := c.number("N_EXECUTIONS", math.MaxInt32); ok {
		c.line("executions = %d", n)
	} else {
		c.line("executions = 1  # Krun's default; krund's is 30")
	}
	if n, ok := c.number("ITERATIONS_ALL_VMS", config.MaxIterations); ok {
		c.line("iterations = %d", n)
	}
	var skips []string
	for _, s := range c.strings("SKIP") {
		if _, err := key.ParsePattern(s); err != nil {
			c.note("SKIP: %q: %v", display.Clip(s, key.MaxName), err)
			continue
		}
		skips = append(skips, s)
	}
	if len(skips) > 0 {
		c.line("skip = %s", config.QuoteList(skips))
	}
}

func (c *converter) limits() {
	c.line("\n[limits]")
	for _, l := range []struct{ krun, own string }{{"HEAP_LIMIT", "heap"}, {"STACK_LIMIT", "stack"}} {
		if n, ok := c.number(l.krun, math.MaxInt64>>11); ok && n > 0 {
			c.line("%s = %q", l.own, config.FormatSize(n<<10))
		}
	}
	if n, ok := c.number("EXECUTION_TIMEOUT", math.MaxInt32); ok {
		c.line("timeout = %q", time.Duration(n)*time.Second)
		c.note("EXECUTION_TIMEOUT: Krun let the process run on after it; krund ends it")
	}
}

// strings returns the list of texts of a variable.
func (c *converter) strings(name string) []string {
	v, there := c.values[name]
	if !there || v == nil {
		return nil
	}
	var texts []string
	items, ok := v.([]any)
	for _, item := range items {
		s, isText := item.(string)
		if ok = ok && isText; isText {
			texts = append(texts, s)
		}
	}
	if !ok {
		c.note("%s is not a list of texts only", name)
	}
	return texts
}

// entries returns the entries of a dictionary whose keys are valid names.
func (c *converter) entries(variable string) (names []string, values []any) {
	entries, ok := c.values[variable].([]pair)
	if !ok {
		c.note("%s is missing or not a dictionary", variable)
	}
	for _, e := range entries {
		s, _ := e.key.(string)
		if err := key.CheckName(s); err != nil {
			c.note("%s: %v", variable, err)
			continue
		}
		if slices.Contains(names, s) {
			c.note("%s has %s twice; the first one is used", variable, s)
			continue
		}
		names, values = append(names, s), append(values, e.value)
	}
	return names, values
}

// definitions are Krun's VM definitions with their runners; "" must be written anew.
var definitions = map[string]string{
	"NativeCodeVMDef": "c", "PythonVMDef": "python", "PyPyVMDef": "python", "LuaVMDef": "lua",
	"JavaVMDef": "java", "GraalVMDef": "java", "PHPVMDef": "php", "HHVMVMDef": "", "RubyVMDef": "ruby",
	"TruffleRubyVMDef": "ruby", "JRubyVMDef": "ruby", "JRubyTruffleVMDef": "ruby", "V8VMDef": "",
	"ExternalSuiteVMDef": "external", "SomVMDef": "", "JavascriptVMDef": "javascript",
}

func (c *converter) vms() {
	c.java = map[string]bool{}
	names, values := c.entries("VMS")
	for i, vm := range names {
		fields, _ := values[i].([]pair)
		get := func(name string) any {
			for _, f := range fields {
				if f.key == name {
					return f.value
				}
			}
			return nil
		}
		def, ok := get("vm_def").(call)
		runner, known := definitions[def.name[strings.LastIndexByte(def.name, '.')+1:]]
		if !ok || !known {
			c.note("VMS: %s: its vm_def is unknown; name its runner", vm)
		}
		if known && runner == "" {
			c.note("VMS: %s: %s cannot load libkrun: Node (runner = \"javascript\") replaces d8, PHP "+
				"replaces HHVM; or wrap it as an external suite", vm, def.name)
		}
		if runner == "" {
			runner = "external"
		}
		c.line("[vms.%s]\nrunner = %q", quoteKey(vm), runner)
		c.program(vm, runner, def)
		c.vmLists(vm, runner, get("variants"))
		if n, ok := get("n_iterations").(int64); ok && n > 0 && n <= config.MaxIterations {
			c.line("iterations = %d", n)
		}
		c.line("")
	}
}

// program writes the path, arguments and environment of a VM.
func (c *converter) program(vm, runner string, def call) {
	file := ""
	if len(def.args) > 0 {
		file, _ = def.args[0].(string)
	}
	if runner == config.RunnerExternal && file != "" && !strings.Contains(file, "/") {
		file = "./" + file
	}
	switch {
	case file != "":
		c.line("path = %s", config.Quote(file))
	case runner != config.RunnerC:
		c.line("path = \"/path/of/the/program\"")
		c.note("VMS: %s: its program is unknown; write it as path", vm)
	}
	if len(def.args) > 1 {
		c.note("VMS: %s: further arguments of %s", vm, def.name)
	}
	for _, n := range def.named {
		switch v := n.value.(type) {
		case []pair:
			if n.key == "env" && c.env(vm, v) {
				continue
			}
		case []any:
			if texts, ok := allTexts(v); ok && n.key == "extra_vm_args" {
				c.line("args = %s", config.QuoteList(texts))
				continue
			}
		}
		c.note("VMS: %s: %v of %s", vm, n.key, def.name)
	}
}

func (c *converter) env(vm string, entries []pair) bool {
	var parts []string
	for _, e := range entries {
		name, isName := e.key.(string)
		value, isText := e.value.(string)
		if !isName || !isText {
			return false
		}
		parts = append(parts, config.Quote(name)+" = "+config.Quote(value))
	}
	c.line("env = { %s }", strings.Join(parts, ", "))
	c.note("VMS: %s: Krun added the values of env to its own; krund sets exactly these, and relative paths "+
		"in them begin at the benchmark's directory", vm)
	return true
}

func allTexts(items []any) ([]string, bool) {
	texts := make([]string, 0, len(items))
	for _, item := range items {
		s, ok := item.(string)
		if !ok {
			return nil, false
		}
		texts = append(texts, s)
	}
	return texts, true
}

func (c *converter) vmLists(vm, runner string, v any) {
	items, _ := v.([]any)
	variants, ok := allTexts(items)
	if !ok || len(variants) == 0 {
		c.note("VMS: %s: its variants are not a list of names", vm)
	}
	for _, name := range variants {
		c.java[name] = c.java[name] || runner == "java"
	}
	c.line("variants = %s", config.QuoteList(variants))
}

func (c *converter) variants() {
	names, values := c.entries("VARIANTS")
	for i, variant := range names {
		c.line("[variants.%s]", quoteKey(variant))
		entry, ok := values[i].(call)
		file := ""
		if ok && len(entry.args) > 0 {
			file, _ = entry.args[0].(string)
		}
		switch {
		case values[i] == nil:
			c.line("# an external suite")
		case file == "":
			c.note("VARIANTS: %s is not an EntryPoint(\"FILE\")", variant)
		default:
			if c.java[variant] && !strings.HasSuffix(file, ".class") {
				file += ".class"
			}
			c.line("entry = %s", config.Quote(file))
		}
		for _, n := range entry.named {
			dir, isText := n.value.(string)
			if n.key == "subdir" && isText {
				c.line("subfolder = %s", config.Quote(dir))
			} else {
				c.note("VARIANTS: %s: %v", variant, n.key)
			}
		}
		c.line("")
	}
}

func (c *converter) benchmarks() {
	c.line("[benchmarks]")
	names, values := c.entries("BENCHMARKS")
	for i, benchmark := range names {
		n, ok := values[i].(int64)
		if !ok || n < math.MinInt32 || n > math.MaxInt32 {
			c.note("BENCHMARKS: the parameter of %s is not a whole number of 32 bits", benchmark)
			continue
		}
		c.line("%s = { parameter = %d }", quoteKey(benchmark), n)
	}
}

// hooks converts shell commands: to lists of words if they are nothing else.
func (c *converter) hooks() {
	before, after := c.strings("PRE_EXECUTION_CMDS"), c.strings("POST_EXECUTION_CMDS")
	if len(before)+len(after) == 0 {
		return
	}
	c.line("\n[hooks]")
	for _, h := range []struct {
		name     string
		commands []string
	}{{"before", before}, {"after", after}} {
		if len(h.commands) == 0 {
			continue
		}
		c.line("%s = [", h.name)
		for _, command := range h.commands {
			c.line("  %s,", config.QuoteList(argv(command)))
		}
		c.line("]")
	}
	c.note("PRE_EXECUTION_CMDS, POST_EXECUTION_CMDS: prefer the controls services and network, which " +
		"restore " +
		"what they change; Krun's KRUN_RESULTS_FILE, KRUN_LOG_FILE, KRUN_ETA_* and KRUN_MANIFEST_FILE are " +
		"not set: see KRUND_RECORD in docs/config.md")
}

func argv(command string) []string {
	command = strings.TrimSpace(command)
	plain := strings.TrimSpace(strings.TrimPrefix(strings.TrimSuffix(command, "|| true"), "sudo "))
	if words := strings.Fields(plain); len(words) > 0 && !strings.ContainsAny(plain,
		"|&;<>()$`\\\"'*?[#~=%{}\n") {
		return words
	}
	return []string{"/bin/sh", "-c", command}
}

func (c *converter) notify() {
	mail := c.strings("MAIL_TO")
	n, limited := c.number("MAX_MAILS", 9999)
	if len(mail) == 0 && !limited {
		return
	}
	c.line("\n[notify]\nmail = %s", config.QuoteList(mail))
	if limited {
		c.line("max_mails = %d", n)
	}
}

func (c *converter) rest() {
	if c.values["ENABLE_PINNING"] == true {
		c.line("\n[controls]\nshield = \"apply\"")
	}
	bounds, _ := c.values["AMPERF_RATIO_BOUNDS"].([]any)
	if len(bounds) == 2 {
		low, lowOK := bounds[0].(float64)
		high, highOK := bounds[1].(float64)
		const equal = 1e-9
		if lowOK && highOK && math.Abs((1-low)-(high-1)) < equal && high > 1 && high < 2 {
			c.line("\n[verdict]\nratio_tolerance = %s", strconv.FormatFloat(high-1, 'g', 6, 64))
			c.note("AMPERF_RATIO_BOUNDS: in Krun a bad ratio was an error; write policy = \"fail\" in " +
				"[verdict] " +
				"for that")
			return
		}
	}
	if _, there := c.values["AMPERF_RATIO_BOUNDS"]; there {
		c.note("AMPERF_RATIO_BOUNDS: krund has one tolerance around 1: verdict.ratio_tolerance")
	}
	if _, there := c.values["AMPERF_BUSY_THRESHOLD"]; there {
		c.note("AMPERF_BUSY_THRESHOLD: write it as verdict.busy_threshold, APERF per second")
	}
}

// quoteKey returns a valid name as a TOML key.
func quoteKey(s string) string {
	if strings.ContainsAny(s, ".+") {
		return config.Quote(s)
	}
	return s
}

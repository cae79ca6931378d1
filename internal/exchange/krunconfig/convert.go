// Package krunconfig converts a configuration of Krun, a Python 2 program, to one of krund.
// The program is rewritten as Starlark and evaluated statement by statement, without access to the
// system. What only the machine knows is an unknown value, and every statement that cannot be
// evaluated is named with its line. The text is untrusted: Starlark bounds its steps, and
// ConvertFile evaluates it in a process whose memory and time the system bounds. Start reading at
// Convert: rewrite.go makes Starlark's statements, evaluate.go runs them.
package krunconfig

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"krund/internal/display"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
)

// Program is a configuration of Krun, and what it can find out where it is evaluated.
type Program struct {
	Text     string
	Dir      string // absolute path of its directory, which os.getcwd() is
	Host     string // name of the machine, which platform.node() is
	Platform string // what sys.platform is, such as "linux2"

	// Read returns a file for execfile. The path is clean and relative to Dir, but may lead through
	// symbolic links. nil: there are no files.
	Read func(name string) ([]byte, error)
}

// Converted is a configuration of krund, and what a person has to look at.
type Converted struct {
	TOML string
	Left []string // sentences about what was not converted, or not exactly
}

// Convert converts NAME.krun. The error is for a text that is not a Python program, exceeds a
// bound, or has no VMS.
func Convert(p Program) (Converted, error) {
	e, err := evaluate(p)
	if err != nil {
		return Converted{}, err
	}
	c := &converter{evaluator: e}
	for _, variable := range e.names {
		if !slices.Contains(wanted, variable) && !e.used[variable] {
			c.note("%s: %s has no counterpart", e.assigned[variable], variable)
		}
	}
	if _, ok := c.globals["VMS"]; !ok {
		return Converted{}, fmt.Errorf("there is no VMS that could be read; is it a configuration of Krun?%s",
			strings.Join(append([]string{""}, e.left...), "\n"))
	}
	c.sections()
	if c.b.Len() > maxOutput {
		return Converted{}, fmt.Errorf("the configuration of krund would have more than %d bytes", maxOutput)
	}
	return Converted{TOML: c.b.String(), Left: display.ClipLines(c.left, maxLeft, maxLeft*maxQuote)}, nil
}

// maxOutput is the maximum length of the result in bytes: krund reads no longer configuration.
const maxOutput = 1 << 20

// wanted are Krun's variables that are converted.
var wanted = []string{"VMS", "VARIANTS", "BENCHMARKS", "SKIP", "N_EXECUTIONS", "ITERATIONS_ALL_VMS",
	"HEAP_LIMIT", "STACK_LIMIT", "EXECUTION_TIMEOUT", "TEMP_READ_PAUSE", "PRE_EXECUTION_CMDS",
	"POST_EXECUTION_CMDS", "MAIL_TO", "MAX_MAILS", "ENABLE_PINNING", "AMPERF_RATIO_BOUNDS",
	"AMPERF_BUSY_THRESHOLD", whitelist}

// whitelist is the name of the function that returns patterns of kernel messages.
const whitelist = "custom_dmesg_whitelist"

// entry is an entry of a dictionary whose key is a valid name.
type entry struct {
	name  string
	value starlark.Value
}

type converter struct {
	*evaluator
	b strings.Builder

	vms, variants, benchmarks []entry
	keys                      map[[2]string]bool // a VM and its variant, or "*", and "" and a benchmark
	java                      map[string]bool    // variants that a JVM runs
	set                       []string           // VMs with an environment
}

func (c *converter) line(format string, args ...any) {
	if c.b.Len() <= maxOutput {
		fmt.Fprintf(&c.b, format+"\n", args...)
	}
}

// whole returns an integer, also one that a division made a float.
func whole(v starlark.Value) (int64, bool) {
	if f, ok := v.(starlark.Float); ok && f == starlark.Float(math.Trunc(float64(f))) {
		if n, err := starlark.NumberToInt(f); err == nil {
			v = n
		}
	}
	n, ok := v.(starlark.Int)
	if !ok {
		return 0, false
	}
	return n.Int64()
}

// number returns the whole number of a variable between 0 and most.
func (c *converter) number(variable string, most int64) (n int64, ok bool) {
	v, there := c.globals[variable]
	n, ok = whole(v)
	if ok = ok && n >= 0 && n <= most; there && v != starlark.None && !ok {
		c.note("%s is not a whole number from 0 to %d%s", variable, most, why(v))
	}
	return n, ok
}

// why explains an unknown value.
func why(v starlark.Value) string {
	if u, ok := v.(*unknown); ok {
		return fmt.Sprintf(": %s has no known value (%s)", u, u.where)
	}
	return ""
}

func (c *converter) sections() {
	c.vms, c.variants, c.benchmarks = c.entries("VMS"), c.entries("VARIANTS"), c.entries("BENCHMARKS")
	c.index()
	c.experiment()
	c.limits()
	c.line("")
	if n, ok := c.number("TEMP_READ_PAUSE", math.MaxInt32); ok {
		c.line("[temperature]\nbase_wait = %q\n", time.Duration(n)*time.Second)
	}
	for _, vm := range c.vms {
		c.vm(vm.name, vm.value)
	}
	if len(c.set) > 0 {
		c.note("VMS: env of %s: Krun added the values to its own; krund sets exactly these, and relative "+
			"paths in them begin at the benchmark's directory", strings.Join(c.set, ", "))
	}
	for _, v := range c.variants {
		c.variant(v.name, v.value)
	}
	c.parameters()
	c.hooks()
	c.kernelLog()
	c.notify()
	if c.globals["ENABLE_PINNING"] == starlark.True {
		c.line("\n[controls]\nshield = \"apply\"")
	}
	c.verdict()
}

// index notes which keys exist, and which variants a JVM runs.
func (c *converter) index() {
	c.keys, c.java = map[[2]string]bool{{"*", "*"}: true, {"", "*"}: true}, map[string]bool{}
	for _, b := range c.benchmarks {
		c.keys[[2]string{"", b.name}] = true
	}
	for _, vm := range c.vms {
		_, runner := definition(vm.value)
		for _, v := range c.vmVariants(vm.name, vm.value) {
			c.keys[[2]string{vm.name, v}], c.keys[[2]string{vm.name, "*"}], c.keys[[2]string{"*", v}] = true,
				true, true
			c.java[v] = c.java[v] || runner == "java"
		}
	}
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
	if skips := c.skips(); len(skips) > 0 {
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

// strings returns the texts of a variable's list.
func (c *converter) strings(variable string) []string {
	v, there := c.globals[variable]
	if !there || v == starlark.None {
		return nil
	}
	list, bad := texts(v)
	if bad != nil {
		c.note("%s is not a list of texts only%s", variable, why(bad))
	}
	return list
}

// texts returns the texts of a list or tuple, and what else it is or contains.
func texts(v starlark.Value) (list []string, bad starlark.Value) {
	switch v.(type) {
	case *starlark.List, starlark.Tuple:
	default:
		return nil, v
	}
	for item := range starlark.Elements(v.(starlark.Iterable)) {
		if s, ok := starlark.AsString(item); ok {
			list = append(list, s)
		} else {
			bad = item
		}
	}
	return list, bad
}

// valid returns a name as krund allows it, "" if there is none.
func (c *converter) valid(variable, s string) string {
	fitting := strings.Map(func(r rune) rune {
		if key.CheckName("x"+string(r)) == nil {
			return r
		}
		return '-'
	}, s)
	if err := key.CheckName(fitting); err != nil {
		c.note("%s: %v", variable, err)
		return ""
	}
	if fitting != s {
		c.note("%s: %q is written as %q: a name has letters, digits and _ - . + only; directories and "+
			"earlier results have the old one", variable, s, fitting)
	}
	return fitting
}

// entries returns the entries of a dictionary.
func (c *converter) entries(variable string) []entry {
	d, ok := c.globals[variable].(*starlark.Dict)
	if !ok {
		c.note("%s is missing or not a dictionary%s", variable, why(c.globals[variable]))
		return nil
	}
	var list []entry
	seen := map[string]bool{}
	for k, v := range d.Entries() {
		s, _ := starlark.AsString(k)
		s = c.valid(variable, s)
		if seen[s] {
			c.note("%s has %s twice; the first one is used", variable, s)
		} else if s != "" {
			seen[s] = true
			list = append(list, entry{s, v})
		}
	}
	return list
}

// skips returns the patterns of SKIP that match a key: krund refuses others.
func (c *converter) skips() []string {
	var list, idle []string
	for _, s := range c.strings("SKIP") {
		parts := strings.Split(s, ":")
		for i, part := range parts {
			if part != "*" {
				parts[i] = c.valid("SKIP", part)
			}
		}
		s = strings.Join(parts, ":")
		if _, err := key.ParsePattern(s); err != nil {
			c.note("SKIP: %v", err)
			continue
		}
		if !c.keys[[2]string{"", parts[0]}] || !c.keys[[2]string{parts[1], parts[2]}] {
			idle = append(idle, strconv.Quote(s))
			continue
		}
		list = append(list, s)
	}
	if len(idle) > 0 {
		c.note("SKIP: no key has the names of %s: left out", strings.Join(idle, ", "))
	}
	return list
}

func (c *converter) parameters() {
	c.line("[benchmarks]")
	for _, b := range c.benchmarks {
		n, ok := whole(b.value)
		if !ok || n < math.MinInt32 || n > math.MaxInt32 {
			c.note("BENCHMARKS: the parameter of %s is not a whole number of 32 bits%s", b.name, why(b.value))
			continue
		}
		c.line("%s = { parameter = %d }", quoteKey(b.name), n)
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

// kernelLog converts the function that adds patterns to those that Krun is given.
func (c *converter) kernelLog() {
	f, ok := c.globals[whitelist].(*starlark.Function)
	if !ok {
		return
	}
	const own = "Krun's own"
	given := starlark.NewList([]starlark.Value{starlark.String(own)})
	v, err := starlark.Call(c.thread, f, starlark.Tuple{given}, nil)
	list, bad := texts(v)
	if err != nil || bad != nil {
		c.note("%s: %s cannot be evaluated: write its patterns as kernel_log.allow", c.assigned[whitelist],
			whitelist)
		return
	}
	if i := slices.Index(list, own); i >= 0 {
		list = slices.Delete(list, i, i+1)
	} else {
		c.note("%s: %s leaves out Krun's own patterns; krund always adds its own", c.assigned[whitelist],
			whitelist)
	}
	list = slices.DeleteFunc(list, func(pattern string) bool {
		_, err := regexp.Compile(pattern)
		if err != nil {
			c.note("%s: %q: %v", whitelist, pattern, err)
		}
		return err != nil
	})
	if len(list) > 0 {
		c.line("\n[kernel_log]\nallow = %s", config.QuoteList(list))
	}
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

// verdict converts the bounds of the clock frequency.
func (c *converter) verdict() {
	var lines []string
	if bounds, there := c.globals["AMPERF_RATIO_BOUNDS"]; there {
		var ends []float64
		if list, ok := bounds.(starlark.Indexable); ok {
			for i := range list.Len() {
				f, _ := starlark.AsFloat(list.Index(i))
				ends = append(ends, f)
			}
		}
		const equal = 1e-9
		if len(ends) == 2 && math.Abs((1-ends[0])-(ends[1]-1)) < equal && ends[1] > 1 && ends[1] < 2 {
			lines = append(lines, "ratio_tolerance = "+strconv.FormatFloat(ends[1]-1, 'g', 6, 64))
			c.note("AMPERF_RATIO_BOUNDS: in Krun a bad ratio was an error; write policy = \"fail\" in " +
				"[verdict] for that")
		} else {
			c.note("AMPERF_RATIO_BOUNDS: krund has one tolerance around 1: verdict.ratio_tolerance%s",
				why(bounds))
		}
	}
	if threshold, there := c.globals["AMPERF_BUSY_THRESHOLD"]; there {
		if f, ok := starlark.AsFloat(threshold); ok && f >= 0 && f < math.MaxInt64 {
			lines = append(lines, "busy_threshold = "+strconv.FormatFloat(f, 'f', -1, 64))
		} else {
			c.note("AMPERF_BUSY_THRESHOLD: write it as verdict.busy_threshold, APERF per second%s",
				why(threshold))
		}
	}
	if len(lines) > 0 {
		c.line("\n[verdict]\n%s", strings.Join(lines, "\n"))
	}
}

// quoteKey returns a valid name as a TOML key.
func quoteKey(s string) string {
	if strings.ContainsAny(s, ".+") {
		return config.Quote(s)
	}
	return s
}

// definitions are Krun's VM definitions with their runners; "" must be written anew.
var definitions = map[string]string{
	"NativeCodeVMDef": "c", "PythonVMDef": "python", "PyPyVMDef": "python", "LuaVMDef": "lua",
	"JavaVMDef": "java", "GraalVMDef": "java", "PHPVMDef": "php", "HHVMVMDef": "", "RubyVMDef": "ruby",
	"TruffleRubyVMDef": "ruby", "JRubyVMDef": "ruby", "JRubyTruffleVMDef": "ruby", "V8VMDef": "",
	"ExternalSuiteVMDef": config.RunnerExternal, "SomVMDef": "", "JavascriptVMDef": "javascript",
}

//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/explain"
	"krund/internal/durable"
	records "krund/internal/reading/experiment"
)

// vm is a virtual machine that may be on this machine.
type vm struct {
	name, program, runner, entry string
	steps                        int // parameter of nbody with iterations of about 1 ms
}

var vms = []vm{
	{name: "C", program: "cc", runner: "c", entry: "bench.so", steps: 10000},
	{name: "HotSpot", program: "java", runner: "java", entry: "KrunEntry.class", steps: 10000},
	{name: "Node", program: "node", runner: "javascript", entry: "bench.js", steps: 10000},
	{name: "CPython", program: "python3", runner: "python", entry: "bench.py", steps: 150},
	{name: "PyPy", program: "pypy3", runner: "python", entry: "bench.py", steps: 4000},
	{name: "LuaJIT", program: "luajit", runner: "lua", entry: "bench.lua", steps: 8000},
	{name: "Ruby", program: "ruby", runner: "ruby", entry: "bench.rb", steps: 150},
	{name: "PHP", program: "php", runner: "php", entry: "bench.php", steps: 300},
}

// cause is an injected cause: benchmarks/causes/README.md.
type cause struct {
	name  string // of the directory
	cause explain.Cause
	step  bool     // all iterations from one on, else every 50th
	lacks []string // VMs in which it does not exist
}

var causes = []cause{
	{name: "gc", cause: explain.GC, lacks: []string{"C"}},
	{name: "hot", cause: explain.Compile, step: true, lacks: []string{"C", "CPython", "Ruby", "PHP"}},
	{name: "deopt", cause: explain.Deopt, step: true, lacks: []string{"C", "CPython", "Ruby", "PHP"}},
	{name: "faults", cause: explain.Faults},
	{name: "sleep", cause: explain.Sleep},
	{name: "competitor", cause: explain.Competitor},
}

const (
	iterations = 300
	period     = 50
	// late is by how many iterations the changepoint may come after the step, while a VM compiles.
	late  = 60
	early = 2
)

func (c *cause) absent(vm string) bool { return slices.Contains(c.lacks, vm) }

// injected are the iterations of a program's cause.
func (c *cause) injected(seed int) []int {
	if c.step {
		return []int{100 + 37*seed%100}
	}
	var at []int
	for i := seed % period; i < iterations; i += period {
		at = append(at, i)
	}
	return at
}

// covers reports whether a finding in an iteration is one of the injected cause.
func (c *cause) covers(injected []int, iteration int) bool {
	if c.step {
		return iteration >= injected[0]-early && iteration <= injected[0]+late
	}
	return slices.Contains(injected, iteration)
}

// experiment is that of one VM: with the programs, or with nbody and a competitor.
type experiment struct {
	*bench
	vm         vm
	competitor bool
}

// run runs it and adds its cases to the table.
func (x *experiment) run(ctx context.Context, table map[[2]string]*score) error {
	name := x.vm.name
	if x.competitor {
		name += "-competitor"
	}
	config := filepath.Join(x.dir, name+".toml")
	text, programs, err := x.config()
	if err != nil || programs == 0 {
		return err
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	windows, err := x.measure(ctx, strings.TrimSuffix(config, ".toml"))
	if err != nil {
		return err
	}
	dir := strings.TrimSuffix(config, ".toml") + ".krun"
	x.measured = append(x.measured, dir)
	return x.judge(ctx, dir, windows, table)
}

// measure runs the experiment, unless an earlier run kept its records, and returns when the
// competitor wanted the processor.
func (x *experiment) measure(ctx context.Context, name string) ([]window, error) {
	var windows []window
	kept, err := os.ReadFile(name + ".windows")
	if err == nil {
		err = json.Unmarshal(kept, &windows)
		return windows, err
	}
	krund := []string{filepath.Join(x.build, "bin/krund"), "run", name + ".toml"}
	if x.competitor {
		krund = append([]string{"taskset", "-c", "0"}, krund...)
		stop := compete(&windows)
		defer stop()
		err = x.execute(ctx, krund)
		stop()
	} else {
		err = x.execute(ctx, krund)
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(windows)
	if err != nil {
		return nil, err
	}
	return windows, os.WriteFile(name+".windows", text, 0o600)
}

func (x *experiment) execute(ctx context.Context, argv []string) error {
	command := exec.CommandContext(ctx, argv[0], argv[1:]...)
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, text)
	}
	return nil
}

// config returns the configuration, and the number of its benchmarks.
func (x *experiment) config() (text string, programs int, err error) {
	var b strings.Builder
	executions := x.executions
	if x.competitor {
		executions *= 2 // there is one program
	}
	fmt.Fprintf(&b, "[experiment]\nexecutions = %d\norder = \"interleaved\"\nseed = 1\nreboot = \"none\"\n"+
		"account = \"caller\"\nbenchmarks = \"%s\"\n[limits]\ntimeout = \"2m\"\n[wait]\nstartup = \"0s\"\n"+
		"sync = \"0s\"\n[temperature]\nbase_wait = \"0s\"\n"+
		"[counters]\nkernel = [\"usage\", \"switches\"]\n", executions, filepath.Join(x.dir, "programs"))
	fmt.Fprintf(&b,
		"[vms.%s]\nrunner = \"%s\"\niterations = %d\nvariants = [\"v\"]\ninstrument = \"events\"\n"+
			"env = { MALLOC_MMAP_THRESHOLD_ = \"65536\" }\n", // so that malloc unmaps what is freed
		x.vm.name, x.vm.runner, iterations)
	if x.vm.runner != "c" {
		fmt.Fprintf(&b, "path = %q\n", x.vm.program)
	}
	fmt.Fprintf(&b, "[variants.v]\nentry = %q\nsubfolder = %q\n[benchmarks]\n", x.vm.entry, x.vm.runner)
	source := filepath.Join(x.build, "../benchmarks")
	if x.competitor {
		programs = 1
		fmt.Fprintf(&b, "nbody = { parameter = %d }\n", x.vm.steps)
		err = x.link(filepath.Join(source, "nbody"), "nbody")
	}
	for _, c := range causes {
		from := filepath.Join(source, "causes", c.name)
		if _, e := os.Stat(filepath.Join(from, x.vm.runner, x.vm.entry)); e != nil || x.competitor ||
			c.absent(x.vm.name) {
			continue
		}
		for _, seed := range x.seeds {
			programs++
			name := fmt.Sprintf("%s-%d", c.name, seed)
			fmt.Fprintf(&b, "%s = { parameter = %d }\n", name, seed)
			if err == nil {
				err = x.link(from, name)
			}
		}
	}
	b.WriteString("[controls]\nsmt = \"off\"\nfrequency = \"off\"\nturbo = \"off\"\ntickless = \"off\"\n" +
		"isolcpus = \"off\"\nperf_rate = \"off\"\nnmi_watchdog = \"off\"\naslr = \"off\"\novercommit = " +
		"\"off\"\n" +
		"apm = \"off\"\nmalloc = \"off\"\ntemperature = \"off\"\n")
	return b.String(), programs, err
}

// link makes a program available under another name.
func (x *experiment) link(from, name string) error {
	dir := filepath.Join(x.dir, "programs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	err := os.Symlink(from, filepath.Join(dir, name))
	if os.IsExist(err) {
		return nil
	}
	return err
}

// judge scores the executions.
func (x *experiment) judge(ctx context.Context, dir string, windows []window,
	table map[[2]string]*score) error {
	doc, err := x.explained(ctx, dir)
	if err != nil {
		return err
	}
	data, err := records.ReadResults(durable.OS(), filepath.Join(dir, "results"), nil)
	if err != nil {
		return err
	}
	for i := range doc.Keys {
		k := &doc.Keys[i]
		name, seed := strings.Split(k.Key, ":")[0], 0
		c := causes[len(causes)-1]
		if !x.competitor {
			if _, err := fmt.Sscanf(strings.ReplaceAll(name, "-", " "), "%s %d", &name, &seed); err != nil {
				return err
			}
			c = causes[slices.IndexFunc(causes, func(c cause) bool { return c.name == name })]
		}
		s := scoreOf(table, c.name, x.vm.name)
		every, filtered := scoreOf(table, everywhere, x.vm.name), scoreOf(table, irregular, x.vm.name)
		for n := range k.Executions {
			e := &k.Executions[n]
			at := c.injected(seed)
			if x.competitor {
				at = during(windows, execution(data, k.Key, e.Number))
				every.judge(e, c, at)
				at = slices.DeleteFunc(at, func(i int) bool { return regular(k.Executions, i) })
				filtered.judge(e, c, at)
			}
			s.judge(e, c, at)
		}
	}
	return nil
}

// The scores of the separate competitor alone: in all iterations in which it wanted the processor,
// and without those that are regular.
const everywhere, irregular = "everywhere", "irregular"

func scoreOf(table map[[2]string]*score, cause, vm string) *score {
	s := table[[2]string{cause, vm}]
	if s == nil {
		s = &score{}
		table[[2]string{cause, vm}] = s
	}
	return s
}

// regular reports whether iteration i, or one beside it, is an outlier in at least three
// executions: then it is the program's own, and not that of a competitor that comes at any time.
func regular(executions []explain.Execution, i int) bool {
	n := 0
	for e := range executions {
		if slices.ContainsFunc(executions[e].Outliers, func(f explain.Finding) bool {
			return f.Iteration >= i-1 && f.Iteration <= i+1
		}) {
			n++
		}
	}
	return n >= 3
}

// execution finds an execution in the records.
func execution(d *dataset.Dataset, key string, number int) *dataset.Execution {
	for i := range d.Pairs {
		for k := range d.Pairs[i].Executions {
			if e := &d.Pairs[i].Executions[k]; d.Pairs[i].Key.String() == key && e.Number == number &&
				e.Outcome == dataset.Completed {
				return e
			}
		}
	}
	return &dataset.Execution{}
}

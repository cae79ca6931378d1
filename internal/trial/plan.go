package trial

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
)

// Benchmark is the name of the only benchmark of the experiment: the subjects are its VMs.
const Benchmark = "time"

// variantCommand is the variant of whole commands. A benchmark file has a variant of its own, named
// like its VM.
const variantCommand = "command"

// shellName is the VM that measures the start of the shell alone.
const shellName = "shell-startup"

// Plan is the experiment that times the subjects.
type Plan struct {
	Subjects   []Subject
	Executions int   // process executions of each subject
	Iterations []int // in-process iterations of each subject: runs of a command per execution
	Warmup     int   // runs before them, in each execution
	Parameter  int   // of run_iter

	IgnoreFailure bool
	Calibrate     []string // command that starts the shell and ends; nil for none
	Timeout       time.Duration
	Dir           string   // commands run in it
	Clean         bool     // they get the environment of an experiment, and not the caller's
	Env           []string // "NAME=value": beside that environment
	Inherited     []string // names of the caller's variables, for the answer
	Files         string   // directory that has a link Benchmark/NAME to the directory of each file
}

// environment describes where the subjects run.
func (p Plan) environment() Environment {
	e := Environment{Of: config.EnvironmentCaller, Directory: p.Dir, Inherited: p.Inherited,
		Set: append([]string{}, p.Env...)}
	if p.Clean {
		e.Of, e.Inherited = config.EnvironmentClean, []string{}
	}
	return e
}

// shellRuns is how often each execution runs the shell alone.
const shellRuns = 20

// Key returns the key of a subject in the experiment.
func (p Plan) Key(s Subject) key.Key {
	k := key.Key{Benchmark: Benchmark, VM: s.Name, Variant: variantCommand}
	if !s.IsCommand() {
		k.Variant = s.Name
	}
	return k
}

// TOML returns the configuration. Its executions are interleaved: each round runs each subject
// once, in a random order, so that what changes on the machine meets all of them.
func (p Plan) TOML() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Written by krunctl time.\n\n[experiment]")
	line("executions = %d", p.Executions)
	line("order = %s", config.Quote(config.OrderInterleaved))
	line("reboot = %s", config.Quote(config.RebootNone))
	line("account = %s", config.Quote(config.AccountCaller))
	if !p.Clean {
		line("environment = %s", config.Quote(config.EnvironmentCaller))
	}
	line("attempts = 1")
	if p.Files != "" {
		line("benchmarks = %s", config.Quote(p.Files))
	}
	line("\n[limits]\nheap = \"none\"\nstack = \"none\"\nprocesses = \"none\"")
	if p.Timeout > 0 {
		line("timeout = %s", config.Quote(fmt.Sprintf("%dms", p.Timeout.Milliseconds())))
	}
	line("\n[wait]\nstartup = \"0s\"\nsync = \"0s\"\n\n[temperature]\nbase_wait = \"0s\"")
	commands := false
	for i, s := range p.Subjects {
		line("\n[vms.%s]", config.Quote(s.Name))
		line("iterations = %d", p.Iterations[i])
		if s.IsCommand() {
			commands = true
			line("runner = %s\nargs = %s\nvariants = [%s]", config.Quote(config.RunnerCommand),
				config.QuoteList(p.args(s)),
				config.Quote(variantCommand))
		} else {
			line("runner = %s\nvariants = [%s]", config.Quote(s.Runner), config.Quote(s.Name))
			if s.Program != "" {
				line("path = %s", config.Quote(s.Program))
			}
		}
		p.writeEnv(&b, s.Name)
	}
	if p.Calibrate != nil {
		line("\n# the start of the shell, which is subtracted\n[vms.%s]", config.Quote(shellName))
		line("iterations = %d", shellRuns)
		line("runner = %s\nargs = %s\nvariants = [%s]", config.Quote(config.RunnerCommand),
			config.QuoteList(append([]string{"--directory", p.Dir, "--"}, p.Calibrate...)),
			config.Quote(variantCommand))
		p.writeEnv(&b, shellName)
	}
	if commands {
		line("\n[variants.%s]", variantCommand)
	}
	for _, s := range p.Subjects {
		if !s.IsCommand() {
			line("\n[variants.%s]\nentry = %s\nsubfolder = %s", config.Quote(s.Name),
				config.Quote(filepath.Base(s.File)),
				config.Quote(s.Name))
		}
	}
	line("\n[benchmarks]\n%s = { parameter = %d }", Benchmark, p.Parameter)
	line("\n# The machine is left as it is: this is a comparison, not a laboratory.\n[controls]")
	for _, name := range untouched {
		line("%s = \"off\"", name)
	}
	return b.String()
}

// untouched are the settings that are not even read before each of many short executions.
var untouched = []string{"smt", "frequency", "turbo", "tickless", "isolcpus", "perf_rate", "nmi_watchdog",
	"aslr", "overcommit", "apm", "malloc", "temperature", "kernel_log", "throttle", "virtualisation",
	"fingerprint"}

// args returns the arguments of the runner for whole commands.
func (p Plan) args(s Subject) []string {
	args := []string{"--directory", p.Dir}
	for _, o := range []struct{ flag, command string }{{"--setup", s.Setup}, {"--prepare", s.Prepare},
		{"--conclude", s.Conclude}, {"--cleanup", s.Cleanup}} {
		if o.command != "" {
			args = append(args, o.flag, o.command)
		}
	}
	if p.Warmup > 0 {
		args = append(args, "--warmup", fmt.Sprint(p.Warmup))
	}
	if p.IgnoreFailure {
		args = append(args, "--ignore-failure")
	}
	return append(append(args, "--"), s.Argv...)
}

func (p Plan) writeEnv(b *strings.Builder, vm string) {
	if len(p.Env) == 0 {
		return
	}
	fmt.Fprintf(b, "[vms.%s.env]\n", config.Quote(vm))
	for _, variable := range p.Env {
		name, value, _ := strings.Cut(variable, "=")
		fmt.Fprintf(b, "%s = %s\n", config.Quote(name), config.Quote(value))
	}
}

// Times that are planned for the measurement of each subject in all its executions.
const (
	commandTime = 2 * time.Second
	fileTime    = 5 * time.Second // long enough to see a virtual machine warm up
	mostRuns    = 2000            // in one execution
	fewestIters = 30              // in one execution of a benchmark file
)

// Schedule sets the number of executions and of runs in each, if they are 0: from the time of one
// run of each subject, so that each is measured for seconds and at least least times.
func (p *Plan) Schedule(one []time.Duration, least, iterations int) {
	const many, few = 10, 5 // executions
	files := slices.ContainsFunc(p.Subjects, func(s Subject) bool { return !s.IsCommand() })
	switch {
	case p.Executions > 0:
	case files:
		p.Executions = few
	default:
		p.Executions = min(many, least)
	}
	p.Iterations = make([]int, len(p.Subjects))
	for i, s := range p.Subjects {
		wanted, budget := least, commandTime
		if !s.IsCommand() {
			wanted, budget = fewestIters*p.Executions, fileTime
		}
		if i < len(one) && one[i] > 0 {
			wanted = max(wanted, int(budget/one[i]))
		}
		if !s.IsCommand() && iterations > 0 {
			wanted = iterations * p.Executions
		}
		p.Iterations[i] = min(max(1, (wanted+p.Executions-1)/p.Executions), max(mostRuns, iterations))
	}
}

package trial

import (
	"cmp"
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
	Executions int    // process executions of each subject
	Iterations []int  // in-process iterations of each subject: runs of a command per execution
	Warmup     int    // runs before them, in each execution
	Parameter  int    // of run_iter
	Saved      bool   // the experiment is kept
	Runs       int    // of each command, and executions of a benchmark file; 0: the time decides
	Least      int    // runs of each command, if the time decides
	Most       int    // of them; 0: any number
	OfFile     int    // iterations of a benchmark file; 0: the time decides
	Looked     bool   // whether there were enough runs was decided by looking at them
	Seed       uint64 // of the order of the runs

	Null          int  // number of the second copy of the first subject; 0: there is none
	Referred      bool // the first subject is what the others are compared with
	Guessed       bool // nobody gave the parameter of run_iter
	IgnoreFailure bool
	Input         string   // file that commands read; "": nothing
	Output        string   // file that they write to, or "pipe"; "": nothing
	Messages      string   // the same of standard error; "": the record
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

// shellRuns is how often the shell alone runs at least: in all rounds together, and in each
// execution if the subjects have processes of their own.
const (
	shellRuns = 50
	shellEach = 20
)

// turnsKey is the key of the process that runs all subjects in turns.
var turnsKey = key.Key{Benchmark: Benchmark, VM: "turns", Variant: variantCommand}

// turns reports whether one process runs all subjects in turns: what is a process execution of the
// experiment otherwise is then a round. It costs nothing, where the start of a process that is
// measured costs more than most commands. What belongs to a process prevents it: benchmark files,
// --setup, --cleanup, a time limit; and so does an experiment that is kept, which has a key and
// records for each subject.
func (p Plan) turns() bool {
	own := func(s Subject) bool { return !s.IsCommand() || s.Setup != "" || s.Cleanup != "" }
	return !p.Saved && p.Timeout == 0 && !slices.ContainsFunc(p.Subjects, own)
}

// shellKey is the key of the start of the shell alone.
func shellKey() key.Key { return key.Key{Benchmark: Benchmark, VM: shellName, Variant: variantCommand} }

// programs are the commands that run in turns: the subjects, and the shell alone.
func (p Plan) programs() []Subject {
	if p.Calibrate == nil {
		return p.Subjects
	}
	return append(slices.Clone(p.Subjects), Subject{Name: shellName, Text: "the shell", Argv: p.Calibrate})
}

// perRound is how often each program runs in a round.
func (p Plan) perRound() []int {
	runs := slices.Clone(p.Iterations)
	if p.Calibrate != nil {
		runs = append(runs, max(1, (shellRuns+p.Executions-1)/p.Executions))
	}
	return runs
}

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
	executions := p.Executions
	if p.turns() {
		executions = 1
	}
	line("# Written by krunctl time.\n\n[experiment]\nexecutions = %d", executions)
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
	p.writeVMs(&b)
	for _, s := range p.Subjects {
		if !s.IsCommand() {
			line("\n[variants.%s]\nentry = %s\nsubfolder = %s", config.Quote(s.Name),
				config.Quote(filepath.Base(s.File)), config.Quote(s.Name))
		}
	}
	line("\n[benchmarks]\n%s = { parameter = %d }", Benchmark, p.Parameter)
	if !p.Saved { // nobody would see them
		line("\n[counters]\nsources = [\"none\"]\nkernel = []")
	}
	line("\n# The machine is left as it is: this is a comparison, not a laboratory.\n[controls]")
	for _, name := range untouched {
		line("%s = \"off\"", name)
	}
	return b.String()
}

// writeVMs writes a VM for each subject and the shell, or one for all of them.
func (p Plan) writeVMs(b *strings.Builder) {
	command := func(name string, iterations int, args []string) {
		fmt.Fprintf(b, "\n[vms.%s]\niterations = %d\nrunner = %s\nargs = %s\nvariants = [%s]\n",
			config.Quote(name), iterations, config.Quote(config.RunnerCommand), config.QuoteList(args),
			config.Quote(variantCommand))
		p.writeEnv(b, name)
	}
	commands := p.Calibrate != nil
	for i, s := range p.Subjects {
		switch {
		case p.turns():
			commands = true
		case s.IsCommand():
			commands = true
			command(s.Name, p.Iterations[i], p.args(s))
		default:
			fmt.Fprintf(b, "\n[vms.%s]\niterations = %d\nrunner = %s\nvariants = [%s]\n",
				config.Quote(s.Name), p.Iterations[i], config.Quote(s.Runner), config.Quote(s.Name))
			if s.Program != "" {
				fmt.Fprintf(b, "path = %s\n", config.Quote(s.Program))
			}
			p.writeEnv(b, s.Name)
		}
	}
	if p.turns() {
		n := 0
		for _, runs := range p.perRound() {
			n += runs
		}
		command(turnsKey.VM, n*p.Executions, p.turnArgs())
	} else if p.Calibrate != nil {
		b.WriteString("\n# the start of the shell, which is subtracted\n")
		command(shellName, shellEach, append([]string{"--directory", p.Dir, "--"}, p.Calibrate...))
	}
	if commands {
		fmt.Fprintf(b, "\n[variants.%s]\n", variantCommand)
	}
}

// untouched are the settings that are not even read before each of many short executions.
var untouched = []string{"smt", "frequency", "turbo", "tickless", "isolcpus", "perf_rate", "nmi_watchdog",
	"aslr", "overcommit", "apm", "malloc", "temperature", "kernel_log", "throttle", "virtualisation",
	"fingerprint"}

// args returns the arguments of the runner for a command that has a process of its own.
func (p Plan) args(s Subject) []string {
	args := append(p.common(), options("--setup", s.Setup, "--cleanup", s.Cleanup)...)
	return slices.Concat(args, p.own(s), []string{"--"}, s.Argv)
}

// turnArgs returns the arguments of the runner for programs that run in turns.
func (p Plan) turnArgs() []string {
	args := append(p.common(), "--seed", fmt.Sprint(p.Seed%(1<<16)))
	all, runs := p.programs(), p.perRound()
	for i, s := range all {
		args = append(append(args, "--runs", fmt.Sprint(runs[i]), "--label", s.Name), p.own(s)...)
		if i < len(all)-1 {
			args = append(args, "--also", fmt.Sprint(len(s.Argv)))
		} else {
			args = append(args, "--")
		}
		args = append(args, s.Argv...)
	}
	return args
}

// options are pairs of a flag and its value; "": it is left out.
func options(pairs ...string) (args []string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			args = append(args, pairs[i], pairs[i+1])
		}
	}
	return args
}

// own are the options of one program. The start of the shell must not empty the file that the
// commands write.
func (p Plan) own(s Subject) []string {
	silent := ""
	if s.Name == shellName && p.Output != "" {
		silent = "1"
	}
	return options("--directory", cmp.Or(s.Dir, p.Dir), "--prepare", s.Prepare, "--conclude", s.Conclude,
		"--silent", silent)
}

// common are the options of all programs.
func (p Plan) common() []string {
	var args []string
	if p.Warmup > 0 {
		args = append(args, "--warmup", fmt.Sprint(p.Warmup))
	}
	if p.IgnoreFailure {
		args = append(args, "--ignore-failure")
	}
	return append(args, options("--input", p.Input, "--output", p.Output, "--messages", p.Messages)...)
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

// Command reports whether a key is one of whole commands.
func (p Plan) Command(k key.Key) bool { return k.Variant == variantCommand }

// Times that are planned for the measurement of each subject.
const (
	roundTime    = 25 * time.Millisecond // of a command in a round, if it is that quick
	commandTime  = 3 * time.Second       // of a command in all rounds, at most, as in hyperfine
	revisionTime = 12 * time.Second      // the same of a revision
	ownTime      = 2 * time.Second       // of a command in a process of its own
	fileTime     = 5 * time.Second       // long enough to see a virtual machine warm up
	mostRuns     = 2000                  // in one execution
	fewestIters  = 30                    // in one execution of a benchmark file
	fewRounds    = 10
)

// decided reports whether the options say how many runs there are.
func (p Plan) decided() bool {
	file := func(s Subject) bool { return !s.IsCommand() }
	return p.Runs > 0 && (p.OfFile > 0 || !slices.ContainsFunc(p.Subjects, file))
}

// schedule sets the number of executions, and of runs in each: from the options, or from the time
// of one run of each subject.
func (p *Plan) schedule(one []time.Duration) {
	p.Iterations = make([]int, len(p.Subjects))
	switch {
	case !p.turns():
		p.processes(one)
	case p.Runs > 0:
		p.Executions = rounds(p.Runs)
		for i := range p.Iterations {
			p.Iterations[i] = (p.Runs + p.Executions - 1) / p.Executions
		}
	default:
		p.Executions = min(max(fewRounds, p.Least), p.most())
		for i := range p.Iterations {
			p.Iterations[i] = min(max(1, int(roundTime/max(1, one[i]))), max(1, p.most()/p.Executions))
		}
		fewest := slices.Min(p.Iterations)
		p.Executions = max(p.Executions, (min(p.Least, p.most())+fewest-1)/fewest)
	}
}

// most is the largest number of runs of each command.
func (p Plan) most() int {
	if p.Most > 0 {
		return p.Most
	}
	return 1_000_000
}

// rounds divides a number of runs into rounds of as many each: 10 to 50, if there is a divisor.
func rounds(runs int) int {
	const many, enough = 50, 200
	for n := many; n >= fewRounds; n-- {
		if runs%n == 0 {
			return n
		}
	}
	if runs <= enough {
		return runs
	}
	return many
}

// more is how many more rounds there are before the next look: as many as before, while the time
// and --max-runs allow it.
func (p Plan) more(one []time.Duration) int {
	more := min(p.Executions, p.most()/slices.Max(p.Iterations)-p.Executions)
	for i, n := range p.Iterations {
		round := max(1, time.Duration(n)*one[i])
		most := commandTime
		if p.Null > 0 {
			most = revisionTime
		}
		more = min(more, int(most/round)-p.Executions)
	}
	return max(0, more)
}

// processes is schedule for subjects with processes of their own.
func (p *Plan) processes(one []time.Duration) {
	const many, few = 10, 5 // executions
	least := p.Least
	if p.Runs > 0 {
		least = p.Runs
	}
	p.Executions = min(many, least)
	if slices.ContainsFunc(p.Subjects, func(s Subject) bool { return !s.IsCommand() }) {
		p.Executions = few
		if p.Runs > 0 {
			p.Executions = p.Runs
		}
	}
	for i, s := range p.Subjects {
		wanted, budget := least, ownTime
		if !s.IsCommand() {
			wanted, budget = fewestIters*p.Executions, fileTime
		}
		if i < len(one) && one[i] > 0 {
			wanted = max(wanted, int(budget/one[i]))
		}
		if s.IsCommand() {
			wanted = min(wanted, p.most())
		} else if p.OfFile > 0 {
			wanted = p.OfFile * p.Executions
		}
		p.Iterations[i] = min(max(1, (wanted+p.Executions-1)/p.Executions), max(mostRuns, p.OfFile))
	}
}

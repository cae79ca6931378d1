// Package execution performs one process execution: it turns a key of the configuration into a
// command line, environment and shared buffer (pure functions), lets internal/execution/child run
// it, and turns the result into the parts of a record. It never judges and never stores. Start
// reading at Executor.Execute.
package execution

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	libkrun "krund/cgo"
	"krund/internal/durable/foreign"
	"krund/internal/execution/account"
	"krund/internal/execution/child"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/runners"
	"krund/runners/suites"
)

// bufferFD is the descriptor of the shared buffer in the benchmark: the first after stdin, stdout
// and stderr.
const bufferFD = 3

// userColumns is the maximum number of columns that a benchmark may define (garbage collection,
// compilation time).
const userColumns = 8

// instrumentColumns is how many more columns the runner of an instrumented VM may define.
const instrumentColumns = 16

// eventSlots is the maximum number of events that a process can report: 32 for each of 2,000
// iterations. With the names they take 2.5 MiB of its memory, and in an execution that is not
// instrumented nothing.
const eventSlots = 1 << 16

// envInstrument is the environment variable that asks the runner for more than wall times.
const envInstrument = "KRUN_INSTRUMENT"

// priority is the nice value of a benchmark started by root, as in Krun: the highest priority.
const priority = -20

// mostOutput is the maximum number of bytes kept of each output stream, whatever limits.output is:
// the output is kept in krund's memory, and takes up to six times as much there as JSON.
const mostOutput = 8 << 20

// Installed are the locations of the parts of krund that run in the measured process, and the user
// who runs krund.
type Installed struct {
	Runners    string // directory of the runners (package runners)
	Library    string // libkrun.so
	Krunctl    string // for the watcher
	Cgroup     string // cgroup of the benchmarks, below krund's own; experiments must not share one
	CallerName string // for benchmarks that run as the caller
	CallerHome string
	CallerEnv  []string // krund's own environment, for experiments that want it
}

// Job is one process execution to perform.
type Job struct {
	Key        key.Key
	VM         config.VM
	Entry      string // absolute path of the benchmark's file; "" is allowed for external suites
	Directory  string // absolute path of the working directory; "": that of Entry
	Benchmark  string // name, for external suites
	Parameter  int
	Suite      *config.Suite // that the benchmark is of; nil: it has run_iter itself
	Iterations int
	Hold       int // parts per million that each iteration is to take longer
	Limits     config.Limits
	Counters   config.Counters
	Verdict    config.Verdict
	Stop       config.StopIterations
	Number     int             // of the execution among those of its key, from 1
	Seed       uint64          // of the experiment
	Account    account.Account // zero: the caller's
	Program    string          // absolute path of the VM; "" means the installed runner for native code
	Missing    string          // why the program does not exist; "" if it does
	ExtraEnv   []string        // variables that controls add to the environment
	CPUs       []int           // nil: all
	Layout     Layout
	Relink     Relink
	Cgroup     string // "": the experiment's own
	Root       bool   // krund runs as root
	Inherit    bool   // environment, umask, priority, ... are those of krund: config.EnvironmentCaller
	// what is known about the cores before the run, for the expected APERF/MPERF
	Frequencies []results.Frequency
}

// NewJob collects what cfg contains about k. It looks up the VM's program now; if the program has
// vanished, that is an outcome of the execution (Missing), not an error. It returns an error if k
// is not in cfg.
func NewJob(cfg *config.Config, k key.Key) (Job, error) {
	vm, variant, bench, err := cfg.Lookup(k)
	if err != nil {
		return Job{}, err
	}
	j := Job{
		Key: k, VM: vm, Suite: variant.Suite, Entry: cfg.EntryPath(k), Benchmark: bench.Name,
		Parameter:  bench.Parameter,
		Iterations: cfg.Iterations(k), Hold: cfg.Hold(k), Limits: cfg.Limits,
		Inherit:  cfg.Experiment.Environment == config.EnvironmentCaller,
		Counters: cfg.Counters, Verdict: cfg.Verdict, Stop: cfg.Stop.Iterations, Seed: cfg.Experiment.Seed,
		Relink: Relink{Argv: cfg.Experiment.Relink, Timeout: cfg.Hooks.Timeout},
	}
	if j.Entry == "" {
		j.Directory = workDirectory(cfg.Directories(k))
	}
	if vm.Path != "" {
		if j.Program, err = config.LookPath(vm.Path); err != nil {
			j.Program, j.Missing = vm.Path, err.Error()
		}
	}
	return j, nil
}

// External reports whether the job is a suite that prints its times instead of using libkrun.
func (j Job) External() bool { return j.VM.Runner == config.RunnerExternal }

// argv returns the command line: the VM, its arguments, the runner, and the runner's arguments, as
// in Krun.
func (j Job) argv(in Installed) []string {
	if language, ok := runners.Lookup(j.VM.Runner); ok {
		args := slices.Concat(j.VM.Args, language.InstrumentOptions(j.VM.Instrument))
		entry, library := j.Entry, ""
		if j.Suite != nil && j.Suite.Hook(j.VM) != suites.Own {
			entry, library = filepath.Join(in.Runners, j.Suite.Hook(j.VM)), j.Entry
		}
		return language.Command(j.Program, args, in.Runners, entry, library, j.Parameter)
	}
	argv, name := append([]string{j.Program}, j.VM.Args...), j.Benchmark
	if b, ok := j.Suite.Benchmark(j.Benchmark); ok {
		argv, name = append(argv, filepath.Join(in.Runners, j.Suite.Hook(j.VM))), b.Options[0]
	}
	if j.Entry != "" {
		argv = append(argv, j.Entry)
	}
	// 0: Krun's instrumentation flag
	return append(argv, name, strconv.Itoa(j.Iterations), strconv.Itoa(j.Parameter), "0")
}

// environment returns the benchmark's complete environment. It is the same for all executions of a
// key, so that its size, which affects the address of the stack (Mytkowicz et al., ASPLOS 2009), is
// the same each time.
func (j Job) environment(in Installed) []string {
	env := j.userEnvironment(in)
	if j.Inherit {
		env = slices.Clone(in.CallerEnv)
	}
	if !j.External() {
		env = set(env, fmt.Sprintf("%s=%d", libkrun.EnvFD, bufferFD))
		env = set(env, libkrun.EnvLibrary+"="+in.Library)
	}
	if language, _ := runners.Lookup(j.VM.Runner); language.Inputs {
		env = set(env, fmt.Sprintf("KRUN_SEED=%010d", j.inputSeed()))
	}
	if j.Suite != nil {
		env = append(env, j.suiteEnvironment()...)
	}
	if j.VM.Instrument != "" {
		env = set(env, envInstrument+"="+j.VM.Instrument)
	}
	for _, variable := range slices.Concat(j.ExtraEnv, j.VM.Env) {
		env = set(env, variable)
	}
	return env
}

// inputSeed returns the seed of the inputs of an execution, 31 bits: another one for each benchmark
// and block, and the same for all VMs, variants and arms.
func (j Job) inputSeed() uint32 {
	h := sha256.Sum256(fmt.Appendf(nil, "%d %s %d", j.Seed, j.Benchmark, j.Number))
	return binary.BigEndian.Uint32(h[:]) >> 1
}

// suiteEnvironment tells the hook of a suite which file to run, and how. Options are separated by
// line breaks, which they cannot contain.
func (j Job) suiteEnvironment() []string {
	b, _ := j.Suite.Benchmark(j.Benchmark)
	return []string{
		"KRUN_SUITE=" + j.Suite.Path, "KRUN_SUITE_FILE=" + j.Entry, "KRUN_SUITE_BENCHMARK=" + b.Name,
		"KRUN_SUITE_OPTIONS=" + strings.Join(b.Options, "\n"), "KRUN_SUITE_REQUIRES=" + b.Requires,
	}
}

// disclosed returns the environment as a record has it. Of what is inherited it has only the names:
// the values can be passwords, and records are sent to others. Their hash shows whether two
// executions had the same ones; it is "" without any.
func (j Job) disclosed(env []string, in Installed) (shown []string, hash string) {
	if !j.Inherit {
		return env, ""
	}
	shown = slices.Clone(env)
	h := sha256.New()
	for i, variable := range shown {
		if !slices.Contains(in.CallerEnv, variable) {
			continue
		}
		h.Write([]byte(variable + "\x00"))
		shown[i], _, _ = strings.Cut(variable, "=")
	}
	return shown, hex.EncodeToString(h.Sum(nil))
}

// userEnvironment returns the part that describes the account.
func (j Job) userEnvironment(in Installed) []string {
	user, home := j.Account.Name, j.Account.Home
	if j.Account.IsCaller() {
		user, home = in.CallerName, in.CallerHome
	}
	return []string{
		"PATH=" + config.SearchPath, "HOME=" + home, "USER=" + user, "LOGNAME=" + user,
		"SHELL=/bin/sh", "LANG=C.UTF-8",
	}
}

// spec returns the plan of the shared buffer without counters.
func (j Job) spec() libkrun.Spec {
	s := libkrun.Spec{Iterations: j.Iterations, UserColumns: userColumns, Hold: j.Hold}
	if j.VM.Instrument != "" {
		s.UserColumns += instrumentColumns
	}
	if j.VM.Instrument == config.InstrumentEvents {
		s.Events = eventSlots
	}
	return s
}

// set replaces the variable of that name, or adds it. If a name occurs twice, some programs use its
// first value, others its last.
func set(env []string, variable string) []string {
	name, _, _ := strings.Cut(variable, "=")
	if i := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") }); i >= 0 {
		env[i] = variable
		return env
	}
	return append(env, variable)
}

// dir returns the working directory: that of the benchmark's file, so that the benchmark finds its
// data.
func (j Job) dir() string {
	if j.Directory != "" {
		return j.Directory
	}
	return filepath.Dir(j.Entry)
}

// workDirectory returns the working directory of an external suite without an entry file: the
// nearest existing directory, or "/".
func workDirectory(directories []string) string {
	for _, directory := range directories {
		if info, err := foreign.Stat(context.Background(), directory); err == nil && info.IsDir() {
			return directory
		}
	}
	return "/"
}

// command returns everything that internal/execution/child needs except the shared buffer.
func (j Job) command(in Installed) child.Command {
	argv := j.argv(in)
	c := child.Command{
		Path: argv[0], Args: argv, Env: j.environment(in), Dir: j.dir(), CPUs: j.CPUs,
		Cgroup: in.Cgroup,
		Limits: child.Limits{
			Heap: j.Limits.Heap, Stack: j.Limits.Stack, Output: min(j.Limits.Output, mostOutput),
			Timeout: j.Limits.Timeout, Processes: j.Limits.Processes,
		},
	}
	j.asUser(&c)
	if j.Cgroup != "" {
		c.Cgroup = j.Cgroup
	}
	if c.Inherit = j.Inherit; j.Root && !j.Inherit {
		c.Nice = priority
	}
	j.Layout.apply(&c)
	return c
}

// asUser makes c run as the account of the benchmark.
func (j Job) asUser(c *child.Command) {
	if a := j.Account; !a.IsCaller() {
		c.User = child.User{Name: a.Name, UID: a.UID, GID: a.GID, Own: a.Own}
	}
	if j.Account.Own {
		c.KillUser = j.Account.KillProcesses
	}
}

// Layout is how the addresses of a process are chosen. The addresses of environment and stack move
// caches' conflicts and alignment, and thereby results (Mytkowicz et al., ASPLOS 2009).
type Layout struct {
	Mode string // config.LayoutOff, LayoutFixed or LayoutRandom
	// bytes by which environment and stack begin lower than with LayoutFixed, a multiple of 16
	Offset int

	LinkSeed uint32          // for Relink; 0 with LayoutFixed
	Relinked *results.Relink // what Executor.Relink did; nil: nothing
}

// layoutName is the variable that pads the environment. Benchmarks ignore it.
const layoutName = "KRUN_LAYOUT"

const (
	// padTo is a multiple of the bytes that arguments and environment take, so that they take the
	// same in every execution.
	padTo = 16 << 10
	// stackAlign is the alignment of the stack at the start of a process (System V ABI, AMD64
	// supplement 3.4.1).
	stackAlign = 16
)

// apply pads the environment of c so that the stack begins at an address that only the layout
// determines, and not the length of paths or the number of arguments.
func (l Layout) apply(c *child.Command) {
	if !l.set() {
		return
	}
	const pointer = 8
	c.FixedAddresses = true
	c.Env = append(c.Env, layoutName+"=")
	texts := len(c.Path) + 1 + child.EnvBytes(c.Args) + child.EnvBytes(c.Env)
	pointers := up(pointer*(len(c.Args)+len(c.Env)), stackAlign)
	c.Env[len(c.Env)-1] += strings.Repeat("x", up(texts+pointers, padTo)-texts-pointers+l.Offset)
}

// set reports whether krund determines the layout.
func (l Layout) set() bool { return l.Mode == config.LayoutFixed || l.Mode == config.LayoutRandom }

// up rounds n up to a multiple.
func up(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }

// record returns the layout of c in the form of a record, and its environment without the padding;
// nil if krund does not determine the layout.
func (l Layout) record(c child.Command) (*results.Layout, []string) {
	if !l.set() {
		return nil, c.Env
	}
	env := slices.Clone(c.Env)
	last := len(env) - 1
	padding := len(env[last]) - len(layoutName+"=")
	env[last] = layoutName + "="
	return &results.Layout{Mode: l.Mode, PaddingBytes: padding, OffsetBytes: l.Offset,
		Relink: l.Relinked}, env
}

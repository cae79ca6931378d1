package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"krund/internal/durable/trust"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/key"
	"krund/internal/experiment/stop"
	"krund/runners"
)

// Values of the keys that name a choice.
const (
	OrderRoundRobin  = "round-robin" // every key once, then every key again
	OrderInterleaved = "interleaved" // each round is a random permutation of the keys
	OrderBlocked     = "blocked"     // the same, with the arms of a key next to each other

	LayoutOff    = "off"    // the system chooses the addresses of a process
	LayoutFixed  = "fixed"  // they are the same in every execution
	LayoutRandom = "random" // environment and stack are at a random place, the same for a whole round

	RebootHardware = "hardware" // the machine restarts before every process execution
	RebootKexec    = "kexec"    // the same, without the firmware: a new kernel starts in memory
	RebootSoft     = "soft"     // the same, without a new kernel: systemd starts all programs anew
	RebootNone     = "none"     // all process executions in one boot: for development

	LoaderAuto        = "auto"
	LoaderGRUB        = "grub"
	LoaderSystemdBoot = "systemd-boot"

	InstrumentOff     = "off"     // nothing but wall times and counters
	InstrumentColumns = "columns" // the runner also reports, per iteration, what the VM did
	InstrumentEvents  = "events"  // and when: see libkrun's krun_event

	AccountFresh  = "fresh"  // a new account and home for each process execution
	AccountCaller = "caller" // the account that started krund

	EnvironmentClean  = "clean"  // the same for everyone: a few variables, umask 022, no core files
	EnvironmentCaller = "caller" // that of the process that started krund

	RunnerC        = "c"                 // the other values are the languages of package runners
	RunnerPython   = "python"            //
	RunnerCommand  = runners.CommandName // a whole command: each iteration is one run of it
	RunnerExternal = "external"          // a benchmark suite that prints its times as JSON

	ScopePerCore   = "per-core"
	ScopeTask      = "task"
	ScopeExecution = "execution"

	SourcePerf  = "perf"  // perf_event_open(2)
	SourceRDPMC = "rdpmc" // the same, read in user space
	SourceMSR   = "msr"   // /dev/cpu/N/msr
	SourceNone  = "none"

	KernelUsage      = "usage"      // faults and context switches of the process, by getrusage(2)
	KernelInterrupts = "interrupts" // timer and device interrupts, by tracepoints in the groups of perf
	KernelSwitches   = "switches"   // who else ran on the benchmark's CPUs, by the scheduler's records

	HookReport = "report" // a hook that failed after an execution is reported
	HookStop   = "stop"   // it also stops the experiment

	VerdictAccept = "accept" // a disturbed process execution counts; the record says so
	VerdictRerun  = "rerun"  // it is run again
	VerdictFail   = "fail"   // it is an error
)

// Config is one experiment on one machine, with all defaults filled in. Treat it and its slices as
// read-only.
type Config struct {
	Path     string // absolute
	Text     string // the file, byte for byte
	Hash     string // SHA-256 of Text, in hexadecimal
	Hostname string // the machine whose [machines] sections were merged in

	Experiment  Experiment
	Boot        Boot
	Limits      Limits
	Wait        Wait
	Temperature TemperatureGate
	VMs         []VM        // in file order, like all lists
	Variants    []Variant   // including those that no VM uses
	Benchmarks  []Benchmark //
	Arms        []Arm       // the first is the base; none: the experiment compares nothing
	Hooks       Hooks
	Notify      Notify
	KernelLog   KernelLog
	Controls    setting.Demands // one for each setting that the parser was given, in that order
	Counters    Counters
	Verdict     Verdict
	Stop        Stop

	keys     []key.Key
	settings []setting.Descriptor // that [controls] can name
	shown    string               // the path as the user gave it, for messages
	verdict  trust.Verdict        // of the path it was read from
	lines    lines
	doubtful map[string]bool // see reader
	unitless map[string]bool // see reader
	near     map[string]bool // see Relative
}

// Experiment is the section of the same name.
type Experiment struct {
	Name        string
	Description string
	Iterations  int // per process execution, for VMs and benchmarks that do not set their own
	Executions  int // process executions per key, for benchmarks that do not set their own
	Shard       Shard
	Order       string
	Seed        uint64
	Reboot      string
	Attempts    int // attempts per slot before the slot counts as an error
	GiveUp      int // failures after which a key without a result is given up; 0: never
	// with RebootKexec or RebootSoft, every this many restarts one is of the hardware; 0: none
	HardwareEvery int
	MaxReboots    int // of the whole experiment; derived unless set
	Benchmarks    string
	Account       string
	Environment   string
	Layout        string
	Relink        []string // argument vector that links a benchmark anew; empty for none
	Skip          []key.Pattern
	// keys whose program must not change: when they do, the machine did
	NegativeControls []key.Pattern
}

// Shard is the part of an experiment that one of several machines runs: of Count parts the one with
// this Index, from 1. It has the rounds Index, Index+Count, ..., each as a whole, so that a block
// stays on one machine and all parts together are the planned experiment. The zero Shard is all of
// it.
type Shard struct{ Index, Count int }

// Has reports whether a round, from 1, belongs to the part.
func (s Shard) Has(round int) bool { return s.Count == 0 || (round-s.Index)%s.Count == 0 }

// of returns how many of the rounds 1 to n belong to the part.
func (s Shard) of(n int) int {
	if s.Count == 0 {
		return n
	}
	return (n - s.Index + s.Count) / s.Count
}

// String returns the part as in a configuration: "2/3", or "" for all.
func (s Shard) String() string {
	if s.Count == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Count)
}

// Restarts reports whether an experiment with this reboot mode restarts the machine, or at least
// all its programs, before each process execution.
func Restarts(reboot string) bool { return reboot != RebootNone }

// RebootModes lists the values of experiment.reboot.
func RebootModes() []string {
	return []string{RebootHardware, RebootKexec, RebootSoft, RebootNone}
}

// Boot selects the boot loader entry for an experiment with reboots.
type Boot struct {
	Entry  string // requested before each boot; "" is the loader's default
	Loader string
}

// Limits bounds each process execution. Zero Heap, Stack, Timeout, Processes and
// Home mean no limit.
type Limits struct {
	Heap    int64 // bytes of data segment (RLIMIT_DATA)
	Stack   int64 // bytes (RLIMIT_STACK)
	Timeout time.Duration
	By      string // what has set Timeout, if not limits.timeout
	Output  int64  // bytes kept of stdout and of stderr, each

	Processes int64 // processes and threads at the same time

	Home int64 // bytes size of a home in memory (tmpfs); 0 means a directory on disk
}

// Wait holds the pauses of each boot.
type Wait struct {
	Startup time.Duration // after krund starts, for the system to settle; with Settle at most this long
	Settle  time.Duration // for how long the machine must have been quiet; 0: Startup is a fixed wait
	Sync    time.Duration // after sync(2)
}

// TemperatureGate configures how the base temperatures are measured and waited for.
type TemperatureGate struct {
	BaseWait  time.Duration // before the base temperatures are read
	Tolerance float64       // degrees Celsius around the base, greater than 0
	Timeout   time.Duration // for a temperature to return to its base
	Sensors   []string      // glob patterns of sensor ids; empty: the processor's
}

// VM is a language implementation, or native code, that runs benchmarks.
type VM struct {
	Name       string
	Runner     string
	Path       string   // absolute, or a bare name for LookPath; "" means the installed C runner
	Args       []string // before the runner's own arguments
	Env        []string // "NAME=value", sorted by name
	Iterations int      // per process execution, for benchmarks that do not set their own
	Variants   []string // names, at least one
	Instrument string   // InstrumentColumns, InstrumentEvents, or "" for off
}

// CanInstrument reports whether the VM has a runner of krund in its process, which can ask it what
// it does.
func (v VM) CanInstrument() bool { return v.NeedsEntry() }

// NeedsEntry reports whether the VM's runner loads a file of the benchmark.
func (v VM) NeedsEntry() bool { return v.Runner != RunnerExternal && v.Runner != RunnerCommand }

// Variant is one implementation of a benchmark.
type Variant struct {
	Name      string
	Entry     string // a file; "" is allowed for external suites
	Subfolder string // subdirectory of the benchmark's directory; may be ""
	Suite     *Suite // whose benchmarks the variant has; nil for those of [benchmarks]
}

// Benchmark is one program to measure.
type Benchmark struct {
	Name      string
	Parameter int // fits a C int on every machine
	Sizes     []Size
	suites    bool // only suites have it, [benchmarks] has not
}

// Size replaces numbers of the VM and of the experiment for a benchmark.
type Size struct {
	VM         string // name; "" for all VMs
	Iterations int    // per process execution; 0: that of the VM
	Executions int    // 0: that of the experiment
}

// size returns the value of a number for one VM, of the benchmark's for this VM, its own for all,
// or normal.
func (b Benchmark) size(vm string, number func(Size) int, normal int) int {
	for _, name := range []string{vm, ""} {
		for _, s := range b.Sizes {
			if s.VM == name && number(s) > 0 {
				return number(s)
			}
		}
	}
	return normal
}

// Hooks are commands. Each is an argument vector that is executed without a shell. Argv[0] is an
// absolute path or a bare name.
type Hooks struct {
	Before, After [][]string
	Timeout       time.Duration // of each command, and of Experiment.Relink
	AfterFailure  string        // what happens if a command of After fails
}

// Notify configures who is notified when the experiment starts, ends or fails.
type Notify struct {
	Mail     []string
	MaxMails int // of the whole experiment
	Sendmail string
	Command  []string // argument vector; empty for none
	Webhook  string   // http or https address; "" for none
}

// KernelLog lists the kernel messages to ignore.
type KernelLog struct {
	Allow []*regexp.Regexp
}

// Counters selects the processor counters and how they are read.
type Counters struct {
	Sources []string // tried in this order
	Scope   string
	Kernel  []string // what else is recorded of the kernel: KernelUsage, ...
}

// Verdict configures what happens to a process execution during which the clock frequency left its
// bounds.
type Verdict struct {
	RatioTolerance float64 // of APERF/MPERF around the expected ratio
	// APERF per second at which a core counts as busy; 0: derived from the rate of MPERF
	BusyThreshold float64
	Policy        string
}

// Stop configures when a key is finished before its last planned execution, and when an execution
// ends before its last iteration.
type Stop struct {
	Rules     []stop.Rule   // that must all be answered; none: no key is finished early
	Minimum   int           // executions of a key before that
	Alpha     float64       // error of all statements, above 0 and below 1
	HalfWidth float64       // wanted, relative: 0.01 is ± 1 %
	Margin    float64       // smallest change that counts, relative
	Deadline  time.Duration // of a decision
	Keep      []key.Pattern // keys that are never finished early

	Iterations StopIterations
}

// Keeps reports whether a key is never finished early.
func (s Stop) Keeps(k key.Key) bool {
	return slices.ContainsFunc(s.Keep, func(p key.Pattern) bool { return p.Match(k) })
}

// WithReboot returns the configuration with another reboot mode, and with the waits that are the
// default in that mode.
func (c *Config) WithReboot(mode string) *Config {
	changed := *c
	changed.Experiment.Reboot = mode
	changed.defaultWaits()
	return &changed
}

// WithLongest returns the configuration with no limit of time that is longer than this: that of an
// execution, of a hook, and of the wait for the temperatures. by names what demands it. 0 changes
// nothing.
func (c *Config) WithLongest(longest time.Duration, by string) *Config {
	changed := *c
	if longest <= 0 {
		return &changed
	}
	if l := &changed.Limits; l.Timeout == 0 || l.Timeout > longest {
		l.Timeout, l.By = longest, by
	}
	changed.Hooks.Timeout = min(c.Hooks.Timeout, longest)
	changed.Temperature.Timeout = min(c.Temperature.Timeout, longest)
	return &changed
}

// Keys returns the keys to measure in Krun's order: for each VM, each benchmark, each of the VM's
// variants and each arm, without the skipped keys. The slice has at least one element and belongs
// to the caller.
func (c *Config) Keys() []key.Key {
	return slices.Clone(c.keys)
}

// Groups returns the keys with the arms of each next to each other.
func (c *Config) Groups() [][]key.Key {
	var groups [][]key.Key
	at := map[key.Key]int{}
	for _, k := range c.keys {
		all := k
		all.Arm = ""
		i, ok := at[all]
		if !ok {
			i = len(groups)
			at[all], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], k)
	}
	return groups
}

// Lookup returns the VM as k's arm has it, and the variant and benchmark that k names. It also
// finds skipped keys.
func (c *Config) Lookup(k key.Key) (VM, Variant, Benchmark, error) {
	vm, ok := find(c.VMs, func(v VM) bool { return v.Name == k.VM })
	if !ok {
		return VM{}, Variant{}, Benchmark{}, fmt.Errorf("%s: no VM %q; krund was started with another "+
			"configuration", k, k.VM)
	}
	if !slices.Contains(vm.Variants, k.Variant) {
		return VM{}, Variant{}, Benchmark{}, fmt.Errorf("%s: VM %s has no variant %q", k, k.VM, k.Variant)
	}
	variant, ok := find(c.Variants, func(v Variant) bool { return v.Name == k.Variant })
	if !ok {
		return VM{}, Variant{}, Benchmark{}, fmt.Errorf("%s: no variant %q", k, k.Variant)
	}
	benchmark, ok := find(c.Benchmarks, func(b Benchmark) bool { return b.Name == k.Benchmark })
	if !ok {
		return VM{}, Variant{}, Benchmark{}, fmt.Errorf("%s: no benchmark %q", k, k.Benchmark)
	}
	if variant.Suite != nil {
		own, ok := variant.Suite.Benchmark(k.Benchmark)
		if !ok {
			return VM{}, Variant{}, Benchmark{}, fmt.Errorf("%s: the suite %s has no such benchmark", k,
				k.Variant)
		}
		benchmark.Parameter = own.Parameter
	}
	arm, err := c.arm(k)
	for _, o := range arm.VMs {
		o.apply(&vm)
	}
	if variant.Suite != nil && arm.Benchmarks != "" { // another build of the suite
		own := *variant.Suite
		own.Path, variant.Suite = arm.Benchmarks, &own
	}
	return vm, variant, benchmark, err
}

// Directories returns the absolute paths of the directories for the files of k, nearest first: the
// variant's subdirectory of the benchmark's directory, the benchmark's directory, and the directory
// of all benchmarks in k's arm. They need not exist. It returns nil if k is not in the
// configuration.
func (c *Config) Directories(k key.Key) []string {
	_, variant, benchmark, err := c.Lookup(k)
	if err != nil {
		return nil
	}
	if variant.Suite != nil {
		return []string{filepath.Dir(c.EntryPath(k)), variant.Suite.Path}
	}
	all := c.benchmarksOf(k)
	own := filepath.Join(all, benchmark.Name)
	return []string{filepath.Join(own, variant.Subfolder), own, all}
}

// EntryPath returns the absolute path of the entry file of k, of a suite's benchmark its own file,
// or "" if k is not in the configuration or its variant has no entry.
func (c *Config) EntryPath(k key.Key) string {
	vm, variant, benchmark, err := c.Lookup(k)
	if err == nil && variant.Suite != nil {
		return variant.Suite.File(benchmark.Name, vm)
	}
	if err != nil || variant.Entry == "" {
		return ""
	}
	return filepath.Join(c.benchmarksOf(k), benchmark.Name, variant.Subfolder, variant.Entry)
}

// Iterations returns the number of iterations of a process execution of k, or 0 if k's VM is not in
// the configuration.
func (c *Config) Iterations(k key.Key) int {
	vm, _ := find(c.VMs, func(v VM) bool { return v.Name == k.VM })
	b, _ := find(c.Benchmarks, func(b Benchmark) bool { return b.Name == k.Benchmark })
	return b.size(k.VM, func(s Size) int { return s.Iterations }, vm.Iterations)
}

// Executions returns the number of process executions of k on this machine: with a shard, those of
// that part. It is the same for all arms.
func (c *Config) Executions(k key.Key) int { return c.Experiment.Shard.of(c.Planned(k)) }

// Planned returns the number of process executions of k on all machines together.
func (c *Config) Planned(k key.Key) int {
	b, _ := find(c.Benchmarks, func(b Benchmark) bool { return b.Name == k.Benchmark })
	return b.size(k.VM, func(s Size) int { return s.Executions }, c.Experiment.Executions)
}

// Slots returns the number of process executions of the experiment on this machine.
func (c *Config) Slots() int {
	n := 0
	for _, k := range c.keys {
		n += c.Executions(k)
	}
	return n
}

// Control returns what is demanded of the setting of that name. Asking for a name that the parser
// was not given is a bug and panics.
func (c *Config) Control(name string) setting.Demand { return c.Controls.Of(name) }

func find[T any](list []T, is func(T) bool) (T, bool) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i], true
	}
	var none T
	return none, false
}

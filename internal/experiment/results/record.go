package results

import (
	"strings"
	"time"

	"krund/internal/experiment/key"
)

// Outcome is the outcome of an attempt.
type Outcome string

// The outcomes. A slot ends with its first attempt that is not a rerun.
const (
	Completed Outcome = "completed" // it counts
	Error     Outcome = "error"     // the benchmark failed: crash, wrong checksum, missing file
	Timeout   Outcome = "timeout"   // killed when it reached the time limit
	Rerun     Outcome = "rerun"     // disturbed, does not count; kept so that the selection can be reviewed
)

// Known reports whether o is one of the outcomes above.
func (o Outcome) Known() bool {
	switch o {
	case Completed, Error, Timeout, Rerun:
		return true
	}
	return false
}

// Values of Record.Reboot.
const (
	RebootNone     = "none"     // ran in the same boot as its neighbors
	RebootHardware = "hardware" // the machine was restarted before it
	RebootKexec    = "kexec"    // only its kernel was
	RebootSoft     = "soft"     // only its programs were
)

// Record is everything known about one attempt of one slot: one process execution. The field names
// in JSON, with units, are specified in the package documentation; null there is a nil pointer,
// slice or map here.
//
// A Record that was read belongs to the caller, including all slices.
type Record struct {
	Key key.Key `json:"-"` // in JSON: key, benchmark, vm, variant, arm

	Krund      string `json:"krund"`       // version of krund
	Experiment string `json:"experiment"`  // name
	ConfigHash string `json:"config_hash"` // hexadecimal SHA-256 of the configuration's text
	Host       string `json:"host"`        // name of the machine

	Slot    int `json:"slot"`    // index in the schedule, from 0
	Attempt int `json:"attempt"` // from 1
	Pexec   int `json:"pexec"`   // number of the process execution of this key, from 1

	// of the programs (package identity), from 1; 0 in records of versions that did not check them,
	// whose fingerprint may differ between executions
	Edition int `json:"edition,omitempty"`

	Parameter  int64 `json:"parameter"`  // the benchmark's argument
	Iterations int   `json:"iterations"` // planned, not done

	// what was asked of the runner beside wall times: "columns" or "events"; "": nothing, also in
	// records of versions that could not ask
	Instrument string `json:"instrument,omitempty"`

	Outcome Outcome  `json:"outcome"`
	Reasons []string `json:"reasons"` // sentences that explain the outcome; may be empty

	Reboot  string    `json:"reboot"`  // how its boot began: one of the constants
	BootID  string    `json:"boot_id"` // name of this boot
	Started time.Time `json:"started"` // just before the process was created; wall clock, UTC

	// of every stamp and time below: "CLOCK_MONOTONIC_RAW", "CLOCK_MONOTONIC"; "external" if the
	// suite measured its own times
	Clock         string `json:"clock"`
	CounterSource string `json:"counter_source"` // "perf", "rdpmc", "msr", "none"; "external"
	CounterReason string `json:"counter_reason"` // why this source and no better one

	Startup Startup `json:"startup"`
	// start stamp of each complete iteration; nil if there are only durations
	StartNS []int64  `json:"start_ns"`
	WallNS  []int64  `json:"wall_ns"` // duration of each complete iteration
	Columns []Column `json:"columns"`
	// of counters that are read around the whole execution; nil if there are none
	Totals []Total `json:"totals"`
	// what happened while the process ran, by time; nil if there are none
	Events     []Event `json:"events,omitempty"`
	EventsLost int     `json:"events_lost,omitempty"` // that happened and are not among Events
	// the events of kind switch; nil if they were not wanted
	Switches *Switches `json:"switches,omitempty"`
	Energy   []Energy  `json:"energy"` // used during the execution; nil if the machine does not report it
	// of the cores with APERF and MPERF; nil without them and in records of versions that expected
	// APERF/MPERF to be 1 on every core
	Frequencies []Frequency `json:"frequencies,omitempty"`
	Library     *Library    `json:"library"` // final state of libkrun; nil if the process does not use it

	Layout *Layout `json:"layout,omitempty"` // nil: the system chose the addresses

	Watcher *Watcher `json:"watcher,omitempty"` // nil: no process read the series while it was measured

	Process Process      `json:"process"`
	Machine MachineState `json:"machine"`
	Daemon  Daemon       `json:"daemon"`
}

// Startup holds the stamps of the process's start and end, in nanoseconds on the record's clock, so
// that they can be subtracted from each other and from StartNS. Nil means never reached, or not
// recorded.
type Startup struct {
	ExecNS  *int64 `json:"exec_ns"`  // just before exec
	InitNS  *int64 `json:"init_ns"`  // the runner's first call of libkrun
	FirstNS *int64 `json:"first_ns"` // start of the first iteration, even if it was never completed
	DoneNS  *int64 `json:"done_ns"`  // the runner said that it is done
}

// Event is something that the VM, the benchmark or the kernel did while the process ran, in
// nanoseconds on the record's clock.
type Event struct {
	Kind       string `json:"kind"`
	TimeNS     int64  `json:"time_ns"`     // its start
	DurationNS int64  `json:"duration_ns"` // 0: an instant, or unknown
	Argument   *int64 `json:"argument"`    // depends on the kind; nil: none
	Name       string `json:"name"`        // of a function, class, task, ...; "": none
}

// Switches is who took a processor from the benchmark, from the exec until the runner was done.
type Switches struct {
	Reason string `json:"reason"` // why it is not known, or not completely; "" if it is
	CPUs   []int  `json:"cpus"`   // the processors that were recorded; nil: none
	// when the memory of a processor was full, on the record's clock: later ones are missing; nil:
	// never
	FullNS *int64       `json:"full_ns"`
	Tasks  []SwitchTask `json:"tasks"` // those that ran longest, at most ten, the longest first
}

// SwitchTask is a task that took a processor from the benchmark.
type SwitchTask struct {
	Name string `json:"name"` // "" if it ended before it was asked
	PID  int    `json:"pid"`  // process
	Activity
}

// Library is the state of the shared buffer after the end of the process.
type Library struct {
	State    string   `json:"state"`    // "new": never attached; "ready": ended before krun_done; "done"
	Error    string   `json:"error"`    // first error that libkrun returned to the runner; "" for none
	BegunNS  *int64   `json:"begun_ns"` // start of the last iteration, complete or not
	Findings []string `json:"findings"` // contents that libkrun cannot have written
}

// Layout is how krund chose the addresses of the process.
type Layout struct {
	Mode         string `json:"mode"`          // "fixed" or "random"
	PaddingBytes int    `json:"padding_bytes"` // by which the environment was lengthened
	OffsetBytes  int    `json:"offset_bytes"`  // by which the stack begins lower than with "fixed"

	Relink *Relink `json:"relink,omitempty"` // nil: the file of the benchmark was executed
}

// Relink is what experiment.relink was asked for and wrote.
type Relink struct {
	Seed   uint32 `json:"seed"`
	SHA256 string `json:"sha256"` // of the file that was executed, hexadecimal; "" if the command failed
}

// Watcher is a process that read the series while it was measured, on a processor that the
// benchmark did not use.
type Watcher struct {
	CPU     int          `json:"cpu"`
	UID     int          `json:"uid"`
	Shows   bool         `json:"shows"`   // it wrote the number of iterations to the terminal
	Stop    *WatcherStop `json:"stop"`    // nil: it did not look for the end of warm-up
	Problem string       `json:"problem"` // why it did not work until the end; "" if it did
}

// WatcherStop is how the watcher looked for the end of warm-up, and what it found.
type WatcherStop struct {
	Criterion string  `json:"criterion"` // "cv", "rciw" or "kld"
	Profile   string  `json:"profile"`   // of the rules: "recommended", "study", "jmh" or "paper"
	Threshold float64 `json:"threshold"`
	Step      string  `json:"step"`       // a duration, or a number of iterations
	WarmupMin int     `json:"warmup_min"` // steps
	WarmupMax int     `json:"warmup_max"`
	Measure   int     `json:"measure"`
	Seed      uint64  `json:"seed"`
	DryRun    bool    `json:"dry_run"` // it would not have stopped the execution

	Warmup   *int     `json:"warmup"`   // iterations of warm-up; nil: it did not end
	Stable   bool     `json:"stable"`   // the criterion ended it, not its longest length
	Value    *float64 `json:"value"`    // of the criterion at the end of warm-up; nil: undefined
	StopAt   *int     `json:"stop_at"`  // iterations with which the measurement was complete; nil: it was not
	AskedAt  *int     `json:"asked_at"` // complete iterations at the request to stop; nil: none
	Measured int      `json:"measured"` // iterations after warm-up, those after stop_at included
}

// Stopped reports whether the watcher ended the execution before its last iteration.
func (r Record) Stopped() bool {
	return r.Watcher != nil && r.Watcher.Stop != nil && r.Watcher.Stop.AskedAt != nil &&
		len(r.WallNS) < r.Iterations
}

// Process is how the measured process was started and how it ended.
type Process struct {
	Argv []string `json:"argv"`
	Dir  string   `json:"dir"`
	// "NAME=value", in the order they were passed; "NAME" of one inherited from who started krund
	Env []string `json:"env"`
	// SHA-256 of the inherited variables, "NAME=value", each with a zero byte; "" without any
	EnvInherited string `json:"env_inherited_sha256,omitempty"`
	// size of the environment in the new process, zero bytes included
	EnvBytes     int    `json:"env_bytes"`
	Account      string `json:"account"` // name; "" if it has none
	UID          int    `json:"uid"`
	GID          int    `json:"gid"`
	FreshHome    bool   `json:"fresh_home"` // account and home were created for this attempt
	Nice         int    `json:"nice"`
	Policy       string `json:"policy"`        // scheduling policy; "" if unknown
	Cgroup       string `json:"cgroup"`        // control group, from the root of the hierarchy; "" if none
	CgroupReason string `json:"cgroup_reason"` // why none
	Affinity     []int  `json:"affinity"`      // processors it was allowed to use; nil if unknown
	Limits       Limits `json:"limits"`

	PID        int           `json:"pid"`         // 0 if it was not started
	NotStarted *StartFailure `json:"not_started"` // nil if the program was executed
	// exit status; nil if a signal killed it or it was not started
	Exit        *int   `json:"exit"`
	Signal      string `json:"signal"` // "SIGSEGV"; "" if it exited by itself
	TimedOut    bool   `json:"timed_out"`
	Interrupted bool   `json:"interrupted"` // killed because krund was stopped

	WallNS              int64 `json:"wall_ns"` // from the start until krund saw the end
	UTimeNS             int64 `json:"utime_ns"`
	STimeNS             int64 `json:"stime_ns"`
	GroupNS             int64 `json:"group_ns,omitempty"` // of its control group; 0 if unknown
	MaxRSSBytes         int64 `json:"maxrss_bytes"`       // an upper bound if equal to MaxRSSFloorBytes
	MaxRSSFloorBytes    int64 `json:"maxrss_floor_bytes"` // the part contributed by krund's own start
	MinorFaults         int64 `json:"minor_faults"`
	MajorFaults         int64 `json:"major_faults"`
	VoluntarySwitches   int64 `json:"voluntary_switches"`
	InvoluntarySwitches int64 `json:"involuntary_switches"`

	Stdout   Output   `json:"stdout"`
	Stderr   Output   `json:"stderr"`
	Strays   int      `json:"strays"`    // processes it left behind, killed by krund
	OOMKills int      `json:"oom_kills"` // processes that the kernel's OOM killer killed during the run
	Findings []string `json:"findings"`  // what was refused, left over or unusual
}

// Limits of the process. Nil means no limit.
type Limits struct {
	HeapBytes   *int64 `json:"heap_bytes"`  // data segment
	StackBytes  *int64 `json:"stack_bytes"` //
	TimeoutNS   *int64 `json:"timeout_ns"`  //
	OutputBytes *int64 `json:"output_bytes"`
	Processes   *int64 `json:"processes"` // processes and threads at once, if the system could enforce it
}

// StartFailure is why the program could not be executed.
type StartFailure struct {
	Step  string `json:"step"`  // "exec", "chdir", ...
	Errno string `json:"errno"` // "ENOENT"; "" if there is none
	Text  string `json:"text"`
}

// Output is what the process wrote to one of its standard streams.
type Output struct {
	Text      string `json:"text"`  // the part that was kept; invalid UTF-8 is replaced by U+FFFD
	Bytes     int64  `json:"bytes"` // everything written
	Truncated bool   `json:"truncated"`
}

// MachineState is the state of the machine around the run.
type MachineState struct {
	Controls     []Control    `json:"controls"` // in the order they were applied
	Temperatures Temperatures `json:"temperatures"`
	Throttle     Throttle     `json:"throttle"`
	// before the run; nil if not read or if the machine has none
	PowerLimits []PowerLimit      `json:"power_limits,omitempty"`
	KernelLog   KernelLog         `json:"kernel_log"`
	Fingerprint map[string]string `json:"fingerprint"` // nil if not taken
	// to which the kernel calibrated the time stamp counter in this boot; 0 if unknown
	TSCKHz int64 `json:"tsc_khz,omitempty"`
	// how long the machine was suspended during the run; nil if unknown
	SuspendedNS *int64 `json:"suspended_ns,omitempty"`
	// of the wait for a quiet machine before the run; nil if there was none
	Settle *Settle `json:"settle,omitempty"`
	Waits  *Waits  `json:"waits,omitempty"` // nil in records of earlier versions
	Load   *Load   `json:"load,omitempty"`  // likewise
}

// Load is what the machine did from just before the run until just after it.
type Load struct {
	WindowNS  int64  `json:"window_ns"`
	LoadMilli *int64 `json:"load_milli"` // thousandths: load average of the minute before; nil unknown
	BusyNS    *int64 `json:"busy_ns"`    // processor time of everything, the benchmark included
	// the part of BusyNS that neither krund nor a process that it waited for has used, such as the
	// benchmark; nil if unknown, and in older records
	OthersNS *int64     `json:"others_ns,omitempty"`
	StealNS  *int64     `json:"steal_ns"` // that a hypervisor withheld from this machine
	Pressure []Pressure `json:"pressure"`
	Programs []Program  `json:"programs"` // the busiest that still ran afterwards, without krund
	Krunds   []int      `json:"krunds"`   // processes of other krunds
	// the most frequent on the benchmark's processors; nil if unknown, and in older records
	Interrupts []Interrupt `json:"interrupts"`
	// what the memory management counted, by the kernel's names, and how many microseconds the
	// benchmark's processors were idle in each state ("idle.C6"), if above 0
	Counts []Count `json:"counts,omitempty"`
}

// Interrupt is how often the kernel handled an interrupt of one source.
type Interrupt struct {
	Kind  string `json:"kind"` // "interrupt" or "softirq"
	Name  string `json:"name"` // the kernel's: "LOC Local timer interrupts", "TIMER"
	Count int64  `json:"count"`
}

// Pressure is how long at least one task of the machine waited for a resource.
type Pressure struct {
	Resource string `json:"resource"` // "cpu", "io", "memory", "irq"
	SomeNS   int64  `json:"some_ns"`
}

// Program is a process of the machine.
type Program struct {
	Name  string `json:"name"`
	PID   int    `json:"pid"`
	CPUNS int64  `json:"cpu_ns"` // that it used
}

// BusyMachine begins the reason that names what the machine was busy with besides the benchmark.
const BusyMachine = "the machine was busy: "

// Waits are the fixed waits before the execution, in nanoseconds.
type Waits struct {
	StartupNS int64 `json:"startup_ns"` // after krund started; 0 with a Settle
	SyncNS    int64 `json:"sync_ns"`    // after sync(2)
}

// Settle is the result of the wait for a quiet machine.
type Settle struct {
	WaitedNS int64    `json:"waited_ns"`
	Quiet    bool     `json:"quiet"` // false: it was still busy at the end of the longest wait
	Busy     []string `json:"busy"`  // sentences: what kept it busy last; empty if it never was
}

// Control is the result of one machine setting.
type Control struct {
	Name   string `json:"name"`
	Policy string `json:"policy"` // "require", "apply", "warn", "off"
	Status string `json:"status"`
	Wanted string `json:"wanted"`
	Found  string `json:"found"` // the value before
	Detail string `json:"detail"`
	After  string `json:"after,omitempty"` // the value after the run; "" if it was not read again
}

// Temperature is the reading of one sensor. probe, the schedule's header and the records share it.
type Temperature struct {
	Sensor string `json:"sensor"`  // its name, one line of any text: the same in every boot of a machine
	MilliC int    `json:"milli_c"` // thousandths of a degree Celsius
}

// Temperatures holds the base readings (first boot of the experiment) and those just before and
// just after the run. Nil means not read.
type Temperatures struct {
	Base   []Temperature `json:"base"`
	Before []Temperature `json:"before"`
	After  []Temperature `json:"after"`
}

// Count is the value of one of the machine's own event counters.
type Count struct {
	Name  string `json:"name"`
	Count uint64 `json:"count"`
}

// Throttle holds the machine's throttle counters just before and just after the run. Nil means that
// the machine has none or that they could not be read.
type Throttle struct {
	Before []Count `json:"before"`
	After  []Count `json:"after"`
}

// PowerLimit is how much power a part of the processor may use on average over a time window. probe
// and the records share it.
type PowerLimit struct {
	Zone     string `json:"zone"`      // the kernel's name: intel-rapl:0
	Name     string `json:"name"`      // package-0, ...
	Limit    string `json:"limit"`     // the kernel's name of the limit: long_term, short_term, ...
	UW       int64  `json:"uw"`        // microwatts
	WindowUS int64  `json:"window_us"` // microseconds; 0 if unknown
	Enabled  bool   `json:"enabled"`
}

// KernelLog is the unexpected kernel messages during the run.
type KernelLog struct {
	Lines []string `json:"lines"` // nil if the log could not be read
	Lost  uint64   `json:"lost"`  // messages overwritten before they could be read
}

// Energy is what a part of the machine used during the execution, whatever caused it.
type Energy struct {
	Zone   string  `json:"zone"`      // the kernel's name: intel-rapl:0:1
	Name   string  `json:"name"`      // package-0, core, dram, ...
	UJ     *uint64 `json:"energy_uj"` // microjoules; nil if unknown
	Reason string  `json:"reason"`    // why it is unknown; "" otherwise
}

// Frequency is what the counters of a core should have shown during the run.
type Frequency struct {
	Core *int `json:"core"` // nil: the benchmark's threads, on any core
	// APERF/MPERF while busy: HeldKHz over MPERFHz, or 1 if one of them is unknown; nil if it was
	// not judged, because the threads may have run on cores with different ratios
	Expected   *float64 `json:"expected"`
	HeldKHz    *int64   `json:"held_khz"`    // the frequency that the limits hold the core at
	MPERFHz    *float64 `json:"mperf_hz"`    // how fast MPERF counts
	Source     string   `json:"source"`      // of MPERFHz: MeasuredRate, RunRate, or ""
	MeasuredHz *float64 `json:"measured_hz"` // the frequency under load, just before the run
}

// Sources of the rate of MPERF.
const (
	MeasuredRate = "measured" // by keeping the core busy before the run
	RunRate      = "run"      // the fastest MPERF of any core in the run itself
)

// Daemon is what krund itself used, and what the kernel's threads did, while the process ran.
type Daemon struct {
	CPUNS               int64 `json:"cpu_ns"`
	VoluntarySwitches   int64 `json:"voluntary_switches"`
	InvoluntarySwitches int64 `json:"involuntary_switches"`
	// how often one of its threads got a processor; nil if unknown
	WakeUps *int64 `json:"wake_ups"`
	// processors it was confined to; nil if it was not confined
	CPUs           []int          `json:"cpus"`
	RSSBeforeBytes int64          `json:"rss_before_bytes"` // resident size at the start of the wait
	RSSBytes       int64          `json:"rss_bytes"`        // and at its end
	KernelThreads  *KernelThreads `json:"kernel_threads"`   // nil if unknown
}

// KernelThreads is what the kernel's threads did during the run.
type KernelThreads struct {
	All       Activity       `json:"all"`
	Benchmark Activity       `json:"benchmark"` // those last on a processor of the benchmark
	Busiest   []KernelThread `json:"busiest"`   // those that ran longest, at most ten, the longest first
}

// Activity is how long threads ran, in nanoseconds, and how often one of them got a processor.
type Activity struct {
	CPUNS int64 `json:"cpu_ns"`
	Runs  int64 `json:"runs"`
}

// KernelThread is one thread of the kernel.
type KernelThread struct {
	Name string `json:"name"`
	CPU  int    `json:"cpu"` // processor it was last on
	Activity
}

// Why returns the first sentence that explains the outcome; the outcome if there is none.
func (r Record) Why() string {
	if len(r.Reasons) == 0 {
		return string(r.Outcome)
	}
	return r.Reasons[0]
}

// FailedLike reports whether another record has the same outcome for the same reason. Numbers in
// the reasons may differ: they are of one execution.
func (r Record) FailedLike(other Record) bool {
	return r.Outcome == other.Outcome && withoutNumbers(r.Why()) == withoutNumbers(other.Why())
}

func withoutNumbers(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return -1
		}
		return c
	}, text)
}

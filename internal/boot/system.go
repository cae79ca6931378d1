package boot

import (
	"context"
	"log/slog"
	"time"

	"krund/internal/durable"
	"krund/internal/execution"
	"krund/internal/execution/account"
	"krund/internal/execution/identity"
	"krund/internal/experiment/results"
	"krund/internal/machine/command"
	"krund/internal/machine/sysroot"
	"krund/internal/schedule"
)

// System is everything that a boot touches. cmd/krund fills it with the implementations, the tests
// with simulated ones.
type System struct {
	FS       durable.FS // durable.WithRoom of Room.Make
	Room     *Room
	Clock    sysroot.Clock
	Log      *slog.Logger
	Executor Executor
	Machine  Machine
	Hooks    Hooks
	Reboot   func(ctx context.Context, kind string) error // Rebooter.Reboot
	Entry    Entry                                        // nil: the experiment has no boot entry of its own
	Notifier Notifier
	Programs Programs // what the keys run; nil: it is not checked
	// a person accepts that they have changed
	AcceptChanged bool
	// Decide runs `krunctl status --decision` for a key without its arm, or for all if it is "",
	// and returns its output, which is checked. It is called only if the configuration has [stop]
	// rules.
	Decide func(ctx context.Context, key string) ([]byte, error)
	// Ship runs `krunctl hub ship`; nil: this machine has joined no hub.
	Ship func(context.Context) error
	Sync func() // sync(2)
	// keeps the machine from sleeping and shutting down until release is called
	KeepAwake func(context.Context) (release func())
	// disables the unit that starts krund, so that the next boots are ordinary ones
	DisableUnit func(context.Context) error
	// removes what executions left outside of the directory: account and control group
	Cleanup func() error
	// why the experiment is held in this boot; "" if it is not (autostart.FindHold)
	Held     func() (why string, err error)
	Progress Progress

	Version string // of krund
	Host    string // name of the machine
	BootID  string // name of this boot (autostart.Boot.Name); "" unknown
	// how this boot began: config.RebootHardware, RebootKexec or RebootSoft
	BootKind string
	PID      int
	Root     bool // krund is root
}

// Executor carries out one process execution; *execution.Executor is one.
type Executor interface {
	// Relink runs the command experiment.relink, if there is one, and completes the job.
	Relink(ctx context.Context, j *execution.Job) error
	Execute(ctx context.Context, j execution.Job) (execution.Measured, error)
}

// Machine applies settings for the measurement, waits for the temperatures before it, and observes
// the machine during it.
type Machine interface {
	// RestoreLeftover restores the settings left behind by a killed krund. The error names those
	// that could not be restored.
	RestoreLeftover(ctx context.Context) error
	// Settle waits until the machine has been quiet for a window, at most as long as limit.
	Settle(ctx context.Context, window, limit time.Duration) (results.Settle, error)
	// Apply brings the machine into the wanted state. An error means that it is not fit to measure.
	// Restore or LeaveToRestart must follow, also after an error.
	Apply(ctx context.Context) (Applied, error)
	// Account creates the account for benchmarks anew. The findings are for the record.
	Account(ctx context.Context, a Applied) (user account.Account, findings []string, err error)
	// Base reads the temperatures that later executions start from.
	Base(ctx context.Context) ([]results.Temperature, error)
	// Gate waits until the temperatures are near the base. An error means that they did not return
	// to it. The remarks are for Watch.
	Gate(ctx context.Context, base []results.Temperature) (remarks []string, err error)
	// Watch takes the readings before a run; calling the function it returns takes those after it,
	// and reads again what Apply has set.
	Watch(ctx context.Context, a Applied, remarks []string) (func(context.Context) Observation, error)
	// Restore restores what Apply has changed. It does nothing for an empty Applied.
	Restore(ctx context.Context, a Applied) error
	// LeaveToRestart follows Apply instead of Restore when the machine is about to restart, which
	// resets what is set.
	LeaveToRestart(a Applied)
}

// Applied is what Machine.Apply did.
type Applied struct {
	found    map[string]string // what was found of the settings that are off, for the fingerprint
	Controls []results.Control
	Env      []string // for the benchmark's environment
	CPUs     []int    // the benchmark may run on; nil: any
	Cgroup   string   // the control group it must run in; "": its own
	// what is known about the cores: held frequency, rate of MPERF, measured frequency
	Frequencies []results.Frequency
	Remarks     []string // what deserves a look, though the run counts

	changes *changes // nil: nothing was changed
}

// Observation is the state of the machine before, during and after a run. The lists hold sentences.
type Observation struct {
	Machine   results.MachineState // without the base temperatures
	Refused   []string             // what the configuration forbids: the run does not count
	Disturbed []string             // what should not have happened during the run
	Remarks   []string             // what deserves a look, though the run counts
}

// Hooks are the user's commands around an execution. variables are added to their environment.
type Hooks interface {
	Before(ctx context.Context, variables []string) error
	After(ctx context.Context, variables []string) error
}

// Entry is the boot loader's entry of the experiment; autostart.Entry is one.
type Entry interface {
	// Ask makes the next boot, and only that one, a boot of the entry. It may be called again.
	Ask(ctx context.Context) error
	// Withdraw makes the next boot an ordinary one again.
	Withdraw(ctx context.Context) error
}

// Notifier sends notifications.
type Notifier interface {
	WantsMail() bool
	Send(ctx context.Context, m command.Message, mail bool) error
}

// Programs reads what the keys run; *identity.Programs is one.
type Programs interface {
	Read(ctx context.Context) (map[string]identity.Program, error)
}

// Running is the step in which the benchmark runs.
const Running = "running"

// Count is the number of slots and of those that are not finished.
type Count struct{ Slots, Left int }

// Progress shows the progress of the experiment to a person. It does nothing while a benchmark
// runs.
type Progress interface {
	Begin(slot schedule.Slot, n Count)
	// Step begins a step, which takes at most this long; 0: unknown. The steps before the first
	// Begin are those of a new experiment. The benchmark is about to run when the name is Running.
	Step(name string, most time.Duration)
	End(slot schedule.Slot, n Count, outcome results.Outcome, reasons []string, took time.Duration)
}

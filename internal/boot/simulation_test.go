package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"krund/internal/boot/autostart"
	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/internal/execution"
	"krund/internal/execution/account"
	"krund/internal/execution/identity"
	"krund/internal/execution/verdict"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/machine/command"
	"krund/internal/machine/sysroot"
	"krund/internal/schedule"
	"krund/rig/must"
)

// simulated is a machine in memory: its disk can lose power, its benchmarks are simulated, and it
// counts events.
type simulated struct {
	hooks      []string // the variables of each hook
	afterFails error    // of the hooks after an execution

	t           testing.TB
	boot        int // number of this boot
	now         time.Time
	outcome     func(j execution.Job, boot int) execution.Measured
	fit         func(boot int) error // of Machine.Apply
	reboots     int
	settled     results.Settle // of Machine.Settle
	awake       int            // KeepAwake without release
	applied     int            // Apply without Restore
	unread      error          // of Machine.Base
	blind       int            // how many of the sensors it does not see
	moreSensors int
	warmth      []string // remarks of Machine.Gate
	unrestored  error    // of Machine.RestoreLeftover
	mails       []string
	told        []string // subjects and texts of all messages
	retired     bool
	kinds       []string     // of the reboots that were asked for
	kind        string       // of the last boot
	fails       int          // the reboot, from 1, that ends as one of the hardware
	refuses     func() error // of Rebooter
	stuck       error        // of Machine.Restore
	log         strings.Builder
	during      func(ctx context.Context) // called while the benchmark runs
	entry       Entry                     // of its boot loader
	root        string                    // directory that stands for "/"
	events      []string                  // the order of things, for the test of the line
	counts      []Count                   // the counts that Progress got
	clear       func() (int, error)       // of its Room
	disk        *crashfs.FS               // of the present boot
	full        bool                      // a benchmark has filled the disk
	filled      int                       // how often
	cleared     int
	decide      func(durable.FS) func(context.Context, string) ([]byte, error)
	programs    map[string]identity.Program // what the keys run
	accept      bool                        // --accept-changed
	beforeRun   func()                      // called by Hooks.Before
}

func newSimulated(t testing.TB) *simulated {
	return &simulated{
		t: t, boot: 1, kind: config.RebootHardware,
		now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), outcome: good,
		root:  "/no/such/directory",
		clear: func() (int, error) { return 0, nil }, decide: deciding,
		programs: map[string]identity.Program{nbodyFile: program("one"), fastaFile: program("two")},
	}
}

// simulate is a machine with an empty disk, and the experiment of a configuration.
func simulate(t testing.TB, text string) (*simulated, *crashfs.FS, *config.Config) {
	t.Helper()
	return newSimulated(t), crashfs.New("/lab"), parse(t, text)
}

func (s *simulated) event(name string) { s.events = append(s.events, name) }

// good measures every iteration.
func good(j execution.Job, _ int) execution.Measured {
	zero := 0
	wall := make([]int64, j.Iterations)
	for i := range wall {
		wall[i] = int64(1000 + i)
	}
	return execution.Measured{
		Record: results.Record{Clock: "CLOCK_MONOTONIC_RAW", WallNS: wall, StartNS: wall,
			Columns: []results.Column{}, Process: results.Process{Argv: []string{j.Benchmark}, Exit: &zero}},
		Execution: verdict.Evidence{Planned: j.Iterations, Done: j.Iterations, Exit: &zero},
	}
}

func failed(j execution.Job, boot int) execution.Measured {
	m := good(j, boot)
	one := 1
	m.WallNS, m.StartNS, m.Process.Exit, m.Execution.Exit, m.Execution.Done = nil, nil, &one, &one, 0
	return m
}

func (s *simulated) system(fsys durable.FS) System {
	log := slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	room := &Room{FS: fsys, Dir: dir, Reserve: 700, Log: log, Clear: func() (int, error) { return s.clear() }}
	return System{
		FS: durable.WithRoom(fsys, room.Make), Room: room, Clock: s, Log: log,
		Executor: s, Machine: s, Hooks: s, Reboot: s.Reboot, Entry: s.entry, Notifier: s,
		Decide: s.decide(fsys), Programs: s, AcceptChanged: s.accept,
		Sync: func() { s.event("sync") },
		KeepAwake: func(context.Context) func() {
			s.awake++
			return func() { s.awake-- }
		},
		DisableUnit: func(ctx context.Context) error { s.retired = ctx.Err() == nil; return ctx.Err() },
		Cleanup:     func() error { s.event("tidy"); return nil },
		Held:        func() (string, error) { return autostart.FindHold(fsys, dir, sysroot.New(s.root)) },
		Progress:    s, Version: "test", Host: "simulated", BootID: fmt.Sprintf("boot-%d", s.boot), PID: 1,
		BootKind: s.kind,
	}
}

func (s *simulated) Now() time.Time { return s.now }

func (s *simulated) Sleep(ctx context.Context, d time.Duration) error {
	s.now = s.now.Add(d)
	if d > 0 {
		s.event("wait " + d.String())
	}
	return ctx.Err()
}

func (s *simulated) Relink(ctx context.Context, j *execution.Job) error {
	if len(j.Relink.Argv) == 0 {
		return nil
	}
	s.event("relink")
	s.hooks = append(s.hooks, strings.Join(j.Relink.Variables, " "))
	j.Layout.Relinked = &results.Relink{Seed: j.Layout.LinkSeed, SHA256: "simulated"}
	return ctx.Err()
}

func (s *simulated) Execute(ctx context.Context, j execution.Job) (execution.Measured, error) {
	s.event("run")
	s.known(j.Key)
	must.Equal(s.t, s.awake, 1, "the machine may sleep during the run")
	if s.during != nil {
		s.during(ctx)
	}
	m := s.outcome(j, s.boot)
	m.Interrupted = ctx.Err() != nil
	return m, nil
}

func (s *simulated) RestoreLeftover(context.Context) error {
	s.event("restore leftover")
	return s.unrestored
}

func (s *simulated) Apply(context.Context) (Applied, error) {
	s.event("apply")
	s.applied++
	var err error
	if s.fit != nil {
		err = s.fit(s.boot)
	}
	return Applied{changes: &changes{}}, err
}

func (s *simulated) Settle(_ context.Context, window, limit time.Duration) (results.Settle, error) {
	s.event(fmt.Sprintf("settle %s of %s", window, limit))
	return s.settled, nil
}

func (s *simulated) Account(context.Context, Applied) (account.Account, []string, error) {
	s.event("account")
	return account.Account{}, nil, nil
}

func (s *simulated) Restore(_ context.Context, a Applied) error {
	if a.changes == nil {
		return nil
	}
	s.event("restore")
	s.applied--
	return s.stuck
}

func (s *simulated) LeaveToRestart(a Applied) {
	if a.changes != nil {
		s.event("leave to restart")
	}
}

func (s *simulated) Base(context.Context) ([]results.Temperature, error) {
	s.event("base")
	if s.unread != nil {
		return nil, s.unread
	}
	base := []results.Temperature{{Sensor: "coretemp", MilliC: 40000}}
	for i := range s.moreSensors {
		base = append(base, results.Temperature{Sensor: fmt.Sprintf("chip@platform/%0100d",
			i), MilliC: 40000})
	}
	return base[min(s.blind, len(base)):], nil
}

func (s *simulated) Gate(context.Context, []results.Temperature) ([]string, error) {
	s.event("gate")
	return s.warmth, nil
}

func (s *simulated) Watch(_ context.Context, _ Applied,
	remarks []string) (func(context.Context) Observation, error) {
	s.event("before")
	return func(context.Context) Observation {
		s.event("after")
		return Observation{Remarks: remarks, Machine: results.MachineState{Fingerprint: s.fingerprint()}}
	}, nil
}

func (s *simulated) Before(_ context.Context, variables []string) error {
	s.event("hooks before")
	if s.beforeRun != nil {
		s.beforeRun()
	}
	s.hooks = append(s.hooks, strings.Join(variables, " "))
	return nil
}

func (s *simulated) After(_ context.Context, variables []string) error {
	s.event("hooks after")
	s.hooks = append(s.hooks, strings.Join(variables, " "))
	return s.afterFails
}

func (s *simulated) Reboot(_ context.Context, kind string) error {
	s.event("reboot")
	must.Be(s.t, kind == config.RebootHardware || s.applied <= 0,
		"settings are left to a restart that does not reset them", kind)
	s.kinds = append(s.kinds, kind)
	must.Equal(s.t, s.awake, 0, "the lock against shutdown is held while the machine reboots")
	if s.refuses != nil {
		return s.refuses()
	}
	s.reboots++
	if s.kind = kind; s.reboots == s.fails {
		s.kind = config.RebootHardware
	}
	return nil
}

func (s *simulated) WantsMail() bool { return true }

func (s *simulated) Send(_ context.Context, m command.Message, mail bool) error {
	s.told = append(s.told, m.Subject+"\n"+m.Text)
	if mail {
		s.mails = append(s.mails, string(m.Event))
	}
	return nil
}

func (s *simulated) Begin(_ schedule.Slot, n Count) { s.counts = append(s.counts, n) }

func (s *simulated) Step(name string, most time.Duration) {
	if name == Running {
		s.event("show " + name)
	}
}

func (s *simulated) End(_ schedule.Slot, n Count, _ results.Outcome, _ []string, _ time.Duration) {
	s.counts = append(s.counts, n)
}

// experimentText is a configuration of two keys, changed by lines put into its sections.
func experimentText(experiment string) string {
	return `[experiment]
iterations = 3
account = "caller"
` + experiment + `
[wait]
startup = "3m"
sync = "30s"
[vms.C]
runner = "c"
variants = ["default-c"]
[variants.default-c]
entry = "bench.so"
[benchmarks]
nbody = { parameter = 1 }
fasta = { parameter = 2 }
`
}

func parse(t testing.TB, text string) *config.Config {
	t.Helper()
	return must.Get(config.Parse("/lab/x.toml", []byte(text), "simulated", nil))(t)
}

const dir = "/lab/x.krun"

// start is one boot, or one start by a person.
func (s *simulated) start(cfg *config.Config, fsys *crashfs.FS) (Ending, error) {
	s.disk = fsys
	if s.full {
		fsys.Inject(noSpace)
	}
	ending, err := Run(s.t.Context(), cfg, dir, cfg.Experiment.Reboot, s.system(fsys))
	if fsys.IsCut() || err == nil && ending == Rebooting {
		s.applied = 0 // settings do not survive
		s.boot++
	}
	return ending, err
}

// rebooted is the disk after a restart that lost what was not synced.
func rebooted(old *crashfs.FS) *crashfs.FS { return old.Reboot(crashfs.Nothing) }

// lifetime starts krund again and again, as a machine's boots or a person would, until the
// experiment ends or boots are used up. Between two starts the disk becomes what next makes of it.
func (s *simulated) lifetime(cfg *config.Config, fsys *crashfs.FS, boots int,
	next func(*crashfs.FS) *crashfs.FS) (*crashfs.FS, error) {
	for range boots {
		ending, err := s.start(cfg, fsys)
		switch {
		case fsys.IsCut() || err == nil && ending == Rebooting:
			fsys = next(fsys)
		default:
			return fsys, err
		}
	}
	return fsys, fmt.Errorf("not at its end after %d boots", boots)
}

// audit checks what must hold for an experiment that has ended: the schedule can be read and has
// its size, every slot is final, a completed slot has exactly one completed record, and every
// record that was ever durable is still there and the same.
func audit(fsys durable.FS, cfg *config.Config, durableRecords map[string]string) error {
	s, err := schedule.Open(fsys, dir+"/schedule", false)
	if err != nil {
		return err
	}
	completed := map[int]int{}
	for r, err := range results.NewReader(fsys, dir+"/results").All() {
		if err != nil {
			return err
		}
		if r.Outcome == results.Completed {
			completed[r.Slot]++
			if err := ofItsEdition(fsys, r); err != nil {
				return err
			}
		}
		delete(durableRecords, results.Name{Slot: r.Slot, Attempt: r.Attempt}.String())
	}
	for name := range durableRecords {
		return fmt.Errorf("record %s was durable and is lost", name)
	}
	count := 0
	for slot, err := range s.Slots() {
		if err != nil {
			return err
		}
		count++
		if !slot.Flag.Final() {
			return fmt.Errorf("slot %d ended as %s", slot.Index, slot.Flag)
		}
		if want := map[bool]int{true: 1}[slot.Flag == schedule.Completed]; completed[slot.Index] != want {
			return fmt.Errorf("slot %d (%s) has %d completed records, want %d", slot.Index, slot.Flag,
				completed[slot.Index], want)
		}
	}
	if count != cfg.Slots() {
		return fmt.Errorf("%d slots, want %d", count, cfg.Slots())
	}
	return errors.Join(s.Close(), noTemps(fsys, dir), noTemps(fsys, dir+"/results"))
}

// noTemps returns an error if temporary files are left at the end.
func noTemps(fsys durable.FS, directory string) error {
	entries, err := fsys.ReadDir(directory)
	for _, e := range entries {
		if durable.IsTemp(e.Name()) {
			err = errors.Join(err, fmt.Errorf("%s is left in %s", e.Name(), directory))
		}
	}
	return err
}

// records returns the files of the results that would survive a power cut now, by name.
func records(fsys *crashfs.FS) map[string]string {
	found := map[string]string{}
	for name, data := range fsys.Survivor(crashfs.Nothing).Files() {
		if base, ok := strings.CutPrefix(name, dir+"/results/"); ok && !durable.IsTemp(base) {
			found[base] = string(data)
		}
	}
	return found
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) } //nolint:gosec // reproducible

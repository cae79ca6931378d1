package boot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"krund/internal/durable"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/machine/command"
	"krund/internal/schedule"
	"krund/internal/schedule/rerun"
)

// NotOpened is the error when the experiment could not be opened. No notification was sent, because
// mails are counted in the schedule. If a unit starts krund at every boot, the same error will
// occur again.
type NotOpened struct{ Err error }

func (e *NotOpened) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *NotOpened) Unwrap() error { return e.Err }

func notOpened(err error) error {
	if err == nil {
		return nil
	}
	return &NotOpened{Err: err}
}

// Started reports whether the experiment in dir has a schedule. If so, the files that its
// configuration names need not exist: a missing one is the outcome of its executions.
func Started(fsys durable.FS, dir string) bool {
	f, err := directory.Open(fsys, dir)
	if err != nil {
		return false
	}
	_, err = fsys.Lstat(f.Schedule())
	return err == nil
}

// open locks the experiment and opens its schedule. It creates both if they do not exist.
func open(ctx context.Context, cfg *config.Config, dir, reboot string, sys System) (*experiment, error) {
	f, err := directory.Create(sys.FS, dir)
	if err != nil {
		return nil, err
	}
	lock, err := f.Lock(sys.PID, sys.Host)
	if err != nil {
		return nil, err
	}
	x := &experiment{
		System: sys, cfg: cfg, reboot: reboot, directory: f, lock: lock, left: -1,
		results: results.NewAppender(sys.FS, f.Results()), reader: results.NewReader(sys.FS, f.Results()),
	}
	if err := x.Machine.RestoreLeftover(ctx); err != nil { // even if nothing is outstanding
		// Apply fails, too; steps that only read may continue
		sys.Log.Error("settings left behind by a killed krund could not be restored", "error", err)
	}
	if err := x.openSchedule(ctx); err != nil {
		return nil, x.end(ctx, Interrupted, err)
	}
	return x, nil
}

func (x *experiment) openSchedule(ctx context.Context) error {
	if err := x.directory.Check(); err != nil {
		return err
	}
	s, err := schedule.Open(x.FS, x.directory.Schedule(), true)
	if errors.Is(err, fs.ErrNotExist) {
		return x.start(ctx)
	}
	if err != nil {
		return err
	}
	x.schedule = s
	if err := x.completeGrowth(); err != nil { // that a power cut has interrupted
		return err
	}
	same, other := x.directory.AsBegun(x.cfg, x.schedule.Header().ConfigHash)
	if x.outdated(ctx, x.schedule, other) {
		err := errors.Join(s.Close(), x.discard())
		if x.schedule = nil; err != nil {
			return err
		}
		return x.start(ctx)
	}
	if damage := s.HeaderDamage(); damage != nil {
		x.Log.Warn("one of the two copies of the schedule's header is damaged; the other one is used",
			"error", damage)
	}
	if same != nil {
		x.cfg = same
	} else if other.Was == nil {
		return other
	}
	if err := x.notNewer(); err != nil {
		return err
	}
	n, err := rerun.Complete(x.directory, x.schedule)
	if n > 0 {
		x.Log.Info("completed a request for reruns that was interrupted", "slots", n)
	}
	if err == nil {
		err = x.openEditions(ctx)
	}
	if err == nil && same == nil {
		err = x.grow(ctx, other)
	}
	return err
}

// lookBack is how many slots notNewer examines. Earlier ones may have been skipped and have no
// records.
const lookBack = 16

// notNewer refuses an experiment that a newer krund has continued, judging by the newest record:
// this krund does not understand that record, and must not add its own after it.
func (x *experiment) notNewer() error {
	slot, err := x.schedule.Current()
	if err != nil {
		return nil //nolint:nilerr // nothing outstanding, or damage: the first pass repairs it
	}
	for index := slot.Index; index >= 0 && index > slot.Index-lookBack; index-- {
		s, err := x.schedule.Slot(index)
		if err != nil {
			continue
		}
		for attempt := s.Attempts; attempt >= 1; attempt-- {
			format, err := x.reader.Format(results.Name{Slot: index, Attempt: attempt})
			if err == nil && format > results.Format {
				return fmt.Errorf("a newer krund has continued %s: its record of slot %d has format %d, "+
					"and this krund supports formats up to %d; nothing was changed; install the newer "+
					"krund again: %w", x.directory.Dir(), index, format,
					results.Format, results.ErrVersion)
			}
			if err == nil {
				return nil
			}
		}
	}
	return nil
}

// start creates the schedule, and with it the experiment. It writes the copy of the configuration
// first, so that every schedule has one.
func (x *experiment) start(ctx context.Context) error {
	listing, err := x.reader.List()
	if err != nil {
		return err
	}
	if n := len(listing.Records); n > 0 {
		return fmt.Errorf("%s has %d records but no schedule; `krunctl repair` rebuilds it",
			x.directory.Dir(), n)
	}
	x.clean()
	if err := x.forgetEditions(); err != nil {
		return err
	}
	if err := durable.WriteFile(x.FS, x.directory.ConfigCopy(), []byte(x.cfg.Text), 0o644); err != nil {
		return fmt.Errorf("store a copy of the configuration: %w", err)
	}
	sensors, err := x.Machine.Base(ctx) // the base itself is taken once the settings are applied
	if err != nil {
		return fmt.Errorf("read the temperatures: %w", err)
	}
	e := x.cfg.Experiment
	header := schedule.NewHeader(x.cfg, schedule.Facts{Base: sensors}, x.Clock.Now())
	header.Mails, header.Boot, header.BaseTemperatures = 0, x.BootID, nil
	err = schedule.Create(x.FS, x.directory.Schedule(), header, x.cfg.Slots(),
		schedule.PlanOf(schedule.StagesOf(x.cfg)))
	if err != nil {
		return fmt.Errorf("create the schedule: %w", err)
	}
	x.Log.Info("experiment started", "name", e.Name, "slots", x.cfg.Slots(), "folder", x.directory.Dir())
	if x.schedule, err = schedule.Open(x.FS, x.directory.Schedule(), true); err != nil {
		return err
	}
	x.notify(ctx, command.Started, fmt.Sprintf("started: %d process executions", x.cfg.Slots()),
		"Directory: "+x.directory.Dir()+"\n")
	return nil
}

// outdated reports whether this is a quick run, and the experiment in the directory an earlier one
// that has ended, or had another configuration or other programs. A quick run is for trying: it is
// replaced.
func (x *experiment) outdated(ctx context.Context, s *schedule.Schedule, other *directory.OtherConfig) bool {
	was, err := durable.ReadFile(x.FS, x.directory.ConfigCopy())
	if err != nil || !config.IsQuick(x.cfg.Text) || !config.IsQuick(string(was)) {
		return false
	}
	_, err = s.Current()
	return other != nil || errors.Is(err, schedule.ErrDone) || x.changedPrograms(ctx)
}

// discard removes the records and then the schedule: when power fails in between, the experiment is
// still one that is replaced.
func (x *experiment) discard() error {
	x.Log.Warn("the results of the earlier quick run are removed", "folder", x.directory.Dir())
	listing, err := x.reader.List()
	if err != nil {
		return err
	}
	var names []string
	for _, name := range listing.Records {
		names = append(names, filepath.Join(x.directory.Results(), name.String()))
	}
	for _, name := range listing.Replaced {
		names = append(names, filepath.Join(x.directory.Results(), name.Replaced()))
	}
	names = append(names, filepath.Join(x.directory.Dir(), rerun.File))
	for _, name := range names {
		if err := x.FS.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the earlier quick run: %w", err)
		}
	}
	err = x.FS.SyncDir(x.directory.Results())
	if err == nil {
		err = x.FS.Remove(x.directory.Schedule())
	}
	if err == nil {
		err = x.FS.SyncDir(x.directory.Dir())
	}
	if err != nil {
		return fmt.Errorf("remove the earlier quick run: %w", err)
	}
	return nil
}

// grow makes the experiment one of the configuration x.cfg, which adds to the one that it was begun
// with, other.Was. What it grows by is durable as a new edition before anything else is changed:
// completeGrowth does the rest, also after a power cut. Growth that cannot be measured or planned
// is refused before that.
func (x *experiment) grow(ctx context.Context, other *directory.OtherConfig) error {
	if err := x.sameAsKnown(ctx); err != nil {
		return err
	}
	from, err := x.schedule.Growth()
	if damaged := (*schedule.DamagedSlot)(nil); errors.As(err, &damaged) {
		now := x.cfg
		x.cfg = other.Was // of which the schedule is rebuilt
		err = x.mend()
		x.cfg = now
		if err == nil {
			from, err = x.schedule.Growth()
		}
	}
	if err != nil {
		return err
	}
	editions, err := identity.Grow(x.editions, other.Was.Text, x.cfg.Text, from, x.Clock.Now())
	if err != nil {
		return err
	}
	stages, err := identity.Stages(editions, x.cfg.Earlier)
	if err == nil {
		err = schedule.CanExtend(x.schedule, stages)
	}
	if err != nil {
		return fmt.Errorf("the experiment in %s cannot grow: %w", x.directory.Dir(), err)
	}
	if err := x.storeEditions(editions); err != nil {
		return err
	}
	if err := x.completeGrowth(); err != nil {
		return err
	}
	x.left = -1
	said := other.Growth(x.cfg.Slots())
	x.Log.Warn(fmt.Sprintf("%s; what is measured from here on is edition %d", said, x.edition()))
	x.notify(ctx, command.Flagged, "the experiment grows", said+"\n")
	return nil
}

// sameAsKnown returns a *ChangedPrograms if a program is not the one that was measured. Nothing is
// stored. What hooks make is known later.
func (x *experiment) sameAsKnown(ctx context.Context) error {
	if x.hooked() {
		return nil
	}
	changes, err := x.changes(ctx, nil)
	if len(changes) > 0 {
		err = &ChangedPrograms{Changes: changes, Next: x.nextSteps()}
	}
	return err
}

// completeGrowth extends the schedule and the copy of the configuration to the last configuration
// of the editions, unless that is done. A quick run does not grow: it is replaced.
func (x *experiment) completeGrowth() error {
	if config.IsQuick(x.cfg.Text) {
		return nil
	}
	stages, err := x.stages()
	if err != nil || len(stages) < 2 { //nolint:mnd // what it was begun with, and what it grew by
		return err
	}
	was, is := stages[len(stages)-2].Config, stages[len(stages)-1].Config
	switch x.schedule.Header().ConfigHash {
	case is.Hash:
	case was.Hash:
		if err := schedule.Extend(x.FS, x.directory.Schedule(), x.schedule, stages); err != nil {
			return err
		}
		err, x.schedule = x.schedule.Close(), nil
		if err != nil {
			return err
		}
		if x.schedule, err = schedule.Open(x.FS, x.directory.Schedule(), true); err != nil {
			return err
		}
	default:
		return fmt.Errorf("the schedule and editions.json in %s are not of the same experiment; restore "+
			"both from one copy of the directory", x.directory.Dir())
	}
	stored, err := durable.ReadFile(x.FS, x.directory.ConfigCopy())
	if err == nil && string(stored) == is.Text {
		return nil
	}
	if err := durable.WriteFile(x.FS, x.directory.ConfigCopy(), []byte(is.Text), 0o644); err != nil {
		return fmt.Errorf("store a copy of the configuration: %w", err)
	}
	return nil
}

// stages returns those of an experiment that grew, according to its editions; nil if it did not.
func (x *experiment) stages() ([]schedule.Stage, error) {
	editions, err := identity.LoadEditions(x.FS, x.directory.Editions())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return identity.Stages(editions, x.cfg.Earlier)
}

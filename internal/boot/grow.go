package boot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"krund/internal/durable"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/machine/command"
	"krund/internal/schedule"
)

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
	if x.Programs == nil || len(x.editions) == 0 || x.hooked() {
		return nil
	}
	now, err := x.Programs.Read(ctx)
	if err != nil {
		return err
	}
	if changes, _ := x.editions[len(x.editions)-1].Compare(now, nil); len(changes) > 0 {
		return &ChangedPrograms{Changes: changes, Next: x.nextSteps()}
	}
	return nil
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

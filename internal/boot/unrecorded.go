package boot

import (
	"context"

	"krund/internal/execution"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

// Unrecorded performs the executions of an experiment without a directory, in the order of its
// schedule, and passes the record of each to each: what Run does of a pass between preparing the
// machine and storing the record. It is for short comparisons on a machine that is left as it is.
// No setting is applied, no hook runs, nothing is durable, and a failed execution is not repeated.
// Of sys it uses Executor, Machine.Watch, Clock, Version, Host, BootID and Progress. The error is
// that of each, of ctx, or of what krund itself could not do.
func Unrecorded(ctx context.Context, cfg *config.Config, sys System,
	each func(results.Record) error) error {
	x := &experiment{System: sys, cfg: cfg, reboot: config.RebootNone}
	for slot := range schedule.PlanOf(schedule.StagesOf(cfg)) {
		slot.Attempts = 1
		job, err := execution.NewJob(cfg, slot.Key)
		if err != nil {
			return err
		}
		job.Layout, job.Number, job.Root = x.layout(slot), slot.Pexec, x.Root
		run, err := x.execute(ctx, job, Applied{}, baseline{})
		if err != nil {
			return err
		}
		if err := each(x.judge(slot, baseline{}, run, 0)); err != nil {
			return err
		}
	}
	return nil
}

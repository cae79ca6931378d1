package boot

import (
	"slices"
	"time"

	"krund/internal/pexec"
	"krund/internal/results"
	"krund/internal/schedule"
	"krund/internal/verdict"
)

// emptyRecord is a record of which only the plan is known.
func (x *experiment) emptyRecord(slot schedule.Slot) results.Record {
	_, _, benchmark, _ := x.cfg.Lookup(slot.Key) // the key comes from the same configuration
	return results.Record{
		Key: slot.Key, Krund: x.Version, Experiment: x.cfg.Experiment.Name, ConfigHash: x.cfg.Hash, Host: x.Host,
		Slot: slot.Index, Attempt: slot.Attempts, Pexec: slot.Pexec,
		Parameter: int64(benchmark.Parameter), Iterations: x.cfg.Iterations(slot.Key),
		Reasons: []string{}, Reboot: x.reboot, BootID: x.BootID, Started: x.Clock.Now().UTC(),
		CounterSource: "none",
	}
}

// record puts together what is known about a run, without the machine's part and the verdict.
func (x *experiment) record(slot schedule.Slot, started time.Time, m pexec.Measured) results.Record {
	r := x.emptyRecord(slot)
	r.Started = started.UTC()
	r.Clock = m.Clock
	r.CounterSource, r.CounterReason = m.CounterSource, m.CounterReason
	r.Startup, r.StartNS, r.WallNS, r.Columns, r.Totals, r.Library = m.Startup, m.StartNS, m.WallNS, m.Columns, m.Totals, m.Library
	r.Energy = m.Energy
	r.Process, r.Daemon = m.Process, m.Daemon
	return r
}

// judge fills in the outcome.
func (x *experiment) judge(r *results.Record, m pexec.Measured, seen Observation) {
	e := m.Execution
	e.Refused = slices.Concat(e.Refused, seen.Refused)
	e.Disturbed = slices.Concat(e.Disturbed, seen.Disturbed)
	o := verdict.Judge(e, verdict.Limits{
		AttemptsLeft: x.cfg.Experiment.Attempts - r.Attempt,
		Disturbed:    verdict.Policy(x.cfg.Verdict.Policy),
	})
	r.Outcome = o.Result
	r.Reasons = append(r.Reasons, o.Reasons...)
	r.Reasons = append(r.Reasons, seen.Remarks...)
}

func temperatures(from []schedule.Temperature) []results.Temperature {
	if from == nil {
		return nil
	}
	to := make([]results.Temperature, len(from))
	for i, t := range from {
		to[i] = results.Temperature{Sensor: t.Sensor, MilliC: t.MilliC}
	}
	return to
}

package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/history"
	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/internal/hub/watch"
)

// again has an event measured again before people are told of it, if the schedule of its name says
// how: the revisions at the ends of its culprits, on its machine and on another one that measures
// the same. Then people are told if it was confirmed. Every state is stored with the event, and the
// cause of a run is there once, so that nothing is lost or done twice when this is repeated.
func (s Histories) again(ctx context.Context, tx *sql.Tx, h *history.History, e *history.Event,
	m *matched) error {
	a := &m.Again
	switch {
	case a.Shown != "":
		m.Verdict, m.Evidence = a.Shown, a.ShownBy
		return nil
	case !m.fresh && !a.Untold:
		return nil
	case !watch.Rebuilds(s.Schedules, m.Name):
		m.fresh, m.Again = true, database.Again{}
		return nil
	case a.Before == "":
		before, after, ok := h.Asks(e)
		machines, err := s.measurers(ctx, tx, h, m)
		if err != nil {
			return err
		}
		if !ok || len(machines) == 0 {
			// What a comparison would call the same is not worth a message, until it has grown.
			a.Untold = e.Verdict != history.ByMachine && max(e.Most, 1/e.Least) < 1+compare.DefaultMargin
			m.fresh = !a.Untold
			return nil
		}
		a.Before, a.After, a.Machines = before, after, machines
	}
	m.fresh, a.Untold = false, true
	runs, err := s.runsOf(ctx, tx, m)
	if err != nil {
		return err
	}
	if runs == nil {
		m.Evidence += "; it is being measured again on " + strings.Join(a.Machines, " and on ")
		return nil
	}
	for i, r := range slices.Backward(runs) { // the machine of the event last: it has the verdict
		judged := *e
		if err := s.judge(ctx, &judged, r); err != nil {
			return err
		}
		if i == 0 {
			a.Shown, m.fresh = string(judged.Verdict), judged.Told()
			a.ShownBy = judged.Evidence + a.ShownBy
		} else {
			a.ShownBy = "; on " + r.Machine + ": " + judged.Evidence + a.ShownBy
		}
	}
	a.Untold = false
	m.Verdict, m.Evidence = a.Shown, a.ShownBy
	return nil
}

// measurers returns the machine of an event and another one that has measured the same keys, if the
// hub has them.
func (s Histories) measurers(ctx context.Context, tx *sql.Tx, h *history.History, m *matched) (
	list []string, err error) {
	names := []string{m.Machine}
	for i := range h.Keys {
		if !slices.Contains(names, h.Keys[i].Machine) {
			names = append(names, h.Keys[i].Machine)
		}
	}
	const wanted = 2
	for i, name := range names {
		n, pool, err := s.DB.Targets(ctx, tx, name, access.ProjectOf(m.Name))
		if err != nil {
			return nil, err
		}
		if n > 0 && !pool && (i == 0 || len(list) > 0) && len(list) < wanted {
			list = append(list, name)
		}
	}
	return list, nil
}

// runsOf returns the runs that measure an event again, which are added if they are missing; nil
// until all have ended. A change of the program is an event on each machine, with the same runs.
func (s Histories) runsOf(ctx context.Context, tx *sql.Tx, m *matched) (runs []database.Run, err error) {
	a := &m.Again
	known, err := s.DB.RunsOf(ctx, tx, m.Name, "again", a.Before, a.After)
	if err != nil {
		return nil, err
	}
	ended := true
	for _, machine := range a.Machines {
		at := slices.IndexFunc(known, func(r database.Run) bool { return r.Machine == machine })
		if at < 0 {
			err := s.DB.AddRun(ctx, tx, database.Run{ID: access.NewID(), Schedule: m.Name, Base: a.Before,
				Revision: a.After, Cause: database.RunCause("again", a.Before, a.After, machine),
				State: database.RunWaiting, Machine: machine})
			if err != nil {
				return nil, err
			}
			ended = false
			continue
		}
		ended = ended && known[at].State == database.RunEnded
		runs = append(runs, known[at])
	}
	if !ended {
		return nil, nil
	}
	return runs, nil
}

// judge judges an event by a run that measured it again. Of builds that are the same nothing was
// measured, and it was the machine.
func (s Histories) judge(ctx context.Context, e *history.Event, r database.Run) error {
	answer, err := s.DB.Answer(ctx, r.ID)
	switch {
	case err != nil:
		return err
	case answer.Comparison != "":
		var c compare.Result
		if err := json.Unmarshal([]byte(answer.Comparison), &c); err != nil {
			return fmt.Errorf("the comparison of experiment %s: %w", r.ID, err)
		}
		c.Changes = slices.DeleteFunc(c.Changes, func(c compare.Change) bool {
			return c.Level != watch.NewArm
		})
		e.Confirm(r.ID, &c)
	case r.Verdict == watch.Same:
		e.Verdict, e.Evidence = history.ByMachine, "both builds are the same, byte for byte"
	default:
		e.Evidence += "; not measured again: " + r.Text
	}
	return nil
}

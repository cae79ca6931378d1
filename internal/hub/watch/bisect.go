package watch

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/sequential"
	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/internal/trial/bisection"
)

// BisectRun is the first step of a bisection: it measures the revisions at the ends of the culprits
// of an event. Each step that has ended begins the next one, on the same machine.
func BisectRun(e *database.Event, before, after string) database.Run {
	return database.Run{ID: access.NewID(), Schedule: e.Name, Base: before, Revision: after,
		Cause: database.RunCause("bisect", e.ID, 1), State: database.RunWaiting, Machine: e.Machine}
}

// bisected decides what is next when a step of a bisection ends: it returns what begins the next
// one, or says what was found. It is nil for other runs.
func (w *Watcher) bisected(ctx context.Context, s Schedule, r database.Run) (func(*sql.Tx) error, error) {
	const wrong, mostBlocks, mostSteps = 0.05, 60, 200
	var id string
	step := 0
	if n, _ := fmt.Sscanf(r.Cause, "bisect %s %d", &id, &step); n < 2 {
		return nil, nil
	}
	say := func(text string) func(*sql.Tx) error {
		return func(tx *sql.Tx) error {
			return w.DB.AddAct(ctx, tx, id, "the hub", "bisection: "+text)
		}
	}
	e, err := w.DB.Event(ctx, nil, id)
	if errors.Is(err, database.ErrMissing) {
		return nil, nil // the history was deleted
	}
	if err != nil {
		return nil, err
	}
	runs, err := w.DB.RunsOf(ctx, nil, s.Name, "bisect", id)
	if err != nil {
		return nil, err
	}
	good, bad := runs[0].Base, runs[0].Revision
	between, err := w.mirror(s).since(ctx, good, bad)
	if err != nil {
		return nil, err
	}
	if len(between) >= mostCommits {
		return say(fmt.Sprintf("it cannot go on: at least %d commits lie between", mostCommits)), nil
	}
	plan := bisection.Plan{Versions: append([]string{good}, between...), Key: e.Example}
	versions := make([]sequential.BisectVersion, len(plan.Versions))
	for _, one := range runs {
		at := slices.Index(plan.Versions, one.Revision)
		differences, err := w.differences(ctx, one.ID, e.Example)
		switch {
		case err != nil:
			return nil, err
		case at < 1:
			return say("it cannot go on: the branch was rewritten"), nil
		case len(differences) == 0 && one.Revision == bad:
			return say("it cannot go on: " + cmp.Or(r.Text, "nothing was measured")), nil
		}
		v := &versions[at]
		v.Differences, v.Skip = append(v.Differences, differences...), v.Skip || len(differences) == 0
	}
	d := sequential.Bisect(sequential.BisectQuestion{Versions: len(versions), Delta: wrong, Most: mostBlocks},
		versions)
	if d.Action != sequential.Measure || step >= mostSteps {
		return say(plan.Text(d)), nil
	}
	next := database.Run{ID: access.NewID(), Schedule: s.Name, Base: good, Revision: plan.Versions[d.Version],
		Cause: database.RunCause("bisect", id, step+1), State: database.RunWaiting, Machine: r.Machine}
	return func(tx *sql.Tx) error { return w.DB.AddRun(ctx, tx, next) }, nil
}

// differences returns the differences of the logarithms of both arms in each complete block of a
// step; none if it was not measured.
func (w *Watcher) differences(ctx context.Context, experiment, key string) ([]float64, error) {
	a, err := w.DB.Answer(ctx, experiment)
	if err != nil || a.Comparison == "" {
		return nil, err
	}
	var c compare.Result
	if err := json.Unmarshal([]byte(a.Comparison), &c); err != nil {
		return nil, fmt.Errorf("the comparison of experiment %s: %w", experiment, err)
	}
	var list []float64
	for _, k := range c.Changes {
		name, _, _ := strings.Cut(k.Base, "@")
		if name != key || k.Level != NewArm {
			continue
		}
		before := map[int]float64{}
		for _, x := range k.ExecutionsBefore {
			before[x.Block()] = x.Value
		}
		for _, x := range k.ExecutionsAfter {
			if y := before[x.Block()]; y > 0 && x.Value > 0 {
				list = append(list, math.Log(x.Value/y))
			}
		}
	}
	return list, nil
}

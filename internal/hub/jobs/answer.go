package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/history"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/hub/database"
	"krund/internal/hub/rebuild"
	"krund/internal/report"
)

// answerOf says what an experiment has shown: how its arms differ or, without arms, how fast its
// keys are. dir has its records. What cannot be compared has no answer.
func (s Histories) answerOf(ctx context.Context, id, name, dir string, points []database.Point) (
	a database.Answer, err error) {
	const most = 1000 // bytes of the sentence
	versions := map[string]bool{}
	for _, p := range points {
		versions[p.Version] = true
	}
	switch len(versions) {
	case 0:
	case 1:
		a.Text = speedsOf(points)
	default:
		var r *compare.Result
		if r, err = s.compared(ctx, dir); err == nil {
			r.Before.Name, r.After.Name = name, name // not the directory's
			a.Text = report.CompareAnswer(r)
			var text []byte
			var again bool
			if again, err = s.isAgain(ctx, id); err == nil {
				text, err = json.Marshal(shortened(r, again))
			}
			a.Comparison = string(text)
		}
	}
	a.Text = display.Clip(display.PlainLine(a.Text), most)
	return a, err
}

// compared lets krunctl compare the arms of an experiment.
func (s Histories) compared(ctx context.Context, dir string) (*compare.Result, error) {
	file := filepath.Join(dir, "compared.json")
	_, failed := rebuild.Krunctl(ctx, s.Krunctl, dir, []string{"compare", "--format=json",
		"--fail-on=never", "-o", file, dir})
	text, err := durable.ReadSmallFile(s.Cache.FS, file, mostFile)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	var r compare.Result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read the comparison: %w", err)
	}
	return &r, nil
}

// isAgain reports whether an experiment measures an event again.
func (s Histories) isAgain(ctx context.Context, id string) (bool, error) {
	r, err := s.DB.Run(ctx, id)
	if errors.Is(err, database.ErrMissing) {
		err = nil
	}
	return r.Machine != "", err
}

// shortened leaves out what the picture of the effects does not show. What events need has their
// executions.
func shortened(r *compare.Result, again bool) *compare.Result {
	const most = 50 // keys
	short := *r
	short.Changes = nil
	for _, c := range report.ByVerdict(r) {
		if len(short.Changes) < most && len(c.Key) <= mostLabel {
			one := compare.Change{Key: c.Key, OnlyIn: c.OnlyIn, Verdict: c.Verdict, Steady: c.Steady,
				Null: c.Null}
			if again {
				one.Base, one.Level, one.Reason = c.Base, c.Level, display.Clip(c.Reason, mostLabel)
				one.ExecutionsBefore, one.ExecutionsAfter = c.ExecutionsBefore, c.ExecutionsAfter
			}
			short.Changes = append(short.Changes, one)
		}
	}
	short.Calibration, short.Warnings = nil, nil
	return &short
}

// speedsOf says how fast keys are: the geometric mean of the executions of the first ones.
func speedsOf(points []database.Point) string {
	const most = 3
	type mean struct{ logs, n float64 }
	of := map[string]*mean{}
	var keys []string
	executions := 0
	for _, p := range points {
		m := of[p.Key]
		if m == nil {
			m = &mean{}
			of[p.Key], keys = m, append(keys, p.Key)
		}
		executions += len(p.Values)
		for _, v := range p.Values {
			m.logs, m.n = m.logs+math.Log(v), m.n+1
		}
	}
	var speeds []string
	for _, key := range keys[:min(len(keys), most)] {
		level := display.UnitOf(points[0].Unit).Value(math.Exp(of[key].logs / of[key].n))
		speeds = append(speeds, key+" "+level)
	}
	return fmt.Sprintf("%s in %s: %s", display.Count(len(keys), "key"),
		display.Count(executions, "execution"), strings.Join(speeds, ", "))
}

// levelsOf compares the machines of an experiment in each key of each version, and returns JSON of
// compare.Levels; "" unless several machines share it. Versions are apart because the executions of
// a block are not independent.
func levelsOf(points []database.Point) (string, error) {
	const most = 100 // keys
	var keys []compare.KeyMachines
	at := map[string]int{}
	several := slices.ContainsFunc(points, func(p database.Point) bool {
		return p.Version != points[0].Version
	})
	for _, p := range points {
		name := p.Key
		if several {
			name += " of " + p.Version
		}
		i, ok := at[name]
		if !ok {
			i, at[name] = len(keys), len(keys)
			keys = append(keys, compare.KeyMachines{Key: name})
		}
		for _, v := range p.Values {
			keys[i].Values = append(keys[i].Values, compare.Observation{Value: v, Machine: p.Machine})
		}
	}
	levels := compare.MachineLevels(keys, history.DefaultConfidence, most)
	if len(levels.Keys) == 0 {
		return "", nil
	}
	text, err := json.Marshal(levels)
	return string(text), err
}

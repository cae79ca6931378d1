package main

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"krund/internal/display"
	"krund/internal/key"
	"krund/internal/results"
	"krund/internal/verdict"
)

// Format of the JSON of a calibration. See docs/output.md.
const calibrationFormat = 1

type (
	calibrationJSON struct {
		Format    int                `json:"format"`
		Directory string             `json:"folder"`
		Idle      calibrationRunJSON `json:"idle"`
		Busy      calibrationRunJSON `json:"busy"`
		Tolerance float64            `json:"ratio_tolerance"`
		Threshold float64            `json:"busy_threshold"`
	}
	calibrationRunJSON struct {
		Records    int `json:"records"`
		Iterations int `json:"iterations"`
	}
)

// chosen says which records a calibration takes: those of a slot, of one of its
// attempts, or of keys.
type chosen struct {
	pattern       *key.Pattern
	slot, attempt int
}

func parseChosen(flag, text string) (chosen, error) {
	if text == "" {
		return chosen{}, usageError{errors.New("a calibration needs both --idle and --busy")}
	}
	if !strings.Contains(text, ":") {
		slot, attempt, err := parseRecord(text)
		if err != nil {
			return chosen{}, usageError{fmt.Errorf("--%s: %w; or give a key, benchmark:vm:variant", flag, err)}
		}
		return chosen{slot: slot, attempt: attempt}, nil
	}
	p, err := key.ParsePattern(text)
	if err != nil {
		return chosen{}, usageError{fmt.Errorf("--%s: %w", flag, err)}
	}
	return chosen{pattern: &p}, nil
}

func (c chosen) match(r results.Record) bool {
	if c.pattern != nil {
		return c.pattern.Match(r.Key)
	}
	return r.Slot == c.slot && (c.attempt == 0 || r.Attempt == c.attempt)
}

// calibrate suggests limits.
func (a *app) calibrate(arg string, o amperfOptions) error {
	idle, err := parseChosen("idle", o.idle)
	if err != nil {
		return err
	}
	busy, err := parseChosen("busy", o.busy)
	if err != nil {
		return err
	}
	f, err := a.openDirectory(arg)
	if err != nil {
		return err
	}
	m, err := a.measurements(f, nil)
	if err != nil {
		return err
	}
	var idleRuns, busyRuns []verdict.CounterRun
	for rec := range m.all() {
		run, ok := verdict.RunOf(rec.Record)
		if !ok || !run.HasRatio() {
			continue
		}
		if idle.match(rec.Record) {
			idleRuns = append(idleRuns, run)
		}
		if busy.match(rec.Record) {
			busyRuns = append(busyRuns, run)
		}
	}
	for _, runs := range []struct {
		flag, of string
		found    int
	}{{"idle", o.idle, len(idleRuns)}, {"busy", o.busy, len(busyRuns)}} {
		if runs.found == 0 {
			return fmt.Errorf("--%s %s: no record of it has APERF and MPERF; `krunctl status --keys %s` lists the keys, `krunctl show` says which counters a record has", runs.flag, runs.of, display.ShellPath(f.Dir()))
		}
	}
	doc := calibrationJSON{Format: calibrationFormat, Directory: f.Dir()}
	i, b := verdict.Join(idleRuns...), verdict.Join(busyRuns...)
	doc.Idle = calibrationRunJSON{len(idleRuns), len(i.WallNS)}
	doc.Busy = calibrationRunJSON{len(busyRuns), len(b.WallNS)}
	limits, err := verdict.Suggest(i, b)
	if err != nil {
		return err
	}
	doc.Tolerance, doc.Threshold = math.Round(limits.Tolerance*1e4)/1e4, math.Round(limits.BusyThreshold) // as few digits as a person needs
	if o.json {
		return a.printJSON(doc)
	}
	a.print("# from %s of %s idle and %s of %s busy\n", display.Count(doc.Idle.Iterations, "iteration"), display.Count(doc.Idle.Records, "record"),
		display.Count(doc.Busy.Iterations, "iteration"), display.Count(doc.Busy.Records, "record"))
	a.print("[verdict]\nratio_tolerance = %v\nbusy_threshold = %.1f\n", doc.Tolerance, doc.Threshold)
	return nil
}

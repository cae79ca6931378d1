package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"krund/internal/analysis/history"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/hub/database"
	"krund/internal/hub/rebuild"
	"krund/internal/machine/command"
)

// Changed is the event that a change was found in a history.
const Changed command.MessageKind = "changed"

// Histories makes the histories of experiments. Experiments with the same name are one history.
type Histories struct {
	DB      *database.DB
	Cache   *rebuild.Cache // its directory is for this only
	Krunctl string         // the program that reduces executions to values
	Log     *slog.Logger
}

// Bounds of what machines can put into a history.
const (
	mostValues = 64 << 20 // bytes of the values of a history; older versions are left out
	mostFile   = 64 << 20 // bytes of the values of an experiment, as krunctl prints them
	mostPoints = 100000   // of an experiment
	mostLabel  = 1000     // bytes of a name
)

// Of returns the history of a name with the unit of its values. Changes whose alert is muted are
// marked. It has no keys if nothing was reduced.
func (s Histories) Of(ctx context.Context, name string) (h *history.History, unit string, err error) {
	points, err := s.DB.Points(ctx, name, mostValues)
	if err != nil {
		return nil, "", err
	}
	muted, err := s.DB.MutedChanges(ctx)
	if err != nil {
		return nil, "", err
	}
	values := valuesOf(points)
	h = history.Of(values.Versions, values.Keys, history.Options{})
	for i := range h.Keys {
		for j := range h.Keys[i].Changes {
			c := &h.Keys[i].Changes[j]
			c.Muted = muted[subject(name, h, &h.Keys[i], c)]
		}
	}
	return h, values.Unit, nil
}

// subject identifies a change: it does not depend on later versions.
func subject(name string, h *history.History, k *history.KeyHistory, c *history.Change) string {
	return strings.Join([]string{name, k.Key, k.Machine, h.Versions[c.Found].Label}, " · ")
}

// valuesOf puts points together as krunctl does with the same experiments: nights of one revision
// are versions of their own. Points are in the order of the versions; those of another unit than
// the last one's are left out.
func valuesOf(points []database.Point) history.Values {
	if len(points) == 0 {
		return history.Values{}
	}
	var ids []string // in the order of their first versions
	of := map[string][]database.Point{}
	unit := points[len(points)-1].Unit
	for _, p := range points {
		if p.Unit != unit {
			continue
		}
		if of[p.Experiment] == nil {
			ids = append(ids, p.Experiment)
		}
		of[p.Experiment] = append(of[p.Experiment], p)
	}
	c := history.NewCollector(nil)
	c.NameMachines()
	for _, id := range ids {
		c.AddValues(oneExperiment(of[id]))
	}
	versions, keys, _ := c.Collected()
	return history.Values{Unit: unit, Versions: versions, Keys: keys}
}

// oneExperiment has the points of an experiment as krunctl history --format values prints them.
func oneExperiment(points []database.Point) (v history.Values) {
	versions := map[string]int{}
	for _, p := range points {
		if _, ok := versions[p.Version]; !ok {
			versions[p.Version] = len(v.Versions)
			v.Versions = append(v.Versions, history.Version{Label: p.Version, Source: p.Source})
		}
	}
	keys := map[[2]string]int{}
	for _, p := range points {
		id := [2]string{p.Key, p.Machine}
		i, ok := keys[id]
		if !ok {
			i = len(v.Keys)
			keys[id] = i
			v.Keys = append(v.Keys, history.Key{Name: p.Key, Machine: p.Machine,
				Values: make([][]float64, len(v.Versions))})
		}
		v.Keys[i].Control = v.Keys[i].Control || p.Control
		v.Keys[i].Values[versions[p.Version]] = p.Values
	}
	return v
}

// reduceAll reduces the experiments that have ended since, and stores alerts about the changes that
// are found with them.
func (s Histories) reduceAll(ctx context.Context, insert insert) error {
	const atOnce = 100
	ended, err := s.DB.Unreduced(ctx, atOnce)
	for _, x := range ended {
		err = errors.Join(err, s.reduce(ctx, x, insert))
	}
	return err
}

// reduce reduces an experiment. That it cannot be is stored, too: it is tried again when the
// experiment changes.
func (s Histories) reduce(ctx context.Context, x database.Experiment, insert insert) error {
	points, err := s.read(ctx, x)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	why := ""
	if err != nil {
		why = display.Clip(display.PlainLine(err.Error()), 1<<10)
		s.Log.Warn("an experiment is not in the history", "experiment", x.ID, "error", why)
	}
	levels, err := levelsOf(points)
	if err != nil {
		return err
	}
	err = s.DB.Update(ctx, func(tx *sql.Tx) error {
		if err := s.DB.PutPoints(ctx, tx, x, points, why); err != nil {
			return err
		}
		return s.DB.PutLevels(ctx, tx, x.ID, levels)
	})
	if err != nil {
		return err
	}
	h, _, err := s.Of(ctx, x.Name)
	if err != nil {
		return err
	}
	return s.DB.Update(ctx, func(tx *sql.Tx) error { return s.alert(ctx, tx, x, h, insert) })
}

// alert stores the changes that were not stored before, and notifies.
func (s Histories) alert(ctx context.Context, tx *sql.Tx, x database.Experiment, h *history.History,
	insert insert) error {
	for i := range h.Keys {
		k := &h.Keys[i]
		for j := range k.Changes {
			c := &k.Changes[j]
			text := fmt.Sprintf("%s %s: %+.1f%% (%+.1f, %+.1f), made by one of %s to %s, found with %s",
				k.Key, k.Machine, 100*(c.Ratio-1), 100*(c.Low-1), 100*(c.High-1), h.Versions[c.First].Label,
				h.Versions[c.Last].Label, h.Versions[c.Found].Label)
			fresh, err := s.DB.AddChange(ctx, tx, database.Alert{Subject: subject(x.Name, h, k, c),
				Experiment: x.ID, Text: text})
			if err == nil && fresh {
				err = insert(ctx, tx, noticeArgs{Event: Changed, Experiment: x.ID, Machine: k.Machine,
					Subject: text})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// read returns the values of an experiment's executions, and puts its iterations into the store as
// tables.
func (s Histories) read(ctx context.Context, x database.Experiment) (points []database.Point, err error) {
	dir, err := s.Cache.Experiment(ctx, x.ID)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }() // it can be made again
	if points, err = s.points(ctx, x, dir); err != nil {
		points = nil
	}
	return points, errors.Join(err, s.tables(ctx, x, dir))
}

// points lets krunctl reduce the records of an experiment, and checks what it says.
func (s Histories) points(ctx context.Context, x database.Experiment, dir string) (points []database.Point,
	err error) {
	file := filepath.Join(dir, "values.json")
	_, failed := rebuild.Krunctl(ctx, s.Krunctl, dir, []string{"history", "--format", "values",
		"--output", file, dir})
	text, err := durable.ReadSmallFile(s.Cache.FS, file, mostFile)
	if err != nil { // if records are damaged, krunctl fails and writes the file nevertheless
		return nil, errors.Join(failed, err)
	}
	var v history.Values
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("read the values: %w", err)
	}
	for _, k := range v.Keys {
		for at, values := range k.Values {
			if at >= len(v.Versions) || len(values) == 0 {
				continue
			}
			label := v.Versions[at]
			if label.Source == "name" { // that of the directory, which is the experiment's id
				const digits = 6
				label.Label = strings.Replace(label.Label, x.ID,
					x.Created.UTC().Format("2006-01-02 15:04 ")+x.ID[:min(digits, len(x.ID))], 1)
			}
			points = append(points, database.Point{Version: label.Label, Source: label.Source,
				Order: x.Created.UnixMicro() + int64(at), Key: k.Name, Machine: k.Machine, Control: k.Control,
				Unit: v.Unit, Values: values})
		}
	}
	return points, storable(points)
}

// storable returns an error for values that the database refuses, or that are too many: their names
// are from machines.
func storable(points []database.Point) error {
	type name struct{ version, key, machine string }
	if len(points) > mostPoints {
		return fmt.Errorf("%d keys, versions and machines; at most %d are stored", len(points), mostPoints)
	}
	seen := map[name]bool{}
	for _, p := range points {
		if max(len(p.Version), len(p.Source), len(p.Key), len(p.Machine), len(p.Unit)) > mostLabel {
			return fmt.Errorf("a name has more than %d bytes: version %.40q, key %.40q, machine %.40q",
				mostLabel, p.Version, p.Key, p.Machine)
		}
		n := name{p.Version, p.Key, p.Machine}
		if seen[n] || strings.Contains(p.Version+p.Source+p.Key+p.Machine+p.Unit, "\x00") {
			return fmt.Errorf("the names of version %q, key %q or machine %q are not valid, or there twice",
				p.Version, p.Key, p.Machine)
		}
		seen[n] = true
	}
	return nil
}

// historyArgs looks for experiments that have ended.
type historyArgs struct{}

// Kind implements river.JobArgs.
func (historyArgs) Kind() string { return "history" }

// history reduces them. River takes a job that has run for an hour for lost, and begins it
// again; many experiments, or one of many machines, take longer. Both would use the same
// directories, so that the second one does nothing. Another process of the hub repeats the work in
// directories of its own, with the same result.
func (w *workers) history(ctx context.Context, _ historyArgs) error {
	if !w.busy.TryLock() {
		return nil
	}
	defer w.busy.Unlock()
	return w.config.Histories.reduceAll(ctx, insertJob)
}

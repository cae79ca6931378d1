package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"krund/internal/analysis/history"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/hub/database"
	"krund/internal/hub/rebuild"
	"krund/internal/hub/watch"
	"krund/internal/machine/command"
)

// Changed is the message that an event was found in a history.
const Changed command.MessageKind = "changed"

// Histories makes the histories of experiments. Experiments with the same name are one history.
type Histories struct {
	DB      *database.DB
	Cache   *rebuild.Cache // its directory is for this only
	Krunctl string         // the program that reduces executions to values
	// Schedules that can build revisions, whose events are measured again.
	Schedules []watch.Schedule
	Log       *slog.Logger
}

// reduceEvery is how often experiments are looked for that have ended: their pages have no result
// before.
const reduceEvery = 10 * time.Second

// Bounds of what machines can put into a history.
const (
	mostValues = 64 << 20 // bytes of the values of a history; older versions are left out
	mostFile   = 64 << 20 // bytes of the values of an experiment, as krunctl prints them
	mostPoints = 100000   // of an experiment
	mostLabel  = 1000     // bytes of a name
)

// valuesOf puts points together as krunctl does with the same experiments: nights of one revision
// are versions of their own. Points are in the order of the versions; those of another unit than
// the last one's are left out, and so are arms without a revision: they are no steps in time, and
// the first arm stands for the experiment. found is the experiment of each version, by its label
// and machine.
func valuesOf(points []database.Point) (v history.Values, found map[[2]string]string) {
	found = map[[2]string]string{}
	if len(points) == 0 {
		return v, found
	}
	var ids []string // in the order of their first versions
	of := map[string][]database.Point{}
	unit := points[len(points)-1].Unit
	for _, p := range points {
		if p.Unit != unit || p.Source == history.SourceArm {
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
		for own, label := range c.AddValues(oneExperiment(of[id])) {
			found[[2]string{label, own[1]}] = id
		}
	}
	versions, keys, _ := c.Collected()
	return history.Values{Unit: unit, Versions: versions, Keys: keys}, found
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

// reduceAll reduces the experiments that have ended since, and looks for events in the histories of
// their names.
func (s Histories) reduceAll(ctx context.Context, insert insert) error {
	const atOnce = 100
	ended, err := s.DB.Unreduced(ctx, atOnce)
	for _, x := range ended {
		err = errors.Join(err, s.reduce(ctx, x))
	}
	changed, listed := s.DB.ChangedHistories(ctx, atOnce)
	err = errors.Join(err, listed)
	for _, h := range changed {
		err = errors.Join(err, s.find(ctx, h, insert))
	}
	return err
}

// reduce reduces an experiment. That it cannot be is stored, too: it is tried again when the
// experiment changes.
func (s Histories) reduce(ctx context.Context, x database.Experiment) error {
	points, answer, err := s.read(ctx, x)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	why := ""
	if err != nil {
		why = display.Clip(display.PlainLine(err.Error()), 1<<10)
		s.Log.Warn("an experiment is not in the history", "experiment", x.ID, "error", why)
	}
	if answer.Levels, err = levelsOf(points); err != nil {
		return err
	}
	switch again, err := s.isAgain(ctx, x.ID); {
	case err != nil:
		return err
	case again:
		points = nil // it is no night: its versions are none that follow each other
	}
	return s.DB.Update(ctx, func(tx *sql.Tx) error {
		if err := s.DB.PutPoints(ctx, tx, x, points, why); err != nil {
			return err
		}
		return s.DB.PutAnswer(ctx, tx, x.ID, answer)
	})
}

// read returns the values of an experiment's executions and what they show, and puts its iterations
// into the store as tables.
func (s Histories) read(ctx context.Context, x database.Experiment) (points []database.Point,
	answer database.Answer, err error) {
	dir, err := s.Cache.Experiment(ctx, x.ID)
	if err != nil {
		return nil, answer, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }() // it can be made again
	if points, err = s.points(ctx, x, dir); err != nil {
		points = nil
	}
	answer, failed := s.answerOf(ctx, x.ID, x.Name, dir, points)
	return points, answer, errors.Join(err, failed, s.tables(ctx, x, dir))
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
			if label.Source != history.SourceRevision { // that of the directory, which is the experiment's id
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

// tables lets krunctl convert the records of each machine to Parquet, a row per iteration, and puts
// the files into the store. Their names are the partitions that DuckDB, Spark and pandas know:
//
//	name=NAME/experiment=ID/machine=MACHINE/benchmark=B/vm=V/variant=X/[arm=A/]iterations.parquet
//
// They can be made again from the records, and are replaced when the experiment changes.
func (s Histories) tables(ctx context.Context, x database.Experiment, dir string) error {
	machines, err := os.ReadDir(dir)
	for _, entry := range machines {
		machine := entry.Name()
		from := filepath.Join(dir, machine, x.Name+".krun")
		if _, err := os.Lstat(from); err != nil {
			continue // something else
		}
		to := filepath.Join(dir, "tables", machine)
		_, failed := rebuild.Krunctl(ctx, s.Krunctl, dir,
			[]string{"convert", "--to", "parquet", "--output", to, from})
		// if records are damaged, krunctl fails and converts the others nevertheless
		stored, wrong := s.store(ctx, to, partition(x)+"/machine="+machine)
		if stored == 0 {
			err = errors.Join(err, failed)
		}
		err = errors.Join(err, wrong)
	}
	return err
}

// partition is where the tables of an experiment are.
func partition(x database.Experiment) string {
	return fmt.Sprintf("name=%s/experiment=%s", x.Name, x.ID)
}

// store stores all files below a directory, and returns their number.
func (s Histories) store(ctx context.Context, dir, name string) (n int, err error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		below, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, err := s.Cache.FS.OpenFile(path, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // it was only read
		info, err := entry.Info()
		if err != nil {
			return err
		}
		n++
		return s.Cache.Store.PutTable(ctx, name+"/"+filepath.ToSlash(below), info.Size(), f)
	})
	return n, err
}

package jobs

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"krund/internal/hub/database"
	"krund/internal/hub/store"
)

// Retention deletes experiments. Their records remain on the machines.
type Retention struct {
	DB    *database.DB
	Store store.Store
	Log   *slog.Logger
	// Keep is how long an experiment is kept after it has changed last; 0: for ever.
	Keep time.Duration
}

// Delete removes an experiment from the database at once. Its contents are removed from the store
// later, unless another experiment has the same. by is who wants that, for the log. The error wraps
// database.ErrRuns if the experiment has not ended.
func (r Retention) Delete(ctx context.Context, id, by string) error {
	var x database.Experiment
	var records int64
	err := r.DB.Update(ctx, func(tx *sql.Tx) (err error) {
		x, records, err = r.DB.DeleteExperiment(ctx, tx, id, func(x database.Experiment) string {
			return store.Tables + "/" + partition(x)
		})
		return err
	})
	if err == nil {
		r.Log.Info("an experiment was deleted", "by", by, "experiment", id, "name", x.Name, "owner", x.Owner,
			"created", x.Created, "records", records)
	}
	return err
}

// Garbage stays in the store for garbageTime, which is longer than a request takes, so that what is
// being received is not removed. A bundle that no experiment has stays for bundleTime.
const (
	garbageTime = time.Hour
	bundleTime  = 24 * time.Hour
)

// clean deletes what is older than Keep, and removes garbage from the store.
func (r Retention) clean(ctx context.Context) error {
	err := errors.Join(r.DB.RemoveExpired(ctx), r.DB.DeleteBundles(ctx, r.DB.Now().Add(-bundleTime)))
	if r.Keep > 0 {
		const atOnce = 1000
		old, listErr := r.DB.EndedBefore(ctx, r.DB.Now().Add(-r.Keep), atOnce)
		err = errors.Join(err, listErr)
		for _, id := range old {
			deleteErr := r.Delete(ctx, id, "keep = "+r.Keep.String())
			if !errors.Is(deleteErr, database.ErrRuns) && !errors.Is(deleteErr, database.ErrMissing) {
				err = errors.Join(err, deleteErr)
			}
		}
	}
	return errors.Join(err, r.collect(ctx))
}

// collect removes garbage from the store. Each name is tried once, because what cannot be removed
// becomes garbage anew. It ends when nothing is left, or a store has removed nothing of a whole
// transaction: it may be off.
func (r Retention) collect(ctx context.Context) (err error) {
	const atOnce = 10 // others wait for an embedded database meanwhile
	for n := 1; n > 0; {
		var failed error
		n, failed = r.DB.Collect(ctx, r.DB.Now().Add(-garbageTime), atOnce, func(name string) error {
			if store.ValidHash(name) {
				return r.Store.Delete(ctx, name)
			}
			return r.Store.DeleteTables(ctx, name)
		})
		err = errors.Join(err, failed)
	}
	return err
}

// cleanArgs removes what is not needed any more, tokens that have expired among it.
type cleanArgs struct{}

// Kind implements river.JobArgs.
func (cleanArgs) Kind() string { return "clean" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (cleanArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{UniqueOpts: river.UniqueOpts{ByState: underWay}}
}

func (w *workers) clean(ctx context.Context, _ cleanArgs) error {
	c := w.config
	return (&Retention{DB: w.db, Store: c.Store, Log: w.log, Keep: c.Keep}).clean(ctx)
}

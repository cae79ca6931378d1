// Package jobs runs what the hub does in the background: River keeps the queue in the hub's
// database, so that a job is inserted in the same transaction as the change that it follows from,
// runs at least once, and is tried again after a crash. A worker must therefore be idempotent.
//
// River's tables are migrated here. Nothing waits in a worker: what is to happen later is a job
// that is scheduled for later. Start reading at [Open].
package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/store"
)

// Jobs is the queue and its workers.
type Jobs struct {
	client *river.Client[*sql.Tx]
}

// Open brings River's tables up to date and returns the queue. Start makes it run.
func Open(ctx context.Context, db *database.DB, c Config, log *slog.Logger) (*Jobs, error) {
	var driver riverdriver.Driver[*sql.Tx] = riverdatabasesql.New(db.Write)
	if db.Dialect == database.SQLite {
		driver = riversqlite.New(db.Write)
	}
	quiet := slog.New(warnings{log.Handler()})
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return nil, fmt.Errorf("prepare the tables of jobs: %w", err)
	}
	err = db.Alone(ctx, func() error {
		_, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
		if err == nil && db.Dialect == database.SQLite {
			err = db.ReleaseJobs(ctx)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("migrate the tables of jobs: %w", err)
	}
	const workers = 4 // one process; jobs wait for other machines, not for the processor
	client, err := river.NewClient(driver, &river.Config{
		Logger: quiet, Workers: list(db, c, log), PeriodicJobs: periodic(),
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
	})
	if err != nil {
		return nil, fmt.Errorf("make the queue of jobs: %w", err)
	}
	return &Jobs{client: client}, nil
}

// warnings leaves out what is less than a warning: River logs its start in eight lines, and counts
// of jobs every minute.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h warnings) WithGroup(name string) slog.Handler { return warnings{h.Handler.WithGroup(name)} }

// list is every kind of job.
func list(db *database.DB, c Config, log *slog.Logger) *river.Workers {
	all := river.NewWorkers()
	w := &workers{db: db, config: c, log: log}
	const own = -1 // what runs has a timeout of its own, or several
	add(all, 0, w.overdue)
	add(all, own, w.power)
	add(all, 0, w.notice)
	add(all, time.Hour/2, w.clean) // a store may be slow; what is left is removed the next time
	add(all, own, w.history)
	return all
}

// workers do what the jobs say.
type workers struct {
	db     *database.DB
	config Config
	log    *slog.Logger
	busy   sync.Mutex // of history
}

// worker is a function as a river.Worker.
type worker[T river.JobArgs] struct {
	river.WorkerDefaults[T]
	timeout time.Duration // 0: River's
	work    func(ctx context.Context, args T) error
}

func add[T river.JobArgs](all *river.Workers, timeout time.Duration, work func(context.Context, T) error) {
	river.AddWorker(all, &worker[T]{timeout: timeout, work: work})
}

// Work implements river.Worker.
func (w *worker[T]) Work(ctx context.Context, job *river.Job[T]) error { return w.work(ctx, job.Args) }

// Timeout implements river.Worker.
func (w *worker[T]) Timeout(*river.Job[T]) time.Duration { return w.timeout }

// insertJob inserts a job that restarts or notifies, while another one runs.
func insertJob(ctx context.Context, tx *sql.Tx, args river.JobArgs) error {
	const attempts = 3 // the next deadline of the machine follows in any case
	_, err := river.ClientFromContext[*sql.Tx](ctx).InsertTx(ctx, tx, args,
		&river.InsertOpts{MaxAttempts: attempts})
	return err
}

// periodic is when jobs run that nothing else inserts. Those that take long are not inserted while
// one of them has not ended.
func periodic() []*river.PeriodicJob {
	alone := &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByState: []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
		rivertype.JobStateRunning, rivertype.JobStateScheduled}}}
	every := func(d time.Duration, args river.JobArgs, opts *river.InsertOpts) *river.PeriodicJob {
		return river.NewPeriodicJob(river.PeriodicInterval(d),
			func() (river.JobArgs, *river.InsertOpts) { return args, opts },
			&river.PeriodicJobOpts{RunOnStart: true})
	}
	return []*river.PeriodicJob{every(lookEvery, overdueArgs{}, nil),
		every(reduceEvery, historyArgs{}, alone), every(time.Hour, cleanArgs{}, alone)}
}

// Start starts the workers.
func (j *Jobs) Start(ctx context.Context) error {
	if err := j.client.Start(ctx); err != nil {
		return fmt.Errorf("start the workers: %w", err)
	}
	return nil
}

// Stop lets the running jobs finish until ctx ends, and then cancels them: they run again later.
func (j *Jobs) Stop(ctx context.Context) error {
	err := j.client.Stop(ctx)
	if err != nil && ctx.Err() != nil {
		const grace = 5 * time.Second
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		err = j.client.StopAndCancel(last)
	}
	if err != nil {
		return fmt.Errorf("stop the workers: %w", err)
	}
	return nil
}

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
			if api.ValidHash(name) {
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

func (w *workers) clean(ctx context.Context, _ cleanArgs) error {
	c := w.config
	return (&Retention{DB: w.db, Store: c.Store, Log: w.log, Keep: c.Keep}).clean(ctx)
}

package jobs

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"krund/internal/durable"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/store"
	"krund/rig/must"
)

// TestWarnings: of the queue's log, only warnings and errors are in the hub's.
func TestWarnings(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(warnings{slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})})
	log = log.With("a", 1).WithGroup("g")
	log.Info("job counts")
	log.Warn("a job failed", "n", 2)
	got := b.String()
	must.Be(t, strings.Count(got, "\n") == 1 && strings.Contains(got, `msg="a job failed" a=1 g.n=2`), got)
}

// retentionBench is a queue with a store.
type retentionBench struct {
	*bench
	Retention
	log bytes.Buffer
	dir string // of the store
}

func newRetentionBench(t *testing.T, at string) *retentionBench {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "blobs")
	blobs := must.Get(store.OpenDirectory(durable.OS(), dir))(t)
	b := &retentionBench{bench: newBench(t, at, "m"), dir: dir}
	b.Retention = Retention{DB: b.bench.DB, Store: blobs, Log: slog.New(slog.NewTextHandler(&b.log, nil))}
	return b
}

// put announces contents and puts them into the store.
func (b *retentionBench) put(t *testing.T, contents ...string) {
	t.Helper()
	for _, text := range contents {
		hash := store.Hash([]byte(text))
		must.Do(t, b.bench.DB.Announce(t.Context(), []string{hash, hash}))
		must.Do(t, b.Store.Put(t.Context(), hash, int64(len(text)), strings.NewReader(text)))
	}
}

// ended adds an experiment that has ended, with these records and a table.
func (b *retentionBench) ended(t *testing.T, contents ...string) (id string) {
	t.Helper()
	id = b.submit(t, "x", "m", 1, 0)
	b.put(t, contents...)
	b.update(t, func(tx *sql.Tx) error {
		db := b.bench.DB
		x := database.Experiment{ID: id, State: database.Done}
		err := errors.Join(db.SetState(t.Context(), tx, x), db.PutShare(t.Context(), tx,
			database.Share{Experiment: id, Machine: b.ids["m"], Count: 1, State: database.Done}))
		for i, text := range contents {
			hash := store.Hash([]byte(text))
			err = errors.Join(err, db.AddBlob(t.Context(), tx, hash, 1))
			_, recordErr := db.AddRecord(t.Context(), tx, database.Record{Experiment: id,
				Machine: b.ids["m"], Slot: int64(i), Attempt: 1, Blob: hash})
			err = errors.Join(err, recordErr)
		}
		x.Name = "x"
		return errors.Join(err, db.PutFile(t.Context(), tx, database.File{Experiment: id,
			Machine: b.ids["m"], Name: "log"}, []byte("x")),
			db.PutPoints(t.Context(), tx, x, []database.Point{{Version: "v", Key: "k"}}, ""))
	})
	must.Do(t, b.Store.PutTable(t.Context(), "name=x/experiment="+id+"/t.parquet", 1, strings.NewReader("x")))
	return id
}

// stored reports which contents the store has.
func (b *retentionBench) stored(t *testing.T, contents ...string) (has []string) {
	t.Helper()
	for _, text := range contents {
		r, err := b.Store.Get(t.Context(), store.Hash([]byte(text)))
		if err == nil {
			has = append(has, text)
			_ = r.Close()
		} else if !errors.Is(err, store.ErrMissing) {
			t.Fatal(err)
		}
	}
	return has
}

func (b *retentionBench) expectStored(t *testing.T, when, want string) {
	t.Helper()
	must.Do(t, b.clean(t.Context()))
	got := strings.Join(b.stored(t, "shared", "own", "other", "refused", "again"), " ")
	must.Equal(t, got, want, when, "the store")
}

// TestDelete: an experiment that has ended is deleted with its rows, tables, and the contents that
// no other has; contents that were announced and not stored with rows are removed, too. What may be
// on its way to the hub stays.
func TestDelete(t *testing.T) { dbtest.OnEach(t, testDelete) }

func testDelete(t *testing.T, at string) {
	b := newRetentionBench(t, at)
	first, second := b.ended(t, "shared", "own"), b.ended(t, "other", "shared")
	b.put(t, "refused")
	running := b.submit(t, "x", "m", 1, 0)
	must.Fail(t, b.Delete(t.Context(), running, "ann"), database.ErrRuns, "one that waits")
	must.Fail(t, b.Delete(t.Context(), "none", "ann"), database.ErrMissing, "one that does not exist")
	must.Do(t, b.Delete(t.Context(), first, "ann"))
	text := b.log.String()
	must.Be(t, strings.Count(text, "deleted") == 1 && strings.Contains(text, "by=ann") &&
		strings.Contains(text, "records=2"), "log", text)
	for _, table := range []string{"records", "files", "points", "reduced", "shares"} {
		var n, left int
		err := b.bench.DB.Read.QueryRowContext(t.Context(), `SELECT COUNT(*), COUNT(DISTINCT experiment) FROM `+
			table).Scan(&n, &left)
		must.Be(t, err == nil && n != 0 && left == 1, table, n, "rows of", left, "experiments", err)
	}
	b.expectStored(t, "at once", "shared own other refused")
	b.now = b.now.Add(50 * time.Minute)
	b.put(t, "again", "refused") // another request has begun to send it
	b.now = b.now.Add(20 * time.Minute)
	b.expectStored(t, "after an hour", "shared other refused again")
	b.now = b.now.Add(2 * time.Hour)
	b.expectStored(t, "later", "shared other")
	tables, err := filepath.Glob(filepath.Join(b.dir, store.Tables, "*", "experiment=*"))
	must.Be(t, err == nil && len(tables) == 1 && filepath.Base(tables[0]) == "experiment="+second, "tables",
		tables, err)
	must.Do(t, b.Delete(t.Context(), second, "ann"))
	b.now = b.now.Add(2 * time.Hour)
	b.expectStored(t, "without any experiment", "")
}

// TestCollectCut: the store fails, or the hub is killed, while garbage is removed. What is left is
// found again; what an experiment has is never removed.
func TestCollectCut(t *testing.T) { dbtest.OnEach(t, testCollectCut) }

func testCollectCut(t *testing.T, at string) {
	b := newRetentionBench(t, at)
	id := b.ended(t, "own", "other")
	b.ended(t, "shared")
	must.Do(t, b.Delete(t.Context(), id, "ann"))
	whole := b.Store
	for cut := range 2 {
		b.now = b.now.Add(2 * time.Hour)
		b.Store = &failing{whole, cut}
		must.Refuse(t, b.clean(t.Context()), "", "it did not fail")
	}
	b.Store = whole
	b.bench.DB.Close()
	b.open(t)
	b.Retention.DB = b.bench.DB
	b.now = b.now.Add(2 * time.Hour)
	b.expectStored(t, "afterwards", "shared")
}

// TestCollectStuck: what cannot be removed is reported, does not keep the rest in the store, and is
// tried again.
func TestCollectStuck(t *testing.T) { dbtest.OnEach(t, testCollectStuck) }

func testCollectStuck(t *testing.T, at string) {
	b := newRetentionBench(t, at)
	var all []string
	for i := range 25 { // more than one transaction removes
		all = append(all, strconv.Itoa(i))
	}
	b.put(t, all...)
	b.now = b.now.Add(2 * time.Hour)
	whole := b.Store
	b.Store = stuck{whole, []string{store.Hash([]byte("3")), store.Hash([]byte("17"))}}
	err := b.clean(t.Context())
	must.Be(t, err != nil && strings.Count(err.Error(), "read-only") == 2, "two blobs cannot be removed", err)
	must.Equal(t, strings.Join(b.stored(t, all...), " "), "3 17", "the store")
	must.Do(t, b.clean(t.Context()), "they are tried again at once")
	b.Store = whole
	b.now = b.now.Add(2 * time.Hour)
	if err := b.clean(t.Context()); err != nil || len(b.stored(t, all...)) > 0 {
		t.Errorf("later: the store has %q, %v", b.stored(t, all...), err)
	}
}

// stuck is a store that cannot remove some blobs.
type stuck struct {
	store.Store
	blobs []string
}

func (s stuck) Delete(ctx context.Context, hash string) error {
	if slices.Contains(s.blobs, hash) {
		return errors.New("read-only file system")
	}
	return s.Store.Delete(ctx, hash)
}

// failing is a store that removes some blobs and then fails.
type failing struct {
	store.Store
	left int
}

func (f *failing) Delete(ctx context.Context, hash string) error {
	if f.left--; f.left < 0 {
		return errors.New("the store does not answer")
	}
	return f.Store.Delete(ctx, hash)
}

// TestLate: the hub was suspended while it received a record, which was removed as garbage then.
// The record is refused, so that the machine sends it again.
func TestLate(t *testing.T) { dbtest.OnEach(t, testLate) }

func testLate(t *testing.T, at string) {
	b := newRetentionBench(t, at)
	b.put(t, "own")
	b.now = b.now.Add(2 * time.Hour)
	b.expectStored(t, "after two hours", "")
	add := func() error {
		return b.bench.DB.Update(t.Context(), func(tx *sql.Tx) error {
			return b.bench.DB.AddBlob(t.Context(), tx, store.Hash([]byte("own")), 1)
		})
	}
	must.Fail(t, add(), database.ErrLate, "after it was removed")
	b.put(t, "own")
	must.Do(t, add(), "sent again")
}

// TestKeep: experiments are deleted when they are old, if that is configured.
func TestKeep(t *testing.T) {
	b := newRetentionBench(t, dbtest.SQLite(t))
	old := b.ended(t, "own")
	b.now = b.now.Add(400 * 24 * time.Hour)
	young := b.ended(t, "other")
	for _, c := range []struct {
		keep time.Duration
		old  bool
	}{{0, true}, {500 * 24 * time.Hour, true}, {365 * 24 * time.Hour, false}} {
		b.Keep = c.keep
		must.Do(t, b.clean(t.Context()))
		_, err := b.bench.DB.Experiment(t.Context(), old)
		_, youngErr := b.bench.DB.Experiment(t.Context(), young)
		must.Be(t, (err == nil) == c.old && youngErr == nil, "keep", c.keep, err, youngErr)
	}
}

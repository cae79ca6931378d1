package watch

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"krund/internal/analysis/compare"
	"krund/internal/display"
	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/store"
	"krund/internal/machine/sysroot"
)

// Watcher watches repositories. One process of the hub does, that whose hub.toml has the schedules.
type Watcher struct {
	DB        *database.DB
	Store     store.Store
	Log       *slog.Logger
	Schedules []Schedule
	Dir       string       // of mirrors and of what is being built
	HTTP      *http.Client // to forges

	mu     sync.Mutex
	looked map[string]time.Time // when others were asked last
	tokens tokens
}

// How often repositories are looked at, and what is under way.
const (
	lookEvery = time.Minute
	stepEvery = 2 * time.Second
)

// Run watches until ctx ends.
func (w *Watcher) Run(ctx context.Context) error {
	if len(w.Schedules) == 0 {
		return nil
	}
	const ownerOnly = 0o700
	err := os.MkdirAll(w.Dir, ownerOnly)
	if old, _ := filepath.Glob(filepath.Join(w.Dir, "work-*")); err == nil { // of a process that was killed
		for _, name := range old {
			err = errors.Join(err, os.RemoveAll(name))
		}
	}
	if err == nil {
		err = w.DB.ReleaseTold(ctx, forgeTime)
	}
	if err != nil {
		return fmt.Errorf("watch repositories: %w", err)
	}
	var all sync.WaitGroup
	for _, s := range w.Schedules {
		all.Go(func() { w.repeat(ctx, s.Name, func() (bool, error) { return w.Step(ctx, s) }) })
	}
	all.Go(func() { w.repeat(ctx, "answers", func() (bool, error) { return w.tell(ctx) }) })
	all.Wait()
	return nil
}

// repeat calls do until ctx ends, at once if it has done something. The same error is logged once.
func (w *Watcher) repeat(ctx context.Context, what string, do func() (bool, error)) {
	last := ""
	for ctx.Err() == nil {
		did, err := do()
		if text := fmt.Sprint(err); text != last && ctx.Err() == nil {
			if last = text; err != nil {
				w.Log.Error("a schedule does not go on", "schedule", what, "error", err)
			}
		}
		if did && err == nil {
			continue
		}
		_ = sysroot.RealClock{}.Sleep(ctx, stepEvery) // ctx is looked at above
	}
}

// Step does what is next for a schedule, and reports whether something was done.
func (w *Watcher) Step(ctx context.Context, s Schedule) (bool, error) {
	failed := w.look(ctx, s) // also when the repository is away, what has begun goes on
	runs, err := w.DB.OpenRuns(ctx, s.Name)
	if err != nil {
		return false, err
	}
	did, next, measuring := false, -1, false
	for i, r := range runs {
		var err error
		before := r.State
		switch {
		case r.State == database.RunAsked:
			if !w.early(r.ID) {
				err = w.permit(ctx, s, &r)
			}
		case r.State == database.RunMeasuring:
			err = w.conclude(ctx, s, &r)
			measuring = measuring || r.State == before && r.Machine == ""
		case r.Machine != "": // it waits for no other one
			if err = w.begin(ctx, s, runs, r); err == nil {
				did = true
			}
		case r.State == database.RunWaiting: // those that a person waits for first
			if next < 0 || runs[next].Change == 0 && (r.Change > 0 || s.Missed == "skip") {
				next = i
			}
		}
		did, failed = did || r.State != before, errors.Join(failed, err)
	}
	if !measuring && next >= 0 {
		failed = errors.Join(failed, w.begin(ctx, s, runs, runs[next]))
		did = true
	}
	return did, failed
}

// mirror returns the mirror of a schedule.
func (w *Watcher) mirror(s Schedule) mirror {
	return mirror{filepath.Join(w.Dir, s.Name+".git"), s}
}

// early reports whether it is less than lookEvery ago that something was done that asks others; if
// not, it is done now.
func (w *Watcher) early(what string) bool {
	now := w.DB.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.looked[what]).Abs() < lookEvery {
		return true
	}
	if w.looked == nil {
		w.looked = map[string]time.Time{}
	}
	w.looked[what] = now
	return false
}

// look adds a run for each new commit, or for a night that has begun.
func (w *Watcher) look(ctx context.Context, s Schedule) error {
	now := w.DB.Now()
	if w.early(s.Name) {
		return nil
	}
	m := w.mirror(s)
	tip, err := m.fetch(ctx, "refs/heads/"+s.Branch, watched)
	if err != nil {
		return err
	}
	seen, err := w.DB.Watched(ctx, s.Name)
	if err != nil {
		return err
	}
	var causes []database.Run
	if s.Every == "commit" {
		list, err := m.since(ctx, seen.Head, tip)
		if err != nil {
			return err
		}
		for _, c := range list {
			causes = append(causes, database.Run{Cause: "commit " + c, Revision: c})
		}
	} else if night := s.night(now); night.After(seen.Night) {
		const late = time.Hour
		if !seen.Night.IsZero() && (s.Missed == "catch up" || now.Sub(night) < late) {
			causes = []database.Run{{Cause: "night " + night.Format(time.DateOnly), Revision: tip}}
		}
		seen.Night = night
	}
	seen.Head = tip
	return w.DB.Update(ctx, func(tx *sql.Tx) error {
		err := w.DB.SetWatched(ctx, tx, s.Name, seen)
		for _, r := range causes {
			r.ID, r.Schedule, r.State = access.NewID(), s.Name, database.RunWaiting
			err = errors.Join(err, w.DB.AddRun(ctx, tx, r))
		}
		return err
	})
}

// Names of the first two arms of an experiment.
const (
	BaseArm = "base"
	NewArm  = "new"
)

// What a run has shown.
const (
	First   = "first"  // there was nothing to compare it with
	Worse   = "worse"  // also when only one of several keys is
	Better  = "better" //
	Same    = "same"
	Unclear = "unclear" // no answer, or a change that is not certain enough to fail a check
	Failed  = "failed"  // it was not measured
	Skipped = "skipped" // a later revision was measured instead
	Refused = "refused" // nobody with the permission has asked for it
)

// Certainty is the error rate of a check: with identical programs it fails at most once in so many
// comparisons, all keys of a comparison together.
const Certainty = 1000

// end ends a run.
func (w *Watcher) end(ctx context.Context, s Schedule, r *database.Run, verdict, text string) error {
	before := r.State
	r.State, r.Verdict, r.Text = database.RunEnded, verdict, display.Clip(display.PlainLine(text),
		display.MaxMessage)
	var tell []string
	if s.Answer.Forge != "" && r.Machine == "" && verdict != First && verdict != Skipped &&
		verdict != Refused {
		if r.Revision != "" {
			tell = append(tell, "check")
		}
		if r.Change > 0 || verdict == Worse {
			tell = append(tell, "comment")
		}
	}
	next, err := w.bisected(ctx, s, *r)
	if err != nil {
		return err
	}
	return w.DB.Update(ctx, func(tx *sql.Tx) error {
		err := w.DB.SetRun(ctx, tx, *r, before, tell...)
		if err == nil && r.Machine != "" { // its event is looked at again
			err = w.DB.Touch(ctx, tx, s.Name)
		}
		if err == nil && next != nil {
			err = next(tx)
		}
		return err
	})
}

// begin builds what a run compares, and submits its experiment.
func (w *Watcher) begin(ctx context.Context, s Schedule, all []database.Run, r database.Run) error {
	if s.Missed == "skip" && r.Change == 0 && r.Machine == "" {
		for _, old := range all {
			if old.State == database.RunWaiting && old.Change == 0 && old.Machine == "" && old.Seq < r.Seq {
				if err := w.end(ctx, s, &old, Skipped,
					"revision "+short(r.Revision)+" was measured instead"); err != nil {
					return err
				}
			}
		}
	}
	if r.Machine != "" {
		s.Experiment, s.To, s.Machines = s.Again, r.Machine, 1
	}
	if err := w.DB.Update(ctx, func(tx *sql.Tx) error {
		_, err := w.target(ctx, tx, s)
		return err
	}); err != nil {
		return err
	}
	ref := s.ref(r.Change)
	if r.Change == 0 && r.Machine == "" {
		last, err := w.DB.LastMeasured(ctx, s.Name)
		if err != nil {
			return err
		}
		r.Base = last
	}
	built, err := w.built(ctx, s, r.Revision, ref)
	old := built
	if err == nil && r.Base != "" {
		old, err = w.built(ctx, s, r.Base, s.ref(0))
	}
	var failed buildFailed
	switch {
	case errors.As(err, &failed):
		return w.end(ctx, s, &r, Failed, "it was not measured: "+failed.Error())
	case err != nil:
		return err
	case r.Base == "":
		return w.end(ctx, s, &r, First, "it is the first one: the next one is compared with it")
	case old == built && (s.Every == "commit" && r.Machine == "" || strings.HasPrefix(r.Cause, "again ")):
		return w.end(ctx, s, &r, Same, "it was not measured: what was built is the same as of "+
			short(r.Base)+", byte for byte")
	}
	return w.submit(ctx, s, r, old, built)
}

// ref is where a revision of a change is found: 0 is the branch.
func (s Schedule) ref(change int64) string {
	switch {
	case change == 0:
		return "refs/heads/" + s.Branch
	case s.Answer.Forge == "gitlab":
		return fmt.Sprintf("refs/merge-requests/%d/head", change)
	}
	return fmt.Sprintf("refs/pull/%d/head", change)
}

func short(revision string) string { return revision[:min(len(revision), 12)] }

// conclude ends a run whose experiment has ended and was analyzed.
func (w *Watcher) conclude(ctx context.Context, s Schedule, r *database.Run) error {
	x, err := w.DB.Experiment(ctx, r.ID)
	switch {
	case errors.Is(err, database.ErrMissing):
		return w.end(ctx, s, r, Failed, "its experiment was deleted")
	case err != nil:
		return err
	case x.State == database.Stopped:
		return w.end(ctx, s, r, Failed, "its experiment has been stopped")
	case x.State == database.Failed:
		shares, err := w.DB.Shares(ctx, x.ID)
		if err != nil {
			return err
		}
		text := "its experiment has failed"
		for _, share := range shares {
			var p api.Progress
			if _ = json.Unmarshal([]byte(share.Status), &p); p.Reason != "" { // the hub wrote it
				text = text + ": " + p.Reason
				break
			}
		}
		return w.end(ctx, s, r, Failed, text)
	case x.State != database.Done:
		return nil
	}
	analyzed, err := w.DB.HasAnswer(ctx, x)
	if err != nil || !analyzed {
		return err
	}
	a, err := w.DB.Answer(ctx, r.ID)
	if err != nil {
		return err
	}
	verdict, text := verdictOf(a)
	if r.Base == r.Revision {
		verdict = Same
	}
	return w.end(ctx, s, r, verdict, text)
}

// verdictOf says what an experiment has shown. A change counts if chance alone makes one in
// Certainty comparisons: commits are many, and who gets a false alarm each week mutes all of them.
func verdictOf(a database.Answer) (verdict, text string) {
	var c compare.Result
	if a.Comparison == "" || json.Unmarshal([]byte(a.Comparison), &c) != nil || len(c.Changes) == 0 {
		return Failed, "its experiment has no comparison: the page of the experiment has the reason"
	}
	verdict = Same
	for _, k := range c.Changes {
		certain := k.Steady != nil && k.Steady.Corrected <= 1./Certainty
		switch {
		case k.Verdict == compare.Worse && certain:
			return Worse, a.Text
		case k.Verdict == compare.Better && certain:
			verdict = Better
		case k.Verdict != compare.Same && verdict == Same:
			verdict = Unclear
		}
	}
	return verdict, a.Text
}

package jobs

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
)

// Queue decides which machine runs which part of an experiment. A part is leased to a machine: it
// belongs to it until it is done, or until the machine has been silent for so long that it is
// given up. Then another machine that has no part of the experiment may begin it, from its start;
// what was shipped remains. A part that was given up Tries times, or that no machine can begin,
// fails, and with it the experiment, after the other parts have ended.
//
// Every step is one transaction, so that a crash leaves either all of it or nothing. Machines
// repeat what was not answered. Several processes of the hub work on one database: a transaction
// locks at first the machine whose request it serves, then one experiment, and what it decides on
// is read after that. It locks no second experiment, so that no two transactions wait for each
// other.
type Queue struct {
	DB      *database.DB
	Weights Weights // of those who wait for one machine
}

// Tries is how many machines may fail a part.
const Tries = 3

// The lease of a part: twice the time after which the machine should report again, and some more.
// A machine that measures without reporting is silent for the rest of its plan, which may be days.
const (
	leaseLeast   = 30 * time.Minute
	leaseUnknown = 24 * time.Hour      // when nothing has been measured
	leaseMost    = 90 * 24 * time.Hour // whatever a machine claims
	forgotten    = 7 * 24 * time.Hour  // a machine that was not seen for so long begins nothing
)

// expected returns after which time a machine should report again; 0: unknown.
func expected(p api.Progress) time.Duration {
	seconds := min(cmp.Or(p.NextBoot, p.Seconds), int64(leaseMost/time.Second))
	return time.Duration(max(seconds, 0)) * time.Second
}

// leaseOf returns how long a machine may be silent.
func leaseOf(p api.Progress) time.Duration {
	after := expected(p)
	if after == 0 {
		return leaseUnknown
	}
	return min(2*after, leaseMost) + leaseLeast
}

// Submit adds an experiment, unless there is one with its id, and returns the id, which is made if
// it is "".
func (q Queue) Submit(ctx context.Context, tx *sql.Tx, x database.Experiment) (string, error) {
	if x.ID == "" {
		x.ID = access.NewID()
	}
	x.State = database.Queued
	return x.ID, q.DB.AddExperiment(ctx, tx, x)
}

// Report updates a share with what its machine reports, and the experiment with it. The share is
// stored with its status; the rest of a share that there is already is read again, because others
// may have changed it.
func (q Queue) Report(ctx context.Context, tx *sql.Tx, share *database.Share, p api.Progress) error {
	x, shares, err := q.DB.Lock(ctx, tx, share.Experiment)
	if err != nil {
		return err
	}
	for _, s := range shares {
		if s.Machine == share.Machine {
			s.Status = share.Status
			*share = s
		}
	}
	q.follow(share, shares, x, p)
	if followed(share.Request, p) {
		share.Request = ""
	}
	share.Missed = 0
	share.Lease = q.DB.Now().Add(leaseOf(p))
	next := q.DB.Now().Add(expected(p))
	if share.State != database.Running || expected(p) == 0 {
		next = time.Time{}
	}
	err = errors.Join(q.DB.PutShare(ctx, tx, *share), q.DB.Expect(ctx, tx, share.Machine, next))
	if err != nil {
		return err
	}
	return q.settle(ctx, tx, x.ID)
}

// follow changes the state of a share to what its machine reports.
func (q Queue) follow(share *database.Share, shares []database.Share, x database.Experiment, p api.Progress) {
	switch {
	case p.Ended && p.Left == 0:
		share.State = database.Done
	case p.Ended && (x.State == database.Stopped || share.Request == api.RequestStop):
		share.State = database.Stopped
	case p.Ended:
		share.State = database.Failed
	case share.State != database.Failed && share.State != database.Stopped:
		share.State = database.Running
	case x.State == database.Stopped || taken(*share, shares):
		share.Request = api.RequestStop
	default: // a machine that was given up is back
		share.State = database.Running
	}
}

// taken reports whether another machine has the part.
func taken(share database.Share, shares []database.Share) bool {
	return slices.ContainsFunc(shares, func(s database.Share) bool {
		return s.Machine != share.Machine && s.Index == share.Index && s.State != database.Failed
	})
}

// followed reports whether a machine has done what it was asked.
func followed(request string, p api.Progress) bool {
	switch request {
	case api.RequestHold:
		return p.Held
	case api.RequestResume:
		return !p.Held
	}
	return p.Ended
}

// Next returns what an idle machine is to begin, nil for nothing: again the part that it has not
// ended, so that an answer that was lost is repeated, or a new one. Its parts of experiments that
// were stopped end.
func (q Queue) Next(ctx context.Context, machine string) (n *api.Next, err error) {
	mine, err := q.DB.RunningOn(ctx, machine)
	for _, id := range mine {
		if n == nil && err == nil {
			n, err = q.again(ctx, machine, id)
		}
	}
	const attempts = 10 // others may take the last part in the meantime
	for i, more := 0, true; n == nil && err == nil && more && i < attempts; i++ {
		n, more, err = q.begin(ctx, machine)
	}
	return n, err
}

// again returns a part that the machine has not ended, nil if it is not to go on with it.
func (q Queue) again(ctx context.Context, machine, id string) (n *api.Next, err error) {
	return n, q.DB.Update(ctx, func(tx *sql.Tx) error {
		n = nil
		x, shares, err := q.DB.Lock(ctx, tx, id)
		if err != nil {
			return err
		}
		for _, share := range shares {
			switch {
			case share.Machine != machine || share.State != database.Running:
			case x.State == database.Stopped: // it runs nothing: what it was asked is done
				share.State, share.Request = database.Stopped, ""
				return q.DB.PutShare(ctx, tx, share)
			case x.Bundle != "" && !x.Held:
				n = next(x, share)
			}
		}
		return nil
	})
}

// begin gives the machine a part of the experiment whose turn it is, see Weights. more reports that
// another machine took it, and that there may be another one.
func (q Queue) begin(ctx context.Context, machine string) (n *api.Next, more bool, err error) {
	return n, more, q.DB.Update(ctx, func(tx *sql.Tx) error {
		n, more = nil, false
		m, err := q.DB.LockMachine(ctx, tx, machine)
		if err != nil {
			return err
		}
		waiting, err := q.DB.Waiting(ctx, tx, m)
		if err != nil || len(waiting) == 0 {
			return err
		}
		used, err := q.DB.Used(ctx, tx, q.DB.Now().Add(-FairTime))
		if err != nil {
			return err
		}
		id := q.Weights.Fair(waiting, used, 1)[0].ID
		x, shares, err := q.DB.Lock(ctx, tx, id)
		if err != nil {
			return err
		}
		index := slices.Index(open(x, shares), true)
		if ended := x.State != database.Queued && x.State != database.Running; ended || x.Held || index < 0 {
			more = true
			return nil
		}
		share := database.Share{Experiment: id, Machine: m.ID, Index: int64(index), Count: x.Parts,
			State: database.Running, Lease: q.DB.Now().Add(leaseUnknown)}
		n = next(x, share)
		return errors.Join(q.DB.PutShare(ctx, tx, share), q.settle(ctx, tx, id))
	})
}

func next(x database.Experiment, share database.Share) *api.Next {
	return &api.Next{Experiment: x.ID, Name: x.Name, Bundle: x.Bundle, Index: int(share.Index),
		Count: int(share.Count)}
}

// open reports which parts no machine has or has ended.
func open(x database.Experiment, shares []database.Share) []bool {
	parts := slices.Repeat([]bool{true}, int(x.Parts))
	for _, s := range shares {
		if s.State != database.Failed && s.Index < x.Parts {
			parts[s.Index] = false
		}
	}
	return parts
}

// settle sets the state of an experiment to what follows from its shares.
func (q Queue) settle(ctx context.Context, tx *sql.Tx, id string) error {
	x, shares, err := q.DB.Lock(ctx, tx, id)
	if err != nil || x.State == database.Stopped || len(shares) == 0 {
		return err
	}
	count := map[string]int{}
	for _, s := range shares {
		count[s.State]++
	}
	hopeless, err := q.hopeless(ctx, tx, x, shares)
	if err != nil {
		return err
	}
	before := x.State
	switch {
	case count[database.Running] > 0:
		x.State = database.Running
	case !slices.Contains(open(x, shares), true) && count[database.Stopped] == 0:
		x.State = database.Done
	case count[database.Stopped] > 0:
		x.State = database.Stopped
	case hopeless:
		x.State = database.Failed
	default:
		x.State = database.Running // an open part waits for a machine
	}
	if x.State == before {
		return nil
	}
	return q.DB.SetState(ctx, tx, x)
}

// hopeless reports whether a part is open that no machine will begin.
func (q Queue) hopeless(ctx context.Context, tx *sql.Tx, x database.Experiment, shares []database.Share) (
	bool, error) {
	parts := open(x, shares)
	if !slices.Contains(parts, true) {
		return false, nil
	}
	tries := map[int64]int{}
	for _, s := range shares {
		if s.State == database.Failed && parts[s.Index] {
			if tries[s.Index]++; tries[s.Index] >= Tries {
				return true, nil
			}
		}
	}
	n, err := q.DB.Candidates(ctx, tx, x.ID, q.DB.Now().Add(-forgotten))
	return n == 0, err
}

// ErrEnded is the error of a request to hold or resume an experiment that was stopped or has ended.
var ErrEnded = errors.New("the experiment has ended, or was stopped")

// Request asks the machines of an experiment to hold, resume or stop. Parts that no machine has are
// held or stopped at once. That it is to stop is not taken back: the error wraps ErrEnded.
func (q Queue) Request(ctx context.Context, tx *sql.Tx, id, request string) error {
	x, shares, err := q.DB.Lock(ctx, tx, id)
	if err != nil {
		return err
	}
	if request == api.RequestStop {
		return q.DB.StopExperiment(ctx, tx, id)
	}
	if x.State != database.Queued && x.State != database.Running {
		return fmt.Errorf("%s experiment %s: %w", request, id, ErrEnded)
	}
	x.Held = request == api.RequestHold
	for _, s := range shares {
		if s.State != database.Running {
			continue
		}
		s.Request = request
		if err := q.DB.PutShare(ctx, tx, s); err != nil {
			return err
		}
	}
	return q.DB.SetState(ctx, tx, x)
}

// progressOf returns what a machine reported last.
func progressOf(s database.Share) (p api.Progress) {
	_ = json.Unmarshal([]byte(s.Status), &p) // it was written by this program
	return p
}

// Weights are the shares of machine time. A user, or a series (the experiments of one name), that
// is not named has 1.
type Weights struct {
	Users, Series []Weight
}

// Weight is the share of those whose name matches a pattern, as of files; the first one counts.
type Weight struct {
	Name  string
	Share float64
}

func weightOf(all []Weight, name string) float64 {
	for _, w := range all {
		if match, err := path.Match(w.Name, name); err == nil && match {
			return w.Share
		}
	}
	return 1
}

// FairTime is for how long machine time that was used counts. guess is what an experiment is taken
// to use when the order of those that wait is shown.
const (
	FairTime = 24 * time.Hour
	guess    = time.Hour
)

// Fair returns at most limit of the experiments that wait, in the order in which a machine is given
// to them: to the user who has used least machine time in the last day, by weight. Of that user's
// experiments those of the highest priority come first; of these the series that has used least; of
// that the oldest.
func (w Weights) Fair(waiting []database.Experiment, used []database.Used, limit int) []database.Experiment {
	type series struct{ owner, name string }
	users, names := map[string]float64{}, map[series]float64{} // hours by weight
	use := func(owner, name string, time time.Duration) {
		users[owner] += time.Hours() / weightOf(w.Users, owner)
		names[series{owner, name}] += time.Hours() / weightOf(w.Series, name)
	}
	for _, u := range used {
		use(u.Owner, u.Series, u.Time)
	}
	type line struct { // of one priority and series
		series
		priority int64
	}
	lines, since := map[line][]database.Experiment{}, map[string]time.Time{}
	for _, x := range slices.SortedFunc(slices.Values(waiting), func(a, b database.Experiment) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	}) {
		of := line{series{x.Owner, x.Series()}, x.Priority}
		if lines[of] = append(lines[of], x); since[x.Owner].IsZero() {
			since[x.Owner] = x.Created
		}
	}
	var order []database.Experiment
	for len(order) < limit && len(lines) > 0 {
		next := slices.MinFunc(slices.Collect(maps.Keys(lines)), func(a, b line) int {
			first, other := lines[a][0], lines[b][0]
			age := cmp.Or(first.Created.Compare(other.Created), cmp.Compare(first.ID, other.ID))
			if a.owner == b.owner {
				return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(names[a.series],
					names[b.series]), age)
			}
			return cmp.Or(cmp.Compare(users[a.owner], users[b.owner]),
				since[a.owner].Compare(since[b.owner]), cmp.Compare(a.owner, b.owner))
		})
		x := lines[next][0]
		order = append(order, x)
		use(x.Owner, x.Series(), guess)
		if lines[next] = lines[next][1:]; len(lines[next]) == 0 {
			delete(lines, next)
		}
	}
	return order
}

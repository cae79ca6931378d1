package jobs

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"time"

	"krund/internal/hub/database"
)

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

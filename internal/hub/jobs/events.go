package jobs

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/history"
	"krund/internal/display"
	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/internal/hub/watch"
)

// Bounds of what is stored of a history.
const (
	mostTrend     = 60  // values of a series
	mostEventKeys = 500 // keys of an event
)

// find makes the history of a name anew, as `krunctl history` does, and stores its series and its
// events. Each event is told once.
func (s Histories) find(ctx context.Context, of database.History, insert insert) error {
	points, err := s.DB.Points(ctx, of.Name, mostValues)
	if err != nil {
		return err
	}
	v, with := valuesOf(points)
	var known []history.State
	from, order := int64(0), map[string]int64{} // of experiments
	for i := len(points) - 1; i >= 0; i-- {
		from, order[points[i].Experiment] = points[i].Order, points[i].Order
	}
	machines := map[string]bool{}
	for i := range v.Keys {
		machines[v.Keys[i].Machine] = true
	}
	if len(machines) > 0 {
		within := access.Within(ctx, access.ProjectOf(of.Name)) // what others found is not for its readers
		states, err := s.DB.States(within, slices.Sorted(maps.Keys(machines)), of.Name, from)
		if err != nil {
			return err
		}
		for _, o := range states {
			known = append(known, history.State{Machine: o.Machine, Effects: o.Effects,
				Label: o.Name + " with " + o.Version + time.UnixMicro(o.At).UTC().Format(" (2006-01-02)")})
		}
	}
	h := history.Of(v.Versions, v.Keys, history.Options{States: known})
	var began []database.State
	for _, e := range h.Events {
		if e.Effects != nil && e.Known == "" { // what it is known by need not be stored again
			version := h.Versions[e.Version].Label
			began = append(began, database.State{Machine: e.Machine, Version: version,
				At: max(order[with[[2]string{version, e.Machine}]], from), Effects: e.Effects})
		}
	}
	versions, err := json.Marshal(h.Versions)
	if err != nil {
		return err
	}
	of.Unit, of.Versions = v.Unit, string(versions)
	series, err := seriesOf(of.Name, h)
	if err != nil {
		return err
	}
	return s.DB.Update(ctx, func(tx *sql.Tx) error {
		stored, err := s.DB.PutHistory(ctx, tx, of, series)
		if err != nil || !stored || len(series) == 0 {
			return err
		}
		if err := s.DB.PutStates(ctx, tx, of.Name, from, began); err != nil {
			return err
		}
		return s.events(ctx, tx, of.Name, h, eventsOf(of.Name, h, with), insert)
	})
}

// seriesOf is what lists show of the keys, and their histories.
func seriesOf(name string, h *history.History) ([]database.Series, error) {
	var list []database.Series
	for i := range h.Keys {
		k := &h.Keys[i]
		doc, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		one := database.Series{Name: name, Key: k.Key, Machine: k.Machine, Versions: len(k.Points), Change: 1,
			Trend: []float64{}, Doc: string(doc)}
		for _, p := range k.Points[max(len(k.Points)-mostTrend, 0):] {
			one.Trend, one.Value = append(one.Trend, p.Value), p.Value
		}
		if n := len(k.Levels); n > 0 {
			one.Value = k.Levels[n-1].Value
		}
		if n := len(k.Changes); n > 0 {
			one.Change = k.Changes[n-1].Ratio
		}
		list = append(list, one)
	}
	return list, nil
}

// eventsOf is what is stored of the events of a history; with has the experiment of each version
// and machine. Events have no id yet.
func eventsOf(name string, h *history.History, with map[[2]string]string) []database.Event {
	label := func(v int) string { return h.Versions[v].Label }
	var list []database.Event
	for _, e := range h.Events {
		one := database.Event{Name: name, Machine: e.Machine, Verdict: string(e.Verdict), Present: true,
			Experiment: with[[2]string{label(e.Found), e.Machine}],
			Finding: database.Finding{Version: label(e.Version), First: label(e.First), Last: label(e.Last),
				Found: label(e.Found), Example: e.Keys[0].Name, Changed: len(e.Keys), Of: e.Of,
				Median: e.Median, Least: e.Least, Most: e.Most, Evidence: e.Evidence}}
		if e.First > 0 {
			one.Before = label(e.First - 1)
		}
		for _, k := range e.Keys[:min(len(e.Keys), mostEventKeys)] {
			c := &h.Keys[k.Key].Changes[k.Change]
			one.Keys = append(one.Keys, database.EventKey{Key: k.Name, Found: label(c.Found), Ratio: c.Ratio,
				Low: c.Low, High: c.High})
		}
		list = append(list, one)
	}
	return list
}

// events stores the events of a name, and notifies of those of which nothing was told before. found
// are those of h. An event is the one that was stored with most of its changes: the first version
// with which a change was found never changes, what belongs together may.
func (s Histories) events(ctx context.Context, tx *sql.Tx, name string, h *history.History,
	found []database.Event, insert insert) error {
	stored, err := s.DB.EventsOf(ctx, tx, name)
	if err != nil {
		return err
	}
	told, err := s.DB.TakeChanges(ctx, tx, name)
	if err != nil {
		return err
	}
	for i, e := range match(stored, found, told) {
		if i < len(found) {
			if err := s.again(ctx, tx, h, &h.Events[i], &e); err != nil {
				return err
			}
		}
		if err := s.DB.PutEvent(ctx, tx, e.Event); err != nil {
			return err
		}
		if e.fresh {
			err := insert(ctx, tx, noticeArgs{ID: access.NewID(), Event: Changed, Experiment: e.Experiment,
				Machine: e.Machine, Subject: EventText(&e.Event)})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// matched is an event to store; people are told of a fresh one.
type matched struct {
	database.Event
	fresh bool
}

// match gives the events that were found the ids of those that are stored, and adds those that are
// no longer found at the end. told are changes that people know.
func match(stored, found []database.Event, told []database.ToldChange) []matched {
	knows := map[string][]int{} // indexes of stored, by change
	taken := map[string]bool{}  // ids
	for i := range stored {
		for _, c := range changes(&stored[i]) {
			knows[c] = append(knows[c], i)
		}
		stored[i].Present = false
		taken[stored[i].ID] = true
	}
	muted := map[string]time.Time{}
	for _, c := range told {
		muted[c.Subject] = c.Muted
	}
	var list []matched
	used := map[int]bool{}
	for _, e := range found {
		m := matched{Event: e, fresh: true}
		shared := map[int]int{}
		best := -1
		for _, c := range changes(&e) {
			until, known := muted[c]
			if m.fresh = m.fresh && !known && len(knows[c]) == 0; until.After(m.Muted) {
				m.Muted = until
			}
			for _, i := range knows[c] {
				if shared[i]++; !used[i] && (best < 0 || shared[i] > shared[best]) {
					best = i
				}
			}
		}
		if best >= 0 {
			used[best] = true
			m.ID, m.Again = stored[best].ID, stored[best].Again
		} else if m.ID = eventID(&e); taken[m.ID] {
			m.ID = access.NewID() // of one that was divided
		}
		list = append(list, m)
	}
	for i, e := range stored {
		if !used[i] {
			list = append(list, matched{Event: e})
		}
	}
	return list
}

// changes identify the changes of an event: they do not depend on later versions.
func changes(e *database.Event) []string {
	list := make([]string, len(e.Keys))
	for i, k := range e.Keys {
		list[i] = strings.Join([]string{e.Name, k.Key, e.Machine, k.Found}, " · ")
	}
	return list
}

// eventID is the id of an event that was not stored: it is the same in each process of the hub.
func eventID(e *database.Event) string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(changes(e))), "\n")))
	return hex.EncodeToString(sum[:12])
}

// EventText is an event in a line.
func EventText(e *database.Event) string {
	what := e.Verdict + " on " + e.Machine
	if e.Machine == "" {
		what = e.Verdict
	}
	return fmt.Sprintf("%s: %s: %s, %s: %s", e.Name, what, EventChange(e), EventCulprits(e), e.Evidence)
}

// EventChange is what changed by how much.
func EventChange(e *database.Event) string {
	text := fmt.Sprintf("%+.1f%% in %s", 100*(e.Median-1), e.Example)
	if e.Changed > 1 {
		text = fmt.Sprintf("%+.1f%% (%+.1f to %+.1f) in %d of %s, most in %s", 100*(e.Median-1),
			100*(e.Least-1), 100*(e.Most-1), e.Changed, display.Count(e.Of, "key"), e.Example)
	}
	return text
}

// EventCulprits is the versions with which it happened.
func EventCulprits(e *database.Event) string {
	switch {
	case e.First == e.Last:
		return "with " + e.First
	case e.Version == e.First || e.Version == e.Last:
		return "with one of " + e.First + " to " + e.Last
	}
	return "with one of " + e.First + " to " + e.Last + ", most likely " + e.Version
}

// again has an event measured again before people are told of it, if the schedule of its name says
// how: the revisions at the ends of its culprits, on its machine and on another one that measures
// the same. Then people are told if it was confirmed. Every state is stored with the event, and the
// cause of a run is there once, so that nothing is lost or done twice when this is repeated.
func (s Histories) again(ctx context.Context, tx *sql.Tx, h *history.History, e *history.Event,
	m *matched) error {
	a := &m.Again
	switch {
	case a.Shown != "":
		m.Verdict, m.Evidence = a.Shown, a.ShownBy
		return nil
	case !m.fresh && !a.Untold:
		return nil
	case !watch.Rebuilds(s.Schedules, m.Name):
		m.fresh, m.Again = true, database.Again{}
		return nil
	case a.Before == "":
		before, after, ok := h.Asks(e)
		machines, err := s.measurers(ctx, tx, h, m)
		if err != nil {
			return err
		}
		if !ok || len(machines) == 0 {
			// What a comparison would call the same is not worth a message, until it has grown.
			a.Untold = e.Verdict != history.ByMachine && max(e.Most, 1/e.Least) < 1+compare.DefaultMargin
			m.fresh = !a.Untold
			return nil
		}
		a.Before, a.After, a.Machines = before, after, machines
	}
	m.fresh, a.Untold = false, true
	runs, err := s.runsOf(ctx, tx, m)
	if err != nil {
		return err
	}
	if runs == nil {
		m.Evidence += "; it is being measured again on " + strings.Join(a.Machines, " and on ")
		return nil
	}
	for i, r := range slices.Backward(runs) { // the machine of the event last: it has the verdict
		judged := *e
		if err := s.judge(ctx, &judged, r); err != nil {
			return err
		}
		if i == 0 {
			a.Shown, m.fresh = string(judged.Verdict), judged.Told()
			a.ShownBy = judged.Evidence + a.ShownBy
		} else {
			a.ShownBy = "; on " + r.Machine + ": " + judged.Evidence + a.ShownBy
		}
	}
	a.Untold = false
	m.Verdict, m.Evidence = a.Shown, a.ShownBy
	return nil
}

// measurers returns the machine of an event and another one that has measured the same keys, if the
// hub has them.
func (s Histories) measurers(ctx context.Context, tx *sql.Tx, h *history.History, m *matched) (
	list []string, err error) {
	names := []string{m.Machine}
	for i := range h.Keys {
		if !slices.Contains(names, h.Keys[i].Machine) {
			names = append(names, h.Keys[i].Machine)
		}
	}
	const wanted = 2
	for i, name := range names {
		n, pool, err := s.DB.Targets(ctx, tx, name, access.ProjectOf(m.Name))
		if err != nil {
			return nil, err
		}
		if n > 0 && !pool && (i == 0 || len(list) > 0) && len(list) < wanted {
			list = append(list, name)
		}
	}
	return list, nil
}

// runsOf returns the runs that measure an event again, which are added if they are missing; nil
// until all have ended. A change of the program is an event on each machine, with the same runs.
func (s Histories) runsOf(ctx context.Context, tx *sql.Tx, m *matched) (runs []database.Run, err error) {
	a := &m.Again
	known, err := s.DB.RunsOf(ctx, tx, m.Name, "again", a.Before, a.After)
	if err != nil {
		return nil, err
	}
	ended := true
	for _, machine := range a.Machines {
		at := slices.IndexFunc(known, func(r database.Run) bool { return r.Machine == machine })
		if at < 0 {
			err := s.DB.AddRun(ctx, tx, database.Run{ID: access.NewID(), Schedule: m.Name, Base: a.Before,
				Revision: a.After, Cause: database.RunCause("again", a.Before, a.After, machine),
				State: database.RunWaiting, Machine: machine})
			if err != nil {
				return nil, err
			}
			ended = false
			continue
		}
		ended = ended && known[at].State == database.RunEnded
		runs = append(runs, known[at])
	}
	if !ended {
		return nil, nil
	}
	return runs, nil
}

// judge judges an event by a run that measured it again. Of builds that are the same nothing was
// measured, and it was the machine.
func (s Histories) judge(ctx context.Context, e *history.Event, r database.Run) error {
	answer, err := s.DB.Answer(ctx, r.ID)
	switch {
	case err != nil:
		return err
	case answer.Comparison != "":
		var c compare.Result
		if err := json.Unmarshal([]byte(answer.Comparison), &c); err != nil {
			return fmt.Errorf("the comparison of experiment %s: %w", r.ID, err)
		}
		c.Changes = slices.DeleteFunc(c.Changes, func(c compare.Change) bool {
			return c.Level != watch.NewArm
		})
		e.Confirm(r.ID, &c)
	case r.Verdict == watch.Same:
		e.Verdict, e.Evidence = history.ByMachine, "both builds are the same, byte for byte"
	default:
		e.Evidence += "; not measured again: " + r.Text
	}
	return nil
}

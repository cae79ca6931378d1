package pages

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/jobs"
	"krund/internal/hub/watch"
	"krund/internal/report"
)

const mostListed = 200 // experiments on a page

func experimentLink(id, name string) Link { return Link{name, "/experiments/" + url.PathEscape(id)} }

// states are the colors of the states of experiments and shares.
var states = map[string]string{database.Queued: "idle", database.Running: "busy", database.Done: "good",
	database.Stopped: "idle", database.Failed: "bad"}

func stateOf(state string) State { return State{state, states[state]} }

// progress is what a machine has said of its share. It is untrusted: numbers are made possible.
func progress(s database.Share) api.Progress {
	var p api.Progress
	_ = json.Unmarshal([]byte(s.Status), &p) // what cannot be read is 0
	const decade = 10 * 365 * 24 * 3600
	p.Seconds = min(max(p.Seconds, 0), decade)
	for _, n := range []*int{&p.Slots, &p.Completed, &p.Failed, &p.Skipped, &p.Left} {
		*n = min(max(*n, 0), 1e9)
	}
	p.Unfit = p.Unfit[:min(len(p.Unfit), api.MaxUnfit)]
	return p
}

// newJob is an experiment without its shares, which add adds.
func newJob(x database.Experiment, who access.Identity) Job {
	j := Job{Link: experimentLink(x.ID, x.Series()), ID: x.ID, Owner: x.Owner,
		Project: x.Project, State: stateOf(x.State),
		Target: x.Target, Priority: int(x.Priority), Submitted: x.Created, Mine: who.Owns(x.Project, x.Owner),
		Ends: x.State == database.Queued || x.State == database.Running, Parts: int(x.Parts)}
	if x.ToPool {
		j.Target = "pool " + x.Target
	}
	return j
}

// add adds the progress of a share.
func (j *Job) add(s database.Share) {
	p := progress(s)
	if s.State != database.Failed {
		j.Begun++
	}
	j.Total += p.Slots
	j.Finished = min(j.Finished+p.Completed+p.Failed+p.Skipped, j.Total)
	j.Failed += p.Failed
	if s.State == database.Running {
		j.Left = max(j.Left, time.Duration(p.Seconds)*time.Second)
	}
	if p.Reason != "" {
		j.Why = p.Reason
	}
}

// stripRects is how many parts the strips of a page have together.
const stripRects = 20 * stripWidth

// newShare is a share with its strip, of at most width parts. p is what detailed returns for it.
func newShare(v database.ShareView, p api.Progress, width int) ShareRow {
	share := ShareRow{Machine: machineLink(v.Host), State: stateOf(v.State)}
	share.draw(p.Flags[:min(len(p.Flags), api.MaxFlags)], width)
	if v.State == database.Running {
		share.Left = time.Duration(p.Seconds) * time.Second
	}
	if p.Held {
		share.State = State{"held", "idle"}
	}
	return share
}

// detailed is the progress of a share with its details.
func detailed(v database.ShareView) api.Progress {
	p := progress(v.Share)
	if v.Details != "" {
		var d api.Details
		_ = json.Unmarshal([]byte(v.Details), &d) // what cannot be read is empty
		p.Flags, p.Failures = d.Flags, d.Failures
	}
	return p
}

func (p *Pages) queue(r *http.Request, f Frame) (any, error) {
	f.Title, f.Section, f.Live = "Queue", "queue", true
	list, err := p.inTurn(r)
	if err != nil {
		return nil, err
	}
	count, err := p.count(r)
	if err != nil {
		return nil, err
	}
	more := count[database.Queued] + count[database.Running] - skipped(r) - len(list)
	jobs, err := p.jobs(r, list)
	if err != nil {
		return nil, err
	}
	busy, err := p.busy(r)
	return Queue{f, jobs, max(more, 0), nextPart(r, len(list), mostListed), busy}, err
}

// count returns how many experiments there are in each state.
func (p *Pages) count(r *http.Request) (map[string]int, error) {
	rows, err := p.db.Counts(r.Context())
	count := map[string]int{}
	for _, c := range rows {
		if c.Kind == "experiment" {
			count[c.State] = int(c.N)
		}
	}
	return count, err
}

// busy returns machines that run something else than what who asks sees.
func (p *Pages) busy(r *http.Request) (list []Link, err error) {
	all, err := p.db.Busy(access.Hub(r.Context()))
	if err != nil {
		return nil, err
	}
	mine, err := p.db.Busy(r.Context())
	if err != nil || len(all) == len(mine) {
		return nil, err
	}
	err = p.db.EachMachine(r.Context(), "", mostListed, func(m database.Machine) {
		if slices.Contains(all, m.ID) && !slices.Contains(mine, m.ID) {
			list = append(list, machineLink(m.Name))
		}
	})
	return list, err
}

// runs lists the revisions that the hub measures by itself, with ?schedule=.
func (p *Pages) runs(r *http.Request, f Frame) (any, error) {
	f.Title, f.Section, f.Live = "Revisions", "queue", true
	list, err := p.db.Runs(r.Context(), r.FormValue("schedule"), skipped(r), mostListed)
	page := Runs{f, []RunRow{}, nextPart(r, len(list), mostListed)}
	for _, one := range list {
		row := RunRow{Run: one, Shown: State{cmp.Or(one.Verdict, one.State), "idle"}}
		switch {
		case one.Verdict == watch.Worse || one.Verdict == watch.Failed:
			row.Shown.Class = "bad"
		case one.Verdict == watch.Better || one.Verdict == watch.Same:
			row.Shown.Class = "good"
		case one.State == database.RunMeasuring:
			row.Shown.Class = "busy"
		}
		row.Link = Link{Text: one.ID}
		_, err := p.db.Experiment(r.Context(), one.ID)
		if err == nil {
			row.Link = experimentLink(one.ID, one.Schedule)
		} else if !errors.Is(err, database.ErrMissing) {
			return nil, err
		}
		page.List = append(page.List, row)
	}
	return page, err
}

// inTurn returns a part of what runs, and then of what waits, in the order of a machine that may
// have all of it.
func (p *Pages) inTurn(r *http.Request) ([]database.Experiment, error) {
	const most = 10000
	list, err := p.db.Active(r.Context(), most)
	if err != nil {
		return nil, err
	}
	used, err := p.db.Used(access.Hub(r.Context()), nil, p.db.Now().Add(-jobs.FairTime))
	if err != nil {
		return nil, err
	}
	running := slices.IndexFunc(list, func(x database.Experiment) bool { return x.State == database.Queued })
	if running >= 0 {
		list = append(list[:running:running], p.weights.Fair(list[running:], used, skipped(r)+mostListed)...)
	}
	return list[min(skipped(r), len(list)):min(skipped(r)+mostListed, len(list))], nil
}

// jobs returns experiments with their progress.
func (p *Pages) jobs(r *http.Request, list []database.Experiment) ([]Job, error) {
	jobs, ids, at := make([]Job, len(list)), make([]string, len(list)), map[string]*Job{}
	for i, x := range list {
		jobs[i], ids[i] = newJob(x, access.From(r.Context())), x.ID
		at[x.ID] = &jobs[i]
	}
	err := p.db.EachShare(r.Context(), ids, func(s database.Share) { at[s.Experiment].add(s) })
	if err == nil {
		err = p.db.EachAnswer(r.Context(), ids, func(id, text string) { at[id].Answer = text })
	}
	return jobs, err
}

// experiments lists experiments, those that follow ?before=, in microseconds since 1970, and
// ?after=, an id.
func (p *Pages) experiments(r *http.Request, f Frame) (any, error) {
	f.Title, f.Section, f.Live = "Experiments", "experiments", true
	before, err := strconv.ParseInt(r.FormValue("before"), 10, 64)
	if err != nil {
		before = math.MaxInt64
	}
	list, err := p.db.ExperimentsBefore(r.Context(), before, r.FormValue("after"), mostListed)
	if err != nil {
		return nil, err
	}
	jobs, err := p.jobs(r, list)
	page := Experiments{Frame: f, List: jobs}
	if len(list) == mostListed {
		last := list[len(list)-1]
		page.Next = r.URL.EscapedPath() + "?" + url.Values{"after": {last.ID},
			"before": {strconv.FormatInt(last.Created.UnixMicro(), 10)}}.Encode()
	}
	return page, err
}

func (p *Pages) experiment(r *http.Request, f Frame) (any, error) {
	x, err := p.db.Experiment(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	f.Title, f.Section, f.Live = x.Series(), "experiments", true
	page := ExperimentPage{Frame: f, Job: newJob(x, access.From(r.Context())), Bundle: x.Bundle}
	width := max(stripRects/int(max(x.Parts, 1)), leastStrip)
	err = p.db.SharesIn(r.Context(), x.ID, true, func(v database.ShareView) {
		page.add(v.Share)
		p := detailed(v)
		share := newShare(v, p, width)
		page.Shares = append(page.Shares, share)
		page.addFailures(p, share.Machine)
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(page.Shares, func(a, b ShareRow) int {
		return cmp.Compare(a.Machine.Text, b.Machine.Text)
	})
	page.Omitted = max(page.Failed-len(page.Failures), 0)
	version, err := p.db.ContentVersion(r.Context(), x.ID)
	if err != nil {
		return nil, err
	}
	if version != "" {
		page.Report = page.Address + "/report"
		others, err := p.choices(r, x.ID)
		if err != nil {
			return nil, err
		}
		page.Others = append([]Choice{{"", "its arms"}}, others...)
	}
	result, err := p.resultOf(r.Context(), x)
	if err != nil {
		return nil, err
	}
	page.Answer, page.Levels = result.Answer, result.Levels
	if c := result.Comparison; c != nil && len(c.Changes) > 0 {
		if page.Picture, err = report.CompareSVG(c); err != nil {
			return nil, err
		}
	}
	const most = 20
	events, err := p.db.Events(r.Context(), database.EventFilter{Experiment: x.ID}, 0, most)
	page.Events = eventRows(events, f.Now)
	return page, err
}

// result is what an experiment has shown.
func (p *Pages) result(r *http.Request, _ Frame) (any, error) {
	x, err := p.db.Experiment(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return p.resultOf(r.Context(), x)
}

// resultOf returns what an experiment has shown. It is the hub's own text.
func (p *Pages) resultOf(ctx context.Context, x database.Experiment) (Result, error) {
	a, err := p.db.Answer(ctx, x.ID)
	result := Result{ID: x.ID, Name: x.Name, State: stateOf(x.State), Answer: a.Text}
	if err == nil && a.Levels != "" {
		err = json.Unmarshal([]byte(a.Levels), &result.Levels)
	}
	if err == nil && a.Comparison != "" {
		err = json.Unmarshal([]byte(a.Comparison), &result.Comparison)
	}
	return result, err
}

// mostFailures is how many failures of an experiment are listed.
const mostFailures = 50

func (page *ExperimentPage) addFailures(p api.Progress, machine Link) {
	for _, f := range p.Failures {
		if len(page.Failures) == mostFailures {
			break
		}
		page.Failures = append(page.Failures, Failure{Failure: f, Machine: machine})
	}
}

// choices are the experiments that can be compared, without one.
func (p *Pages) choices(r *http.Request, without string) ([]Choice, error) {
	list, err := p.db.Experiments(r.Context(), mostListed)
	var choices []Choice
	for _, x := range list {
		if x.ID != without && x.State != database.Queued {
			text := x.Series() + ", " + x.Created.Format("2006-01-02 15:04") + ", " + x.State
			choices = append(choices, Choice{x.ID, text})
		}
	}
	return choices, err
}

// Own returns the experiment of a request if who asks may change it: its owner or an admin.
func (p *Pages) Own(r *http.Request) (database.Experiment, error) {
	x, err := p.db.Experiment(r.Context(), r.PathValue("id"))
	if err == nil && !access.From(r.Context()).Owns(x.Project, x.Owner) {
		err = Refuse(http.StatusForbidden, "only its owner and an admin may change experiment %s", x.ID)
	}
	return x, err
}

func (p *Pages) setPriority(r *http.Request, tx *sql.Tx) (string, error) {
	const most = 100
	x, err := p.Own(r)
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(r.PostFormValue("priority"))
	if err != nil || n < -most || n > most {
		return "", Refuse(http.StatusBadRequest, "A priority is a number from -100 to 100.")
	}
	return "/queue", p.db.SetPriority(r.Context(), tx, x.ID, int64(n))
}

func (p *Pages) stop(r *http.Request, tx *sql.Tx) (string, error) {
	x, err := p.Own(r)
	if err != nil {
		return "", err
	}
	return experimentLink(x.ID, x.Name).Address,
		jobs.Queue{DB: p.db}.Request(r.Context(), tx, x.ID, api.RequestStop)
}

// remove deletes an experiment after it was confirmed.
func (p *Pages) remove(w http.ResponseWriter, r *http.Request) error {
	confirmed := r.PostFormValue("confirm") == "yes"
	x, err := p.Own(r)
	if err == nil && !confirmed {
		err = Refuse(http.StatusBadRequest, "Check the box: what is deleted cannot be restored on the hub.")
	}
	if err == nil {
		err = p.Delete(r.Context(), x.ID, access.From(r.Context()).Name)
	}
	if err == nil {
		http.Redirect(w, r, "/experiments", http.StatusSeeOther)
	}
	return err
}

// Delete removes an experiment from the hub, and what was made of it. by is who wants that.
func (p *Pages) Delete(ctx context.Context, id, by string) error {
	err := jobs.Retention{DB: p.db, Store: p.store, Log: p.log}.Delete(ctx, id, by)
	if err == nil {
		err = p.reports.cache.Remove(id)
	}
	return err
}

// alerts lists alerts.
func (p *Pages) alerts(r *http.Request, _ Frame) (any, error) {
	list, err := p.alertList(r, skipped(r), mostListed)
	return Alerts{list, nextPart(r, len(list), mostListed)}, err
}

// alertList returns the newest alerts of machines, those that are open first.
func (p *Pages) alertList(r *http.Request, skip, most int) ([]Alert, error) {
	list, err := p.db.Alerts(r.Context(), skip, most)
	alerts := []Alert{}
	for _, a := range list {
		one := Alert{ID: a.ID, Raised: a.Created, State: State{a.State, "bad"},
			Subject: Link{Text: a.Subject}, Text: a.Text, Muted: a.Muted.After(p.db.Now()),
			Mine: mayMute(access.From(r.Context()))}
		if a.Experiment != "" {
			one.Subject.Address = experimentLink(a.Experiment, "").Address
		}
		switch {
		case one.Muted:
			one.State = State{"muted", "idle"}
		case a.State != "open":
			one.State.Class = "idle"
		}
		alerts = append(alerts, one)
	}
	return alerts, err
}

// muteTime is how long an alert that is muted stays so.
const muteTime = 30 * 24 * time.Hour

// mayMute reports whether someone may mute an alert: a machine that does not report is of all who
// use it.
func mayMute(who access.Identity) bool { return who.Role == access.Admin }

func (p *Pages) mute(r *http.Request, tx *sql.Tx) (string, error) {
	return p.muteUntil(r, tx, p.db.Now().Add(muteTime))
}

func (p *Pages) unmute(r *http.Request, tx *sql.Tx) (string, error) {
	return p.muteUntil(r, tx, time.Time{})
}

func (p *Pages) muteUntil(r *http.Request, tx *sql.Tx, until time.Time) (string, error) {
	a, err := p.db.Alert(r.Context(), tx, r.PathValue("id"))
	if err == nil && !mayMute(access.From(r.Context())) {
		err = Refuse(http.StatusForbidden, "Only an admin may mute this alert.")
	}
	if err != nil {
		return "", err
	}
	return "/", p.db.MuteAlert(r.Context(), tx, a.ID, until)
}

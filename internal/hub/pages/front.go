package pages

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/hub/database"
)

// Front is the first page: what changed, what runs, what is not well.
type Front struct {
	Frame   `json:"-"`
	Answer  string     `json:"answer"` // in a sentence
	Events  []EventRow `json:"events"` // that are open
	Running []Job      `json:"running"`
	Waiting int        `json:"waiting"` // experiments
	Alerts  []Alert    `json:"alerts"`  // of machines
	Unwell  []Machine  `json:"machines"`
	Failed  []Job      `json:"failed"` // experiments, in the last days
}

const (
	mostOnFront = 20
	recent      = 7 * 24 * time.Hour
)

func (p *Pages) front(r *http.Request, f Frame) (any, error) {
	f.Title, f.Section, f.Live = "What changed, and what runs", "front", true
	page := Front{Frame: f}
	events, counts, err := p.open(r.Context(), f.Now)
	if err != nil {
		return nil, err
	}
	page.Events = events
	active, err := p.db.Active(r.Context(), mostOnFront)
	if err != nil {
		return nil, err
	}
	all, err := p.jobs(r, active)
	if err != nil {
		return nil, err
	}
	for _, j := range all {
		if j.State.Text == database.Running {
			page.Running = append(page.Running, j)
		}
	}
	if err := p.unwell(r, &page); err != nil {
		return nil, err
	}
	page.Answer, err = p.answer(r, &page, counts)
	return page, err
}

// open returns the open events that the first page has, and how many there are of each verdict. If
// the page has all of them, a change of a program on several machines counts once.
func (p *Pages) open(ctx context.Context, now time.Time) (rows []EventRow, counts []database.Count,
	err error) {
	list, err := p.db.Events(ctx, database.EventFilter{Open: true}, 0, mostOnFront)
	if err != nil {
		return nil, nil, err
	}
	rows = grouped(eventRows(list, now))
	if len(list) == mostOnFront {
		counts, err = p.db.OpenEvents(ctx)
		return rows, counts, err
	}
	for _, v := range slices.Sorted(slices.Values(verdicts)) {
		n := int64(0)
		for _, e := range rows {
			if e.Verdict == v {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, database.Count{Kind: v, N: n})
		}
	}
	return rows, counts, nil
}

// unwell adds the machines and experiments that need somebody.
func (p *Pages) unwell(r *http.Request, page *Front) error {
	alerts, err := p.alertList(r, 0, mostOnFront)
	if err != nil {
		return err
	}
	for _, a := range alerts {
		if a.State.Class == "bad" || a.Muted {
			page.Alerts = append(page.Alerts, a)
		}
	}
	err = p.db.EachMachine(r.Context(), "", mostListed, func(m database.Machine) {
		one := newMachine(m, page.Now)
		if (one.State.Class == "bad" || len(one.Warnings) > 0) && len(page.Unwell) < mostOnFront {
			one.brief()
			page.Unwell = append(page.Unwell, one)
		}
	})
	if err != nil {
		return err
	}
	failed, err := p.db.FailedSince(r.Context(), page.Now.Add(-recent), mostOnFront)
	if err == nil {
		page.Failed, err = p.jobs(r, failed)
	}
	if err == nil {
		err = p.incomplete(r, page)
	}
	return err
}

// incomplete adds the experiments that ended lately although executions of theirs failed.
func (p *Pages) incomplete(r *http.Request, page *Front) error {
	list, err := p.db.ExperimentsBefore(r.Context(), math.MaxInt64, "", mostListed)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(x database.Experiment) bool {
		return x.State != database.Done || x.Updated.Before(page.Now.Add(-recent))
	})
	jobs, err := p.jobs(r, list)
	for _, j := range jobs {
		if j.Failed > 0 && len(page.Failed) < mostOnFront {
			j.State = State{"executions failed", "bad"}
			page.Failed = append(page.Failed, j)
		}
	}
	return err
}

// answer is the page in a sentence; counts are of the open events.
func (p *Pages) answer(r *http.Request, page *Front, counts []database.Count) (string, error) {
	count, err := p.count(r)
	if err != nil {
		return "", err
	}
	page.Waiting = count[database.Queued]
	var changed []string
	for _, c := range counts {
		what := map[string][2]string{"program": {"change", " of a program"},
			"machine": {"change", " of a machine"}, "undecided": {"undecided change"}}[c.Kind]
		changed = append(changed, display.Count(int(c.N), what[0])+what[1])
	}
	text := "nothing changed"
	if len(changed) > 0 {
		text = strings.Join(changed, ", ")
	}
	switch n := count[database.Running]; n {
	case 0:
		text += "; nothing runs"
	case 1:
		text += "; 1 experiment runs"
	default:
		text += fmt.Sprintf("; %d experiments run", n)
	}
	if n := len(page.Alerts) + len(page.Unwell) + len(page.Failed); n > 0 {
		return text + "; " + display.Count(n, "thing") + " not well", nil
	}
	return text + "; machines and experiments are well", nil
}

package pages

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"krund/internal/display"
	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/machine/noise"
)

// silence is how long after it should have asked again a machine is called silent.
const silence = 5 * time.Minute

func machineLink(name string) Link { return Link{name, "/machines/" + url.PathEscape(name)} }

// machines lists machines, those that follow ?after=, a name.
func (p *Pages) machines(r *http.Request, f Frame) (any, error) {
	f.Title, f.Section, f.Live = "Machines", "machines", true
	page := Machines{Frame: f, List: []Machine{}}
	var ids []string
	err := p.db.EachMachine(r.Context(), r.FormValue("after"), mostListed, func(m database.Machine) {
		page.List, ids = append(page.List, newMachine(m, f.Now)), append(ids, m.ID)
	})
	if err == nil {
		page.Total, err = p.db.CountMachines(r.Context())
	}
	if err != nil {
		return nil, err
	}
	if len(ids) == mostListed {
		page.Next = r.URL.EscapedPath() + "?" + url.Values{"after": {page.List[mostListed-1].Text}}.Encode()
	}
	for i := range page.List {
		if err := p.complete(r.Context(), &page.List[i], ids[i]); err != nil {
			return nil, err
		}
		page.List[i].brief()
	}
	return page, nil
}

// brief leaves to the machine's page what is much of what it says.
func (m *Machine) brief() {
	const most, mostBytes = 3, 200
	m.More = max(len(m.Warnings)-most, 0) + max(len(m.Unfit)-most, 0)
	m.Unfit, m.Warnings = m.Unfit[:min(len(m.Unfit), most)], m.Warnings[:min(len(m.Warnings), most)]
	for i, text := range m.Warnings {
		m.Warnings[i] = display.Clip(text, mostBytes)
	}
}

// complete adds what a machine measures, and its noise certificate.
func (p *Pages) complete(ctx context.Context, one *Machine, id string) error {
	newest, running, err := p.db.Newest(ctx, id)
	if err != nil {
		return err
	}
	last := progress(newest.Share)
	one.Controls, one.Unfit = last.Controls, last.Unfit
	busy := running.Experiment != ""
	if busy {
		one.Experiment = experimentLink(running.Experiment, running.Name)
		one.Left = time.Duration(progress(running.Share).Seconds) * time.Second
	} else if all, err := p.db.RunningOn(access.Hub(ctx), id); err != nil {
		return err
	} else {
		busy = len(all) > 0 // for a project that who asks does not see
	}
	if busy && one.State.Class == "idle" {
		one.State = State{"running", "busy"}
	}
	certificate, err := p.db.NewestFile(ctx, id, "noise.json")
	if err == nil {
		one.Noise = p.certificate(ctx, certificate)
	}
	return err
}

// newMachine is what a machine says of itself.
func newMachine(m database.Machine, now time.Time) Machine {
	var status api.Status
	_ = json.Unmarshal([]byte(m.Status), &status) // what cannot be read is empty
	one := Machine{Link: machineLink(m.Name), Pool: m.Pool, Seen: m.LastSeen, Booted: m.Booted,
		Warnings: status.Warnings[:min(len(status.Warnings), api.MaxWarnings)], State: State{"idle", "idle"}}
	switch {
	case m.LastSeen.IsZero():
		one.State = State{"never seen", "idle"}
	case !m.ETA.IsZero() && now.Sub(m.ETA) > silence:
		one.State = State{"silent", "bad"}
	case status.Held:
		one.State = State{"held", "idle"}
	}
	return one
}

// certificate returns the summary of a noise certificate; "" if there is none that can be read.
func (p *Pages) certificate(ctx context.Context, f database.File) string {
	if f.Hash == "" {
		return ""
	}
	p.mu.Lock()
	text, known := p.noise[f.Hash]
	p.mu.Unlock()
	if known {
		return text
	}
	const most, mostBytes = 10000, 1 << 20 // that of 256 CPUs has half of it
	if content, err := p.db.FileContent(ctx, f.Experiment, f.Machine, f.Name, mostBytes); err == nil {
		if c, err := noise.Parse(content); err == nil {
			text = display.Clip(c.Summary(time.Time{}), mostText)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.noise) >= most {
		clear(p.noise)
	}
	p.noise[f.Hash] = text
	return text
}

func (p *Pages) machine(r *http.Request, f Frame) (any, error) {
	m, err := p.db.Machine(r.Context(), r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	f.Title, f.Section, f.Live = m.Name, "machines", true
	page := MachinePage{Frame: f, Machine: newMachine(m, f.Now), Facts: facts(m.Facts), Power: m.Power}
	slices.Reverse(page.Power)
	if err := p.complete(r.Context(), &page.Machine, m.ID); err != nil {
		return nil, err
	}
	const most = 20
	events, err := p.db.Events(r.Context(), database.EventFilter{Machine: m.Name, Open: true}, 0, most)
	if err != nil {
		return nil, err
	}
	page.Events = eventRows(events, f.Now)
	list, err := p.db.SharesOn(r.Context(), m.ID, most)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, v := range list {
		ids = append(ids, v.Experiment)
	}
	answers := map[string]string{}
	err = p.db.EachAnswer(r.Context(), ids, func(id, text string) { answers[id] = text })
	for _, v := range list {
		share := newShare(v, detailed(v), stripRects/most)
		share.Experiment, share.Machine = experimentLink(v.Experiment, v.Name), Link{}
		share.Answer = answers[v.Experiment]
		page.Shares = append(page.Shares, share)
	}
	return page, err
}

// facts lists what a machine says of itself, by name.
func facts(text string) (list []Fact) {
	const most = 500
	var all map[string]any
	_ = json.Unmarshal([]byte(text), &all) // what cannot be read is empty
	for _, name := range slices.Sorted(maps.Keys(all))[:min(len(all), most)] {
		list = append(list, Fact{name, fmt.Sprint(all[name])})
	}
	return list
}

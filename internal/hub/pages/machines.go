package pages

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/noise"
)

// silence is how long after it should have asked again a machine is called silent.
const silence = 5 * time.Minute

func machineLink(name string) Link { return Link{name, "/machines/" + url.PathEscape(name)} }

// machineNames returns the names of the machines by id.
func (p *Pages) machineNames(r *http.Request) (map[string]string, error) {
	list, err := p.db.Machines(r.Context())
	names := make(map[string]string, len(list))
	for _, m := range list {
		names[m.ID] = m.Name
	}
	return names, err
}

func (p *Pages) machines(r *http.Request, f Frame) (any, error) {
	f.Title, f.Section, f.Live = "Machines", "machines", true
	page := Machines{Frame: f}
	list, err := p.db.Machines(r.Context())
	if err != nil {
		return nil, err
	}
	active, err := p.db.Active(r.Context(), mostListed)
	if err != nil {
		return nil, err
	}
	shares, err := p.sharesOf(r.Context(), active)
	if err != nil {
		return nil, err
	}
	certificates, err := p.db.NewestFiles(r.Context(), "noise.json")
	if err != nil {
		return nil, err
	}
	running := map[string]database.Share{} // by machine
	names := map[string]string{}           // of experiments
	for _, x := range active {
		names[x.ID] = x.Name
		for _, s := range shares[x.ID] {
			if s.State == database.Running {
				running[s.Machine] = s
			}
		}
	}
	for _, m := range list {
		one := newMachine(m, f.Now)
		one.Noise = p.certificate(r.Context(), certificates[m.ID])
		if s, ok := running[m.ID]; ok {
			one.runs(s, names[s.Experiment])
		}
		last, err := p.db.SharesOn(r.Context(), m.ID, 1)
		if err != nil {
			return nil, err
		}
		one.measured(last)
		page.List = append(page.List, one)
	}
	return page, nil
}

// newMachine is what a machine says of itself.
func newMachine(m database.Machine, now time.Time) Machine {
	var status api.Status
	_ = json.Unmarshal([]byte(m.Status), &status) // what cannot be read is empty
	one := Machine{Link: machineLink(m.Name), Pool: m.Pool, Seen: m.LastSeen, Booted: m.Booted,
		Warnings: status.Warnings, State: State{"idle", "idle"}}
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

// runs adds what the machine runs.
func (m *Machine) runs(s database.Share, name string) {
	m.Experiment = experimentLink(s.Experiment, name)
	m.Left = time.Duration(progress(s).Seconds) * time.Second
	if m.State.Class == "idle" {
		m.State = State{"running", "busy"}
	}
}

// measured adds what the machine's newest share says of its controls.
func (m *Machine) measured(shares []database.Share) {
	if len(shares) > 0 {
		last := progress(shares[0])
		m.Controls, m.Unfit = last.Controls, last.Unfit
	}
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
	if content, err := p.db.FileContent(ctx, f.Experiment, f.Machine, f.Name); err == nil {
		if c, err := noise.Parse(content); err == nil {
			text = c.Summary()
		}
	}
	const most = 10000
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
	const most = 20
	list, err := p.db.SharesOn(r.Context(), m.ID, most)
	if err != nil {
		return nil, err
	}
	page.measured(list)
	for _, s := range list {
		x, err := p.db.Experiment(r.Context(), s.Experiment)
		if err != nil {
			return nil, err
		}
		if s.State == database.Running && page.Experiment.Text == "" {
			page.runs(s, x.Name)
		}
		share := newShare(s)
		share.Experiment = experimentLink(x.ID, x.Name)
		page.Shares = append(page.Shares, share)
	}
	certificates, err := p.db.NewestFiles(r.Context(), "noise.json")
	if err != nil {
		return nil, err
	}
	page.Noise = p.certificate(r.Context(), certificates[m.ID])
	return page, nil
}

// facts lists the values of a JSON object; those of objects in it with their path. It keeps the
// order of the names.
func facts(text string) []Fact {
	const most = 500
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var all any
	if d.Decode(&all) != nil {
		return nil
	}
	var list []Fact
	var add func(name string, value any)
	add = func(name string, value any) {
		object, ok := value.(map[string]any)
		switch {
		case len(list) >= most || value == nil:
		case ok:
			for _, key := range slices.Sorted(maps.Keys(object)) {
				path := key
				if name != "" {
					path = name + "." + key
				}
				add(path, object[key])
			}
		case name != "":
			list = append(list, Fact{name, fmt.Sprint(value)})
		}
	}
	add("", all)
	return list
}

package pages

import (
	"cmp"
	"database/sql"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/jobs"
	"krund/internal/hub/watch"
)

const mostEvents = 50 // of a list

// Events is a list of events, the newest first.
type Events struct {
	Frame    `json:"-"`
	State    string     `json:"-"`
	Verdict  string     `json:"-"`
	Machine  string     `json:"-"`
	States   []string   `json:"-"`
	Verdicts []string   `json:"-"`
	List     []EventRow `json:"events"`
	Next     string     `json:"next"` // address of the next part of the list; "": this is the end
}

// EventRow is an event in a list.
type EventRow struct {
	database.Event
	Address string `json:"page"`
	Badge   State  `json:"-"`
	Others  []Link `json:"others,omitempty"` // the same change of a program on other machines
}

// grouped puts the events together that are one change of a program, on several machines.
func grouped(rows []EventRow) []EventRow {
	at, list := map[change]int{}, []EventRow{}
	for _, e := range rows {
		c := e.change()
		if i, ok := at[c]; ok {
			list[i].Others = append(list[i].Others, Link{e.Machine, e.Address})
			continue
		}
		at[c] = len(list)
		list = append(list, e)
	}
	return list
}

// change is what events have in common that are one; those that are not the program's have nothing.
type change struct{ id, name, version, state string }

func (e EventRow) change() change {
	if e.Verdict != "program" {
		return change{id: e.ID}
	}
	return change{name: e.Name, version: e.Version, state: e.Badge.Text}
}

// What is the verdict with the machine, Change and Culprits are sentences without a verb.
func (e EventRow) What() State {
	class := map[string]string{"program": "bad", "machine": "idle", "undecided": "busy"}[e.Verdict]
	return State{e.Verdict, class}
}

// Change says what changed by how much.
func (e EventRow) Change() string { return jobs.EventChange(&e.Event) }

// Culprits says with which versions.
func (e EventRow) Culprits() string { return jobs.EventCulprits(&e.Event) }

// History is the address of the name's graphs on the event's machine.
func (e EventRow) History() string { return historyAddress(e.Name, "", e.Machine) }

var eventClasses = map[string]string{database.EventNew: "bad", "acknowledged": "busy", "confirmed": "busy",
	"fixed": "good"}

func eventRows(list []database.Event, now time.Time) []EventRow {
	rows := []EventRow{}
	for _, e := range list {
		row := EventRow{Event: e, Address: "/events/" + e.ID,
			Badge: State{e.State, cmp.Or(eventClasses[e.State], "idle")}}
		switch {
		case e.Muted.After(now):
			row.Badge = State{e.State + ", muted", "idle"}
		case !e.Present:
			row.Badge = State{e.State + ", not found any more", "idle"}
		}
		rows = append(rows, row)
	}
	return rows
}

var verdicts = []string{"program", "machine", "undecided"}

// events lists events, with ?state=, ?verdict=, ?machine= and ?name=.
func (p *Pages) events(r *http.Request, f Frame) (any, error) {
	f.Title, f.Section, f.Live = "Events", "events", true
	page := Events{Frame: f, State: r.FormValue("state"), Verdict: r.FormValue("verdict"),
		Machine: r.FormValue("machine"), States: database.EventStates, Verdicts: verdicts}
	list, err := p.db.Events(r.Context(), database.EventFilter{Name: r.FormValue("name"),
		Machine: page.Machine, Verdict: page.Verdict, State: page.State}, skipped(r), mostEvents)
	page.List = eventRows(list, f.Now)
	if n := len(list); n == mostEvents { // the next part begins with a change that may go on there
		last := page.List[n-1].change()
		for n > 0 && page.List[n-1].change() == last {
			n--
		}
		page.List = page.List[:cmp.Or(n, mostEvents)]
		page.Next = nextPart(r, len(page.List), len(page.List))
	}
	return page, err
}

// EventPage is about one event.
type EventPage struct {
	Frame `json:"-"`
	EventRow
	States  []string        `json:"-"`
	Figures []template.HTML `json:"-"` // of the keys that changed most
	Acts    []database.Act  `json:"acts"`
	Tested  Link            `json:"-"`                // experiment with which it was found; without a text it was deleted
	Again   bool            `json:"-"`                // it can be measured again by a click
	Mutes   bool            `json:"-"`                // the user may mute it
	Bisect  string          `json:"bisect,omitempty"` // the commands that find the commit; "" if there is none to find
	Finds   bool            `json:"-"`                // the hub finds the commit by a click
}

func (p *Pages) event(r *http.Request, f Frame) (any, error) {
	const mostActs, mostPictures = 100, 4
	e, err := p.db.Event(r.Context(), nil, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	f.Title, f.Section, f.Live = e.Name+": "+e.Verdict, "events", true
	who := access.From(r.Context())
	f.Writes = who.In(access.ProjectOf(e.Name)).Includes(access.User)
	page := EventPage{Frame: f, EventRow: eventRows([]database.Event{e}, f.Now)[0],
		States: database.EventStates, Mutes: mayMuteEvent(who, e)}
	if page.Acts, err = p.db.Acts(r.Context(), e.ID, mostActs); err != nil {
		return nil, err
	}
	x, err := p.db.Experiment(r.Context(), e.Experiment)
	if err == nil {
		page.Tested, page.Again = experimentLink(x.ID, x.Series()), x.Bundle != "" && f.Writes
	}
	if before, after, ok := ends(e); ok && e.Verdict != "machine" && len(e.Keys) > 0 {
		page.Bisect = bisectCommand(e, before, after)
		steps, err := p.db.RunsOf(r.Context(), nil, e.Name, "bisect", e.ID)
		if err != nil {
			return nil, err
		}
		page.Finds = f.Writes && len(steps) == 0 && p.bisects(e)
	}
	for _, k := range e.Keys[:min(len(e.Keys), mostPictures)] {
		show := HistoryPage{Name: e.Name, Key: k.Key, Machine: e.Machine}
		h, _, err := p.readHistory(r, &show, 1)
		if err != nil || len(h.Keys) == 0 {
			break // it was deleted in the meantime
		}
		drawn, err := figure(h, 0, show.Unit)
		if err != nil {
			return nil, err
		}
		page.Figures = append(page.Figures, drawn)
	}
	return page, nil
}

// revisionName is what a shell takes as it is: people copy it, and labels are from machines.
var revisionName = regexp.MustCompile(`^[0-9A-Za-z_./]{1,40}$`)

// revision returns the revision of a version's label, which ends with the number of its night.
func revision(label string) (string, bool) {
	label, _, _ = strings.Cut(label, ", night ")
	return label, revisionName.MatchString(label)
}

// ends returns the revisions between which an event happened; ok is false if they are not known.
func ends(e database.Event) (before, after string, ok bool) {
	if e.Again.Before != "" {
		return e.Again.Before, e.Again.After, true
	}
	before, known := revision(e.Before)
	after, ok = revision(e.Last)
	return before, after, known && ok && before != after
}

// bisectCommand is to be copied into a shell. No name in it makes another command of it.
func bisectCommand(e database.Event, before, after string) string {
	revisions := display.ShellQuote(before + "~.." + after)
	return "git rev-list --reverse " + revisions + " | krunctl bisect event.bisect --versions - " +
		display.ShellJoin([]string{"--build", "./build", "--template", "step.toml", "--key",
			clean(e.Keys[0].Key), "--to", clean(e.Machine)})
}

// bisects reports whether the hub can find the commit of an event: it builds revisions of its name.
func (p *Pages) bisects(e database.Event) bool {
	_, _, ok := ends(e)
	return ok && e.Present && e.Verdict != "machine" && watch.Rebuilds(p.builds, e.Name)
}

// changing returns the event of a request if the user may change it.
func (p *Pages) changing(r *http.Request, tx *sql.Tx) (database.Event, error) {
	e, err := p.db.Event(r.Context(), tx, r.PathValue("id"))
	if err == nil && !access.From(r.Context()).In(access.ProjectOf(e.Name)).Includes(access.User) {
		err = Refuse(http.StatusForbidden, "You may read in the project of this event, and change nothing.")
	}
	return e, err
}

// bisect begins to look for the commit of an event, once.
func (p *Pages) bisect(r *http.Request, tx *sql.Tx) (string, error) {
	e, err := p.changing(r, tx)
	if err != nil {
		return "", err
	}
	if !p.bisects(e) {
		return "", Refuse(http.StatusConflict, "The hub cannot find the commit: no [[schedule]] with "+
			"again = \"...\" builds its revisions, or it was the machine.")
	}
	address := "/events/" + e.ID
	steps, err := p.db.RunsOf(r.Context(), tx, e.Name, "bisect", e.ID)
	if err != nil || len(steps) > 0 {
		return address, err
	}
	before, after, _ := ends(e)
	if err := p.db.AddRun(r.Context(), tx, watch.BisectRun(&e, before, after)); err != nil {
		return "", err
	}
	return address, p.db.AddAct(r.Context(), tx, e.ID, access.From(r.Context()).Name,
		"bisection begun: between "+before+" and "+after)
}

// Bisection says where a bisection is found that was begun.
type Bisection struct {
	Event string `json:"event"` // its address in the API
}

func (p *Pages) bisectJSON(w http.ResponseWriter, r *http.Request) error {
	err := p.db.Update(r.Context(), func(tx *sql.Tx) error {
		_, err := p.bisect(r, tx)
		return err
	})
	if err == nil {
		Answer(w, http.StatusOK, Bisection{"/api/v1/events/" + r.PathValue("id")})
	}
	return err
}

// mayMuteEvent reports whether someone may mute an event: the owner of the experiment with which it
// was found, and an admin.
func mayMuteEvent(who access.Identity, e database.Event) bool {
	project := access.ProjectOf(e.Name)
	return who.In(project) == access.Admin || e.Owner != "" && who.Owns(project, e.Owner)
}

// triage changes what people say of an event.
func (p *Pages) triage(r *http.Request, tx *sql.Tx) (string, error) {
	e, err := p.changing(r, tx)
	if err != nil {
		return "", err
	}
	t := e.Triage
	t.State, t.Assignee = r.PostFormValue("state"), strings.TrimSpace(r.PostFormValue("owner"))
	t.Note, t.Link = strings.TrimSpace(r.PostFormValue("note")), strings.TrimSpace(r.PostFormValue("link"))
	if err := checkTriage(t); err != nil {
		return "", err
	}
	return "/events/" + e.ID, p.putTriage(r, tx, e, t)
}

// putTriage stores the triage of an event, and logs what changes.
func (p *Pages) putTriage(r *http.Request, tx *sql.Tx, e database.Event, t database.Triage) error {
	var said []string
	for _, d := range []struct{ what, before, after string }{
		{"state", e.State, t.State}, {"owner", e.Assignee, t.Assignee}, {"note", e.Note, t.Note},
		{"link", e.Link, t.Link}, {"muted until", day(e.Muted), day(t.Muted)}, {"reason", e.Reason, t.Reason},
	} {
		if d.before != d.after {
			said = append(said, d.what+": "+cmp.Or(d.after, "none"))
		}
	}
	if len(said) == 0 {
		return nil
	}
	return p.db.SetTriage(r.Context(), tx, e.ID, t, access.From(r.Context()).Name, strings.Join(said, "; "))
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

// checkTriage returns what is wrong with what somebody says of an event.
func checkTriage(t database.Triage) error {
	const mostNote, mostLink = 4000, 500
	link, err := url.Parse(t.Link)
	text := ""
	switch {
	case !slices.Contains(database.EventStates, t.State):
		text = "The state of an event is one of: " + strings.Join(database.EventStates, ", ") + "."
	case t.Assignee != "" && !api.ValidName(t.Assignee):
		text = "The owner's name is too long, or has other characters than printable ones of ASCII."
	case len(t.Note) > mostNote || len(t.Reason) > mostNote || !api.IsText(t.Note) || !api.IsText(t.Reason):
		text = "A note is a text of at most 4000 bytes."
	case t.Link != "" && (err != nil || len(t.Link) > mostLink || link.Host == "" || !api.IsText(t.Link) ||
		link.Scheme != "https" && link.Scheme != "http"):
		text = "The link is an address of at most 500 bytes that begins with https:// or http://."
	default:
		return nil
	}
	return Refuse(http.StatusBadRequest, "%s", text)
}

// muteEvent mutes an event for some days, or ends that with 0 days.
func (p *Pages) muteEvent(r *http.Request, tx *sql.Tx) (string, error) {
	const most = 3650
	e, err := p.changing(r, tx)
	if err == nil && !mayMuteEvent(access.From(r.Context()), e) {
		err = Refuse(http.StatusForbidden, "Only an admin may mute this event, and the owner of the "+
			"experiment with which it was found.")
	}
	if err != nil {
		return "", err
	}
	days, err := strconv.Atoi(r.PostFormValue("days"))
	if err != nil || days < 0 || days > most {
		return "", Refuse(http.StatusBadRequest, "Mute it for 1 to 3650 days; 0 ends that.")
	}
	t := e.Triage
	t.Muted, t.Reason = time.Time{}, ""
	if days > 0 {
		t.Muted, t.Reason = p.db.Now().AddDate(0, 0, days), strings.TrimSpace(r.PostFormValue("reason"))
		if t.Reason == "" {
			return "", Refuse(http.StatusBadRequest, "Say why it is muted: others read it.")
		}
	}
	if err := checkTriage(t); err != nil {
		return "", err
	}
	return "/events/" + e.ID, p.putTriage(r, tx, e, t)
}

// again submits the experiment of an event once more: of the same bundle, for the same machines.
func (p *Pages) again(r *http.Request, tx *sql.Tx) (string, error) {
	e, err := p.changing(r, tx)
	if err != nil {
		return "", err
	}
	x, err := p.db.Experiment(r.Context(), e.Experiment)
	if err == nil && x.Bundle == "" {
		err = Refuse(http.StatusConflict, "A machine began this experiment by itself: begin it there again.")
	}
	if err != nil {
		return "", err
	}
	who := access.From(r.Context())
	if err := p.db.RoomInQueue(r.Context(), tx, who.Name); err != nil {
		return "", Refuse(http.StatusConflict, "The queue has no room for you: %v.", err)
	}
	x.ID, x.Owner = "", who.Name
	id, err := jobs.Queue{DB: p.db}.Submit(r.Context(), tx, x)
	if err == nil {
		err = p.db.AddAct(r.Context(), tx, e.ID, who.Name, "measured again: experiment "+id)
	}
	return experimentLink(id, "").Address, err
}

package pages

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"time"

	"krund/internal/analysis/history"
	"krund/internal/display"
	"krund/internal/exchange"
	"krund/internal/hub/database"
	"krund/internal/report"
)

// addEvents adds stored events to a history of some of the keys, and mutes their changes.
func addEvents(h *history.History, events []database.Event, label map[string]int, now time.Time) {
	at := map[[3]string][2]int{} // key and change, by key, machine, and version with which it was found
	for i := range h.Keys {
		for j, c := range h.Keys[i].Changes {
			if c.Found < len(h.Versions) {
				at[[3]string{h.Keys[i].Key, h.Keys[i].Machine, h.Versions[c.Found].Label}] = [2]int{i, j}
			}
		}
	}
	for _, e := range events {
		if !e.Present {
			continue
		}
		one := history.Event{Machine: e.Machine, Version: label[e.Version], First: label[e.First],
			Last: label[e.Last], Found: label[e.Found], Verdict: history.Verdict(e.Verdict),
			Evidence: e.Evidence, Muted: e.Muted.After(now)}
		for _, k := range e.Keys {
			if c, ok := at[[3]string{k.Key, e.Machine, k.Found}]; ok {
				one.Keys = append(one.Keys, history.EventKey{Name: k.Key, Ratio: k.Ratio, Key: c[0],
					Change: c[1]})
				h.Keys[c[0]].Changes[c[1]].Muted, h.Keys[c[0]].Changes[c[1]].MuteReason = one.Muted, e.Reason
			}
		}
		h.Events = append(h.Events, one)
	}
}

// cut keeps the versions from one to another, and what lies in them.
func cut(h *history.History, from, to int) {
	if from == 0 && to == len(h.Versions)-1 {
		return
	}
	within := func(v int) bool { return v >= from && v <= to }
	shift := func(v int) int { return min(max(v, from), to) - from }
	kept := make([]map[int]int, len(h.Keys)) // indexes of changes, by those of before
	for i := range h.Keys {
		k := &h.Keys[i]
		kept[i] = map[int]int{}
		cutKey(k, kept[i], within, shift)
	}
	var events []history.Event
	for _, e := range h.Events {
		if !within(e.Version) {
			continue
		}
		e.Version, e.First, e.Last, e.Found = shift(e.Version), shift(e.First), shift(e.Last), shift(e.Found)
		var keys []history.EventKey
		for _, k := range e.Keys {
			if c, ok := kept[k.Key][k.Change]; ok {
				k.Change = c
				keys = append(keys, k)
			}
		}
		e.Keys = keys
		events = append(events, e)
	}
	h.Versions, h.Events = h.Versions[from:to+1], events
}

func cutKey(k *history.KeyHistory, kept map[int]int, within func(int) bool, shift func(int) int) {
	points, levels, changes := []history.Point{}, []history.Level{}, []history.Change{}
	for _, p := range k.Points {
		if within(p.Version) {
			p.Version = shift(p.Version)
			points = append(points, p)
		}
	}
	for _, l := range k.Levels {
		if within(l.From) || within(l.To) || shift(l.From) < shift(l.To) {
			l.From, l.To = shift(l.From), shift(l.To)
			levels = append(levels, l)
		}
	}
	for j, c := range k.Changes {
		if within(c.Version) {
			kept[j] = len(changes)
			c.Version, c.Found = shift(c.Version), shift(c.Found)
			c.First, c.Last = shift(c.First), shift(c.Last)
			changes = append(changes, c)
		}
	}
	k.Points, k.Levels, k.Changes = points, levels, changes
}

// values sends the values of a name's keys, as `krunctl history -f csv` writes them or as Parquet.
func (p *Pages) values(w http.ResponseWriter, r *http.Request) error {
	const most = 1000 // keys
	h, _, err := p.asked(r, most)
	var text bytes.Buffer
	kind := path.Ext(r.URL.Path)
	if err == nil && kind == ".parquet" {
		err = exchange.WriteHistory(&text, h)
	} else if err == nil {
		err = report.HistoryCSV(&text, h)
	}
	if err == nil {
		secure(w.Header(), Policy)
		w.Header().Set("Content-Type", media[kind])
		send(w, r, text.Bytes())
	}
	return err
}

// graph sends the picture of a key, the first one that is asked for.
func (p *Pages) graph(w http.ResponseWriter, r *http.Request) error {
	h, unit, err := p.asked(r, 1)
	if err == nil && len(h.Keys) == 0 {
		err = fmt.Errorf("series of history %s: %w", clean(r.PathValue("name")), database.ErrMissing)
	}
	if err != nil {
		return err
	}
	drawn, err := figure(h, 0, unit)
	if err == nil {
		secure(w.Header(), Policy)
		w.Header().Set("Content-Type", media[".svg"])
		send(w, r, []byte(drawn))
	}
	return err
}

// asked is what a request asks for of a history, and the unit of its values.
func (p *Pages) asked(r *http.Request, most int) (*history.History, string, error) {
	page := HistoryPage{Name: r.PathValue("name"), Key: r.FormValue("key"), Machine: r.FormValue("machine"),
		From: r.FormValue("from"), To: r.FormValue("to")}
	h, _, err := p.readHistory(r, &page, most)
	return h, page.Unit, err
}

// badge sends a small picture of a series: its last level, and its last change.
func (p *Pages) badge(w http.ResponseWriter, r *http.Request) error {
	list, err := p.db.Series(r.Context(), database.SeriesFilter{Name: r.PathValue("name"),
		Key: r.FormValue("key"), Machine: r.FormValue("machine")}, 0, 1)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("series of history %s: %w", clean(r.PathValue("name")), database.ErrMissing)
	}
	if err != nil {
		return err
	}
	s := SeriesRow{Series: list[0]}
	const color, letter, margin = "#0072b2", 7, 12
	left, right := clean(s.Key), s.Level()
	if moved := s.Moved(); moved != "" {
		right += " " + moved
	}
	a, b := letter*len([]rune(left))+margin, letter*len([]rune(right))+margin
	secure(w.Header(), Policy)
	w.Header().Set("Content-Type", "image/svg+xml")
	_, _ = fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" `+
		`font-family="sans-serif" font-size="12"><title>%s %s</title><rect width="%d" height="20" fill="#444"/>`+
		`<rect x="%d" width="%d" height="20" fill="%s"/><g fill="#fff" text-anchor="middle">`+
		`<text x="%d" y="14">%s</text><text x="%d" y="14">%s</text></g></svg>`, a+b, escaped(left),
		escaped(right), a, a, b, color, a/2, escaped(left), a+b/2, escaped(right))
	return nil
}

func escaped(s string) string { return display.Clip(template.HTMLEscapeString(s), mostText) }

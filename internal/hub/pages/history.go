package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"krund/internal/analysis/history"
	"krund/internal/display"
	"krund/internal/exchange"
	"krund/internal/hub/database"
	"krund/internal/report"
)

// Bounds of the pages of histories.
const (
	mostSeries  = 100 // on the overview
	mostFigures = 10  // on the page of a name
	mostSkipped = 1e6
)

// Overview is the list of all series: keys on machines in the histories of names.
type Overview struct {
	Frame    `json:"-"`
	Text     string      `json:"-"` // that a name or a key contains
	Machine  string      `json:"-"`
	Sort     string      `json:"-"` // "change", or "" for names
	Machines []string    `json:"-"`
	List     []SeriesRow `json:"series"`
	Next     string      `json:"next"` // address of the next part of the list; "": this is the end
}

// SeriesRow is a line of Overview.
type SeriesRow struct {
	database.Series
	Address string        `json:"page"`
	Spark   template.HTML `json:"-"` // its last values
}

// Level is the last level with its unit, Moved its last change.
func (s SeriesRow) Level() string { return display.UnitOf(s.Unit).Value(s.Value) }

// Moved is the last change in percent; "" if there was none.
func (s SeriesRow) Moved() string {
	if s.Change == 1 {
		return ""
	}
	return fmt.Sprintf("%+.1f%%", 100*(s.Change-1))
}

// historyAddress is the page of a name, or of a key in it. It lasts.
func historyAddress(name, key, machine string) string {
	q := url.Values{}
	for parameter, value := range map[string]string{"key": key, "machine": machine} {
		if value != "" {
			q.Set(parameter, value)
		}
	}
	address := "/history/" + url.PathEscape(name)
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	return address
}

// skipped is how many entries of a list come before a page.
func skipped(r *http.Request) int {
	n, err := strconv.Atoi(r.FormValue("skip"))
	if err != nil || n < 0 || n > mostSkipped {
		return 0
	}
	return n
}

// nextPart is the address of the next part of a list whose part has n of at most so many entries.
func nextPart(r *http.Request, n, most int) string {
	if n < most {
		return ""
	}
	q := r.URL.Query()
	q.Set("skip", strconv.Itoa(skipped(r)+n))
	return r.URL.EscapedPath() + "?" + q.Encode()
}

// overview lists all series, with ?text=, ?machine= and ?sort=change.
func (p *Pages) overview(r *http.Request, f Frame) (any, error) {
	f.Title, f.Section, f.Live = "History", "history", true
	page := Overview{Frame: f, Text: r.FormValue("text"), Machine: r.FormValue("machine"),
		Sort: r.FormValue("sort"), List: []SeriesRow{}}
	list, err := p.db.Series(r.Context(), database.SeriesFilter{Machine: page.Machine, Text: page.Text,
		Change: page.Sort == "change"}, skipped(r), mostSeries)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		page.List = append(page.List, SeriesRow{s, historyAddress(s.Name, s.Key, s.Machine), spark(s.Trend)})
	}
	page.Next = nextPart(r, len(list), mostSeries)
	page.Machines, err = p.db.SeriesMachines(r.Context(), "", mostListed)
	return page, err
}

// spark draws values as a line of 120 by 24.
func spark(values []float64) template.HTML {
	const width, height = 120, 24
	if len(values) == 0 {
		return ""
	}
	low, high := slices.Min(values), slices.Max(values)
	scale := (height - 4) / max(high-low, 0.02*math.Abs(high), math.SmallestNonzeroFloat64)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="spark" role="img" aria-label="trend of %s" viewBox="0 0 %d %d"><polyline points="`,
		display.Count(len(values), "version"), width, height)
	for i, v := range values {
		y := height - 2 - (v-low)*scale
		fmt.Fprintf(&b, "%.1f,%.1f ", 2+float64(i)*(width-4)/float64(max(len(values)-1, 1)), y)
	}
	b.WriteString(`"/></svg>`)
	return template.HTML(b.String()) // numbers
}

// HistoryPage is the history of a name: its events, and graphs of its keys.
type HistoryPage struct {
	Frame    `json:"-"`
	Name     string            `json:"name"`
	Key      string            `json:"-"`
	Machine  string            `json:"-"`
	From     string            `json:"-"` // labels of versions
	To       string            `json:"-"`
	Machines []string          `json:"-"`
	Unit     string            `json:"unit"`
	Versions []history.Version `json:"versions"`
	// Keys have indexes in Versions.
	Keys    []history.KeyHistory `json:"keys"`
	Events  []EventRow           `json:"events"`
	Figures []template.HTML      `json:"-"`
	CSV     string               `json:"csv"`  // address of the values
	Next    string               `json:"next"` // address of the next part of the keys
}

// history is the page of a name, with ?key=, ?machine=, ?from= and ?to=, which are versions.
func (p *Pages) history(r *http.Request, f Frame) (any, error) {
	f.Title, f.Section, f.Live = r.PathValue("name"), "history", true
	page := HistoryPage{Frame: f, Name: r.PathValue("name"), Key: r.FormValue("key"),
		Machine: r.FormValue("machine"), From: r.FormValue("from"), To: r.FormValue("to")}
	h, events, err := p.readHistory(r, &page, mostFigures)
	if err != nil {
		return nil, err
	}
	for i := range h.Keys {
		drawn, err := figure(h, i, page.Unit)
		if err != nil {
			return nil, err
		}
		page.Figures = append(page.Figures, drawn)
	}
	page.Versions, page.Keys = h.Versions, h.Keys
	page.Events = eventRows(events, f.Now)
	q := r.URL.Query()
	q.Del("skip")
	page.CSV = "/api/v1/history/" + url.PathEscape(page.Name) + "/values.csv?" + q.Encode()
	page.Next = nextPart(r, len(h.Keys), mostFigures)
	page.Machines, err = p.db.SeriesMachines(r.Context(), page.Name, mostListed)
	return page, err
}

// readHistory returns at most so many keys of what a page asks for, and the events of its name.
func (p *Pages) readHistory(r *http.Request, page *HistoryPage, most int) (h *history.History,
	events []database.Event, err error) {
	const mostEvents = 200
	of, list, events, err := p.db.Found(r.Context(), database.SeriesFilter{Name: page.Name,
		Machine: page.Machine, Key: page.Key, Docs: true}, skipped(r), most, mostEvents)
	if err != nil {
		return nil, nil, err
	}
	page.Unit = of.Unit
	h = &history.History{Rate: history.DefaultRate, Confidence: history.DefaultConfidence,
		Keys: []history.KeyHistory{}, Events: []history.Event{}}
	if err := json.Unmarshal([]byte(of.Versions), &h.Versions); err != nil {
		return nil, nil, fmt.Errorf("read the versions of history %s: %w", page.Name, err)
	}
	for _, s := range list {
		var k history.KeyHistory
		if err := json.Unmarshal([]byte(s.Doc), &k); err != nil {
			return nil, nil, fmt.Errorf("read key %s of history %s: %w", s.Key, page.Name, err)
		}
		h.Keys = append(h.Keys, k)
	}
	label := map[string]int{}
	for i, v := range h.Versions {
		label[v.Label] = i
	}
	addEvents(h, events, label, p.db.Now())
	from, to := 0, len(h.Versions)-1
	if v, ok := label[page.From]; ok {
		from = v
	}
	if v, ok := label[page.To]; ok && v >= from {
		to = v
	}
	cut(h, from, to)
	return h, events, nil
}

// figure draws a key of a history; names are untrusted.
func figure(h *history.History, key int, unit string) (template.HTML, error) {
	drawn := *h
	drawn.Keys = slices.Clone(h.Keys)
	for i := range drawn.Keys {
		k := &drawn.Keys[i]
		k.Key, k.Machine = clean(k.Key), clean(k.Machine)
	}
	return report.HistorySVG(&drawn, &drawn.Keys[key], unit)
}

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

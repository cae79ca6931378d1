package pages

import (
	"bytes"
	"flag"
	"html/template"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/history"
	"krund/internal/display"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/rig/must"
)

var update = flag.Bool("update", false, "write the expected pages")

// now is the time of all pages.
var now = time.Date(2026, 11, 22, 16, 0, 0, 0, time.UTC)

// samples returns one page of each kind. text is in every place where a machine, a benchmark or a
// kernel may have written something.
func samples(text string) map[string]any {
	frame := func(title, section string) Frame {
		return Frame{Title: title, Section: section, User: text, Role: "admin", Writes: true, Now: now,
			Open: 1, Version: "0.1.0"}
	}
	live := func(title, section string) Frame {
		f := frame(title, section)
		f.Live = true
		return f
	}
	busy, good := State{"running", "busy"}, State{"done", "good"}
	experiment := Link{text, "/experiments/e1"}
	machine := Machine{Link: Link{text, "/machines/a"}, Pool: text, State: busy, Experiment: experiment,
		Seen: now.Add(-40 * time.Second), Booted: now.Add(-90 * time.Second), Unfit: []string{text, "turbo"},
		Controls: 14, Warnings: []string{text}, More: 17,
		Noise: text, Left: 3 * time.Hour}
	idle := Machine{Link: Link{"bench-2", "/machines/b"}, State: State{"idle", "idle"},
		Seen: now.Add(-time.Minute)}
	job := Job{Link: experiment, ID: "e1", Owner: text, State: busy, Target: text, Priority: 2,
		Answer:    text,
		Submitted: now.Add(-2 * time.Hour), Finished: 31, Total: 120, Failed: 2, Left: 3 * time.Hour,
		Mine: true, Ends: true}
	waits := Job{Link: Link{"sorting", "/experiments/e2"}, ID: "e2", Owner: "berta",
		State: State{"queued", "idle"}, Target: "pool lab", Submitted: now.Add(-time.Hour), Why: text}
	share := ShareRow{Machine: machine.Link, State: busy, Left: 3 * time.Hour}
	share.draw(strings.Repeat("C", 29)+"ETR"+strings.Repeat("O", 28), stripWidth)
	second := ShareRow{Machine: idle.Link, State: good, Left: 3 * time.Hour}
	second.draw(strings.Repeat("C", 300)+"S", stripWidth)
	shared := share
	shared.Machine, shared.Experiment, shared.Answer = Link{}, experiment, text
	alert := Alert{ID: "x1", Raised: now.Add(-time.Hour), State: State{"open", "bad"},
		Subject: Link{text, "/history"}, Text: text, Mine: true}
	stored := text[:min(len(text), 1000)] // as long as the names that are stored
	event := eventRows([]database.Event{{ID: "v1", Name: stored, Machine: stored, Verdict: "machine",
		Present: true, Created: now.Add(-time.Hour), Experiment: "e1",
		Triage: database.Triage{State: "confirmed", Assignee: stored, Note: stored, Reason: stored,
			Link: "https://issues.example/1", Muted: now.Add(time.Hour)},
		Finding: database.Finding{Version: stored, First: stored, Last: "v9", Found: stored, Example: stored,
			Changed: 2, Of: 9, Median: 1.03, Least: 1.01, Most: 1.05, Evidence: stored},
		Keys: []database.EventKey{{Key: stored, Found: stored, Ratio: 1.05, Low: 1.04,
			High: 1.06}}}}, now)[0]
	program := event
	program.Verdict, program.Badge = "program", State{"new", "bad"}
	series := SeriesRow{database.Series{Name: stored, Key: stored, Machine: stored, Unit: "s", Versions: 3,
		Value: 0.123, Change: 1.05, Trend: []float64{1, 2, 1.5}}, historyAddress(stored, stored, stored),
		spark([]float64{1, 2, 1.5})}
	level := history.KeyHistory{Key: text, Machine: text, Points: []history.Point{{Value: 1, Low: 0.9,
		High: 1.1}, {Version: 1, Value: 1, Low: 0.9, High: 1.1}}}
	graph, err := figure(&history.History{Versions: []history.Version{{Label: text}, {Label: "v9"}},
		Keys: []history.KeyHistory{level}}, 0, "s")
	if err != nil {
		panic(err)
	}
	choices := []Choice{{"e1", text}, {"e2", "sorting"}}
	return map[string]any{
		"machines": Machines{live("Machines", "machines"), []Machine{machine, idle}, 300,
			"/machines?after=b"},
		"no-machines": Machines{Frame: live("Machines", "machines")},
		"machine": MachinePage{live(text, "machines"), machine, []EventRow{event},
			[]database.PowerAct{{At: now, Text: text}}, []Fact{{"cpu.model", text}, {text, "x"}},
			[]ShareRow{shared}},
		"queue":    Queue{live("Queue", "queue"), []Job{job, waits}, 3, "", []Link{{stored, "/machines/x"}}},
		"no-queue": Queue{Frame: live("Queue", "queue")},
		"runs": Runs{live("Revisions", "queue"), []RunRow{{Run: database.Run{Schedule: stored,
			Revision: stored, Base: stored, Change: 7, Asked: stored, Text: stored, Created: now},
			Shown: State{"worse", "bad"}, Link: Link{stored, "/experiments/e1"}}, {Run: database.Run{
			Schedule: "vm", Cause: "night 2026-11-28", Created: now}, Shown: State{"skipped", "idle"}}},
			"/runs?skip=2"},
		"no-runs": Runs{Frame: live("Revisions", "queue")},
		"experiments": Experiments{live("Experiments", "experiments"), []Job{waits, job},
			"/experiments?before=e1"},
		"no-experiments": Experiments{Frame: live("Experiments", "experiments")},
		"experiment": ExperimentPage{Frame: live(text, "experiments"), Job: job,
			Bundle: strings.Repeat("0f", 32), Shares: []ShareRow{share, second},
			Failures: []Failure{{api.Failure{Slot: 29, Attempt: 3, Key: text, Outcome: "error", Reason: text},
				machine.Link, now}}, Omitted: 1,
			Report: "/experiments/e1/report", Others: choices[1:], Events: []EventRow{event},
			Levels: compare.Levels{Tests: 12, Differ: 1, Omitted: 11, Keys: []compare.KeyLevels{{Key: text,
				MachineEffect: compare.MachineEffect{Spread: 0.031, P: 0.0001, Corrected: 0.0012},
				Low:           0.012, High: 0.05, Levels: []compare.MachineLevel{
					{Machine: text, Executions: 9, Relative: 0.0154, Low: 0.004, High: 0.027},
					{Machine: "bench-2", Executions: 9, Relative: -0.0152, Low: -0.0263, High: -0.004}}}}}},
		"compare":    Compare{frame("Compare", "compare"), choices, "e1", "e2", text, text},
		"no-compare": Compare{Frame: frame("Compare", "compare")},
		"front": Front{live("Now", "front"), text, []EventRow{program, event}, []Job{job}, 3,
			[]Alert{alert}, []Machine{machine}, []Job{waits}},
		"no-front": Front{Frame: live("Now", "front"), Answer: "nothing changed"},
		"overview": Overview{live("History", "history"), text, text, "change", []string{text},
			[]SeriesRow{series}, "/history?skip=100"},
		"no-overview": Overview{Frame: live("History", "history")},
		"history": HistoryPage{Frame: live(text, "history"), Name: stored, Key: text, Machine: text,
			From: text, To: text, Machines: []string{text}, Unit: "s", Events: []EventRow{event},
			Figures: []template.HTML{graph}, CSV: "/history/x/values.csv?", Next: "/history/x?skip=10"},
		"events": Events{live("Events", "events"), "new", "program", text, database.EventStates, verdicts,
			[]EventRow{program, event}, "/events?skip=50"},
		"no-events": Events{Frame: live("Events", "events")},
		"event": EventPage{live(text, "events"), event, database.EventStates, []template.HTML{graph},
			[]database.Act{{At: now, Who: text, Text: text}}, experiment, true, true, "a b", false},
		"tokens": Tokens{frame("Tokens", "tokens"), []Token{
			{database.Token{Hash: "t1", Makes: 2, Owner: text, Label: text, Role: "user",
				Created: now.Add(-time.Hour)}, false},
			{database.Token{Hash: "t2", Owner: "anna", Label: "session", Role: "admin",
				Created: now.Add(-time.Hour), Expires: now.Add(time.Hour)}, true}},
			"krun_" + strings.Repeat("x", 43), []string{"reader", "user", "admin"}, true, text,
			"/tokens?made=1"},
		"login":   Login{Frame{Title: "Log in", Now: now}, text, "/machines", "/login/oidc"},
		"message": Message{frame("Not found", ""), text, Link{"All machines", "/machines"}},
	}
}

func render(t *testing.T, page any) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, Write(&b, page))
	return b.String()
}

// TestGolden compares each page with testdata.
func TestGolden(t *testing.T) {
	for name, page := range samples("bench-1") {
		file := filepath.Join("testdata", name+".html")
		got := render(t, page)
		if *update {
			must.Do(t, os.WriteFile(file, []byte(got), 0o644))
		}
		want := must.Get(os.ReadFile(file))(t)
		must.Equal(t, got, string(want), file, "differs; look at `git diff` after go test -update")
	}
}

// FuzzPages: whatever a machine, a benchmark or a kernel has written stays text.
func FuzzPages(f *testing.F) {
	for _, text := range hostileTexts {
		f.Add(text)
	}
	plain := map[string]int{} // tags of the page without hostile text
	for name, page := range samples("x") {
		var b bytes.Buffer
		must.Do(f, Write(&b, page))
		plain[name] = tags(b.String())
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" {
			return // what is empty is left out
		}
		for name, page := range samples(text) {
			html := render(t, page)
			must.Equal(t, tags(html), plain[name], "tags and attributes with", text)
			must.Be(t, len(html) <= 64<<10, name, len(html), "bytes with a text of", len(text), "bytes")
			must.Be(t, display.Printable(html), name, "has an unprintable character with", text)
		}
	})
}

// tags counts what begins tags and ends attributes.
func tags(html string) int { return strings.Count(html, "<") + strings.Count(html, `"`) }

// hostileTexts are names that try to break a page.
var hostileTexts = []string{
	`<script>alert(1)</script>`, `" onmouseover="alert(1)`, `'><img src=x onerror=alert(1)>`,
	"javascript:alert(1)", "\u202egnp.exe", "שלום", "a\x00\x1b[2J\n", strings.Repeat("x", 10<<10),
	strings.Repeat("<", 10<<10), "\xff\xfe", "{{.Now}}",
}

// TestStatic: every file that the pages name is there, and no other.
func TestStatic(t *testing.T) {
	for name, page := range samples("x") {
		for _, part := range strings.Split(render(t, page), `"/static/`)[1:] {
			file, _, _ := strings.Cut(part, `"`)
			if text, media, err := Static(file); err != nil || len(text) == 0 || media == "" {
				t.Errorf("%s: %s: %d bytes, %q, %v", name, file, len(text), media, err)
			}
		}
	}
	for _, name := range []string{"", "layout.html", "../model.go", "report.js"} {
		_, _, err := Static(name)
		must.Be(t, err != nil, name, "is served")
	}
}

func TestStrip(t *testing.T) {
	for _, test := range []struct {
		slots, text string
		rects       int
	}{
		{"", "", 0},
		{"CCEO", "4 executions: 2 completed, 1 error, 1 to do", 4},
		{"?", "1 execution: 1 to do", 1}, // a flag of a later version
		{strings.Repeat("C", 1000) + "T" + strings.Repeat("O", 999),
			"2000 executions: 1000 completed, 1 timeout, 999 to do", 3},
		{strings.Repeat("CO", 50000), "100000 executions: 50000 completed, 50000 to do", 1},
		{strings.Repeat("CCE"+strings.Repeat("C", 197), 500), "500 error", 1000},
	} {
		html := string(strip(test.slots, stripWidth))
		must.Be(t, strings.Count(html, "<rect") == test.rects && strings.Contains(html, test.text),
			test.slots, html)
	}
}

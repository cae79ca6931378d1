package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/analysis/explain"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestExplain: the text and the JSON document are of the same keys, mistakes in flags are wrong
// usage, and nothing is changed.
func TestExplain(t *testing.T) {
	in := twoKeys(t, t.TempDir())
	before := contents(t, in)
	text := krunctl(t, "explain", in)
	first := strings.Join(strings.Fields(text.stdout), " ") // the line may be broken
	answer := ": no cause is established for any of 8 changepoints in 2 keys "
	must.Be(t, text.code == exitOK && strings.Contains(first, answer), text.text())
	var doc explain.Document
	err := json.Unmarshal([]byte(krunctl(t, "explain", "--format", "json", in).stdout), &doc)
	must.Be(t, err == nil && doc.Format == explain.Format && len(doc.Keys) == 2, err, doc)
	for i := range doc.Keys {
		must.Contain(t, text.stdout, "\n"+doc.Keys[i].Key+" (instrument off)\n", doc.Keys[i].Key, "is not")
	}
	krunctl(t, "explain", in, "--execution", "999").says(t, exitUsage, "", "--execution")
	must.Equal(t, len(contents(t, in)), len(before), "files, before")
}

// TestReportOfEvents: the report of an instrumented experiment has the lanes and the sentences that
// explain prints.
func TestReportOfEvents(t *testing.T) {
	dir := t.TempDir()
	in := doubled(t, krundDirectory(t, dir), func(r *results.Record) {
		r.Key.Benchmark, r.Instrument = "instrumented", "events"
		r.StartNS = make([]int64, len(r.WallNS))
		for i := range r.WallNS {
			if i > 0 {
				r.StartNS[i] = r.StartNS[i-1] + r.WallNS[i-1]
			}
			if i%25 == 5 {
				r.Events = append(r.Events, results.Event{Kind: "gc", TimeNS: r.StartNS[i], DurationNS: 9})
			}
		}
	})
	out := filepath.Join(dir, "report")
	krunctl(t, "report", in, "-o", out).works(t)
	said := krunctl(t, "explain", "--key", "instrumented:*:*", in).stdout
	page := must.Get(os.ReadFile(filepath.Join(out, "keys", "k0001.html")))(t)
	_, said, _ = strings.Cut(said, "Unexplained: ")
	said, _, _ = strings.Cut(said, ",")
	must.Be(t, said != "" && strings.Contains(string(page), "<b>Unexplained</b>: "+said), "the page", said)
	plot, err := os.ReadFile(filepath.Join(out, "plots", "k0001-0.svg"))
	must.Be(t, err == nil && strings.Contains(string(plot), `class="gc"`),
		"the plot has no garbage collections", err)
}

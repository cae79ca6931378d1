package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/explain"
	"krund/internal/durable"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestExplainText: what a person reads about one key with a statement and one without evidence.
func TestExplainText(t *testing.T) {
	time := 0.93
	best := explain.Candidate{Target: explain.Outliers, Cause: explain.GC, Source: "events gc", Targets: 43,
		Hits: 41, Expected: 1.075, OddsRatio: 3405, P: 0.02, Corrected: 0.02, Smallest: 0.02, Time: &time}
	doc := &explain.Document{Source: dataset.Info{Source: "warmup.krun"}, Keys: []explain.Key{
		{
			Key: "nbody:V:v", Name: key.Key{Benchmark: "nbody", VM: "V", Variant: "v"}, Instrument: "events",
			Tested: 24, Outliers: explain.Coverage{Total: 43, Explained: 41},
			Changepoints: explain.Coverage{Total: 2, Diagnosed: 1},
			Statements: []explain.Statement{{Candidate: best,
				Text: "41 of 43 outliers contain a garbage collection",
				With: []string{"page faults"}}},
			Executions: []explain.ExecutionFindings{{Number: 1, Iterations: 2000,
				Outliers: []explain.Finding{{Iteration: 50,
					Text: "outlier at 50: a garbage collection \x1b[31m"}},
				Steady: explain.Steady{Text: "statistically steady from iteration 120",
					Warnings: []string{"the VM still compiled"}}}},
			Missing: []string{"there are no counts of instructions", "the clock is coarse"},
		},
		{
			Key: "fasta:V:v", Name: key.Key{Benchmark: "fasta", VM: "V", Variant: "v"},
			Instrument: "off\x1b[31m",
			Outliers:   explain.Coverage{Total: 1}, Candidates: []explain.Candidate{best},
			Warnings: []string{"3 events were lost"}, Missing: []string{"the clock is coarse"},
		},
		{
			Key: "richards:V:v", Name: key.Key{Benchmark: "richards", VM: "V", Variant: "v"},
			Instrument: "off", Missing: []string{"the clock is coarse"},
		},
	}}
	var b strings.Builder
	ExplainText(&b, 0, doc, []int{1})
	for _, want := range []string{
		"41 of 44 outliers and 0 of 2 changepoints are explained: garbage collections in 1 key\n\n",
		"nbody      V   v                 1        43        95%             2         0%  gc\n",
		"\nnbody:V:v (instrument events)\n  41 of 43 outliers contain a garbage collection.\n    Odds " +
			"ratio 3405, " +
			"1.1 expected by chance, p = 0.02; 0.02 corrected for 24 candidates; these\n" +
			"    events and outliers cannot give a p below 0.02; they took 93% of the extra time; " +
			"seen with it:\n    page faults.\n",
		"  Unexplained: 2 of 43 outliers, 2 of 2 changepoints (of 1 of them it is known what changed in " +
			"the\n" +
			"    processor's counters).\n",
		"  Execution 1, iterations 1 to 2000: statistically steady from iteration 120.\n" +
			"    outlier at 50: a garbage collection \\x1b[31m.\n",
		"  Execution 1 is statistically steady from iteration 120, but the VM still compiled.\n",
		"  Missing: there are no counts of instructions.\n",
		"\nfasta:V:v (instrument off\\x1b[31m)\n  No cause is established for any outlier or changepoint.\n" +
			"  The best candidate is gc at 41 of 43 outliers (events gc): Odds ratio 3405,",
		"  Warning: 3 events were lost.\n\nrichards:V:v (instrument off)\n" +
			"  It has no outlier and no changepoint.\n\nMissing for all 3 keys:\n  the clock is coarse.\n",
	} {
		must.Contain(t, b.String(), want, "no", "in")
	}
}

// eventful has three executions of n iterations of 0.3 s; every 40th one takes twice as long and
// contains a garbage collection with a hostile name, and each of the first 20 a compilation.
func eventful(n, perIteration int) *dataset.Dataset {
	d := &dataset.Dataset{Info: dataset.Info{Source: "test.krun", Format: "krund"}}
	for seed := range uint64(3) {
		wall := dataset.Column{Name: dataset.Wall, Unit: dataset.Nanoseconds, Core: dataset.NoCore}
		e := dataset.Execution{Outcome: results.Completed, Instrument: "events", EventsLost: 5}
		at := int64(0)
		event := func(kind, name string, duration int64) {
			e.Events = append(e.Events, results.Event{Kind: kind, Name: name, TimeNS: at + 1e6,
				DurationNS: duration, Argument: new(int64(1 << 20))})
		}
		for i, v := range levels(seed, float64(n), 0.3) {
			ns := int64(v * 1e9)
			if i < 20 {
				event("compile", fmt.Sprintf("function%d", i), 2e6)
			}
			if i%40 == 20+int(seed) {
				ns *= 2
				event("gc", hostile+strings.Repeat("y", 300), 3e8)
			}
			for range perIteration {
				event("load", fmt.Sprint("class", i), 0)
			}
			e.Starts, wall.Ints = append(e.Starts, at), append(wall.Ints, ns)
			at += ns + 1e6
		}
		faults := dataset.Column{Name: "minor_faults", Core: dataset.NoCore, Counts: make([]uint64, n)}
		faults.Counts[9] = 7
		none := dataset.Column{Name: "gc_time", Unit: "ns", Core: dataset.NoCore, Ints: make([]int64, n)}
		e.Columns = []dataset.Column{wall, faults, none}
		d.Add(key.Key{Benchmark: "b", VM: "v", Variant: "x"}, e)
	}
	return d
}

func explainedInput(t *testing.T, d *dataset.Dataset) Material {
	t.Helper()
	in := Material{Document: analysed(t, d), Data: d}
	in.Explanation = explanation(t, in)
	return in
}

// explanation explains all keys of an input.
func explanation(t testing.TB, in Material) *explain.Document {
	t.Helper()
	why := must.Get(explain.Explain(in.Data.Info, in.Document, explain.Default(), 2,
		func(pair, execution int) (dataset.Execution, error) {
			return in.Data.Pairs[pair].Executions[execution], nil
		}))(t)
	return why
}

// TestEventsInBrowser: lanes and rows have a switch each, and the evidence of an outlier appears
// after a click, by buttons and by keys. Names of events are text.
func TestEventsInBrowser(t *testing.T) {
	dir := t.TempDir()
	must.Get(WriteSite(durable.OS(), dir, explainedInput(t, eventful(400, 0))))(t)
	var r struct {
		Hash                                                                 string
		Rows, Fewer, Stays, Scripts                                          int
		Hint, Bounded, ByKey, Other, ByButton, Back, Entered, Value, Clicked string
		Kinds                                                                []string
	}
	try(t, filepath.Join(dir, "keys", "k0000.html"), `
const $=(id)=>document.getElementById(id), press=(key)=>$("plot").dispatchEvent(new KeyboardEvent("keydown",{key}));
await until(()=>document.querySelectorAll(".rows canvas").length>0);
const r={rows:document.querySelectorAll(".rows canvas").length,hint:$("evidence").textContent};
r.kinds=[...document.querySelectorAll("#kinds label")].map((e)=>e.textContent.trim()+(e.firstChild.checked?" on":" off"));
document.querySelector("#kinds input[name=gc]").click(); document.querySelector("#kinds input[name=minor_faults]").click();
r.fewer=document.querySelectorAll(".rows canvas").length; r.bounded=$("bounded").textContent;
document.querySelector("#kinds input[name=gc]").click();
press("n"); r.byKey=$("evidence").textContent;
press("]"); await until(()=>$("evidence").textContent.includes("Execution 2")); r.other=$("evidence").textContent; r.stays=document.querySelectorAll(".rows canvas").length;
press("["); await new Promise((f)=>setTimeout(f,50)); $("after").click(); $("after").click(); r.byButton=$("evidence").textContent; $("before").click(); r.back=$("evidence").textContent;
press("ArrowRight"); press("ArrowLeft"); $("after").click(); press("Enter"); r.entered=$("evidence").textContent;
press("0"); await new Promise((f)=>setTimeout(f,50));
const over=document.querySelector(".main .u-over"), box=over.getBoundingClientRect();
r.value=$("value").textContent;
r.scripts=document.querySelectorAll("#evidence script, #value script, #kinds script").length;
for(let y=0;y<box.height&&!$("evidence").textContent.includes("outlier at 221");y+=6) for(const kind of ["mousedown","mouseup","click"]) over.dispatchEvent(new MouseEvent(kind,{clientX:box.left+box.width*220/399,clientY:box.top+y,bubbles:true}));
r.clicked=$("evidence").textContent; r.hash=location.hash;
location.hash="#2@62"; await until(()=>$("evidence").textContent.includes("outlier at 62"));
return r;`, &r)
	want := []string{"▮ gc 10 on", "▬ compile 20 on", "∿ minor_faults on", "∿ gc_time (always 0) off"}
	must.Be(t, slices.Equal(r.Kinds, want) && r.Rows == 2 && r.Fewer == 1 && r.Stays == 1, r.Rows, r.Fewer,
		r.Stays, "rows, kinds", r.Kinds)
	if !strings.Contains(r.Hint, "last compilation in iteration 20") || r.Bounded != "5 events were lost" {
		t.Errorf("hint %q, bounds %q", r.Hint, r.Bounded)
	}
	for _, c := range []struct{ name, got, outlier string }{
		{"n", r.ByKey, "outlier at 21:"}, {"the second button", r.ByButton, "outlier at 61:"},
		{"back", r.Back, "outlier at 21:"}, {"Enter", r.Entered, "outlier at 61:"},
		{"a click", r.Clicked, "outlier at 221:"},
	} {
		if !strings.Contains(c.got, c.outlier) || !strings.Contains(c.got, "gc <script>alert(1)</script>") ||
			!strings.Contains(c.got, "300.0 ms, from 1.000 ms after the beginning of the iteration; freed") {
			t.Errorf("%s: %q", c.name, c.got)
		}
	}
	if strings.Contains(r.Other, "outlier at") || r.Hash != "#1@221" || r.Scripts != 0 ||
		!strings.Contains(r.Value, "gc 300 ms (<script>") {
		t.Errorf("after another execution: %q, %d scripts, value %q", r.Other, r.Scripts, r.Value)
	}
}

// TestWhyWithoutScripts: the page states what is established, what is not, the candidates and the
// steady state with the VM's evidence; the front page has the shares.
func TestWhyWithoutScripts(t *testing.T) {
	out := write(t, explainedInput(t, eventful(400, 0)))
	page, index := string(out["keys/k0000.html"]), string(out["index.html"])
	for _, want := range []string{"Why it changed", "30 of 30 outliers contain a garbage collection",
		"<b>Unexplained</b>: 0 of 30 outliers; 0 of 0 changepoints", "✓ yes", "events gc",
		"the VM: last compilation in iteration 20", "15 events were lost"} {
		must.Contain(t, page, want, "the page lacks")
	}
	for _, want := range []string{`href="keys/k0000.html#why"`, `data-v="100">100%`} {
		must.Contain(t, index, want, "the front page lacks")
	}
	must.Be(t, !strings.Contains(page, "<script>alert"), "a name of an event is code")
	d := eventful(400, 0)
	plain := string(write(t, Material{Document: analysed(t, d), Data: d})["keys/k0000.html"])
	must.Be(t, !strings.Contains(plain, "Why it changed"), "there is an explanation without one")
}

// TestEventsAreFew: of 20,000 events in 2,000 iterations the page gets 1,000 marks, and of each
// outlier a few; the rest is counted.
func TestEventsAreFew(t *testing.T) {
	out := write(t, explainedInput(t, eventful(2000, 10)))
	var got struct {
		Lanes []struct {
			Kind        string
			Events, Per int
			Marks       [][5]float64
		}
		Findings []struct {
			Events [][2]string
			More   int
		}
		Names []string
	}
	text := string(out["data/k0000-0.js"])
	_, text, _ = strings.Cut(text, "krund.events(0,0,")
	must.Do(t, json.Unmarshal([]byte(strings.TrimSuffix(text, ");\n")), &got))
	i := slices.IndexFunc(got.Lanes, func(l struct {
		Kind        string
		Events, Per int
		Marks       [][5]float64
	}) bool {
		return l.Kind == "load"
	})
	if l := got.Lanes[i]; l.Events != 20000 || l.Per != 2 || len(l.Marks) != 1000 || l.Marks[7][2] != 20 {
		t.Errorf("%d events, %d marks per %d", l.Events, len(l.Marks), l.Per)
	}
	f := got.Findings[0]
	must.Be(t, len(f.Events) == mostEvidence && len(f.Events)+f.More == 11, "finding", f)
	for _, name := range got.Names {
		must.Be(t, len(name) <= longestName, "a name of", len(name), "bytes")
	}
	size := len(out["data/k0000-0.js"])
	must.Be(t, size <= 120_000, size, "bytes for an execution")
	size = len(out["plots/k0000-0.svg"])
	must.Be(t, size <= 80_000, "a plot of", size, "bytes")
}

// TestNarrowEvents: in a window of 400 pixels the page with lanes and evidence does not scroll
// sideways.
func TestNarrowEvents(t *testing.T) {
	dir := t.TempDir()
	must.Get(WriteSite(durable.OS(), dir, explainedInput(t, eventful(400, 0))))(t)
	html := `<!DOCTYPE html><html><head></head><body><iframe width="400" height="800" style="border:0" src="keys/k0000.html"></iframe></body></html>`
	must.Do(t, os.WriteFile(filepath.Join(dir, "frame.html"), []byte(html), 0o644))
	var l layout
	try(t, filepath.Join(dir, "frame.html"), `
const d=document.querySelector("iframe").contentDocument, wide=[];
await until(()=>d.querySelectorAll(".rows canvas").length>0);
d.getElementById("after").click();
await new Promise((r)=>setTimeout(r,300));
for(const e of d.querySelectorAll("body *")) if(e.getBoundingClientRect().right>400.5&&!e.closest(".sr,.skip,.scroll.wide")) wide.push(e.tagName+"."+e.className+" "+e.textContent.slice(0,40));
return {wide:wide.slice(0,9),reason:d.getElementById("evidence").textContent};`, &l, "--allow-file-access-from-files")

	must.Be(t, len(l.Wide) <= 0 && strings.Contains(l.Reason, "outlier at 21"), "too wide", l.Wide, l.Reason)
}

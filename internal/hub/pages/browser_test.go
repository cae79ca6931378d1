package pages

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/durable"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/hub/database/dbtest"
	"krund/internal/report"
	"krund/rig/browser"
	"krund/rig/must"
)

func TestMain(m *testing.M) { browser.Main(m) }

// site serves sample pages at /NAME with the headers of the hub.
func site(t *testing.T, page func(name string) any, events http.HandlerFunc) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /static/{name}", func(w http.ResponseWriter, r *http.Request) {
		text, media, err := Static(r.PathValue("name"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", media)
		_, _ = w.Write(text)
	})
	mux.HandleFunc("GET /live", events)
	mux.HandleFunc("GET /{name}", func(w http.ResponseWriter, r *http.Request) {
		found := page(r.PathValue("name"))
		if found == nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", Policy)
		var text bytes.Buffer
		must.Do(t, Write(&text, found))
		_, _ = w.Write(text.Bytes()) // a browser may leave a page before it has all of it
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.Listener.Close() // the browser would ask for the events again
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL + "/"
}

// quiet are events that never come.
func quiet(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// TestPagesInBrowser: each page, with usual and with hostile names, in windows of 390 and 1400
// pixels: no part is wider than the window, nothing complains, no hostile text has run, and what a
// screen reader finds is in order.
func TestPagesInBrowser(t *testing.T) {
	must.Long(t)
	texts := []string{"bench-1", "'\"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e שלום",
		strings.Repeat("x", 10<<10)}
	all := make([]map[string]any, len(texts))
	for i, text := range texts {
		all[i] = samples(text)
	}
	at := 0
	url := site(t, func(name string) any { return all[at][name] }, quiet)
	for _, width := range []int{390, 1400} {
		p := browser.New(t, width)
		for i := range texts {
			at = i
			for name := range all[i] {
				if i > 0 && strings.HasPrefix(name, "no-") {
					continue // they have no such text
				}
				p.Open(url + name)
				checkLayout(t, p, fmt.Sprintf("%s at %d with %.20q", name, width, texts[i]), width)
				checkReading(t, p, name)
			}
		}
		c := p.Complaints()
		must.Be(t, len(c) <= 0, "at", width, strings.Join(c, "\n"))
	}
}

func checkLayout(t *testing.T, p *browser.Tab, what string, width int) {
	t.Helper()
	var found struct {
		Width   int
		Wide    []string
		Scripts int
		Handles int
	}
	p.Eval(`(()=>{const wide=[...document.querySelectorAll("body *")].filter((e)=>e.getBoundingClientRect().right>innerWidth+.5&&
!e.closest(".sr,.skip,.scroll")).map((e)=>e.tagName+"."+e.className+" "+e.textContent.slice(0,40));
return {width:document.documentElement.scrollWidth,wide:wide.slice(0,5),
scripts:[...document.scripts].filter((s)=>!s.src.endsWith("/static/hub.js")).length,
handles:[...document.querySelectorAll("*")].filter((e)=>[...e.attributes].some((a)=>a.name.startsWith("on")||a.name==="style")).length}})()`,
		&found)
	must.Be(t, found.Width <= width && len(found.Wide) <= 0 && found.Scripts <= 0 && found.Handles <= 0, what,
		found)
}

// checkReading: one title, landmarks, headings without gaps, every control and table with a name.
func checkReading(t *testing.T, p *browser.Tab, what string) {
	t.Helper()
	roles := map[string]int{}
	level := 0
	for _, n := range p.Reads() {
		roles[n.Role]++
		switch n.Role {
		case "heading":
			must.Be(t, n.Level <= level+1 && n.Name != "" && (n.Level != 1 || level <= 0), what, "heading",
				n.Name, "of level", n.Level, "after", level)
			level = n.Level
		case "link", "button", "textbox", "combobox", "spinbutton", "table", "region", "progressbar", "image",
			"navigation":
			must.Be(t, n.Name != "", what, "a", n.Role, "without a name")
		}
	}
	must.Be(t, roles["main"] == 1 && roles["banner"] == 1 && roles["contentinfo"] == 1, what, "landmarks",
		roles)
	want := 1
	must.Be(t, what == "login" || roles["navigation"] == want, what, roles["navigation"], "navigations")
}

// TestKeyboard: Tab goes through a page in the order of reading, the first stop is the link that
// skips the navigation, each stop is visible, and Enter follows it.
func TestKeyboard(t *testing.T) {
	page := samples("bench-1")["queue"]
	p := browser.New(t, 1280)
	p.Open(site(t, func(string) any { return page }, quiet) + "queue")
	var stops []string
	for range 30 {
		p.Press("Tab")
		var stop struct {
			Text    string
			Outline string
			Left    float64
		}
		p.Eval(`(()=>{const e=document.activeElement,s=getComputedStyle(e);return {text:e===document.body?"":(e.ariaLabel||
e.textContent||e.name).trim(),outline:s.outlineStyle,left:e.getBoundingClientRect().left}})()`, &stop)
		if stop.Text == "" {
			break
		}
		must.Be(t, stop.Outline != "none" && stop.Left >= 0, "the focus on", stop.Text, "cannot be seen",
			stop)
		stops = append(stops, stop.Text)
	}
	want := []string{"Skip to the content", "Now", "Events 1 open", "History", "Experiments", "Queue",
		"Machines", "Compare", "Tokens", "Log out", "Table of experiments", "bench-1", "priority",
		"Set the priority of bench-1", "Stop bench-1", "sorting", "bench-1",
		"Revisions that the hub measures by itself"}
	must.EqualList(t, stops, want, "stops")
	p.Eval("document.activeElement.blur()", nil)
	p.Press("Tab")
	p.Press("Enter")
	var id string
	if p.Eval("document.activeElement.id", &id); id != "main" {
		t.Errorf("the skip link leads to %q", id)
	}
}

// TestLive: after an event the strip, the sentence for screen readers and the times are those of
// the new page; the focus stays where it is.
func TestLive(t *testing.T) {
	first := samples("bench-1")["experiment"].(ExperimentPage)
	second := first
	second.Finished, second.Shares = 32, slices.Clone(first.Shares)
	second.Shares[0].draw(strings.Repeat("C", 31)+"R"+strings.Repeat("O", 28), stripWidth)
	var state atomic.Int32
	change := make(chan string)
	url := site(t, func(string) any {
		if state.Load() == 0 {
			return first
		}
		return second
	}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			w.(http.Flusher).Flush()
			select {
			case text := <-change:
				fmt.Fprint(w, text)
			case <-r.Context().Done():
				return
			}
		}
	})
	p := browser.New(t, 1280)
	p.Open(url + "experiment")
	p.Eval(`document.querySelector('#results a[href="/experiments/e1/report"]').focus()`, nil)
	const strip = `document.querySelector("#shares svg").getAttribute("aria-label")`
	var before, after, said, focus string
	p.Eval(strip, &before)
	state.Store(1)
	change <- "event: change\ndata: 2\n\n"
	p.Eval(`new Promise((done)=>{const look=()=>`+strip+`===`+fmt.Sprintf("%q", before)+
		`?setTimeout(look,10):done();look()})`, nil)
	p.Eval(strip, &after)
	p.Eval(`document.querySelector('[role=status]').textContent`, &said)
	p.Eval(`document.activeElement.getAttribute("href")||""`, &focus)
	must.Be(t, after == "60 executions: 31 completed, 1 running, 28 to do" &&
		said == "32 of 120 executions, 26 %, 2 failures", after, said)
	must.Equal(t, focus, "/experiments/e1/report", "the focus went to")
	c := p.Complaints()
	must.Be(t, len(c) <= 0, strings.Join(c, "\n"))
}

// TestWithoutScripts: the page is whole and says how to see progress.
func TestWithoutScripts(t *testing.T) {
	page := samples("bench-1")["experiment"]
	p := browser.New(t, 400)
	p.Do("Emulation.setScriptExecutionDisabled", browser.Object{"value": true}, nil)
	p.Open(site(t, func(string) any { return page }, quiet) + "experiment")
	var text []string
	for _, n := range p.Reads() {
		if n.Role == "link" || n.Role == "image" {
			text = append(text, n.Name)
		}
	}
	for _, want := range []string{"60 executions: 29 completed, 1 error, 1 timeout, 1 running, 28 to do",
		"Report", "load it again"} {
		must.Be(t, slices.Contains(text, want), want, "is missing", text)
	}
}

// TestDark: the dark setting has dark paper.
func TestDark(t *testing.T) {
	page := samples("bench-1")["machines"]
	p := browser.New(t, 1280)
	p.Do("Emulation.setEmulatedMedia", browser.Object{"features": []browser.Object{
		{"name": "prefers-color-scheme", "value": "dark"}}}, nil)
	p.Open(site(t, func(string) any { return page }, quiet) + "machines")
	var paper string
	if p.Eval("getComputedStyle(document.body).backgroundColor", &paper); paper != "rgb(20, 23, 26)" {
		t.Errorf("paper %s", paper)
	}
}

// realReport writes a report of two arms with a hostile name, and its comparison.
func realReport(t *testing.T) string {
	t.Helper()
	d := &dataset.Dataset{Info: dataset.Info{Experiment: "ab"}}
	for _, arm := range []string{"base", "new"} {
		d.Arms = append(d.Arms, dataset.Arm{Name: arm})
		pair := dataset.Pair{Key: key.Key{Benchmark: `"><script>alert(1)</script>`, VM: "C",
			Variant: "default", Arm: arm}}
		for number := 1; number <= 4; number++ {
			values := make([]float64, 300)
			for i := range values {
				values[i] = 0.01 + 1e-5*math.Sin(float64(i*number))
			}
			wall := dataset.Column{Name: dataset.Wall, Unit: "s", Core: dataset.NoCore, Reals: values}
			pair.Executions = append(pair.Executions, dataset.Execution{Number: number,
				Outcome: results.Completed, Columns: []dataset.Column{wall}})
		}
		d.Pairs = append(d.Pairs, pair)
	}
	p := warmup.Default(classify.Relative)
	p.Resamples = 100
	doc := must.Get(warmup.Analyze(d, p, warmup.Options{Workers: 1}))(t)
	side := func(arm string) compare.Side { return compare.Side{Doc: doc, Data: d, Arm: arm} }
	r := must.Get(compare.Of(side("base"), side("new"), compare.Options{Correction: compare.Holm,
		Confidence: compare.DefaultConfidence, Margin: compare.DefaultMargin,
		FirstIterations: compare.DefaultFirstIterations}))(t)
	dir := t.TempDir()
	must.Get(report.WriteSite(durable.OS(), dir, report.Material{Document: doc, Data: d,
		Comparisons: []*compare.Result{r}}))(t)
	return dir
}

// TestReportInBrowser: a report works in its sandbox: its scripts run and the plot is drawn; the
// hub's session is out of their reach. A script that the report does not come with does not run.
func TestReportInBrowser(t *testing.T) {
	dir := realReport(t)
	h := newTestHub(t, dbtest.SQLite(t), "#!/bin/sh\ncp -r "+dir+"/. \"$3\"\n")
	p := browser.New(t, 1280)
	p.Do("Network.setCookie", browser.Object{"name": Cookie, "value": "secret", "url": h.web.URL}, nil)
	base := h.web.URL + "/experiments/e1/report/"
	p.Open(strings.TrimSuffix(base, "/"))
	var page struct {
		Title, Origin, Cookie string
		Sorted                bool
	}
	p.Eval(`(()=>{let cookie="";try{cookie=document.cookie}catch{} // there is none in a sandbox
return {title:document.title,origin:self.origin,cookie,sorted:!!document.querySelector("#table thead button")}})()`, &page)
	must.Be(t, page.Title == "ab: warmup report" && page.Origin == "null" && page.Cookie == "" && page.Sorted,
		page)
	var address string
	if p.Eval("location.href", &address); address != base+"index.html" {
		t.Error("the address is", address)
	}
	p.Open(base + "keys/k0000.html")
	p.Eval(`new Promise((done)=>{const look=()=>document.querySelector("#plot canvas")?done():setTimeout(look,10);
look()})`, nil) // for ever if the plot is not drawn
	p.Open(base + "compare-new.html")
	var sorted bool
	if p.Eval(`!!document.querySelector("#table thead button")`, &sorted); !sorted {
		t.Error("the script of the comparison does not run")
	}
	c := p.Complaints()
	must.Be(t, len(c) <= 0, strings.Join(c, "\n"))
	var ran bool
	p.Eval(`(()=>{const s=document.createElement("script");s.textContent="window.ran=true";document.body.append(s);
return !!window.ran})()`, &ran)
	must.Be(t, !ran && len(p.Complaints()) != 0, "another script ran", ran, p.Complaints())
}

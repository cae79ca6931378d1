package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// try opens a page of a report from the disk in headless Chromium, with a script that acts as a
// reader would, and decodes the result of the script. Scripts have no faults, and say nothing.
func try(t *testing.T, page, script string, into any, flags ...string) {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: the report is not tried in a browser")
	}
	text := must.Get(os.ReadFile(page))(t)
	tried := strings.TrimSuffix(page, ".html") + "-tried.html"
	harness := `<script>window.faults=[];addEventListener("error",(e)=>faults.push(e.message||"a file is missing: "+e.target.src),true);
const until=async(ready)=>{for(let i=0;i<500&&!ready();i++)await new Promise((r)=>setTimeout(r,10));if(!ready())throw new Error("waited in vain for "+ready);};
const act=async()=>{` + script + `};
addEventListener("load",()=>act().catch((e)=>({failed:String(e)})).then((r)=>{
 const out=document.createElement("pre");out.id="result";out.textContent=JSON.stringify({...r,faults});document.body.append(out);}));</script>`
	text = bytes.Replace(text, []byte("<head>"), []byte("<head>"+harness), 1)
	must.Do(t, os.WriteFile(tried, text, 0o644))
	const limit = 2 * time.Minute // of a machine that does much else
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, chromium, append(flags, "--headless=new", "--no-sandbox", "--disable-gpu",
		"--disable-background-networking", "--disable-dev-shm-usage", "--user-data-dir="+t.TempDir(),
		"--window-size=1200,900", "--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom",
		"file://"+tried)...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err = c.Run()
	must.Need(t, err == nil || errors.Is(err, exec.ErrWaitDelay), "chromium", err, stderr.String())
	found := regexp.MustCompile(`(?s)<pre id="result">(.*?)</pre>`).FindSubmatch(stdout.Bytes())
	must.Need(t, found != nil, "the script did not end", stdout.String())
	for line := range strings.Lines(stderr.String()) {
		must.Be(t, !strings.Contains(line, ":CONSOLE"), line)
	}
	result := []byte(strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&nbsp;", " ").
		Replace(string(found[1])))
	var r struct {
		Failed string
		Faults []string
	}
	must.Do(t, json.Unmarshal(result, &r), result)
	must.Need(t, r.Failed == "" && len(r.Faults) == 0, r.Failed, r.Faults)
	must.Do(t, json.Unmarshal(result, into), result)
}

func reportOnDisk(t *testing.T) string {
	t.Helper()
	d := sample()
	d.Pairs[1].Executions[1].Columns = append(d.Pairs[1].Executions[1].Columns, dataset.Column{
		Name: dataset.CoreCycles, Unit: "cycles", Core: 0, Counts: slices.Repeat([]uint64{7}, 400)})
	facts := &Facts{}
	for i := range d.Pairs[1].Executions {
		facts.Add(throttledRun(d.Pairs[1].Key, i+1))
	}
	dir := t.TempDir()
	must.Get(WriteSite(durable.OS(), dir, Material{Document: analysed(t, d), Data: d, Facts: facts}))(t)
	return dir
}

// throttledRun is a record of 400 iterations of 0.3 s, the first at 100 s; at 130.1 s, in iteration
// 101, the kernel speaks.
func throttledRun(k key.Key, number int) *results.Record {
	r := hotRun()
	r.Key, r.Pexec, r.Slot = k, number, number
	r.StartNS, r.WallNS = nil, nil
	for i := range int64(400) {
		r.StartNS, r.WallNS = append(r.StartNS, 100e9+i*3e8), append(r.WallNS, 3e8)
	}
	r.Machine.KernelLog.Lines = []string{"[  130.100000] mce: <b>hot</b>"}
	return r
}

// TestFrontPageInBrowser: tables sort and filter, links lead to pages.
func TestFrontPageInBrowser(t *testing.T) {
	var r struct {
		Before, Ascending, Descending, ByPerformance, Filtered []string
		Aria, Shown, Link                                      string
	}
	try(t, filepath.Join(reportOnDisk(t), "index.html"), `
const names=()=>[...document.querySelectorAll("#table tbody tr")].filter((r)=>!r.hidden).map((r)=>r.cells[0].textContent);
const head=(i)=>document.querySelectorAll("#table thead th")[i];
const r={before:names()};
head(0).querySelector("button").click(); r.ascending=names(); r.aria=head(0).getAttribute("aria-sort");
head(0).querySelector("button").click(); r.descending=names();
head(7).querySelector("button").click(); r.byPerformance=names();
document.getElementById("filter").value="WARM"; document.getElementById("filter").dispatchEvent(new Event("input")); r.filtered=names();
r.shown=document.getElementById("shown").textContent; r.link=document.querySelector("#table tbody tr:not([hidden]) a").getAttribute("href");
return r;`, &r)
	reversed := slices.Clone(r.Ascending)
	slices.Reverse(reversed)
	switch {
	case len(r.Before) != 9 || slices.Equal(r.Before, r.Ascending) || r.Aria != "ascending" ||
		!slices.Equal(r.Descending, reversed):
		t.Errorf("sorted from %q to %q and %q", r.Before, r.Ascending, r.Descending)
	case r.ByPerformance[0] != display.PlainLine(hostile):
		t.Errorf("by performance: %q", r.ByPerformance)
	case !slices.Equal(r.Filtered, []string{"warm_up"}) || r.Shown != "1 of 9 keys" ||
		r.Link != "keys/k0001.html":
		t.Errorf("filtered %q, %q, link %q", r.Filtered, r.Shown, r.Link)
	}
}

// TestKeyAgainstKey: another key is chosen on a key's page and drawn in the same plot, whose axis
// and values are then of both.
func TestKeyAgainstKey(t *testing.T) {
	var r struct {
		Alone, Both, Again int
		Hidden, Gone       bool
		Focus, Note, Value string
		Options            []string
	}
	try(t, filepath.Join(reportOnDisk(t), "keys", "k0001.html"), `
const $=(id)=>document.getElementById(id);
const press=(key)=>$("plot").dispatchEvent(new KeyboardEvent("keydown",{key}));
const painted=()=>{const c=document.querySelector("#plot .main canvas"), d=c.getContext("2d").getImageData(0,0,c.width,c.height).data, w=[155,61,143];
 let n=0; for(let i=0;i<d.length;i+=4) if(w.every((v,k)=>Math.abs(d[i+k]-v)<12)&&d[i+3]>200) n++; return n;};
await until(()=>$("plot").dataset.range);
await new Promise((f)=>setTimeout(f,50));
const r={alone:painted(), hidden:$("rival").hidden};
$("against").focus(); r.focus=document.activeElement.id;
r.options=[...$("against").options].map((o)=>o.textContent);
$("against").value="2"; $("against").dispatchEvent(new Event("change"));
await until(()=>!$("rival").hidden); await new Promise((f)=>setTimeout(f,50));
r.note=$("rival").textContent; r.both=painted();
for(let i=0;i<99;i++) press("ArrowLeft"); r.value=$("value").textContent;
$("against").value=""; $("against").dispatchEvent(new Event("change")); await new Promise((f)=>setTimeout(f,50));
r.again=painted(); r.gone=$("rival").hidden;
return r;`, &r)
	switch {
	case !r.Hidden || !r.Gone || r.Alone > 0 || r.Again > 0 || r.Both < 100:
		t.Errorf("points of the other key: %d, then %d, then %d", r.Alone, r.Both, r.Again)
	case r.Focus != "against" || len(r.Options) < 3 ||
		!strings.HasPrefix(r.Note, r.Options[2]+", execution 1"):
		t.Errorf("of %q: %q", r.Options, r.Note)
	case !strings.Contains(r.Value, "iteration 1: wall 50") ||
		!strings.Contains(r.Value, "; "+r.Options[2]+" "):
		t.Errorf("value %q", r.Value)
	}
}

// TestKeyPageInBrowser: values are read, zoomed and panned by keyboard, and other executions are
// chosen.
func TestKeyPageInBrowser(t *testing.T) {
	var r struct {
		Whole, Value, Zoomed, Panned, Reset, Execution string
		Hot, Hash                                      string
		Headings, Events                               []string
		Canvases, Inset                                int
		Hidden, InsetZoomed                            bool
	}
	try(t, filepath.Join(reportOnDisk(t), "keys", "k0001.html"), `
const $=(id)=>document.getElementById(id), range=()=>$("plot").dataset.range;
const press=(key)=>$("plot").dispatchEvent(new KeyboardEvent("keydown",{key}));
await until(()=>range());
const r={whole:range(),inset:document.querySelectorAll(".inset canvas").length};
r.events=[...document.querySelectorAll("#events li")].map((e)=>e.textContent);
document.querySelector("#events .kernel button").click(); r.hot=$("value").textContent;
press("0");
for(let i=0;i<99;i++) press("ArrowLeft"); r.value=$("value").textContent;
press("+"); await new Promise((f)=>setTimeout(f,50)); r.zoomed=range();
press("PageDown"); await new Promise((f)=>setTimeout(f,50)); r.panned=range();
press("0"); await new Promise((f)=>setTimeout(f,50)); r.reset=range();
$("execution").value="1"; $("execution").dispatchEvent(new Event("change"));
await until(()=>document.querySelectorAll("#more canvas").length>0);
r.headings=[...document.querySelectorAll("#more h3")].map((h)=>h.textContent);
press("]"); r.execution=$("execution").value; r.hash=location.hash; press("0"); r.hidden=document.querySelector(".inset").hidden; press("+"); await new Promise((f)=>setTimeout(f,50)); r.insetZoomed=document.querySelector(".inset").hidden; r.canvases=document.querySelectorAll("#plot canvas").length;
return r;`, &r)
	span := func(s string) (low, high float64) {
		_, err := fmt.Sscan(s, &low, &high)
		must.Be(t, err == nil, "range", s, err)
		return low, high
	}
	low, high := span(r.Zoomed)
	_, panned := span(r.Panned)
	switch {
	case r.Whole != "1 400" || r.Reset != "1 400" || high-low > 200 || panned <= high:
		t.Errorf("ranges %s, %s, %s, %s", r.Whole, r.Zoomed, r.Panned, r.Reset)
	case !strings.HasPrefix(r.Value, "iteration 2: wall 50") ||
		!strings.Contains(r.Value, "segment mean 500.1708 ms"):
		t.Errorf("value %q", r.Value)
	case len(r.Events) != 4 ||
		!slices.Contains(r.Events, "iteration 101 kernel: [  130.100000] mce: <b>hot</b>"):
		t.Errorf("events %q", r.Events)
	case !strings.Contains(r.Hot, "iteration 101: wall") || !strings.Contains(r.Hot, "mce: <b>hot</b>"):
		t.Errorf("at the event it says %q", r.Hot)
	case r.Inset != 1 || r.Hidden || !r.InsetZoomed || r.Hash != "#3":
		t.Errorf("%d insets, hidden %v and %v, address %s", r.Inset, r.Hidden, r.InsetZoomed, r.Hash)
	case !slices.Equal(r.Headings, []string{"cycles per core"}) || r.Execution != "2" || r.Canvases != 3:
		t.Errorf("%+v", r)
	}
}

// layout is what a script finds out about a page.
type layout struct {
	Wide   []string // elements that reach beyond the window
	Pages  int      // number of pages that were looked at
	Table  float64  // distance of the table from the top of the page
	Box    float64  // of the list of weaknesses
	Folded bool     // the details of a weakness are hidden
	Reason string   // of the failed executions, on the front page
	Paper  string   // background of the page
	Tools  string   // display of the tools in print
}

// TestResultsComeFirst: at 1200 by 900 the table begins in the window, above what weakens it, whose
// details are folded; the reason of a failed execution is on the front page.
func TestResultsComeFirst(t *testing.T) {
	var l layout
	try(t, filepath.Join(reportOnDisk(t), "index.html"), `
const top=(id)=>document.getElementById(id).getBoundingClientRect().top;
const details=document.querySelector(".lines.warn details");
return {table:top("table"),box:top("warnings"),folded:!details.open&&details.querySelector("p").checkVisibility?.()!==true,
 reason:document.querySelector(".alert").textContent,paper:getComputedStyle(document.body).backgroundColor};`, &l)

	const reason = "1 execution failed: error: signal SIGSEGV"
	if l.Table > 500 || l.Box < l.Table || !l.Folded || l.Reason != reason ||
		l.Paper != "rgb(255, 255, 255)" {
		t.Errorf("%+v", l)
	}
}

// TestNarrowPages: in a window of 400 pixels no page scrolls sideways, with names of 120 letters.
func TestNarrowPages(t *testing.T) {
	d := sample()
	d.Pairs[0].Key.Benchmark = "org.apache.commons." + strings.Repeat("verylong", 12) + ".FastMath.sin"
	dir := t.TempDir()
	must.Get(WriteSite(durable.OS(), dir, Material{Document: analysed(t, d), Data: d}))(t)
	comparePageFile(t, dir)
	frames := ""
	for _, page := range []string{"index.html", "keys/k0000.html", "keys/k0006.html", "ab.html"} {
		frames += fmt.Sprintf(`<iframe width="400" height="800" style="border:0" src="%s"></iframe>`, page)
	}
	html := "<!DOCTYPE html><html><head></head><body>" + frames + "</body></html>"
	must.Do(t, os.WriteFile(filepath.Join(dir, "frames.html"), []byte(html), 0o644))
	var l layout
	try(t, filepath.Join(dir, "frames.html"), `
const wide=[], pages=[...document.querySelectorAll("iframe")].map((f)=>f.contentDocument);
await until(()=>pages.every((d)=>d.readyState==="complete"&&d.body.children.length>2));
await new Promise((r)=>setTimeout(r,300));
for(const d of pages){
 if(d.documentElement.scrollWidth>400) wide.push(d.title+" is "+d.documentElement.scrollWidth+" pixels wide");
 for(const e of d.querySelectorAll("body *")) if(e.getBoundingClientRect().right>400.5&&!e.closest(".sr,.skip,.scroll.wide")) wide.push(d.title+" "+e.tagName+"."+e.className+" "+e.textContent.slice(0,40));
}
return {pages:pages.length,wide:wide.slice(0,9)};`, &l, "--allow-file-access-from-files")

	must.Be(t, l.Pages == 4 && len(l.Wide) <= 0, l.Pages, "pages, too wide", l.Wide)
}

// TestPrintAndDark: print has no controls and everything unfolded; the dark setting has dark paper.
func TestPrintAndDark(t *testing.T) {
	var l layout
	try(t, filepath.Join(reportOnDisk(t), "index.html"), `
const paper=getComputedStyle(document.body).backgroundColor;
dispatchEvent(new Event("beforeprint"));
for(const sheet of document.styleSheets) for(const rule of sheet.cssRules) if(rule.media?.mediaText==="print") rule.media.mediaText="all";
return {paper,tools:getComputedStyle(document.querySelector(".tools")).display,folded:[...document.querySelectorAll("details")].some((e)=>!e.open)};`, &l,
		"--blink-settings=preferredColorScheme=0", "--allow-file-access-from-files")

	must.Be(t, l.Tools == "none" && !l.Folded && l.Paper == "rgb(20, 23, 26)", l)
}

package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/rig/must"
)

// layout is what a script finds out about a page.
type layout struct {
	Failed string
	Faults []string
	Wide   []string // elements that reach beyond the window
	Pages  int      // number of pages that were looked at
	Table  float64  // distance of the table from the top of the page
	Box    float64  // of the list of weaknesses
	Folded bool     // the details of a weakness are hidden
	Reason string   // of the failed executions, on the front page
	Paper  string   // background of the page
	Tools  string   // display of the tools in print
}

func (l *layout) read(t *testing.T, text []byte, console string) {
	t.Helper()
	must.Do(t, json.Unmarshal(text, l), text)
	must.Be(t, l.Failed == "" && len(l.Faults) == 0 && console == "", l.Failed, l.Faults, console)
}

// TestResultsComeFirst: at 1200 by 900 the table begins in the window, above what weakens it, whose
// details are folded; the reason of a failed execution is on the front page.
func TestResultsComeFirst(t *testing.T) {
	var l layout
	text, console := browse(t, filepath.Join(reportOnDisk(t), "index.html"), `
const top=(id)=>document.getElementById(id).getBoundingClientRect().top;
const details=document.querySelector(".lines.warn details");
return {table:top("table"),box:top("warnings"),folded:!details.open&&details.querySelector("p").checkVisibility?.()!==true,
 reason:document.querySelector(".alert").textContent,paper:getComputedStyle(document.body).backgroundColor};`)
	l.read(t, text, console)
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
	must.Get(Site(disk(dir), Material{Document: analysed(t, d), Data: d}))(t)
	comparePageFile(t, dir)
	frames := ""
	for _, page := range []string{"index.html", "keys/k0000.html", "keys/k0006.html", "ab.html"} {
		frames += fmt.Sprintf(`<iframe width="400" height="800" style="border:0" src="%s"></iframe>`, page)
	}
	html := "<!DOCTYPE html><html><head></head><body>" + frames + "</body></html>"
	must.Do(t, os.WriteFile(filepath.Join(dir, "frames.html"), []byte(html), 0o644))
	var l layout
	text, console := browse(t, filepath.Join(dir, "frames.html"), `
const wide=[], pages=[...document.querySelectorAll("iframe")].map((f)=>f.contentDocument);
await until(()=>pages.every((d)=>d.readyState==="complete"&&d.body.children.length>2));
await new Promise((r)=>setTimeout(r,300));
for(const d of pages){
 if(d.documentElement.scrollWidth>400) wide.push(d.title+" is "+d.documentElement.scrollWidth+" pixels wide");
 for(const e of d.querySelectorAll("body *")) if(e.getBoundingClientRect().right>400.5&&!e.closest(".sr,.skip,.scroll.wide")) wide.push(d.title+" "+e.tagName+"."+e.className+" "+e.textContent.slice(0,40));
}
return {pages:pages.length,wide:wide.slice(0,9)};`, "--allow-file-access-from-files")
	l.read(t, text, console)
	must.Be(t, l.Pages == 4 && len(l.Wide) <= 0, l.Pages, "pages, too wide", l.Wide)
}

// TestPrintAndDark: print has no controls and everything unfolded; the dark setting has dark paper.
func TestPrintAndDark(t *testing.T) {
	var l layout
	text, console := browse(t, filepath.Join(reportOnDisk(t), "index.html"), `
const paper=getComputedStyle(document.body).backgroundColor;
dispatchEvent(new Event("beforeprint"));
for(const sheet of document.styleSheets) for(const rule of sheet.cssRules) if(rule.media?.mediaText==="print") rule.media.mediaText="all";
return {paper,tools:getComputedStyle(document.querySelector(".tools")).display,folded:[...document.querySelectorAll("details")].some((e)=>!e.open)};`,
		"--blink-settings=preferredColorScheme=0", "--allow-file-access-from-files")
	l.read(t, text, console)
	must.Be(t, l.Tools == "none" && !l.Folded && l.Paper == "rgb(20, 23, 26)", l)
}

package pages

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/hub/database/dbtest"
	"krund/internal/report"
	"krund/rig/browser"
	"krund/rig/must"
)

// onDisk receives a report.
type onDisk string

func (d onDisk) Create(name string) (io.WriteCloser, error) {
	file := filepath.Join(string(d), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, err
	}
	return os.Create(file)
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
	must.Get(report.Site(onDisk(dir), report.Material{Document: doc, Data: d,
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

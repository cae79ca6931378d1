package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/hub/database"
	"krund/internal/hub/pages"
	"krund/rig/browser"
	"krund/rig/must"
)

// shots is a directory for pictures of the pages: those in docs/img are from it (`make
// hub-screens`).
var shots = flag.String("screens", "", "directory for pictures of the hub's pages")

func TestMain(m *testing.M) { browser.Main(m) }

// screens looks at the pages of the demonstration as a reader does, 390, 1400 and 2560 pixels wide,
// light and dark: nothing is wider than the window or leaves half of it empty, no picture has to be
// moved sideways, axe finds nothing to say about accessibility, and without scripts the same is
// there. slow is the experiment with the slow revision.
func screens(t *testing.T, url, token, slow string, events []database.Event) {
	of := map[string]database.Event{}
	for _, e := range events {
		of[e.Verdict+" "+e.Machine] = e
	}
	const pictured = 7 // pages that the documentation shows
	list := []struct{ name, path string }{
		{"front", "/"}, {"experiments", "/experiments"}, {"finished", "/experiments/" + slow},
		{"overview", "/history?sort=change"}, {"graph", "/history/" + nightly + "?machine=" + culprit},
		{"event", "/events/" + of["machine "+culprit].ID}, {"machine", "/machines/" + culprit},
		{"queue", "/queue"}, {"tokens", "/tokens"}, {"compare", "/compare"}, {"login", "/login"},
		{"events", "/events"}, {"machines", "/machines"}, {"runs", "/runs"},
	}
	axe := accessibility(t)
	p := browser.New(t, 1400)
	p.Do("Network.setCookie", browser.Object{"name": pages.Cookie, "value": token, "url": url}, nil)
	for i, page := range list {
		var with []browser.Node
		var pictures []image.Image
		for _, width := range []int{390, 1400, 2560} {
			for _, scheme := range []string{"light", "dark"} {
				// axe takes a second: it sees each scheme once, each at another width.
				once := width == 390 && scheme == "dark" || width == 1400 && scheme == "light"
				wide, shown := width == 2560, *shots != "" && i < pictured
				if wide && scheme == "dark" || !wide && !once && !shown {
					continue
				}
				script := ""
				if once {
					script = axe
				}
				p.Do("Emulation.setDeviceMetricsOverride", browser.Object{"width": width, "height": 900,
					"deviceScaleFactor": 1, "mobile": false}, nil)
				p.Do("Emulation.setEmulatedMedia", browser.Object{"features": []browser.Object{
					{"name": "prefers-color-scheme", "value": scheme}}}, nil)
				p.Open(url + page.path)
				what := fmt.Sprintf("%s-%d-%s", page.name, width, scheme)
				look(t, p, what, width, script)
				if with = said(p); shown && !wide {
					pictures = append(pictures, picture(t, p, width))
				}
			}
		}
		if len(pictures) > 0 {
			write(t, filepath.Join(*shots, "hub-"+page.name+".png"), pictures)
		}
		p.Do("Emulation.setScriptExecutionDisabled", browser.Object{"value": true}, nil)
		p.Open(url + page.path)
		without := slices.DeleteFunc(said(p), func(n browser.Node) bool { return n.Name == "load it again" })
		must.EqualList(t, without, with, page.name, "without scripts")
		p.Do("Emulation.setScriptExecutionDisabled", browser.Object{"value": false}, nil)
	}
	report(t, p, url, "/experiments/"+slow+"/report", axe)
	c := p.Complaints()
	must.Be(t, len(c) == 0, strings.Join(c, "\n"))
}

// report looks at the report of an experiment: it has the hub's head, and its pages and links are
// within the hub's addresses, although a sandbox keeps its scripts from the session.
func report(t *testing.T, p *browser.Tab, url, path, axe string) {
	t.Helper()
	p.Do("Emulation.setDeviceMetricsOverride", browser.Object{"width": 1400, "height": 900,
		"deviceScaleFactor": 1, "mobile": false}, nil)
	at := func() (path string) { p.Eval("location.pathname", &path); return path }
	for ready := false; !ready; p.Eval(`!!document.querySelector("#table")`, &ready) {
		p.Open(url + path) // the hub waits with its answer
	}
	must.Equal(t, at(), path+"/index.html")
	look(t, p, "report-1400-dark", 1400, axe)
	p.Click("#table tbody a")
	must.Equal(t, at(), path+"/keys/k0000.html")
	p.Eval(`new Promise((done)=>{const look=()=>document.querySelector("#plot canvas")?done():setTimeout(look,10);
look()})`, nil) // for ever if the plot is not drawn
	p.Click(`nav[aria-label=hub] a[href="/queue"]`)
	must.Equal(t, at(), "/queue")
}

// said are the headings, links and controls of a page as a screen reader has them.
func said(p *browser.Tab) []browser.Node {
	return slices.DeleteFunc(p.Reads(), func(n browser.Node) bool {
		return !slices.Contains([]string{"heading", "link", "image", "button", "textbox", "combobox"}, n.Role)
	})
}

// look checks a page that is open.
func look(t *testing.T, p *browser.Tab, what string, width int, axe string) {
	t.Helper()
	var size struct{ Width, Height, Left, Right, Hidden int }
	p.Eval(`(()=>{const main=document.querySelector("main").getBoundingClientRect();
return {width:document.documentElement.scrollWidth,height:document.documentElement.scrollHeight,
left:Math.round(main.left),right:Math.round(innerWidth-main.right),
hidden:[...document.querySelectorAll("figure")].filter((f)=>f.scrollWidth>f.clientWidth).length}})()`, &size)
	must.Be(t, size.Width <= width && size.Hidden == 0, what, size)
	must.Be(t, strings.HasPrefix(what, "report") || 10*max(size.Left, size.Right) < width, what, size)
	if axe != "" {
		var found []string
		p.Eval(axe+`;axe.run(document,{resultTypes:["violations"],preload:false}).then((r)=>r.violations.map((v)=>
v.id+": "+v.help+" "+v.nodes.slice(0,3).map((n)=>n.html.slice(0,200)).join(" ")))`, &found)
		must.Be(t, len(found) == 0, what, strings.Join(found, "\n"))
	}
}

// picture takes one of the top of a page, smaller than it is.
func picture(t *testing.T, p *browser.Tab, width int) image.Image {
	t.Helper()
	const height, scale = 1000, 0.65
	var taken struct{ Data []byte }
	p.Do("Page.captureScreenshot", browser.Object{"format": "png", "captureBeyondViewport": true,
		"clip": browser.Object{"x": 0, "y": 0, "width": width, "height": height, "scale": scale}}, &taken)
	return must.Get(png.Decode(bytes.NewReader(taken.Data)))(t)
}

// write stores four pictures of a page as one: 390 pixels wide, light and dark, and 1400, light and
// dark.
func write(t *testing.T, file string, four []image.Image) {
	t.Helper()
	const gap = 12
	small, large := four[0].Bounds().Size(), four[2].Bounds().Size()
	sheet := image.NewRGBA(image.Rect(0, 0, large.X+gap+small.X, 2*large.Y+gap))
	draw.Draw(sheet, sheet.Bounds(), image.NewUniform(color.Gray{Y: 0x80}), image.Point{}, draw.Src)
	for i, one := range four {
		at := image.Pt((large.X+gap)*(1-i/2), (large.Y+gap)*(i%2))
		draw.Draw(sheet, one.Bounds().Add(at), one, image.Point{}, draw.Src)
	}
	var b bytes.Buffer
	must.Do(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, sheet))
	must.Do(t, os.WriteFile(file, b.Bytes(), 0o644))
}

// accessibility returns the script of axe-core, which npm fetches once; "" where npm cannot.
func accessibility(t *testing.T) string {
	t.Helper()
	const version = "4.14.1"
	cache := must.Get(os.UserCacheDir())(t)
	dir := filepath.Join(cache, "krund-tests", "axe-core-"+version)
	script := filepath.Join(dir, "package", "axe.min.js")
	text, err := os.ReadFile(script)
	if err != nil {
		if err = os.MkdirAll(dir, 0o755); err == nil {
			err = in(dir, "npm", "pack", "--silent", "axe-core@"+version)
		}
		if err == nil {
			err = in(dir, "tar", "-xzf", "axe-core-"+version+".tgz", "package/axe.min.js")
		}
		if err == nil {
			text, err = os.ReadFile(script)
		}
	}
	if err != nil {
		t.Log("npm did not fetch axe-core; accessibility is checked by the other tests only:", err)
		return ""
	}
	return string(text)
}

// in runs a program in a directory.
func in(dir, name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		return errors.Join(err, errors.New(string(out)))
	}
	return nil
}

package pages

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"path"
	"reflect"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/report"
)

//go:embed assets
var assets embed.FS

// Policy is the Content-Security-Policy of the hub's own pages. Their figures have a style sheet.
var Policy = func() string {
	sum := sha256.Sum256([]byte(report.FigureStyle()))
	return "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src 'self'; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

// Write writes a page, one of the types of this package. MachinePage is in machine.html.
func Write(w io.Writer, page any) error {
	name := strings.ToLower(strings.TrimSuffix(reflect.TypeOf(page).Name(), "Page")) + ".html"
	var b bytes.Buffer // whole or not at all
	if err := templates.ExecuteTemplate(&b, name, page); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	_, err := b.WriteTo(w)
	return err
}

// media are the types of files.
var media = map[string]string{".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".csv": "text/csv; charset=utf-8",
	".parquet": "application/vnd.apache.parquet", ".json": "application/json"}

// Static returns a file of the pages, and its media type.
func Static(name string) ([]byte, string, error) {
	kind := path.Ext(name)
	if name == "report.css" {
		return report.Style(), media[kind], nil
	}
	text, err := assets.ReadFile("assets/" + name)
	if err != nil || kind == ".html" {
		return nil, "", fmt.Errorf("there is no %s", display.Middle(name, mostName))
	}
	return text, media[kind], nil
}

// Limits of untrusted text on a page.
const (
	mostName = 120  // characters
	mostText = 1000 // bytes
)

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"name":     func(s string) template.HTML { return isolated(clean(s)) },
	"text":     text,
	"clean":    clean,
	"plural":   display.Count,
	"left":     left,
	"plain":    display.PlainLine,
	"shell":    func(s string) string { return display.ShellQuote(clean(s)) },
	"series":   historyAddress,
	"grouped":  grouped,
	"percent":  func(ratio float64) string { return fmt.Sprintf("%+.1f%%", 100*(ratio-1)) },
	"moment":   moment,
	"hash":     func(s string) string { return display.Head(display.PlainLine(s), 12) },
	"sections": func() []Section { return sections },
}).ParseFS(assets, "assets/*.html"))

// Section is an entry of the navigation.
type Section struct{ Name, Text, Address string }

var sections = []Section{
	{"front", "Now", "/"}, {"events", "Events", "/events"}, {"history", "History", "/history"},
	{"experiments", "Experiments", "/experiments"}, {"queue", "Queue", "/queue"},
	{"machines", "Machines", "/machines"}, {"compare", "Compare", "/compare"},
	{"tokens", "Tokens", "/tokens"},
}

// clean is an untrusted name.
func clean(s string) string { return display.Middle(display.PlainLine(s), mostName) }

// text is an untrusted message.
func text(s string) template.HTML { return isolated(display.Clip(display.PlainLine(s), mostText)) }

// isolated is untrusted text in a direction of its own.
func isolated(s string) template.HTML {
	if s == "" {
		return ""
	}
	return template.HTML("<bdi>" + template.HTMLEscapeString(s) + "</bdi>")
}

// left is a remaining time in words.
func left(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	if d < time.Minute {
		return fmt.Sprintf("%ds", max(1, int(d.Round(time.Second)/time.Second)))
	}
	return display.Duration(d)
}

// moment is a time beside the time of the page.
func moment(t, now time.Time) template.HTML {
	if t.IsZero() {
		return `<span class="none">never</span>`
	}
	t = t.UTC()
	ago := now.Sub(t).Truncate(time.Second)
	text := left(ago) + " ago"
	switch {
	case ago < 0:
		text = "in " + left(-ago)
	case ago == 0:
		text = "now"
	}
	stamp := t.Format(time.RFC3339)
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s UTC">%s</time>`, stamp,
		strings.TrimSuffix(strings.Replace(stamp, "T", " ", 1), "Z"), text))
}

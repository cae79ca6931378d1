package pages

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
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

// Write writes a page, one of the types of this package.
func Write(w io.Writer, page any) error {
	name, err := templateOf(page)
	if err != nil {
		return err
	}
	var b bytes.Buffer // whole or not at all
	if err := templates.ExecuteTemplate(&b, name, page); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	_, err = b.WriteTo(w)
	return err
}

func templateOf(page any) (string, error) {
	switch page.(type) {
	case Machines:
		return "machines.html", nil
	case MachinePage:
		return "machine.html", nil
	case Queue:
		return "queue.html", nil
	case Experiments:
		return "experiments.html", nil
	case ExperimentPage:
		return "experiment.html", nil
	case Compare:
		return "compare.html", nil
	case Front:
		return "front.html", nil
	case Overview:
		return "overview.html", nil
	case HistoryPage:
		return "history.html", nil
	case Events:
		return "events.html", nil
	case EventPage:
		return "event.html", nil
	case Tokens:
		return "tokens.html", nil
	case Login:
		return "login.html", nil
	case Message:
		return "message.html", nil
	}
	return "", fmt.Errorf("write the page: %T is not a page", page)
}

// Static returns a file of the pages, and its media type.
func Static(name string) (text []byte, media string, err error) {
	switch name {
	case "report.css":
		return report.Style(), "text/css; charset=utf-8", nil
	case "hub.css":
		media = "text/css; charset=utf-8"
	case "icon.svg":
		media = "image/svg+xml"
	case "hub.js":
		media = "text/javascript; charset=utf-8"
	default:
		return nil, "", fmt.Errorf("there is no %s", display.Middle(name, mostName))
	}
	text, err = assets.ReadFile("assets/" + name)
	return text, media, err
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

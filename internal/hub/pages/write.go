package pages

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"path"
	"reflect"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/hub/database"
	"krund/internal/hub/jobs"
	"krund/internal/hub/store"
	"krund/internal/hub/watch"
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

// document returns the handler of what a page shows as JSON, without its frame and pictures. It has
// an ETag, so that a client that asks again gets no more than that nothing has changed.
func (p *Pages) document(make func(*http.Request, Frame) (any, error)) http.HandlerFunc {
	return p.try(func(w http.ResponseWriter, r *http.Request) error {
		page, err := make(r, p.frame(r))
		if err != nil {
			return err
		}
		text, err := json.Marshal(page)
		if err == nil {
			w.Header().Set("Content-Type", media[".json"])
			w.Header().Set("X-Content-Type-Options", "nosniff")
			send(w, r, text)
		}
		return err
	})
}

// send answers with an ETag.
func send(w http.ResponseWriter, r *http.Request, text []byte) {
	sum := sha256.Sum256(text)
	w.Header().Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:16])+`"`)
	w.Header().Set("Cache-Control", "private, no-cache") // another one may not see it
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

// Answer sends a document as JSON.
func Answer(w http.ResponseWriter, code int, document any) {
	w.Header().Set("Content-Type", media[".json"])
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(document) // the client may have gone
}

// Failed is the answer to a request that failed.
type Failed struct {
	Error string `json:"error"`
}

// refusal is an error with its status; its text is sent.
type refusal struct {
	status int
	text   string
}

func (r refusal) Error() string { return r.text }

// Refuse returns an error that is sent with a status.
func Refuse(status int, format string, args ...any) error {
	return refusal{status, fmt.Sprintf(format, args...)}
}

// statuses are those of errors whose text may be sent.
var statuses = []struct {
	of   error
	code int
}{
	{database.ErrQuota, http.StatusRequestEntityTooLarge},
	{watch.ErrMany, http.StatusTooManyRequests},
	{watch.ErrSignature, http.StatusUnauthorized},
	{database.ErrMissing, http.StatusNotFound},
	{store.ErrMissing, http.StatusNotFound},
	{database.ErrDeleted, http.StatusGone},
	{database.ErrConflict, http.StatusConflict},
	{database.ErrRuns, http.StatusConflict},
	{jobs.ErrEnded, http.StatusConflict},
	{database.ErrLastAdmin, http.StatusConflict},
	{database.ErrTaken, http.StatusConflict},
	{database.ErrMany, http.StatusConflict},
	{database.ErrManyTokens, http.StatusConflict},
	{database.ErrRevoked, http.StatusUnauthorized},
	{database.ErrRole, http.StatusForbidden},
	{store.ErrHash, http.StatusBadRequest},
	{store.ErrShort, http.StatusBadRequest},
}

// Status returns the status for an error, and reports whether its text may be sent. What is not
// known to be wrong with the request is a failure of the hub, its database or its store, such as a
// connection that was lost: the same request may succeed later.
func Status(err error) (code int, known bool) {
	var refused refusal
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &refused):
		return refused.status, true
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, true
	}
	for _, one := range statuses {
		if errors.Is(err, one.of) {
			return one.code, true
		}
	}
	return http.StatusServiceUnavailable, false
}

// Fail answers with an error. What it says of the hub's own failures is in the log only.
func (p *Pages) Fail(w http.ResponseWriter, r *http.Request, err error) {
	code, known := Status(err)
	text := err.Error()
	if !known {
		level := slog.LevelError
		if r.Context().Err() != nil { // there is no one to answer
			level = slog.LevelDebug
		}
		p.log.Log(r.Context(), level, "a request failed", "path", r.URL.Path, "error", err)
		text = "the hub could not do this; its log has the reason; try again later"
	}
	page := !strings.HasPrefix(r.URL.Path, "/api/") && strings.Contains(r.Header.Get("Accept"), "text/html")
	switch {
	case page && code == http.StatusUnauthorized && r.Method == http.MethodGet:
		http.Redirect(w, r, "/login?"+next(r.URL.RequestURI()), http.StatusSeeOther)
	case page:
		f := p.frame(r)
		f.Title = http.StatusText(code)
		p.show(w, r, code, Message{f, text, Link{"What changed, and what runs", "/"}})
	default:
		if code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		Answer(w, code, Failed{text})
	}
}

package pages

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"krund/internal/display"
	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/internal/hub/rebuild"
	"krund/internal/hub/store"
	"krund/internal/machine/command"
	"krund/internal/report"
)

// Bounds of making reports; see rebuild.Krunctl for those of one.
const (
	atOnce     = 2               // processes
	patience   = 5 * time.Second // of a request that waits for one
	viewTime   = 12 * time.Hour
	mostViews  = 10000
	mostOfUser = 5  // reports that wait or are being made for one user
	mostQueued = 50 // and for all
)

// reports makes reports and comparisons, and keeps them as long as the records are the same.
type reports struct {
	Options
	ctx   context.Context
	cache *rebuild.Cache
	slots chan struct{} // one for each process that may run
	wait  time.Duration // of a request for one that is being made

	mu    sync.Mutex
	jobs  map[string]*making // by key
	views map[string]view    // by token
}

// making is a report that is being made, or could not be.
type making struct {
	by   string // who asked first
	done chan struct{}
	err  error // once done
}

// view is a permission to read the scripts and data of a report. Its token is in their address: a
// report is sandboxed, so that browsers send no cookie when it loads them.
type view struct {
	dir   string
	of    []string // experiments
	until time.Time
	who   access.Identity // who asked: it ends with the token that this was asked with
}

func newReports(ctx context.Context, o Options, cache *rebuild.Cache) *reports {
	return &reports{Options: o, ctx: ctx, cache: cache, slots: make(chan struct{}, atOnce),
		wait: patience, jobs: map[string]*making{}, views: map[string]view{}}
}

// Directory brings the directory of an experiment up to date, and returns its path: it has
// MACHINE/NAME.krun for each machine that has shipped something.
func (p *Pages) Directory(ctx context.Context, experiment string) (string, error) {
	if _, err := p.db.Experiment(ctx, experiment); err != nil {
		return "", err
	}
	return p.reports.cache.Experiment(access.Hub(ctx), experiment) // others read it, too
}

// wanted is a report, or a comparison of two experiments or arms.
type wanted struct {
	key         string   // a text that changes when the result may
	experiments []string // ids
	args        []string // of krunctl, before the directories
	file        string   // that krunctl writes; "": a directory
}

// report sends a page of the report of an experiment. Its address lasts.
func (p *Pages) report(w http.ResponseWriter, r *http.Request) error {
	if r.PathValue("path") == "" {
		http.Redirect(w, r, experimentLink(r.PathValue("id"), "").Address+"/report/index.html",
			http.StatusSeeOther)
		return nil
	}
	return p.serveReport(w, r, r.PathValue("path"), wanted{key: "report",
		experiments: []string{r.PathValue("id")}, args: []string{"report"}})
}

// compare shows the choice of what to compare, or the comparison.
func (p *Pages) compare(w http.ResponseWriter, r *http.Request) error {
	if r.FormValue("before") == "" {
		p.page(p.compareForm)(w, r)
		return nil
	}
	return p.compared(w, r, "html", "index.html")
}

// compareJSON sends a comparison to a program.
func (p *Pages) compareJSON(w http.ResponseWriter, r *http.Request) error {
	return p.compared(w, r, "json", "compared.json")
}

func (p *Pages) compared(w http.ResponseWriter, r *http.Request, format, file string) error {
	before, after := r.FormValue("before"), r.FormValue("after")
	arms := [2]string{r.FormValue("arm-before"), r.FormValue("arm-after")}
	want := wanted{key: fmt.Sprintf("compare %s %q", format, arms), experiments: []string{before}, file: file,
		args: []string{"compare", "--format=" + format, "--fail-on=never"}}
	if after != "" && after != before {
		want.experiments = append(want.experiments, after)
	}
	if arms != [2]string{} {
		if strings.Contains(arms[0]+arms[1], ",") || arms[0] == "" || arms[1] == "" {
			return Refuse(http.StatusBadRequest, "Name both arms or neither; a name has no comma.")
		}
		want.args = append(want.args, "--arms="+arms[0]+","+arms[1])
	}
	return p.serveReport(w, r, want.file, want)
}

func (p *Pages) compareForm(r *http.Request, f Frame) (any, error) {
	f.Title, f.Section = "Compare", "compare"
	choices, err := p.choices(r, "")
	return Compare{Frame: f, Choices: choices}, err
}

// serveReport sends a file of a report when it is ready. Else it is made, and the browser asks
// again.
func (p *Pages) serveReport(w http.ResponseWriter, r *http.Request, file string, want wanted) error {
	for _, id := range want.experiments {
		version, err := p.db.ContentVersion(r.Context(), id)
		if err == nil && version == "" {
			err = fmt.Errorf("records of experiment %s: %w", clean(id), database.ErrMissing)
		}
		if err != nil {
			return err
		}
		want.key += fmt.Sprintf(" %q %s", id, version)
	}
	who := access.From(r.Context())
	job, dir, err := p.reports.start(want, who.Name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), p.reports.wait)
	defer cancel()
	select {
	case <-job.done:
		if job.err != nil {
			p.log.Warn("a report was not made", "path", r.URL.Path, "error", job.err)
			return Refuse(http.StatusUnprocessableEntity, "The report could not be made: %s",
				display.Clip(display.PlainLine(job.err.Error()), mostText))
		}
		return p.sendFile(w, r, dir, file, func(page []byte) []byte {
			files := "/view/" + p.reports.permit(dir, want.experiments, p.db.Now(), who) + "/"
			return p.dressed(r, page, want.experiments[0], files)
		})
	case <-ctx.Done():
		if path.Ext(want.file) == ".json" {
			w.Header().Set("Content-Type", media[".json"])
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, `{"state":"it is being made; ask again"}`) // the client may have gone
			return nil
		}
		f := p.frame(r)
		f.Title = "The report is being made"
		w.Header().Set("Refresh", "2") // a redirection follows soon
		p.show(w, r, http.StatusAccepted, Message{f,
			"It is made from the records. This page asks again by itself.",
			Link{"Do not wait", "/experiments/" + url.PathEscape(want.experiments[0])}})
	}
	return nil
}

// start returns the job that makes a report, and the directory where it will be.
func (s *reports) start(want wanted, by string) (*making, string, error) {
	key := rebuild.ReportOf(want.experiments, store.Hash([]byte(want.key+"\n"+display.Version())))
	dir := filepath.Join(s.Dir, rebuild.Reports, key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if job := s.jobs[key]; job != nil {
		return job, dir, nil
	}
	mine := 0
	for _, job := range s.jobs {
		if job.by == by {
			mine++
		}
	}
	if mine >= mostOfUser || len(s.jobs) >= mostQueued {
		return nil, "", Refuse(http.StatusTooManyRequests, "%d reports are being made, %d of "+
			"them for you. Open this one again when they are ready.", len(s.jobs), mine)
	}
	job := &making{by: by, done: make(chan struct{})}
	s.jobs[key] = job
	go func() {
		job.err = s.make(want, dir)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.jobs, key) // before any answer: after a failure the next request tries again
		close(job.done)
	}()
	return job, dir, nil
}

// make makes a report in a directory of its own, which gets its name when all is well.
func (s *reports) make(want wanted, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	ctx, cancel := context.WithTimeout(s.ctx, rebuild.Longest)
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return fmt.Errorf("make the directory of reports: %w", err)
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), "part-")
	if err != nil {
		return fmt.Errorf("make the directory of a report: %w", err)
	}
	if err = s.fill(ctx, part, want); err == nil {
		err = os.Rename(part, dir)
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(part))
	}
	return err
}

// fill runs krunctl in a directory where the experiments have their names: a report shows the names
// of its sources.
func (s *reports) fill(ctx context.Context, part string, want wanted) error {
	work, err := os.MkdirTemp(filepath.Dir(part), "work-")
	if err != nil {
		return fmt.Errorf("make a directory for krunctl: %w", err)
	}
	defer os.RemoveAll(work) //nolint:errcheck // the cache removes it, too
	args := append(slices.Clone(want.args), "-o", filepath.Join(part, want.file))
	for _, id := range want.experiments {
		from, err := s.cache.Experiment(ctx, id)
		if err != nil {
			return err
		}
		x, err := s.DB.Experiment(ctx, id)
		if err != nil {
			return err
		}
		name := x.Name
		if _, err := os.Lstat(filepath.Join(work, name)); err == nil || filepath.Ext(name) != "" {
			name += "-" + id
		}
		if err := os.Symlink(from, filepath.Join(work, name)); err != nil {
			return fmt.Errorf("name an experiment: %w", err)
		}
		args = append(args, name)
	}
	return s.krunctl(ctx, work, filepath.Join(part, cmp.Or(want.file, "index.html")), args)
}

// krunctl runs krunctl in the directory work; it writes a file. It may leave out records that are
// damaged.
func (s *reports) krunctl(ctx context.Context, work, file string, args []string) error {
	out, err := rebuild.Krunctl(ctx, s.Krunctl, work, args)
	if err == nil {
		return nil
	}
	_, missing := os.Stat(file)
	if missing == nil && !errors.Is(err, command.ErrTimeout) {
		return nil // records were left out, or nothing can be judged: the page shows that
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return errors.New(cmp.Or(lines[len(lines)-1], err.Error()))
}

// permit returns the token of a view, for the half of its time at least.
func (s *reports) permit(dir string, of []string, now time.Time, who access.Identity) string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails
	token := base64.RawURLEncoding.EncodeToString(b[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, v := range s.views {
		same := v.dir == dir && v.who.Token == who.Token && v.who.Name == who.Name
		if same && v.until.Sub(now) > viewTime/2 {
			return other
		}
		if len(s.views) >= mostViews || now.After(v.until) {
			delete(s.views, other)
		}
	}
	s.views[token] = view{dir, of, now.Add(viewTime), who}
	return token
}

// reportPolicy keeps a report in a sandbox: its scripts are those that it comes with, and they
// reach neither the hub nor its cookie.
var reportPolicy = func() string {
	sum := sha256.Sum256(report.Script())
	return "sandbox allow-scripts; default-src 'none'; script-src 'self' 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'; style-src 'self' 'unsafe-inline'; img-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// view sends scripts and data of a report.
func (p *Pages) view(w http.ResponseWriter, r *http.Request) error {
	s := p.reports
	s.mu.Lock()
	v, ok := s.views[r.PathValue("token")]
	s.mu.Unlock()
	if ok {
		valid, err := p.db.Permitted(r.Context(), v.who, v.of...)
		if err != nil {
			return err
		}
		ok = valid && !p.db.Now().After(v.until)
	}
	if !ok {
		return Refuse(http.StatusNotFound, "This address of a report is no longer valid. Open the report "+
			"again from its experiment.")
	}
	if path.Ext(r.PathValue("path")) == ".html" {
		http.NotFound(w, r) // pages have an address that lasts, and the hub's head
		return nil
	}
	return p.sendFile(w, r, v.dir, r.PathValue("path"), nil)
}

// sendFile sends a file of a directory with a report; dress changes the beginning of a page.
func (p *Pages) sendFile(w http.ResponseWriter, r *http.Request, dir, name string,
	dress func([]byte) []byte) error {
	const beginning = 16 << 20 // bytes, in which everything is that is changed
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Refuse(http.StatusNotFound, "This report was removed. Open it again from its experiment.")
	}
	defer root.Close() //nolint:errcheck // it was only read
	name = path.Clean(name)
	f, err := root.Open(name)
	if err != nil {
		return Refuse(http.StatusNotFound, "The report has no such page. Begin with its first one.")
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return Refuse(http.StatusNotFound, "The report has no such page. Begin with its first one.")
	}
	secure(w.Header(), reportPolicy)
	w.Header().Set("Content-Type", cmp.Or(media[path.Ext(name)], "text/plain; charset=utf-8"))
	if dress == nil || path.Ext(name) != ".html" {
		w.Header().Set("Cache-Control", "private, max-age=3600")
		http.ServeContent(w, r, "", info.ModTime(), f)
		return nil
	}
	w.Header().Set("Cache-Control", "no-store") // it has the secret of its files
	page := make([]byte, min(info.Size(), beginning))
	if _, err := io.ReadFull(f, page); err != nil {
		return fmt.Errorf("read a report: %w", err)
	}
	_, _ = w.Write(dress(page)) // the browser may have gone
	_, _ = io.Copy(w, f)
	return nil
}

// dressed is a page of a report with the hub's head; files is where its scripts, data and pictures
// are. In a page's text quotes are escaped, so that none is taken for an address.
func (p *Pages) dressed(r *http.Request, page []byte, experiment, files string) []byte {
	var bar bytes.Buffer
	f := p.frame(r)
	f.Section = "experiments"
	about := Link{Text: experiment, Address: experimentLink(experiment, "").Address}
	if x, err := p.db.Experiment(r.Context(), experiment); err == nil {
		about.Text = x.Series()
	}
	if err := templates.ExecuteTemplate(&bar, "reportbar", Message{Frame: f, Back: about}); err != nil {
		p.log.Error("the head of a report was not made", "error", err)
	}
	text := strings.NewReplacer(`"../assets/`, `"`+files+`assets/`, `"assets/`, `"`+files+`assets/`,
		`"../plots/`, `"`+files+`plots/`, `"plots/`, `"`+files+`plots/`).Replace(string(page))
	for _, add := range []struct{ at, with string }{
		{"</head>", `<link rel="stylesheet" href="/static/hub.css"></head>`},
		{"<body", `<body data-files="` + files + `data/"`}, {"<header>", bar.String() + "<header>"},
	} {
		text = strings.Replace(text, add.at, add.with, 1)
	}
	return []byte(text)
}

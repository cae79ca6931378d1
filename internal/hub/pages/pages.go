// Package pages makes the hub's web pages.
//
// Each page is a plain Go value, such as [Machines] or [Experiment], and [Write] is the only way
// from such a value to HTML. The values hold text that machines, benchmarks and kernels have
// written. It is untrusted: the templates escape it by context, [display.PlainLine] replaces what
// could deceive a reader, and long names are clipped. The pages have no inline script and no inline
// style, and [Policy] forbids both, so that text that should slip through does nothing.
//
// The pages work without scripts. With the one in assets/hub.js they are live: it listens to the
// hub's events, reads the page again when something has changed, and replaces the parts of it that
// are marked with data-live.
//
// The look is that of the reports: package report has the style sheet, assets/hub.css adds what
// only the hub has. Start reading at [Pages.Routes].
package pages

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"krund/internal/analysis/compare"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/internal/hub/jobs"
	"krund/internal/hub/rebuild"
	"krund/internal/hub/store"
	"krund/internal/hub/watch"
	"krund/internal/machine/sysroot"
)

// Pages answers browsers. Its routes are in [Pages.Routes].
type Pages struct {
	Provider string // path of the log-in with OpenID Connect; "": there is none

	db      *database.DB
	store   store.Store
	log     *slog.Logger
	live    live
	reports *reports

	secure  bool
	weights jobs.Weights
	builds  []watch.Schedule // of which revisions can be built

	mu    sync.Mutex
	noise map[string]string // summary of each noise certificate, by the hash of its blob
}

// Options are what pages need.
type Options struct {
	DB    *database.DB
	Store store.Store
	Log   *slog.Logger
	// Dir is a directory for what can be made again: experiments and reports.
	Dir     string
	Krunctl string // the program that makes the reports
	Secure  bool   // browsers come by TLS, also if a request does not
	Weights jobs.Weights
	// Schedules that can build revisions, between which commits can be found.
	Schedules []watch.Schedule
}

// New returns the pages. ctx ends their background work.
func New(ctx context.Context, o Options) *Pages {
	p := &Pages{db: o.DB, store: o.Store, log: o.Log, secure: o.Secure, weights: o.Weights,
		builds: o.Schedules,
		noise:  map[string]string{}, live: live{ctx: ctx, clock: sysroot.RealClock{}}}
	p.reports = newReports(ctx, o, &rebuild.Cache{DB: o.DB, Store: o.Store, FS: durable.OS(), Dir: o.Dir})
	return p
}

// Route is what is served under a pattern of net/http, such as "GET /x/{id}".
type Route struct {
	Pattern string
	Role    access.Role // that it serves, with those that include it; "": also without log-in
	Handler http.HandlerFunc
}

// Routes is everything that browsers are served.
func (p *Pages) Routes() []Route {
	return []Route{
		{"GET /static/{name}", "", p.static},
		{"GET /favicon.ico", "", p.static}, // of reports
		{"GET /login", "", p.login},
		{"POST /login", "", p.try(p.logIn)},
		{"POST /logout", "", p.try(p.logOut)},
		{"GET /view/{token}/{path...}", "", p.try(p.view)}, // the token is the permission

		{"GET /{$}", access.Anonymous, p.page(p.front)},
		{"GET /live", access.Anonymous, p.try(p.follow)},
		{"GET /machines", access.Anonymous, p.page(p.machines)},
		{"GET /machines/{name}", access.Anonymous, p.page(p.machine)},
		{"GET /queue", access.Anonymous, p.page(p.queue)},
		{"GET /runs", access.Reader, p.page(p.runs)},
		{"GET /experiments", access.Anonymous, p.page(p.experiments)},
		{"GET /experiments/{id}", access.Anonymous, p.page(p.experiment)},
		{"GET /experiments/{id}/report", access.Anonymous, p.try(p.report)},
		{"GET /experiments/{id}/report/{path...}", access.Anonymous, p.try(p.report)},
		{"GET /compare", access.Anonymous, p.try(p.compare)},
		{"GET /history", access.Anonymous, p.page(p.overview)},
		{"GET /history/{name}", access.Anonymous, p.page(p.history)},
		{"GET /history/{name}/graph.svg", access.Anonymous, p.try(p.graph)},
		{"GET /history/{name}/badge.svg", access.Anonymous, p.try(p.badge)},
		{"GET /events", access.Anonymous, p.page(p.events)},
		{"GET /events/{id}", access.Anonymous, p.page(p.event)},
		{"GET /tokens", access.Reader, p.page(p.tokens)},

		{"POST /experiments/{id}/priority", access.User, p.change(p.setPriority)},
		{"POST /experiments/{id}/stop", access.User, p.change(p.stop)},
		{"POST /experiments/{id}/delete", access.User, p.try(p.remove)},
		{"POST /events/{id}", access.User, p.change(p.triage)},
		{"POST /events/{id}/mute", access.User, p.change(p.muteEvent)},
		{"POST /events/{id}/again", access.User, p.change(p.again)},
		{"POST /events/{id}/bisect", access.User, p.change(p.bisect)},
		{"POST /alerts/{id}/mute", access.User, p.change(p.mute)},
		{"POST /alerts/{id}/unmute", access.User, p.change(p.unmute)},
		{"POST /tokens", access.User, p.try(p.makeToken)},
		{"POST /tokens/{hash}/revoke", access.Reader, p.try(p.revokeToken)},
	}
}

// Operation is a route of the API, with what its description says.
type Operation struct {
	Route
	Summary string
	Query   []string // names of parameters
	// Body and Answer have the types of what is sent and answered as JSON. A string is the media
	// type of something else; nil: nothing is sent.
	Body, Answer any
}

// Operations is what the pages show, as JSON.
func (p *Pages) Operations() []Operation {
	skip := []string{"skip"}
	list := []Operation{}
	history := []string{"key", "machine", "from", "to", "skip"}
	for _, o := range []struct {
		path, summary string
		query         []string
		make          func(*http.Request, Frame) (any, error)
		answer        any
	}{
		{"now", "what changed, what runs, what is not well", nil, p.front, Front{}},
		{"machines", "all machines", []string{"after"}, p.machines, Machines{}},
		{"machines/{name}", "a machine, and its parts of experiments", nil, p.machine, MachinePage{}},
		{"queue", "what runs and waits, in the order in which it is served", skip, p.queue, Queue{}},
		{"experiments", "all experiments, the newest first", []string{"after", "before"}, p.experiments,
			Experiments{}},
		{"experiments/{id}/result", "what an experiment has shown", nil, p.result, Result{}},
		{"experiments/{id}/progress", "an experiment, its parts on machines, and what failed", nil,
			p.experiment, ExperimentPage{}},
		{"alerts", "machines that do not report", skip, p.alerts, Alerts{}},
		{"history", "all series", []string{"text", "machine", "sort", "skip"}, p.overview, Overview{}},
		{"history/{name}", "the history of a name", history, p.history, HistoryPage{}},
		{"events", "what happened to programs and machines",
			[]string{"name", "state", "verdict", "machine", "skip"}, p.events, Events{}},
		{"events/{id}", "an event, and who changed what", nil, p.event, EventPage{}},
	} {
		list = append(list, Operation{Route{"GET /api/v1/" + o.path, access.Anonymous, p.document(o.make)},
			o.summary, o.query, nil, o.answer})
	}
	raw := func(path, summary string, query []string, answer any,
		do func(http.ResponseWriter, *http.Request) error) {
		list = append(list, Operation{Route{"GET /api/v1/" + path, access.Anonymous, p.try(do)}, summary,
			query, nil, answer})
	}
	raw("history/{name}/values.csv", "the values of a name's series", history, media[".csv"], p.values)
	raw("history/{name}/values.parquet", "the same as Parquet", history, media[".parquet"], p.values)
	raw("compare", "a comparison of two experiments or arms, as krunctl compare --format json; it is made "+
		"when it is asked for: 202 until then", []string{"before", "after", "arm-before", "arm-after"},
		compare.Result{}, p.compareJSON)
	list = append(list, Operation{Route{"GET /api/v1/runs", access.Reader, p.document(p.runs)},
		"revisions that the hub measures by itself, the newest first", []string{"schedule", "skip"}, nil,
		Runs{}})
	list = append(list, Operation{Route{"POST /api/v1/events/{id}/bisect", access.User, p.try(p.bisectJSON)},
		"find the commit that made an event; its acts say what was found", nil, nil, Bisection{}})
	list = append(list, Operation{Route{"GET /api/v1/tokens", access.Reader, p.document(p.tokens)},
		"the tokens that who asks may see", []string{"made", "after"}, nil, Tokens{}})
	return list
}

// try returns a handler that shows the error of another.
func (p *Pages) try(do func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, mostForm)
		if err := do(w, r); err != nil {
			p.Fail(w, r, err)
		}
	}
}

// page returns the handler of a page that make makes.
func (p *Pages) page(make func(*http.Request, Frame) (any, error)) http.HandlerFunc {
	return p.try(func(w http.ResponseWriter, r *http.Request) error {
		page, err := make(r, p.frame(r))
		if err == nil {
			p.show(w, r, http.StatusOK, page)
		}
		return err
	})
}

// frame returns what is around each page.
func (p *Pages) frame(r *http.Request) Frame {
	who := access.From(r.Context())
	f := Frame{User: who.Name, Role: string(who.Role), Writes: who.Role.Includes(access.User),
		Now: p.db.Now(), Version: display.Version()}
	if f.User != "" {
		_, counts, err := p.open(r.Context(), f.Now)
		if err != nil {
			p.log.Error("the events were not counted", "error", err)
		}
		for _, c := range counts {
			f.Open += int(c.N)
		}
	}
	return f
}

// change returns the handler of a form: do works in a transaction and returns where to go next.
func (p *Pages) change(do func(*http.Request, *sql.Tx) (string, error)) http.HandlerFunc {
	return p.try(func(w http.ResponseWriter, r *http.Request) error {
		// Before the transaction, so that a slow sender does not keep others from writing.
		if err := r.ParseForm(); err != nil {
			return Refuse(http.StatusBadRequest, "The form is damaged or too large.")
		}
		var next string
		err := p.db.Update(r.Context(), func(tx *sql.Tx) (err error) {
			next, err = do(r, tx)
			return err
		})
		if err == nil {
			http.Redirect(w, r, next, http.StatusSeeOther)
		}
		return err
	})
}

const mostForm = 16 << 10 // bytes

// show sends a page.
func (p *Pages) show(w http.ResponseWriter, r *http.Request, status int, page any) {
	var b bytes.Buffer
	if err := Write(&b, page); err != nil {
		p.log.Error("a page was not made", "path", r.URL.Path, "error", err)
		http.Error(w, "the hub could not make this page; its log has the reason",
			http.StatusInternalServerError)
		return
	}
	h := w.Header()
	secure(h, Policy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // the browser has gone
}

// secure sets the headers that keep browsers from doing more than they should.
func secure(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

func (p *Pages) static(w http.ResponseWriter, r *http.Request) {
	text, media, err := Static(cmp.Or(r.PathValue("name"), "icon.svg"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	secure(w.Header(), Policy)
	w.Header().Set("Content-Type", media)
	w.Header().Set("Cache-Control", "max-age=300")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

const (
	lookEvery   = time.Second      // at the database, while pages are open
	tellEvery   = 30 * time.Second // when nothing has changed: the times on the pages have
	checkEvery  = 30 * time.Second // whether those who listen still may
	mostPages   = 1000             // that listen at the same time
	mostOfToken = 100              // of these, with one token and its sessions
)

// live has the open pages that are told when something has changed.
type live struct {
	ctx   context.Context // ends all of them
	clock sysroot.Clock

	mu      sync.Mutex
	open    []string  // the token of each page, or the one with whose session it was opened
	at      time.Time // when the database was asked last, for all pages
	version string    // of the data then
}

// enter gives a page a place among those that are open.
func (l *live) enter(token string) (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	same := 0
	for _, other := range l.open {
		if other == token {
			same++
		}
	}
	switch {
	case same >= mostOfToken:
		return nil, Refuse(http.StatusTooManyRequests, "too many pages are open")
	case len(l.open) >= mostPages:
		return nil, Refuse(http.StatusServiceUnavailable, "too many pages are open")
	}
	l.open = append(l.open, token)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		i := slices.Index(l.open, token)
		l.open = slices.Delete(l.open, i, i+1)
	}, nil
}

// now returns the version of the data, which is as old as lookEvery at most.
func (p *Pages) now(ctx context.Context) string {
	l := &p.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.clock.Now(); now.Sub(l.at).Abs() >= lookEvery {
		version, err := p.db.Version(access.Hub(ctx))
		if err == nil {
			l.version = version
		} else if ctx.Err() == nil {
			p.log.Error("open pages do not learn what has changed", "error", err)
		}
		l.at = now
	}
	return l.version
}

// follow sends an event each time something has changed, until the page is left or may not be read
// any more. Several processes of the hub serve the same.
func (p *Pages) follow(w http.ResponseWriter, r *http.Request) error {
	who := access.From(r.Context())
	leave, err := p.live.enter(cmp.Or(who.Root, "user "+who.Name))
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.live.ctx, cancel)()
	secure(w.Header(), Policy)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy passes events on at once
	to := http.NewResponseController(w)
	told, last := p.live.clock.Now(), p.now(ctx)
	checked := told
	for event := "retry: 3000\n\n"; ; event = "" {
		version, now := p.now(ctx), p.live.clock.Now()
		if version != last || now.Sub(told) >= tellEvery {
			event += "event: change\ndata:\n\n"
			told, last = now, version
		}
		if now.Sub(checked) >= checkEvery {
			// Without an answer of the database it goes on: it tells only that something changed.
			if permitted, err := p.db.Permitted(ctx, who); err == nil && !permitted {
				return nil
			}
			checked = now
		}
		if event != "" {
			if _, err := io.WriteString(w, event); err != nil || to.Flush() != nil {
				return nil
			}
		}
		if p.live.clock.Sleep(ctx, lookEvery) != nil {
			return nil
		}
	}
}

// Package server answers the hub's requests: the API of machines and programs, and log-in. It finds
// out who asks, checks that the route serves that role, bounds what is read, and calls packages
// database, store, jobs and pages, which know nothing of HTTP's identities.
//
// Start reading at [Server.Routes], the one table of what is served.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/jobs"
	"krund/internal/hub/pages"
	"krund/internal/hub/store"
	"krund/internal/hub/watch"
)

// Server is the hub's handler of requests.
type Server struct {
	DB    *database.DB
	Store store.Store
	Pages *pages.Pages
	Log   *slog.Logger
	Login LoginConfig

	// Spool is a directory for what is being received.
	Spool string
	// Patience is how long the other side of a connection may stall, see paced; 0: as usual.
	Patience time.Duration

	// BundleBytes is how much a user may send of bundles on a day; 0: as usual.
	BundleBytes int64

	// Weights are the shares of machine time.
	Weights jobs.Weights

	// Watch takes the messages of forges; nil: there are none.
	Watch *watch.Watcher

	hooks     places              // of messages of forges that are being received
	receiving sync.Map            // ids of machines of which a request is being received: one of each
	parsing   chan struct{}       // one for each that is parsed
	memory    *semaphore.Weighted // see memoryBytes
	oidcLock  sync.Mutex
	oidc      *oidc.Provider // nil: not asked yet

	metrics   metrics
	readiness readiness
}

// Route is a route of the pages or of the API. The handler finds the identity of who asks with
// access.From.
type Route = pages.Route

// Anyone marks a route that needs no log-in.
const Anyone access.Role = ""

// Routes is everything that the hub serves. A machine may only use what has the role Machine.
func (s *Server) Routes() []Route {
	routes := []Route{
		{Pattern: "GET /healthz", Handler: s.healthz},
		{Pattern: "GET /readyz", Handler: s.readyz},
		{Pattern: "POST /hooks/{name}", Handler: s.handler(s.hook)},
		{Pattern: "GET /metrics", Role: access.Reader, Handler: s.metrics.serve},
	}
	if s.Login.OIDC != nil {
		const path = "/login/oidc"
		s.Pages.Provider = path
		routes = append(routes, Route{Pattern: "GET " + path, Handler: s.toProvider},
			Route{Pattern: "GET " + path + "/callback", Handler: s.fromProvider})
	}
	for _, o := range s.Operations() {
		routes = append(routes, o.Route)
	}
	return append(routes, s.Pages.Routes()...)
}

// Operations is the API, which [OpenAPI] describes.
func (s *Server) Operations() []pages.Operation {
	const id, bytes = api.PathExperiments + "/{id}", "application/octet-stream"
	list := s.Pages.Operations()
	for _, o := range []struct {
		pattern      string
		role         access.Role
		do           action
		summary      string
		body, answer any
	}{
		{"GET /api/v1/openapi.json", access.Anonymous, s.openapi, "this description", nil, object{}},
		{"POST " + api.PathJoin, access.Join, s.join, "register a machine", api.JoinRequest{},
			api.JoinAnswer{}},
		{"POST " + api.PathShip, access.Machine, s.ship, "send records, and ask what is next", bytes,
			api.Receipt{}},
		{"GET " + api.PathHave, access.Machine, s.have, "records of a machine that the hub has", nil,
			[]api.Have{}},
		{"GET " + api.PathBlob + "{hash}", access.Machine, s.blob, "a content", nil, bytes},
		{"PUT " + api.PathBundle + "{hash}", access.User, s.bundle, "send a bundle", bytes, words{}},
		{"POST " + api.PathExperiments, access.User, s.submit, "submit an experiment", api.Submission{},
			api.State{}},
		{"GET " + id, access.Anonymous, s.experiment, "the state of an experiment", nil, api.State{}},
		{"GET " + id + "/results", access.Anonymous, s.results, "the records of an experiment", nil,
			"application/x-tar"},
		{"POST " + id + "/request", access.User, s.request, "hold, resume or stop an experiment",
			api.RequestMessage{}, api.State{}},
		{"DELETE " + id, access.User, s.remove, "delete an experiment that has ended", nil, words{}},
		{"PUT " + api.PathUsers + "/{name}", access.Admin, s.setRole, "change the roles of a user",
			api.RoleMessage{}, words{}},
		{"DELETE " + api.PathUsers + "/{name}", access.Admin, s.removeUser, "remove a user", nil, words{}},
		{"GET /api/v1/projects", access.Admin, s.projects,
			"who is in which project, and which pools are not open to all", nil, Projects{}},
		{"PUT /api/v1/pools/{name}", access.Admin, s.setPool, "open a pool to some projects; none: to all",
			api.PoolMessage{}, words{}},
	} {
		var query []string
		if o.pattern == "GET "+api.PathHave {
			query = []string{"experiment", "after"}
		}
		list = append(list, pages.Operation{Route: pages.Route{Pattern: o.pattern, Role: o.role,
			Handler: s.handler(o.do)}, Summary: o.summary, Query: query, Body: o.body, Answer: o.answer})
	}
	return list
}

// Handler returns the handler of all routes.
func (s *Server) Handler() http.Handler {
	s.memory, s.parsing = semaphore.NewWeighted(memoryBytes), make(chan struct{}, mostParsed)
	s.metrics = newMetrics(prometheus.NewRegistry(), s.DB)
	mux := http.NewServeMux()
	for _, route := range s.Routes() {
		mux.HandleFunc(route.Pattern, s.guard(route))
	}
	// A form on a page of another site must not act for who is logged in here.
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, pages.Refuse(http.StatusForbidden, "this request was made by a page of another site"))
	}))
	return s.paced(s.metrics.count(origin.Handler(s.served(mux))))
}

// unserved is the answer of net/http to a request that no route serves, without its text.
type unserved struct {
	header http.Header
	code   int
}

func (u *unserved) Header() http.Header            { return u.header }
func (u *unserved) WriteHeader(code int)           { u.code = code }
func (u *unserved) Write(text []byte) (int, error) { return len(text), nil }

// served answers requests that no route serves like other errors, with the status of net/http.
func (s *Server) served(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isText(r.URL) {
			s.fail(w, r, pages.Refuse(http.StatusBadRequest,
				"the address is no text: it has a zero byte, or bytes that are not UTF-8"))
			return
		}
		handler, pattern := mux.Handler(r)
		answer := unserved{header: http.Header{}}
		if pattern == "" {
			handler.ServeHTTP(&answer, r)
		}
		switch answer.code {
		case http.StatusNotFound:
			s.fail(w, r, pages.Refuse(answer.code, "the hub has no such address; see the pages at /"))
		case http.StatusMethodNotAllowed:
			allow := answer.header.Get("Allow")
			w.Header().Set("Allow", allow)
			s.fail(w, r, pages.Refuse(answer.code, "%.20q is not for this address; use %s", r.Method, allow))
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// isText reports whether the path and the query of an address can be stored and searched for: not
// all databases accept every string. Messages have checks of their own, and forms names.
func isText(u *url.URL) bool {
	texts := []string{u.Path}
	for name, values := range u.Query() {
		texts = append(append(texts, name), values...)
	}
	return !slices.ContainsFunc(texts, func(s string) bool { return !api.IsText(s) })
}

// guard returns the route's handler for those who may use it.
func (s *Server) guard(route Route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if route.Role == Anyone {
			route.Handler(w, r)
			return
		}
		who, err := s.who(r)
		switch {
		case err != nil:
			s.fail(w, r, err)
		case !who.Role.Includes(route.Role):
			s.fail(w, r, pages.Refuse(http.StatusForbidden,
				"this needs a token with the role %s, and yours has %s", route.Role, who.Role))
		default:
			route.Handler(w, r.WithContext(access.With(r.Context(), who)))
		}
	}
}

// refuse returns an error for a request that is wrong, unless the error has a status.
func refuse(err error) error {
	if _, known := pages.Status(err); known {
		return err
	}
	return pages.Refuse(http.StatusBadRequest, "%v", err)
}

// fail answers with an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) { s.Pages.Fail(w, r, err) }

// words is a short answer.
type words map[string]string

// hook takes a message of a forge. Anyone may send one; what is not signed is refused.
func (s *Server) hook(w http.ResponseWriter, r *http.Request) (any, error) {
	const mostBytes = 1 << 20
	if s.Watch == nil {
		return nil, watch.ErrSignature
	}
	leave := s.hooks.take(http.NewResponseController(w))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBytes))
	if !leave() {
		return nil, pages.Refuse(http.StatusTooManyRequests, "too many messages at once; send it again later")
	}
	if err != nil {
		return nil, refuse(err)
	}
	return words{"status": "received"}, s.Watch.Hook(r.Context(), r.PathValue("name"), r.Header, body)
}

// places are the unsigned requests that are being received, the oldest first.
type places struct {
	lock sync.Mutex
	held []*http.ResponseController
}

// take gives a request a place. If there is none, the oldest one loses its place and is cut off: a
// sender that stalls keeps out no other one. leave reports whether the request still had its place.
func (p *places) take(c *http.ResponseController) (leave func() bool) {
	const most = 16
	p.lock.Lock()
	defer p.lock.Unlock()
	if len(p.held) == most {
		_ = p.held[0].SetReadDeadline(time.Unix(1, 0))
		p.held = slices.Delete(p.held, 0, 1)
	}
	p.held = append(p.held, c)
	return func() bool {
		p.lock.Lock()
		defer p.lock.Unlock()
		i := slices.Index(p.held, c)
		if i >= 0 {
			p.held = slices.Delete(p.held, i, i+1)
		}
		return i >= 0
	}
}

// action does what is asked for. It returns the document to send, nil if it has sent the answer
// itself, or an error before it has sent anything.
type action func(http.ResponseWriter, *http.Request) (document any, err error)

// created is a document about what was made.
type created struct{ document any }

func (s *Server) handler(do action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		code := http.StatusOK
		document, err := do(w, r)
		if made, ok := document.(created); ok {
			code, document = http.StatusCreated, made.document
		}
		switch {
		case err != nil:
			s.fail(w, r, err)
		case document != nil:
			pages.Answer(w, code, document)
		}
	}
}

// read reads a message of at most api.MaxJSON bytes.
func (s *Server) read(w http.ResponseWriter, r *http.Request, message any) error {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, api.MaxJSON)).Decode(message)
	if err != nil {
		err = refuse(fmt.Errorf("the body is not the JSON that is expected: %w", err))
	}
	return err
}

func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	pages.Answer(w, http.StatusOK, words{"status": "ok"})
}

// readiness is what was found when it was tried last whether the database and the store can be
// written.
type readiness struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

// ready tries to write, at most every readyEvery: anyone may ask.
func (s *Server) ready(ctx context.Context) error {
	const readyEvery, patience = 10 * time.Second, 10 * time.Second
	r := &s.readiness
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := s.DB.Now(); r.at.IsZero() || now.Sub(r.at).Abs() >= readyEvery {
		// Another one waits for the result, also if the one who asks has gone.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		r.at, r.err = now, errors.Join(s.DB.Ready(ctx), s.Store.Ready(ctx))
		if r.err != nil {
			s.Log.Error("not ready", "error", r.err)
		}
	}
	return r.err
}

// readyz reports whether requests can be served: the database and the store can be written.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.ready(r.Context()) != nil {
		pages.Answer(w, http.StatusServiceUnavailable,
			words{"error": "not ready; the log has the reason"})
		return
	}
	s.healthz(w, r)
}

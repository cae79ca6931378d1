package pages

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"krund/internal/hub/database"
	"krund/internal/hub/jobs"
	"krund/internal/hub/store"
	"krund/internal/hub/watch"
)

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

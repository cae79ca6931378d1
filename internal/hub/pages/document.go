package pages

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"krund/internal/hub/database"
)

// document returns the handler of what a page shows as JSON, without its frame and pictures. It has
// an ETag, so that a client that asks again gets no more than that nothing has changed.
func (p *Pages) document(make func(*http.Request, Frame) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		page, err := make(r, p.frame(r))
		var text []byte
		if err == nil {
			text, err = json.Marshal(page)
		}
		if err != nil {
			p.refuse(w, r, err)
			return
		}
		send(w, r, text)
	}
}

// raw returns the handler of an answer that is no page of its own.
func (p *Pages) raw(do func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := do(w, r); err != nil {
			p.refuse(w, r, err)
		}
	}
}

// send answers with an ETag.
func send(w http.ResponseWriter, r *http.Request, text []byte) {
	sum := sha256.Sum256(text)
	w.Header().Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:16])+`"`)
	w.Header().Set("Cache-Control", "private, no-cache") // another one may not see it
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

// refuse answers a program with an error.
func (p *Pages) refuse(w http.ResponseWriter, r *http.Request, err error) {
	code := http.StatusServiceUnavailable
	answer := "the hub could not do this; its log has the reason; try again later"
	var known problem
	switch {
	case errors.As(err, &known):
		code, answer = known.status, known.text
	case errors.Is(err, database.ErrMissing):
		code, answer = http.StatusNotFound, err.Error()
	default:
		p.log.Error("a document was not made", "path", r.URL.Path, "error", err)
	}
	w.Header().Set("Content-Type", media[".json"])
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": answer}) // the client may have gone
}

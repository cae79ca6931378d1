package console

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"sync"
	"time"

	"krund/internal/reading/summary"
)

//go:embed page.html
var pageText string

// page shows the status in a browser. It works without scripts: the browser asks again.
var page = template.Must(template.New("status").Parse(pageText))

// Server serves the status of an experiment, read only.
type Server struct {
	Now    func() time.Time
	Every  time.Duration // between two looks of a browser, whole seconds
	Status func() (summary.Status, error)
	Text   func(summary.Status) string

	mu    sync.Mutex // one request at a time looks at the experiment
	taken time.Time  // when st was read
	st    summary.Status
	err   error
}

// status returns the status, read at most once per second however many ask.
func (s *Server) status() (summary.Status, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.Now(); s.taken.IsZero() || now.Sub(s.taken) >= time.Second {
		s.st, s.err = s.Status()
		s.taken = now
	}
	return s.st, s.taken, s.err
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	switch {
	case !named(r.Host): // a page of another site that resolves its name to this address
		http.Error(w, "ask for the address that krunctl printed", http.StatusForbidden)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
		return
	case r.URL.Path != "/" && r.URL.Path != "/status.json":
		http.NotFound(w, r)
		return
	}
	st, taken, err := s.status()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError) // text/plain, with nosniff
		return
	}
	var b bytes.Buffer
	if r.URL.Path == "/status.json" {
		h.Set("Content-Type", "application/json")
		err = json.NewEncoder(&b).Encode(st)
	} else {
		h.Set("Content-Type", "text/html; charset=utf-8")
		every := int(s.Every / time.Second)
		if st.State == summary.StateFinished {
			every = 0
		}
		err = page.Execute(&b, map[string]any{
			"Name": st.Experiment, "Value": st.Percent, "Percent": fmt.Sprintf("%.0f%%", st.Percent),
			"Every": every, "Text": s.Text(st), "Time": taken.UTC().Format(time.RFC3339),
		})
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(b.Bytes()) // the browser has gone
}

// named reports whether a Host header is an address or localhost: no other name leads here.
func named(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return host == "localhost" || net.ParseIP(host) != nil
}

// Listen answers browsers at an address, HOST:PORT, until ctx ends. begun is called with where that
// is.
func (s *Server) Listen(ctx context.Context, address string, begun func(*net.TCPAddr)) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("--serve: %w", err)
	}
	const patience, header = 10 * time.Second, 16 << 10
	server := &http.Server{Handler: s, ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: patience,
		MaxHeaderBytes: header}
	begun(listener.Addr().(*net.TCPAddr))
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("--serve: %w", err)
	}
	return nil
}

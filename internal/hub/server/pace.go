package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"krund/internal/hub/pages"
	"krund/internal/machine/sysroot"
)

// A connection is cut off if its other side does not send, or does not read, stepBytes of a body
// within the server's Patience: one that stalls must keep neither a connection nor what is held for
// it. A request is sent within longestRequest, however fast that is; what it stores is not
// collected as garbage for longer.
const (
	usualPatience  = 20 * time.Second
	stepBytes      = 256 << 10
	longestRequest = 10 * time.Minute
)

// paced returns a handler for connections whose other side must not stall, whatever is asked for.
func (s *Server) paced(next http.Handler) http.Handler {
	patience := s.Patience
	if patience == 0 {
		patience = usualPatience
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		_ = c.SetWriteDeadline(time.Time{}) // that of the request before; a recorder of a test has none
		if r.Body != nil && r.Body != http.NoBody {
			now := sysroot.RealClock{}.Now()
			body := &pacedBody{ReadCloser: r.Body, to: c, patience: patience, end: now.Add(longestRequest)}
			body.step()
			r.Body = body
		}
		next.ServeHTTP(&pacedWriter{w, c, patience}, r)
	})
}

// pacedBody is the body of a request.
type pacedBody struct {
	io.ReadCloser
	to       *http.ResponseController
	patience time.Duration
	end      time.Time
	left     int // bytes of the step
}

// step begins another step.
func (b *pacedBody) step() {
	b.left = stepBytes
	deadline := sysroot.RealClock{}.Now().Add(b.patience)
	if deadline.After(b.end) {
		deadline = b.end
	}
	_ = b.to.SetReadDeadline(deadline)
}

// Read implements io.Reader. Its errors have a status: a failure to read is never one of the hub.
func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left <= 0 {
		b.step()
	}
	switch {
	case errors.Is(err, io.EOF):
		// What follows is the hub's work: the connection is watched meanwhile for its end.
		_ = b.to.SetReadDeadline(time.Time{})
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = pages.Refuse(http.StatusRequestTimeout,
			"the request was not sent in time: send at least %d bytes in %s", stepBytes, b.patience)
	case err != nil:
		err = pages.Refuse(http.StatusBadRequest, "the request did not arrive whole: %v", err)
	}
	return n, err
}

// pacedWriter is the answer to a request.
type pacedWriter struct {
	http.ResponseWriter
	to       *http.ResponseController
	patience time.Duration
}

func (w *pacedWriter) step() {
	_ = w.to.SetWriteDeadline(sysroot.RealClock{}.Now().Add(w.patience))
}

// Unwrap is for http.ResponseController.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *pacedWriter) WriteHeader(code int) {
	w.step()
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *pacedWriter) Write(p []byte) (n int, err error) {
	for {
		w.step()
		part, err := w.ResponseWriter.Write(p[n:min(len(p), n+stepBytes)])
		if n += part; err != nil || n == len(p) {
			return n, err
		}
	}
}

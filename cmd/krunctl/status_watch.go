package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"krund/internal/machine/sysroot"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
	"krund/internal/report/console"
)

// watchEvery is the time between two looks at an experiment. Each takes a moment of processor time
// from the machine.
const watchEvery = 5 * time.Second

// statusText returns the status as text.
func (a *app) statusText(st summary.Status, keys bool) string {
	var b bytes.Buffer
	console.New(&b, a.terminal).Status(st, keys, a.now())
	return b.String()
}

// watch shows the status until the experiment is finished or the user interrupts.
func (a *app) watch(ctx context.Context, f experiment.Experiment, o statusOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	out, ok := a.terminal.(*os.File)
	again := ok && term.IsTerminal(int(out.Fd())) // else each status follows the one before
	var shown string
	for {
		st, err := a.statusOf(f)
		if err != nil {
			return err
		}
		text := a.statusText(st, o.keys)
		if again {
			_, err = fmt.Fprintf(out, "\x1b[H\x1b[2J%s", text)
		} else if text != shown {
			_, err = fmt.Fprintf(a.terminal, "%s\n", text)
		}
		if shown = text; err != nil || st.State == summary.StateFinished {
			return err
		}
		if (sysroot.RealClock{}).Sleep(ctx, watchEvery) != nil {
			return nil //nolint:nilerr // an interruption is how it ends
		}
	}
}

// page shows the status in a browser. It works without scripts: the browser asks again.
var page = template.Must(template.New("status").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{{if .Every}}<meta http-equiv="refresh" content="{{.Every}}">{{end}}
<title>{{.Percent}} {{.Name}}</title>
<style>
:root { color-scheme: light dark }
body { font: 15px/1.5 ui-monospace, monospace; margin: 1.5em; max-width: 60em }
pre { white-space: pre-wrap; overflow-wrap: anywhere }
progress { width: 100% }
</style>
</head>
<body>
<progress max="100" value="{{.Value}}">{{.Percent}}</progress>
<pre>{{.Text}}</pre>
<p><a href="status.json">status.json</a>, as of {{.Time}}</p>
</body>
</html>
`))

// statusServer serves the status of an experiment, read only.
type statusServer struct {
	app  *app
	f    experiment.Experiment
	keys bool

	mu    sync.Mutex // one request at a time looks at the experiment
	taken time.Time  // when st was read
	st    summary.Status
	err   error
}

// status returns the status, read at most once per second however many ask.
func (s *statusServer) status() (summary.Status, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.app.now(); s.taken.IsZero() || now.Sub(s.taken) >= time.Second {
		s.st, s.err = s.app.statusOf(s.f)
		s.taken = now
	}
	return s.st, s.taken, s.err
}

func (s *statusServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
		every := int(watchEvery / time.Second)
		if st.State == summary.StateFinished {
			every = 0
		}
		err = page.Execute(&b, map[string]any{
			"Name": st.Experiment, "Value": st.Percent, "Percent": fmt.Sprintf("%.0f%%", st.Percent),
			"Every": every, "Text": s.app.statusText(st, s.keys), "Time": taken.UTC().Format(time.RFC3339),
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

// serve answers browsers until the user interrupts.
func (a *app) serve(ctx context.Context, f experiment.Experiment, o statusOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if host, _, err := net.SplitHostPort(o.serve); err != nil || host == "" {
		return usageError(fmt.Errorf("--serve needs an address and a port such as 127.0.0.1:0, not %q",
			o.serve))
	}
	listener, err := net.Listen("tcp", o.serve)
	if err != nil {
		return fmt.Errorf("--serve: %w", err)
	}
	const patience, header = 10 * time.Second, 16 << 10
	server := &http.Server{Handler: &statusServer{app: a, f: f, keys: o.keys}, ReadTimeout: patience,
		WriteTimeout: patience, IdleTimeout: patience, MaxHeaderBytes: header}
	_, _ = fmt.Fprintf(a.terminal, "http://%s/ shows the status until Ctrl-C\n", listener.Addr()) // a message
	if !listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		a.talk("everyone in the network can read the status at this address; --serve 127.0.0.1:0 is for " +
			"this machine only")
	}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("--serve: %w", err)
	}
	return nil
}

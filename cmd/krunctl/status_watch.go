package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"krund/internal/machine/sysroot"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
	"krund/internal/report/console"
	"krund/internal/report/live"
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
		text := a.statusText(st, o.by == "key")
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

// serve answers browsers until the user interrupts.
func (a *app) serve(ctx context.Context, f experiment.Experiment, o statusOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if host, _, err := net.SplitHostPort(o.serve); err != nil || host == "" {
		return usageError(fmt.Errorf("--serve needs an address and a port such as 127.0.0.1:0, not %q",
			o.serve))
	}
	server := &live.Server{Now: a.now, Every: watchEvery,
		Status: func() (summary.Status, error) { return a.statusOf(f) },
		Text:   func(st summary.Status) string { return a.statusText(st, o.by == "key") }}
	return server.Listen(ctx, o.serve, func(at *net.TCPAddr) {
		_, _ = fmt.Fprintf(a.terminal, "http://%s/ shows the status until Ctrl-C\n", at) // a message
		if !at.IP.IsLoopback() {
			a.talk("everyone in the network can read the status at this address; --serve 127.0.0.1:0 is " +
				"for this machine only")
		}
	})
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"krund/internal/execution/watcher"
	"krund/internal/machine/sysroot"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
	"krund/internal/report/console"
)

type statusOptions struct {
	format, by, key, host string
	decision              bool

	watch bool
	serve string // address; "" for none
}

func statusCommand(a *app) *cobra.Command {
	var o statusOptions
	c := &cobra.Command{
		Use: "status DIR|NAME.toml", Short: "Show how far an experiment is",
		Args: arguments(1, 1, "the experiment's directory or configuration"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := notTogether(c, "watch", "serve", "format"); err != nil {
				return err
			}
			if !o.decision {
				if err := only(c, "a status", "format by watch serve"); err != nil {
					return err
				}
				return a.status(c.Context(), args[0], o)
			}
			if err := only(c, "--decision", "decision format key host"); err != nil {
				return err
			}
			answer, err := a.reader(runtime.NumCPU()).Decide(args[0], o.key, o.host)
			if err != nil {
				return err
			}
			return a.printJSON(answer)
		},
	}
	formatFlag(c.Flags(), &o.format, "text", "json")
	choiceFlag(c.Flags(), &o.by, "by", "", "key: add a table with a row for each key", "experiment", "key")
	c.Flags().BoolVar(&o.watch, "watch", false, "show it again every 5 s until the experiment is finished")
	c.Flags().StringVar(&o.serve, "serve", "",
		"show it in a browser, at this address: 127.0.0.1:0 is this machine only, at a free port")
	c.Flags().BoolVar(&o.decision, "decision", false, "say which keys need no more executions, by [stop]")
	a.keyFlag(c, &o.key)
	a.hostFlag(c.Flags(), &o.host, "")
	hide(c.Flags(), "host")
	return c
}

func (a *app) status(ctx context.Context, arg string, o statusOptions) error {
	f, err := experiment.Open(a.fsys, arg)
	if err != nil {
		return err
	}
	switch {
	case o.watch:
		return a.watch(ctx, f, o)
	case o.serve != "":
		return a.serve(ctx, f, o)
	}
	st, err := a.statusOf(f)
	if err != nil {
		return err
	}
	return a.answer(o.format, st, func() { a.console().Status(st, o.by == "key", a.now()) })
}

// statusOf returns the progress of an experiment, and of the process execution that this machine's
// krund is running.
func (a *app) statusOf(f experiment.Experiment) (summary.Status, error) {
	st, err := summary.StatusOf(f, a.host)
	if err != nil || st.Running == nil || st.Interrupted != nil {
		return st, err
	}
	if pid, on := f.LastHolder(); pid > 0 && on == a.host {
		if done, planned, ok := watcher.IterationsOf(pid); ok {
			st.RunningIterations = &summary.Iterations{Done: done, Planned: planned}
		}
	}
	return st, nil
}

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
	server := &console.Server{Now: a.now, Every: watchEvery,
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

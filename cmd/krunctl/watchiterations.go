package main

import (
	"context"
	"encoding/json"
	"io"
	"os"

	"github.com/spf13/cobra"

	libkrun "krund/cgo"
	"krund/internal/analysis/stability"
	"krund/internal/execution/watcher"
	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
	"krund/internal/reading/replay"
)

func watchIterationsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    watcher.Command + " ORDER",
		Short:  "Count the iterations of a running benchmark, and end it (internal)",
		Hidden: true,
		Args:   arguments(1, 1, "order"),
		RunE:   func(_ *cobra.Command, args []string) error { return a.watchIterations(args[0]) },
	}
}

// watchIterations watches until standard input ends. What it cannot do is in its report.
func (a *app) watchIterations(order string) error {
	watcher.Harden()
	say := func(r watcher.Report) error { return json.NewEncoder(a.terminal).Encode(r) }
	w, done, err := newWatch(order, os.NewFile(watcher.BufferFD, "buffer"),
		os.NewFile(watcher.TerminalFD, "terminal"))
	if err != nil {
		return say(watcher.Report{Problem: err.Error(), Final: true})
	}
	defer done()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, a.stdin) // its end is all that counts
		cancel()
	}()
	w.Say = say
	return w.Run(ctx)
}

// newWatch returns the watch that an order asks for, and a function that unmaps the buffer.
func newWatch(order string, buffer, terminal *os.File) (*watcher.Watch, func(), error) {
	o, err := watcher.ParseOrder(order)
	if err != nil {
		return nil, nil, err
	}
	w := &watcher.Watch{Clock: sysroot.RealClock{}}
	if o.Stop != nil {
		if err := decideBy(w, *o.Stop, o.Number); err != nil {
			return nil, nil, err
		}
	}
	if o.Line != nil {
		w.Line = *o.Line
		w.Show = func(text string) { _, _ = io.WriteString(terminal, text) } // it is for show
	}
	view, err := libkrun.NewView(buffer, o.Stop != nil && !o.Stop.DryRun)
	if err != nil {
		return nil, nil, err
	}
	w.Buffer = view
	return w, func() { _ = view.Close() }, nil // the end of the process unmaps it, too
}

// decideBy makes w find the end of warm-up.
func decideBy(w *watcher.Watch, s results.WatcherStop, number int) error {
	criterion, p, err := replay.OnlineParameters(s)
	if err != nil {
		return err
	}
	online, err := stability.NewOnline(p, criterion, number)
	if err != nil {
		return err
	}
	w.DryRun, w.Threshold = s.DryRun, s.Threshold
	if s.Threshold == 0 {
		w.Threshold = criterion.Threshold()
	}
	w.Decide = func(seconds float64) (watcher.Decision, error) {
		d, err := online.Add(seconds)
		return watcher.Decision(d), err
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/analysis/sequential"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/hub/api"
	"krund/internal/hub/submit"
	"krund/internal/machine/sysroot"
	"krund/internal/reading/experiment"
	"krund/internal/trial/bisection"
)

// bisectOptions are the flags.
type bisectOptions struct {
	bisection.Plan
	versions, template string
	retry              bool
	format             string
	timeout            time.Duration
}

// errStep ends a bisection that waits for a step.
var errStep = errors.New("a step must be run first")

func bisectCommand(a *app) *cobra.Command {
	o := bisectOptions{Plan: bisection.Plan{Timeout: "3h"}} // of a build
	c := &cobra.Command{
		Use: "bisect DIR", Short: "Find the version that changed the speed of a key",
		Args: arguments(1, 1, "the directory of a bisection"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.bisect(c.Context(), args[0], o, sysroot.RealClock{})
		},
	}
	f := c.Flags()
	f.StringVar(&o.versions, "versions", "", "file with a version per line; - is standard input")
	f.StringVar(&o.template, "template", "", "configuration of a step")
	f.StringVar(&o.Build, "build", "", "command of the shell that builds a version")
	f.StringVar(&o.Key, "key", "", "benchmark:vm:variant")
	f.Float64Var(&o.Delta, "error", 0.05, "probability of a wrong answer")
	const most = 60
	f.IntVar(&o.Most, "most", most, "blocks of the bad version after which it does not differ enough")
	formatFlag(f, &o.format, "text", "json")
	f.StringVar(&o.To, "to", "", "name of a machine or a pool of a hub that measures the steps")
	f.DurationVar(&o.timeout, "timeout", 0, "with --to: end after this time; 0: never")
	f.BoolVar(&o.retry, "retry", false,
		"try again what could not be built, or what the hub could not measure")
	return c
}

func (a *app) bisect(ctx context.Context, dir string, o bisectOptions, clock sysroot.Clock) error {
	b, err := a.openBisection(dir, o)
	if err != nil {
		return err
	}
	lock, err := b.Lock()
	if err != nil {
		return err
	}
	defer lock.Close() //nolint:errcheck // nothing was written
	hub := hubSteps{a: a, b: b, clock: clock, retry: o.retry}
	if o.timeout > 0 {
		hub.deadline = clock.Now().Add(o.timeout)
	}
	if b.Plan.To != "" {
		if hub.client, err = a.hubClient(); err != nil {
			return err
		}
	}
	if o.retry {
		n, err := b.Retry()
		if err != nil {
			return err
		}
		a.talk("krunctl: %s to try again", display.Count(n, "skipped version"))
	}
	for {
		d, step, err := a.nextStep(ctx, &hub)
		if err != nil || d.Action != sequential.Measure || b.Plan.To == "" {
			if err == nil {
				err = a.printBisection(b, d, step, o.format)
			}
			return err
		}
		a.talk("krunctl: %s", b.Plan.Text(d))
		if err := hub.measure(ctx, step); err != nil {
			return err
		}
	}
}

// nextStep decides, and writes the configuration of the step that is to be measured.
func (a *app) nextStep(ctx context.Context, hub *hubSteps) (d sequential.BisectDecision, step string,
	err error) {
	b := hub.b
	for {
		versions, steps, waiting, err := b.Read(a.reader(runtime.NumCPU()), a.host, &hub.retry)
		if err != nil {
			return d, "", err
		}
		d = sequential.Bisect(sequential.BisectQuestion{Versions: len(versions), Delta: b.Plan.Delta,
			Most: b.Plan.Most}, versions)
		if d.Action != sequential.Measure || waiting != "" {
			return d, waiting, nil
		}
		if waiting, err = b.Next(ctx, d, steps+1); err != nil {
			return d, "", err
		}
		if waiting != "" {
			if _, err := experiment.ParseConfig(a.fsys, waiting, a.host); err != nil {
				return d, "", errors.Join(err, a.fsys.Remove(waiting))
			}
			return d, waiting, nil
		}
		a.talk("krunctl: version %s is skipped: it could not be built (builds/%04d.skip); --retry tries it "+
			"again", b.Plan.Versions[d.Version], d.Version)
	}
}

// openBisection opens the bisection, or makes it by the flags.
func (a *app) openBisection(dir string, o bisectOptions) (*bisection.Bisection, error) {
	b, err := bisection.Open(a.fsys, dir)
	flags := o.versions != "" || o.template != "" || o.Build != "" || o.Key != "" || o.To != ""
	if !errors.Is(err, fs.ErrNotExist) && !flags {
		if err == nil {
			err = o.checkHub(b.Plan)
		}
		return b, err
	}
	if o.versions == "" || o.template == "" || o.Build == "" || o.Key == "" {
		return nil, usageError(errors.New("a new bisection needs --versions, --template, --build and --key"))
	}
	if err := o.checkHub(o.Plan); err != nil {
		return nil, err
	}
	if o.Versions, err = a.versionOrder(o.versions); err != nil {
		return nil, err
	}
	text, err := durable.ReadFile(a.fsys, o.template)
	if err != nil {
		return nil, fmt.Errorf("read --template: %w", err)
	}
	o.Template = string(text)
	if err := o.Check(); err != nil {
		return nil, err
	}
	if err := o.CheckTemplate(a.fsys, dir, a.host); err != nil {
		return nil, err
	}
	return bisection.Create(a.fsys, dir, o.Plan)
}

// checkHub refuses flags that are of a hub, for a bisection that has none.
func (o bisectOptions) checkHub(p bisection.Plan) error {
	if p.To == "" && o.timeout != 0 {
		return usageError(errors.New("--timeout is for a bisection by a hub, which --to begins; " +
			"this one waits for nothing"))
	}
	return nil
}

// printBisection prints the answer, and returns the error for the exit status.
func (a *app) printBisection(b *bisection.Bisection, d sequential.BisectDecision, step,
	format string) error {
	err := a.answer(format, struct {
		sequential.BisectDecision
		Versions []string `json:"versions"`
		Step     string   `json:"step,omitempty"`
	}{d, b.Plan.Versions, step}, func() {
		a.print("%s\n", b.Plan.Text(d))
		if d.Action == sequential.Measure {
			a.print("run the next step: %s\n", a.stepCommand(step))
		}
	})
	switch {
	case err != nil || d.Action == sequential.Found:
		return err
	case d.Action == sequential.Same:
		return fmt.Errorf("%w: good and bad do not differ enough", errUnjudged)
	}
	return errStep
}

// stepCommand returns the command that runs a step on this machine.
func (a *app) stepCommand(step string) string {
	cfg, err := experiment.ParseConfig(a.fsys, step, a.host)
	if err == nil && config.Restarts(cfg.Experiment.Reboot) {
		return fmt.Sprintf("sudo %s enable --start %s", display.Program(os.Args[0], "krunctl"),
			display.ShellPath(step))
	}
	return fmt.Sprintf("%s run %s", display.Program(os.Args[0], "krund"), display.ShellPath(step))
}

// hubSteps measures the steps of a bisection by a hub.
type hubSteps struct {
	a        *app
	b        *bisection.Bisection
	client   *api.Client
	clock    sysroot.Clock
	deadline time.Time // zero: none
	retry    bool      // submit a step again that the hub has not done
}

// measure submits a step unless it was submitted, waits for its end, and fetches the results. It
// may be ended at any time, and called again.
func (h *hubSteps) measure(ctx context.Context, step string) error {
	id, err := h.submitted(ctx, step)
	if err != nil {
		return err
	}
	var timeout time.Duration
	if !h.deadline.IsZero() {
		timeout = max(h.deadline.Sub(h.clock.Now()), 1)
	}
	state, err := h.a.hubSession(h.client, h.clock).Await(ctx, id, timeout)
	if err != nil { // it may go on: its id is not forgotten
		return err
	}
	switch err := submit.NotDone(state); {
	case err != nil && h.retry:
		h.retry = false
		if err := h.b.Forget(step); err != nil {
			return err
		}
		return h.measure(ctx, step)
	case err != nil:
		return fmt.Errorf("%w; --retry submits %s again", err, filepath.Base(step))
	}
	part := filepath.Join(h.b.Dir, "fetch")
	if err := os.RemoveAll(part); err != nil { // of a call that was ended
		return err
	}
	name, err := submit.Fetch(ctx, h.client, id, part)
	if err != nil {
		return err
	}
	return h.b.Fetched(step, filepath.Join(part, name))
}

// submitted submits a step unless the hub has it, and returns its id. The id is on the disk before:
// submitting it again changes nothing.
func (h *hubSteps) submitted(ctx context.Context, step string) (string, error) {
	remote, err := h.b.Remote(step)
	switch {
	case err == nil && remote.Hub != h.client.URL:
		return "", fmt.Errorf("%s was submitted to %s, and this is %s; go on with the former", step,
			remote.Hub, h.client.URL)
	case errors.Is(err, fs.ErrNotExist):
		remote = bisection.Remote{Hub: h.client.URL, ID: api.NewID()}
		err = h.b.SetRemote(step, remote)
	}
	if err != nil {
		return "", err
	}
	_, err = h.client.Experiment(ctx, remote.ID)
	var refused *api.Error
	if !errors.As(err, &refused) || refused.Status != notFound {
		return remote.ID, err
	}
	cfg, err := experiment.ParseConfig(h.a.fsys, step, h.b.Plan.To)
	if err != nil {
		return "", err
	}
	return remote.ID, h.a.hubSession(h.client, h.clock).Send(ctx, cfg, nil, api.Submission{
		ID: remote.ID, Target: h.b.Plan.To, Machines: 1})
}

const notFound = 404

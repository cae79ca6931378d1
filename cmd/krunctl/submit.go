package main

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"krund/internal/experiment/bundle"
	"krund/internal/experiment/directory"
	"krund/internal/hub/api"
	"krund/internal/hub/submit"
	"krund/internal/machine/sysroot"
	"krund/internal/reading/experiment"
)

// submitOptions are the flags.
type submitOptions struct {
	to, arms, build string
	machines        int
	priority        int64
	include         []string
}

func submitCommand(a *app) *cobra.Command {
	var o submitOptions
	c := &cobra.Command{
		Use: "submit NAME.toml --to MACHINE|POOL", Short: "Send an experiment to a hub",
		Args: arguments(1, 1, "the experiment's configuration"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.submit(c.Context(), args[0], o, sysroot.RealClock{})
		},
	}
	f := c.Flags()
	f.StringVar(&o.to, "to", "", "name of a machine or a pool")
	f.IntVar(&o.machines, "machines", 1, "machines that share the experiment")
	f.Int64Var(&o.priority, "priority", 0, "experiments with a higher one are begun first")
	f.StringVar(&o.arms, "arms", "", "revisions of the benchmarks' git repository: BASE,OTHER[,...]")
	f.StringVar(&o.build, "build", "", "shell command to run in each revision's directory")
	f.StringArrayVar(&o.include, "include", nil, "file or directory to send, too; may be repeated")
	return c
}

// hubClient returns the client of the hub that the flag or the environment names.
func (a *app) hubClient() (*api.Client, error) {
	address := cmp.Or(a.hubURL, a.env("KRUNHUB_URL"))
	if address == "" {
		return nil, usageError(errors.New("which hub? set KRUNHUB_URL, or write --hub http://HOST:8642"))
	}
	token := a.env("KRUNHUB_TOKEN")
	if token == "" {
		return nil, usageError(errors.New("KRUNHUB_TOKEN is not set; put a token of the hub into it"))
	}
	c, err := api.NewClient(address, token)
	if err != nil {
		return nil, usageError(err)
	}
	c.Project = a.env("KRUNHUB_PROJECT")
	return c, nil
}

// hubSession asks a hub, and says what it does on standard error.
func (a *app) hubSession(client *api.Client, clock sysroot.Clock) submit.Session {
	return submit.Session{Client: client, Clock: clock, Say: a.tell}
}

func (a *app) submit(ctx context.Context, path string, o submitOptions, clock sysroot.Clock) error {
	if o.to == "" {
		return usageError(errors.New("--to is missing: name a machine or a pool"))
	}
	if o.build != "" && o.arms == "" {
		return usageError(errors.New("--build is for --arms; build the benchmarks before you submit them"))
	}
	client, err := a.hubClient()
	if err != nil {
		return err
	}
	cfg, err := experiment.ParseConfig(a.fsys, path, o.to)
	if err != nil {
		return err
	}
	copies, err := included(o.include)
	if err != nil {
		return err
	}
	if o.arms != "" {
		temporary, err := os.MkdirTemp("", "krunctl-submit-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary) //nolint:errcheck // it is temporary
		var arms []bundle.Copy
		if cfg, arms, err = submit.Revisions(ctx, cfg, o.arms, o.build, temporary, a.talk,
			a.stderr); err != nil {
			return err
		}
		copies = append(copies, arms...)
	}
	id := api.NewID()
	err = a.hubSession(client, clock).Send(ctx, cfg, copies, api.Submission{ID: id, Target: o.to,
		Machines: o.machines, Priority: o.priority})
	if err != nil {
		return err
	}
	a.print("%s\n", id)
	a.talk("submitted %s to %s; `krunctl hub wait %s` waits for its end", cfg.Experiment.Name, o.to, id)
	return nil
}

// included returns what --include adds.
func included(names []string) ([]bundle.Copy, error) {
	var copies []bundle.Copy
	for _, name := range names {
		path, err := directory.Absolute(name)
		if err != nil {
			return nil, err
		}
		copies = append(copies, bundle.Copy{From: path, As: path})
	}
	return copies, nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/experiment/bundle"
	"krund/internal/experiment/directory"
	"krund/internal/hub/api"
	"krund/internal/hub/joined"
	"krund/internal/hub/submit"
	"krund/internal/machine/sysroot"
	"krund/internal/reading/experiment"
)

// hubCommand has the commands of a hub below it.
func hubCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "hub COMMAND", Short: "Submit to a hub of machines, wait, join it with this machine",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return unknownCommand(c, args[0])
		},
	}
	c.PersistentFlags().StringVar(&a.hubURL, "hub", "", "address of the hub (default: $KRUNHUB_URL)")
	c.AddCommand(submitCommand(a), waitCommand(a), requestCommand(a), getCommand(a), joinCommand(a),
		shipCommand(a))
	return c
}

func waitCommand(a *app) *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use: "wait ID", Short: "Wait for the end of an experiment on a hub",
		Args: arguments(1, 1, "the id that submit has printed"),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.hubClient()
			if err != nil {
				return err
			}
			state, err := a.hubSession(client, sysroot.RealClock{}).Await(c.Context(), args[0], timeout)
			if err != nil {
				return err
			}
			a.print("%s\n", state.State)
			return submit.NotDone(state)
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", 0, "end after this time; 0: never")
	return c
}

func requestCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "request hold|resume|stop ID", Short: "Hold, resume or stop an experiment on a hub",
		Args: arguments(2, 2, "hold, resume or stop, and the experiment's id"),
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains([]string{api.RequestHold, api.RequestResume, api.RequestStop}, args[0]) {
				return usageError(fmt.Errorf("the request must be hold, resume or stop, not %q", args[0]))
			}
			client, err := a.hubClient()
			if err != nil {
				return err
			}
			return client.Request(c.Context(), args[1], args[0])
		},
	}
}

func getCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "get PATH", Short: "Print what a hub knows, as JSON",
		Args: arguments(1, 1, "what to print, such as machines or queue"),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.hubClient()
			if err != nil {
				return err
			}
			text, err := client.Get(c.Context(), args[0])
			if err != nil {
				return err
			}
			a.print("%s", text)
			return nil
		},
	}
}

type joinOptions struct {
	token, tokenFile, pool, name string
	replace                      bool
}

func joinCommand(a *app) *cobra.Command {
	var o joinOptions
	c := &cobra.Command{
		Use: "join URL", Short: "Register this machine with a hub",
		Args: arguments(1, 1, "the address of the hub"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := notTogether(c, "token", "token-file"); err != nil {
				return err
			}
			return a.join(c.Context(), args[0], o)
		},
	}
	c.Flags().StringVar(&o.tokenFile, "token-file", "", "file with the token to join; - is standard input")
	c.Flags().StringVar(&o.token, "token", "", "the token itself, which other users can see meanwhile")
	c.Flags().Lookup("token").Hidden = true // a file is better
	c.Flags().StringVar(&o.pool, "pool", "", "pool of identical machines that this one belongs to")
	c.Flags().StringVar(&o.name, "name", "", "name of this machine at the hub; the default is its host name")
	c.Flags().BoolVar(&o.replace, "replace", false, "take the place of the hub's machine of this name")
	return c
}

// timerUnit asks the hub while the machine is idle.
const timerUnit = "krund-ship.timer"

func (a *app) join(ctx context.Context, address string, o joinOptions) error {
	if a.uid != 0 {
		return errors.New("joining a hub changes /etc/krund: run it as root")
	}
	token, err := a.joinToken(o)
	if err != nil {
		return err
	}
	client, err := api.NewClient(address, token)
	if err != nil {
		return usageError(err)
	}
	o.name = cmp.Or(o.name, a.host)
	request := api.JoinRequest{Name: o.name, Pool: o.pool, Replace: o.replace}
	before, err := joined.Load(a.fsys, a.hubFile)
	known := err == nil
	if known && before.URL == client.URL { // no other hub gets the token
		request.Former = before.Token
	}
	answer, err := client.Join(ctx, request)
	if err != nil {
		return err
	}
	if answer.Replaced != "" {
		a.talk("krunctl: %s takes the place of machine %s, seen last at %s; the former token has ended",
			o.name, answer.ID, answer.Replaced)
	}
	h := joined.Hub{URL: client.URL, Token: answer.Token, Deadline: "30s",
		MaxExecution: joined.DefaultExecution}
	if known { // the owner's decisions
		h.Allow, h.Deadline = before.Allow, cmp.Or(before.Deadline, h.Deadline)
		h.MaxExecution = cmp.Or(before.MaxExecution, h.MaxExecution)
	}
	if err := h.Store(a.fsys, a.hubFile); err != nil {
		return err
	}
	a.console().Line("joined", "%s as %s", client.URL, o.name)
	if err := a.systemctl(ctx, "enable", "--now", timerUnit); err != nil {
		return fmt.Errorf("krund ships from now on, but the timer for the idle machine is off: %w", err)
	}
	return nil
}

// joinToken returns the token to join with.
func (a *app) joinToken(o joinOptions) (string, error) {
	const most = 1 << 10
	text, err := []byte(cmp.Or(o.token, a.env("KRUNHUB_TOKEN"))), error(nil)
	file := o.tokenFile
	if o.token == "-" { // as --token-file -
		file = "-"
	}
	if file != "" {
		text, err = a.readInput(file, most)
	}
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", usageError(errors.New("join needs a token: --token-file FILE, or KRUNHUB_TOKEN; an " +
			"administrator of the hub has one"))
	}
	return token, nil
}

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

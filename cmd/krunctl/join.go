package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/hub/api"
	"krund/internal/hub/joined"
)

const joinHelp = `Join registers this machine with a hub. From then on krund ships the records of each
process execution to it, before the machine restarts ("krunctl hub ship"), and while the
machine is idle a timer asks the hub every minute what to do. It needs root.

The token must be one with the role join or admin: in a file that --token-file names
(- is standard input), or in the variable KRUNHUB_TOKEN. Every user of the machine can
see one that is given by --token in the list of processes. The hub answers with a token
of this machine's own, which can do nothing but ship its records. Joining again gives
this machine another token and ends the former one; if a machine of this name has
joined or was seen within an hour, or runs an experiment, it takes --replace: two hosts
may have the same name by mistake. The place of a machine that the hub has seen is for
the machine that still has its token in hub.toml, and for tokens with the role admin.

To leave the hub, remove /etc/krund/hub.toml and disable the timer.

FILES
  /etc/krund/hub.toml  the hub, this machine's token, and the deadline of a shipment;
                       only root can read it

EXAMPLES
  krunctl hub join https://hub.example --token-file token
  ssh bench-1 sudo krunctl hub join http://10.0.0.2:8642 --pool lab --token-file - < token
` + exitHelp

type joinOptions struct {
	token, tokenFile, pool, name string
	replace                      bool
}

func joinCommand(a *app) *cobra.Command {
	var o joinOptions
	c := &cobra.Command{
		Use: "join URL", Short: "Register this machine with a hub", Long: joinHelp,
		Args: arguments(1, 1, "the address of the hub"),
		RunE: func(c *cobra.Command, args []string) error { return a.join(c.Context(), args[0], o) },
	}
	c.Flags().StringVar(&o.tokenFile, "token-file", "", "file with the token to join; - is standard input")
	c.Flags().StringVar(&o.token, "token", "", "the token itself, which other users can see meanwhile")
	c.MarkFlagsMutuallyExclusive("token", "token-file")
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

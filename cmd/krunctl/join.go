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

type joinOptions struct {
	token, tokenFile, pool, name string
	replace                      bool
}

func joinCommand(a *app) *cobra.Command {
	var o joinOptions
	c := &cobra.Command{
		Use: "join URL", Short: "Register this machine with a hub",
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

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"krund/internal/boot/autostart"
	"krund/internal/boot/doctor"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/durable/trust"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/hub/joined"
	"krund/internal/machine/command"
)

// giveUpTime bounds the work before krund ends.
const giveUpTime = 2 * time.Minute

// giveUp returns err, which ends a krund whose experiment could not even be opened.
//
// If a person started krund, giveUp does nothing else. If the unit started it, every later boot
// would fail in the same way: giveUp disables the unit, so that the next boots are ordinary ones,
// and sends one notification, because mails can only be counted in an open schedule. It does the
// same if another experiment already runs on the machine: with both enabled, one of them would fail
// in each boot, and the machine would stay idle once the other has ended. If another krund works on
// the same experiment, the unit stays enabled and a notification is sent: systemd starts the unit
// once in each boot. giveUp prints what it did to stderr, which is the journal.
func giveUp(ctx context.Context, o runOptions, cfg *config.Config, stderr io.Writer, err error) error {
	_, home := caller()
	a := unattended{
		unit:    startingUnit(),
		disable: autostart.DisableUnit,
		send: func(ctx context.Context, cfg *config.Config, m command.Message) error {
			return notifier(cfg, cfg.Experiment.Reboot, home).Send(ctx, m, cfg.Notify.MaxMails > 0)
		},
		stderr: stderr,
	}
	a.giveUp(ctx, o, cfg, err)
	return err
}

// unattended holds what giveUp needs to end a krund that a unit has started.
type unattended struct {
	unit    string // that started krund; "" for none
	disable func(ctx context.Context, unit string) error
	send    func(ctx context.Context, cfg *config.Config, m command.Message) error
	stderr  io.Writer
}

func (a unattended) giveUp(ctx context.Context, o runOptions, cfg *config.Config, err error) {
	if a.unit == "" || ctx.Err() != nil {
		return
	}
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpTime)
	defer cancel()
	next := fmt.Sprintf("the unit %s is disabled, and the next boots are ordinary ones; when the problem "+
		"is solved, continue with `krunctl enable %s` and a reboot", a.unit, display.ShellPath(o.path))
	locked, _ := errors.AsType[*directory.LockedError](err)
	if locked != nil && locked.Stranger == "" {
		next = fmt.Sprintf("the unit %s stays enabled, and the next boot continues", a.unit)
	} else if disableErr := a.disable(after, a.unit); disableErr != nil {
		next = fmt.Sprintf("the unit %s could not be disabled and will start krund at each boot: %v",
			a.unit, disableErr)
	}
	fmt.Fprintln(a.stderr, "krund:", next)
	if cfg == nil {
		cfg = startedWith(o)
	}
	if cfg == nil {
		fmt.Fprintln(a.stderr, "krund: no notification was sent: without a configuration the recipients "+
			"are unknown")
		return
	}
	sendErr := a.send(after, cfg, command.Message{
		Event: command.Stopped, Experiment: cfg.Experiment.Name, Host: cfg.Hostname,
		Subject: "cannot be started",
		Text:    err.Error() + "\n\nNothing was run, and no result was touched. Now " + next + ".\n",
	})
	if sendErr != nil {
		fmt.Fprintf(a.stderr, "krund: notification not delivered: %v\n", sendErr)
	}
}

// startedWith returns the configuration that the experiment was started with, from its directory,
// because the current one cannot be read or must not be trusted. It returns nil if there is none
// that can be trusted.
func startedWith(o runOptions) *config.Config {
	f, err := directory.OpenChecked(durable.OS(), o.directory, trust.Verdict.OneOwner)
	if err != nil {
		return nil
	}
	text, err := durable.ReadFile(f.FS(), f.ConfigCopy())
	if err != nil {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil
	}
	cfg, err := config.Stored(o.path, text, host, doctor.Settings())
	if err != nil {
		return nil
	}
	if cfg, err = asAllowed(cfg, os.Geteuid() == 0, joined.File, joined.StateDirectory); err != nil {
		return nil // its notification is a command of root, too
	}
	return cfg
}

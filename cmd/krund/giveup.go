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

// unitVariable is set by krund's unit to the name of the unit, and counts only in that unit
// (startingUnit).
const unitVariable = "KRUND_UNIT"

// notEnabledError is the error for an experiment that restarts the machine when a person has
// started krund, and not a boot of a machine that was enabled for it: after the restart nothing
// would continue, and whoever works on the machine would lose what they do. Nothing was changed.
type notEnabledError struct{ text string }

func (e notEnabledError) Error() string { return e.text }

// notEnabled returns the error for an experiment that would restart the machine by mode. It names
// commands that work here, as they are typed when krund was started as arg0.
func notEnabled(o runOptions, cfg *config.Config, mode, arg0 string) error {
	file := display.ShellPath(o.path)
	run := display.Program(arg0, "krund") + " run"
	where := ""
	if o.directory != directory.For(o.path) {
		where = "--directory " + display.ShellPath(o.directory) + " "
	}
	text := fmt.Sprintf("nothing was started, because reboot = %q restarts this machine before each of "+
		"%s, and only an experiment that was enabled on the machine may do that. Run one of:\n"+
		"  %s --reboot none %s%s    # measure here and now, without restarts\n"+
		"  %s --quick %s    # try everything: a short run without restarts\n",
		mode, display.Count(cfg.Slots(), "process execution"), run, where, file, run, file)
	with := ""
	if cfg.Experiment.Reboot != mode {
		with = fmt.Sprintf("with reboot = %q in the file: ", mode)
	}
	how, what := enabling(display.Program(arg0, "krunctl"), file)
	return notEnabledError{text + "  " + how + "    # " + with + what}
}

// unitToDisable returns the unit that starts krund at boot, which is disabled when the experiment
// ends; "" for none. unit is the one that has started krund, "" if a person has: its name is that
// of the experiment when it was enabled, which the configuration may state otherwise for the name
// that the machine has now.
func unitToDisable(unit, mode, experiment string) string {
	if unit == "" && config.Restarts(mode) {
		return autostart.UnitName(experiment)
	}
	return unit
}

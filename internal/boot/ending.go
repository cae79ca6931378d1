package boot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"krund/internal/command"
	"krund/internal/config"
	"krund/internal/directory"
	"krund/internal/schedule"
)

// ErrReboots is returned when the experiment has used up the reboots it may ask for.
var ErrReboots = errors.New("the limit of reboots is reached")

// outstanding says whether another slot is to be run. A damaged slot counts: the next pass says so.
func (x *experiment) outstanding() bool {
	_, err := x.current()
	return !errors.Is(err, schedule.ErrDone)
}

// finish ends an experiment with nothing outstanding: people are told, and the next boots are ordinary ones.
func (x *experiment) finish(ctx context.Context) (Ending, error) {
	ctx, cancel := cleanup(ctx)
	defer cancel()
	err := x.retire(ctx)
	if _, stopErr := x.directory.TakeBack(directory.Stop); err == nil { // asked for during the last execution
		err = stopErr
	}
	s, sumErr := x.schedule.Summarize()
	if sumErr == nil && x.worked { // otherwise it was finished, and told, before
		x.Log.Info("finished", "completed", s.Completed, "errors", s.Error, "timeouts", s.Timeout, "skipped", s.Skipped)
		x.tell(ctx, command.Finished, fmt.Sprintf("finished: %d of %d completed", s.Completed, s.Total()),
			fmt.Sprintf("completed %d, errors %d, timeouts %d, skipped %d\n", s.Completed, s.Error, s.Timeout, s.Skipped))
	}
	return Finished, errors.Join(err, sumErr)
}

// stop ends an experiment that cannot go on by itself: the next boots are ordinary ones, people are told, and the error comes back.
func (x *experiment) stop(ctx context.Context, err error) error {
	after, cancel := cleanup(ctx)
	defer cancel()
	x.Log.Debug("stopped", "error", err) // for the file: the caller prints it
	x.tell(after, command.Stopped, "stopped", err.Error()+"\n\nThe results so far are safe. `krunctl status` shows them; start krund again to go on.\n")
	return errors.Join(err, x.retire(after))
}

// askedToStop says whether somebody wants the experiment to end here although something is outstanding.
func (x *experiment) askedToStop() (bool, error) {
	asked, err := x.directory.Asked(directory.Stop)
	return asked && x.outstanding(), err
}

// stopping is askedToStop for a moment at which an error must not keep the machine from restarting: the next pass meets it again.
func (x *experiment) stopping() bool {
	asked, err := x.askedToStop()
	return asked && err == nil
}

// obey ends the experiment because somebody asked for it: the next boots are ordinary ones, then the request is taken back, so that whoever
// starts krund again goes on. In the other order a power cut between the two would lose the request.
func (x *experiment) obey(ctx context.Context, err error) error {
	if err != nil {
		return x.stop(ctx, err)
	}
	ctx, cancel := cleanup(ctx)
	defer cancel()
	if err := x.retire(ctx); err != nil {
		return err
	}
	x.Log.Info("stopped, as somebody asked", "file", x.directory.RequestFile(directory.Stop))
	x.tell(ctx, command.Stopped, "stopped, as somebody asked", "The results so far are safe. `krunctl status` shows them; start krund again to go on.\n")
	_, err = x.directory.TakeBack(directory.Stop)
	return err
}

// askForBoot makes the next boot one in which the experiment goes on, where it has an entry of the boot loader for itself.
func (x *experiment) askForBoot(ctx context.Context) error {
	if x.Entry == nil {
		return nil
	}
	return x.Entry.Ask(ctx)
}

// chooseBoot is askForBoot, unless somebody wants the next boot to be an ordinary one.
func (x *experiment) chooseBoot(ctx context.Context) error {
	if why, err := x.Held(); err != nil || why == "" || x.Entry == nil {
		return errors.Join(err, x.askForBoot(ctx))
	}
	return x.Entry.TakeBack(ctx)
}

// retire takes krund out of the next boots, by both ways that lead to it.
func (x *experiment) retire(ctx context.Context) error {
	err := x.Retire(ctx)
	if x.Entry != nil {
		err = errors.Join(err, x.Entry.TakeBack(ctx))
	}
	return err
}

// restart counts a reboot, durably, and then asks for it. When there is no reboot after all, it restores what was applied.
func (x *experiment) restart(ctx context.Context, applied Applied) (Ending, error) {
	err := x.countReboot()
	if err == nil {
		err = x.chooseBoot(ctx)
	}
	if err == nil {
		if err = x.Reboot(ctx); err == nil {
			x.rebooting = true
			x.Machine.LeaveToRestart(applied)
			return Rebooting, nil
		}
	}
	after, cancel := cleanup(ctx)
	defer cancel()
	undoErr := x.Machine.Restore(after, applied)
	err = errors.Join(err, undoErr)
	if ctx.Err() != nil && undoErr == nil {
		return Interrupted, nil
	}
	return 0, x.stop(after, err)
}

func (x *experiment) countReboot() error {
	used, most := x.schedule.Header().Reboots, x.cfg.Experiment.MaxReboots
	if used >= most {
		return fmt.Errorf("%w: %d of %d (experiment.max_reboots); look into `krunctl status` for attempts that were lost", ErrReboots, used, most)
	}
	return x.schedule.UpdateHeader(func(h *schedule.Header) { h.Reboots++ })
}

// tell sends a notification. The count of mails is durable before a mail is sent, so that a fault can never flood anybody. The last mail is not for
// single executions: many that fail must not keep the news that the experiment has ended from whoever waits for it.
func (x *experiment) tell(ctx context.Context, event command.Event, subject, text string) {
	left := x.cfg.Notify.MaxMails - x.schedule.Header().Mails
	mail := x.Notifier.WantsMail() && (left > 1 || left == 1 && event != command.Flagged)
	if mail {
		if err := x.schedule.UpdateHeader(func(h *schedule.Header) { h.Mails++ }); err != nil {
			x.Log.Error("count a mail", "error", err)
			mail = false
		}
	}
	m := command.Message{Event: event, Experiment: x.cfg.Experiment.Name, Host: x.Host, Subject: subject, Text: text}
	if err := x.Notifier.Send(ctx, m, mail); err != nil {
		x.Log.Warn("notification not delivered", "event", string(event), "error", err)
	}
}

func bullets(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "- " + strings.Join(lines, "\n- ") + "\n"
}

// hardware says whether each execution needs a boot of its own.
func (x *experiment) hardware() bool { return x.reboot == config.RebootHardware }

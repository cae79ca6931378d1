package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"krund/internal/display"
	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/internal/machine/command"
)

// The events that are notified, beside those of krund.
const (
	Overdue command.MessageKind = "overdue" // a machine has not reported in time
	Lost    command.MessageKind = "lost"    // its part of an experiment was given up
)

// insert adds a job in a transaction.
type insert func(ctx context.Context, tx *sql.Tx, args river.JobArgs) error

// missed is what happens when the lease of a share has ended: an alert and a notification; then the
// machine is restarted by its power, as often as configured, each time with a new lease; then the
// part is given up. Without a configured power, it gets one more lease after the notification. Each
// step is one transaction with the jobs that carry it out.
func (q Queue) missed(ctx context.Context, late database.Share, c Config, insert insert) error {
	return q.DB.Update(ctx, func(tx *sql.Tx) error {
		if _, _, err := q.DB.Lock(ctx, tx, late.Experiment); err != nil {
			return err
		}
		share, err := q.DB.Share(ctx, tx, late.Experiment, late.Machine)
		if err != nil || share.State != database.Running || share.Lease.After(q.DB.Now()) {
			return err // it has reported in the meantime
		}
		m, err := q.DB.Machine(ctx, share.Machine)
		if err != nil {
			return err
		}
		power, known := c.power(m.Name)
		chances := max(power.Times, 1)
		message := noticeArgs{ID: access.NewID(), Event: Overdue, Experiment: share.Experiment,
			Machine: m.Name, Subject: "the machine has not reported in time"}
		share.Missed++
		share.Lease = q.DB.Now().Add(min(leaseOf(progressOf(share)), leaseUnknown))
		switch {
		case share.Missed > chances:
			share.State = database.Failed
			message.Event = Lost
			message.Subject = "the machine does not report; its part of the experiment was given up"
		case known:
			message.Subject += fmt.Sprintf("; restarting it by its power (%d of %d)", share.Missed, chances)
			if err := insert(ctx, tx, powerArgs{Machine: m.Name}); err != nil {
				return err
			}
		}
		notify, err := q.DB.Raise(ctx, tx, database.Alert{Kind: string(message.Event), Subject: m.Name,
			Machine: m.ID, Experiment: share.Experiment, Text: message.Subject})
		if err == nil && notify {
			err = insert(ctx, tx, message)
		}
		if err = errors.Join(err, q.DB.PutShare(ctx, tx, share)); err != nil {
			return err
		}
		return q.settle(ctx, tx, share.Experiment)
	})
}

// look handles all shares whose lease has ended, and the experiments whose open parts no machine
// will begin.
func (q Queue) look(ctx context.Context, c Config, insert insert) error {
	leased, err := q.DB.Leased(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, share := range leased {
		switch now := q.DB.Now(); {
		case share.Lease.Before(now):
			errs = append(errs, q.missed(ctx, share, c, insert))
		case share.Lease.After(now.Add(leaseOf(progressOf(share)))):
			errs = append(errs, q.renew(ctx, share))
		}
	}
	unfinished, err := q.DB.Unfinished(ctx)
	errs = append(errs, err)
	for _, id := range unfinished {
		errs = append(errs, q.DB.Update(ctx, func(tx *sql.Tx) error { return q.settle(ctx, tx, id) }))
	}
	return errors.Join(errs...)
}

// excuse gives the shares whose lease has ended another one: the hub could not hear the machines
// until now.
func (q Queue) excuse(ctx context.Context) error {
	leased, err := q.DB.Leased(ctx)
	if err != nil {
		return err
	}
	for _, share := range leased {
		if share.Lease.Before(q.DB.Now()) {
			err = errors.Join(err, q.renew(ctx, share))
		}
	}
	return err
}

// renew gives a share another lease unless its machine has reported in the meantime. That a lease
// is longer than any that is given shows that the hub's clock was set back since: a machine that is
// silent must not keep the part until that time.
func (q Queue) renew(ctx context.Context, share database.Share) error {
	return q.DB.Update(ctx, func(tx *sql.Tx) error {
		if _, _, err := q.DB.Lock(ctx, tx, share.Experiment); err != nil {
			return err
		}
		now, err := q.DB.Share(ctx, tx, share.Experiment, share.Machine)
		if err != nil || now.State != database.Running || !now.Lease.Equal(share.Lease) {
			return err
		}
		now.Lease = q.DB.Now().Add(min(leaseOf(progressOf(now)), leaseUnknown))
		return q.DB.PutShare(ctx, tx, now)
	})
}

// lookEvery is how often it is done. It is small beside a lease. After longestGap without a look,
// the hub was off or suspended, or its clock was set: the machines are not to blame.
const (
	lookEvery  = time.Minute
	longestGap = 10 * time.Minute
)

// overdueArgs looks for machines that have not reported.
type overdueArgs struct{}

// Kind implements river.JobArgs.
func (overdueArgs) Kind() string { return "overdue" }

// excuseGap excuses the machines if no process of the hub has looked for longer than longestGap.
func (q Queue) excuseGap(ctx context.Context) error {
	var last time.Time
	err := q.DB.Update(ctx, func(tx *sql.Tx) (err error) {
		last, err = q.DB.Looked(ctx, tx)
		return err
	})
	if err != nil || q.DB.Now().Sub(last) <= longestGap {
		return err
	}
	return q.excuse(ctx)
}

func (w *workers) overdue(ctx context.Context, _ overdueArgs) error {
	q := Queue{DB: w.db}
	if err := q.excuseGap(ctx); err != nil {
		return err
	}
	return q.look(ctx, w.config, insertJob)
}

// powerArgs restarts a machine by its power.
type powerArgs struct {
	Machine string `json:"machine"`
}

// Kind implements river.JobArgs.
func (powerArgs) Kind() string { return "power" }

func (w *workers) power(ctx context.Context, a powerArgs) error {
	p, ok := w.config.power(a.Machine)
	if !ok {
		return nil // the configuration has changed
	}
	w.log.Info("restarting a machine by its power", "machine", a.Machine)
	_, err := command.Run(ctx, command.Cmd{Argv: p.argv(a.Machine), Timeout: p.Timeout})
	text := "restarted by " + p.Cycle[0]
	if err != nil {
		w.log.Error("a machine was not restarted", "machine", a.Machine, "error", err)
		// Every reader sees this: without the arguments, which may have a password.
		text = display.Clip(fmt.Sprintf("not restarted: %s: %v", p.Cycle[0], errors.Unwrap(err)),
			display.MaxMessage)
	}
	if err := w.db.AddPower(ctx, a.Machine, text); err != nil { // no reason to restart it again
		w.log.Error("not stored what was done to the power", "machine", a.Machine, "error", err)
	}
	return err
}

// noticeArgs notifies people. It is stored in the transaction in which it is found that it is to be
// told, with the id of the message: what is sent again, because the hub died before it knew that it
// was sent, or because another way failed, has the same.
type noticeArgs struct {
	ID         string              `json:"id"`
	Event      command.MessageKind `json:"event"`
	Experiment string              `json:"experiment"` // id
	Machine    string              `json:"machine"`    // name
	Subject    string              `json:"subject"`
}

// Kind implements river.JobArgs.
func (noticeArgs) Kind() string { return "notice" }

func (w *workers) notice(ctx context.Context, a noticeArgs) error {
	w.log.Warn(a.Subject, "machine", a.Machine, "experiment", a.Experiment)
	x, err := w.db.Experiment(ctx, a.Experiment)
	if errors.Is(err, database.ErrMissing) {
		return nil // it was deleted
	}
	if err != nil {
		return err
	}
	to, name := w.config.Notify, x.Series()
	if x.Project != access.Default {
		if a.Event == Changed {
			to = w.config.Projects[x.Project]
		} else { // about a machine, which is of all
			name, x.ID = "of another project", "-"
		}
	}
	m := command.Message{ID: a.ID, Event: a.Event, Experiment: name, Host: a.Machine, Subject: a.Subject,
		Text: fmt.Sprintf("%s\n\nExperiment: %s (%s)\nMachine: %s\n", a.Subject, name, x.ID, a.Machine)}
	return to.Send(ctx, m, true)
}

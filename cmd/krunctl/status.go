package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/config"
	"krund/internal/directory"
	"krund/internal/results"
	"krund/internal/schedule"
	"krund/internal/summary"
)

const statusHelp = `Status says how far an experiment is: what is finished and with which
outcome, what is running, how long it still takes, and what went wrong.

It only reads, takes no lock, and may be used at any time while krund runs: it
costs the machine a moment of processor time, though, so leave a machine alone
that measures. Damaged slots of the schedule are shown, and are not an error.

A process execution that was begun and that no krund of this machine is at work
on any more, because krund was killed, is called interrupted: the next krund
begins it again. On another machine it is called running, as it was last seen.

The estimate is the mean process wall time of the last executions of each key,
times what is left of it, plus what was measured to pass between two of them
(boots, waits, temperatures), or the configured waits until two were measured.

EXAMPLES
  krunctl status warmup.toml             the experiment of this configuration
  krunctl status --keys warmup.krun      with a row for each key
  krunctl status --json warmup.krun | jq .slots.completed
` + exitHelp

type statusOptions struct {
	json bool
	keys bool
}

func statusCommand(a *app) *cobra.Command {
	var o statusOptions
	c := &cobra.Command{
		Use:   "status DIR|NAME.toml",
		Short: "Say how far an experiment is",
		Long:  statusHelp,
		Args:  arguments(1, 1, "the experiment's directory or configuration"),
		RunE:  func(_ *cobra.Command, args []string) error { return a.status(args[0], o) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	c.Flags().BoolVar(&o.keys, "keys", false, "print a table with a row for each key")
	return c
}

func (a *app) status(arg string, o statusOptions) error {
	st, err := a.statusOf(arg)
	if err != nil {
		return err
	}
	if o.json {
		return a.printJSON(st)
	}
	a.printStatus(st, o.keys)
	return nil
}

// mostFailures is how many failed slots are explained.
const mostFailures = 20

// statusOf reads all that status prints.
func (a *app) statusOf(arg string) (statusJSON, error) {
	f, err := a.openDirectory(arg)
	if err != nil {
		return statusJSON{}, err
	}
	s, err := a.openSchedule(f)
	if err != nil {
		return statusJSON{}, err
	}
	defer s.Close() //nolint:errcheck // it was only read
	left := a.abandoned(f)
	v, err := look(s, mostFailures)
	if err != nil {
		return statusJSON{}, fmt.Errorf("read the schedule: %w", err)
	}
	st := fromHeader(f, s, v)
	if st.Running != nil && left && a.abandoned(f) { // before and after: a krund may have begun or ended meanwhile
		st.Interrupted = a.interruption(f)
	}
	r := a.reader(f)
	st.addLast(r, v)
	st.addFailures(r, v)
	a.addConfig(&st, f, v, v.samples(r))
	return st, st.addRequests(f)
}

// abandoned says that the krund which took the experiment last has ended. Of one on another machine that cannot be told.
func (a *app) abandoned(f directory.Directory) bool {
	pid, host := f.LastHolder()
	return pid > 0 && host == a.host && !directory.HoldsLock(a.fsys, pid)
}

func (a *app) interruption(f directory.Directory) *breakJSON {
	info, err := a.fsys.Lstat(f.Schedule())
	if err != nil {
		return &breakJSON{}
	}
	begun := info.ModTime().UTC().Truncate(time.Second)
	return &breakJSON{Begun: &begun}
}

func fromHeader(f directory.Directory, s *schedule.Schedule, v *survey) statusJSON {
	h := s.Header()
	st := statusJSON{
		Format: statusFormat, Directory: f.Dir(), ConfigHash: h.ConfigHash, Created: h.Created, Order: h.Order, Seed: h.Seed,
		Slots: countsOf(v.seen), Attempts: v.seen.Attempts, Running: slotOf(v.running), Next: slotOf(v.next),
		Reboots: h.Reboots, Mails: h.Mails,
		ErrorsTotal: v.failed, Errors: []failureJSON{}, Damaged: []damageJSON{}, Findings: []string{}, Keys: []keyJSON{},
	}
	if st.Slots.Total > 0 {
		st.Percent = 100 * float64(st.Slots.Finished) / float64(st.Slots.Total)
	}
	switch {
	case st.Slots.Finished == st.Slots.Total:
		st.State = "finished"
	case v.seen.Attempts == 0 && v.seen.Final() == 0:
		st.State = "not started"
	default:
		st.State = "unfinished"
	}
	for _, d := range v.damaged {
		st.Damaged = append(st.Damaged, damageJSON{Slot: d.Index, Reason: d.Reason})
	}
	if err := s.HeaderDamage(); err != nil {
		st.Findings = append(st.Findings, fmt.Sprintf("one of the two copies of the schedule's header is damaged; the next update repairs it: %v", err))
	}
	return st
}

// addLast adds the record of the slot that was worked on last: an attempt of
// the running one may have a record already.
func (st *statusJSON) addLast(r *results.Reader, v *survey) {
	for _, slot := range []*schedule.Slot{v.running, v.last} {
		if slot == nil {
			continue
		}
		rec, ok, err := r.Latest(slot.Index, slot.Attempts)
		if err != nil {
			st.Findings = append(st.Findings, err.Error())
			continue
		}
		if !ok {
			continue
		}
		st.Experiment, st.Host, st.Reboot = rec.Experiment, rec.Host, rec.Reboot
		st.Last = &lastJSON{
			slotJSON: slotJSON{Slot: rec.Slot, Attempt: rec.Attempt, Pexec: rec.Pexec, Key: rec.Key.String()},
			Outcome:  rec.Outcome, Started: rec.Started, WallNS: rec.Process.WallNS,
		}
		return
	}
}

// addFailures adds the first reason of each failed slot.
func (st *statusJSON) addFailures(r *results.Reader, v *survey) {
	for _, slot := range v.failures {
		f := failureJSON{slotJSON: *slotOf(&slot), Outcome: slot.Flag.String(), Reason: "no reason is recorded"}
		rec, ok, err := r.Latest(slot.Index, slot.Attempts)
		switch {
		case err != nil:
			f.Reason = err.Error()
		case !ok:
			f.Reason = "no attempt came to its end: the machine or krund stopped each time"
		case len(rec.Reasons) > 0:
			f.Reason = rec.Reasons[0]
		}
		st.Errors = append(st.Errors, f)
	}
}

// addConfig adds what the configuration knows, and what is estimated with it.
func (a *app) addConfig(st *statusJSON, f directory.Directory, v *survey, samples []summary.Sample) {
	host := st.Host
	if host == "" {
		host = a.host
	}
	var waits summary.Waits
	cfg, err := a.copiedConfig(f, host)
	if err == nil {
		waits = summary.WaitsOf(cfg)
		st.fill(cfg)
	} else {
		st.Findings = append(st.Findings, "the limits and waits are unknown: "+firstProblem(err))
	}
	left := v.left()
	st.ETA = etaOf(summary.Estimate(left, samples, waits, v.seen.Attempts > 0))
	means := summary.MeanTimes(samples)
	for _, k := range v.keys {
		row := keyJSON{Key: k.Key.String(), Slots: countsOf(k.Counts), Attempts: k.Attempts}
		if mean, ok := means[k.Key]; ok {
			ns := int64(mean)
			row.MeanWallNS = &ns
		}
		st.Keys = append(st.Keys, row)
	}
}

func (st *statusJSON) fill(cfg *config.Config) {
	st.Experiment, st.Reboot = cfg.Experiment.Name, cfg.Experiment.Reboot
	reboots, mails := cfg.Experiment.MaxReboots, cfg.Notify.MaxMails
	st.MaxReboots, st.MaxMails = &reboots, &mails
	if cfg.Hash != st.ConfigHash {
		st.Findings = append(st.Findings, "config.toml is not the text that the schedule was made from; `krunctl check-data` says more")
	}
}

// firstProblem is the first line of an error that may have many.
func firstProblem(err error) string {
	var wrong config.Errors
	if errors.As(err, &wrong) && len(wrong) > 1 {
		return fmt.Sprintf("%v (and %d more mistakes)", wrong[0], len(wrong)-1)
	}
	return err.Error()
}

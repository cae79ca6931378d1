package summary

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"krund/internal/display"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/experiment/stop"
	"krund/internal/reading/experiment"
	"krund/internal/schedule"
)

// StatusFormat is the version of Status. docs/output.md describes its fields.
const StatusFormat = 1

// MaxFailures is the maximum number of failed slots that a Status describes.
const MaxFailures = 20

// Status is the progress of an experiment.
type Status struct {
	Format     int    `json:"format"`
	Experiment string `json:"experiment"`
	Directory  string `json:"folder"`
	Host       string `json:"host"` // "" until something ran
	ConfigHash string `json:"config_hash"`
	Created    string `json:"created"`
	Order      string `json:"order"`
	Seed       uint64 `json:"seed"`
	Reboot     string `json:"reboot"` // "" when unknown

	State string     `json:"state"` // one of the State constants
	Slots SlotCounts `json:"slots"`
	// null in an experiment without arms
	Blocks   *BlockCounts `json:"blocks"`
	Percent  float64      `json:"percent"`
	Attempts int          `json:"attempts"`
	Running  *SlotState   `json:"running"`
	// null: unknown, as for users who may not look, and on other machines
	RunningIterations *Iterations `json:"running_iterations"`
	// null: krund is working on the running slot, or that is unknown
	Interrupted *Interruption `json:"interrupted"`
	Next        *SlotState    `json:"next"`
	Last        *LastRecord   `json:"last"`

	Reboots    int  `json:"reboots"`
	MaxReboots *int `json:"max_reboots"`
	Mails      int  `json:"mails"`
	MaxMails   *int `json:"max_mails"`
	ETA        ETA  `json:"eta"`

	ErrorsTotal int           `json:"errors_total"`
	Errors      []Failure     `json:"errors"`
	Damaged     []DamagedSlot `json:"damaged"`
	Findings    []string      `json:"findings"`
	Keys        []KeyStatus   `json:"keys"`
	Stop        *Stop         `json:"stop"`   // null: no key is finished early
	Bounds      *Bounds       `json:"bounds"` // of what is left; null: all executions and iterations are run
	// null: [stop.iterations] has ended no execution
	StoppedIterations *StoppedIterations `json:"stopped_iterations"`
}

// The states of an experiment.
const (
	StateNew        = "not started" // nothing was started; there may be no schedule yet
	StateStarting   = "starting"    // a new experiment, before its schedule is made
	StateUnfinished = "unfinished"
	StateFinished   = "finished"
)

// SlotCounts holds the number of slots with each flag.
type SlotCounts struct {
	Total       int `json:"total"`
	Finished    int `json:"finished"`
	Outstanding int `json:"outstanding"`
	Running     int `json:"running"`
	Completed   int `json:"completed"`
	Error       int `json:"error"`
	Timeout     int `json:"timeout"`
	Skipped     int `json:"skipped"`
	Damaged     int `json:"damaged"`
}

// BlockCounts counts the blocks of all keys: a block of a key is one execution of each of its arms.
type BlockCounts struct {
	Total    int `json:"total"`
	Complete int `json:"complete"` // each arm is completed, so all arms are compared
	// finished, but an arm failed or was skipped: the comparisons with that arm lack this block
	Incomplete int `json:"incomplete"`
}

// CountsOf returns the counts of a schedule in the form for documents.
func CountsOf(c schedule.Counts) SlotCounts {
	return SlotCounts{
		Total: c.Total(), Finished: c.Final(), Outstanding: c.Outstanding, Running: c.Running,
		Completed: c.Completed, Error: c.Error, Timeout: c.Timeout, Skipped: c.Skipped, Damaged: c.Damaged,
	}
}

// SlotState is a slot, or one of its attempts.
type SlotState struct {
	Slot    int    `json:"slot"`
	Attempt int    `json:"attempt"` // for a slot, the number of attempts begun
	Pexec   int    `json:"pexec"`
	Key     string `json:"key"`
}

// Iterations counts the iterations of a process execution.
type Iterations struct {
	Done    int `json:"done"`
	Planned int `json:"planned"`
}

func slotOf(s *schedule.Slot) *SlotState {
	if s == nil {
		return nil
	}
	return &SlotState{Slot: s.Index, Attempt: s.Attempts, Pexec: s.Pexec, Key: s.Key.String()}
}

func recordOf(r *results.Record) SlotState {
	return SlotState{Slot: r.Slot, Attempt: r.Attempt, Pexec: r.Pexec, Key: r.Key.String()}
}

// Interruption reports that no krund is working on the running slot.
type Interruption struct {
	Begun *time.Time `json:"begun"` // when the schedule was last changed; null when unknown
}

// LastRecord is the record of the slot that was worked on last.
type LastRecord struct {
	SlotState
	Outcome results.Outcome `json:"outcome"`
	Started time.Time       `json:"started"`
	WallNS  int64           `json:"process_wall_ns"`
}

// Failure is a slot that ended with an error or a timeout.
type Failure struct {
	SlotState
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
}

// DamagedSlot is a slot whose state is unknown.
type DamagedSlot struct {
	Slot   int    `json:"slot"`
	Reason string `json:"reason"`
}

// KeyStatus is the progress of a key.
type KeyStatus struct {
	Key        string     `json:"key"`
	Slots      SlotCounts `json:"slots"`
	Attempts   int        `json:"attempts"`
	MeanWallNS *int64     `json:"mean_process_wall_ns"` // of the last executions; null when there are none
}

// StatusOf returns the progress of an experiment. host is the name of this machine. It takes no
// lock.
func StatusOf(f experiment.Experiment, host string) (Status, error) {
	if unscheduled(f) {
		return starting(f, host)
	}
	s, err := f.OpenSchedule()
	if err != nil {
		return Status{}, err
	}
	defer s.Close() //nolint:errcheck // it was only read
	left := abandoned(f, host)
	v, err := surveyOf(s, MaxFailures)
	if err != nil {
		return Status{}, fmt.Errorf("read the schedule: %w", err)
	}
	st := fromHeader(f, s, v)
	if st.Running != nil && left &&
		abandoned(f, host) { // before and after: a krund may have begun or ended meanwhile
		st.Interrupted = interruption(f)
	}
	r := f.Reader()
	st.addLast(r, v)
	st.addFailures(r, v)
	st.addRepeated(r, v)
	st.addConfig(f, host, v, v.samples(r))
	return st, st.addRequests(f)
}

// abandoned reports whether the last krund that took the experiment has ended. For a krund on
// another machine it returns false, because that is unknown.
func abandoned(f experiment.Experiment, host string) bool {
	pid, on := f.LastHolder()
	return pid > 0 && on == host && !directory.HoldsLock(f.FS(), pid)
}

func interruption(f experiment.Experiment) *Interruption {
	info, err := f.FS().Lstat(f.Schedule())
	if err != nil {
		return &Interruption{}
	}
	return &Interruption{Begun: new(info.ModTime().UTC().Truncate(time.Second))}
}

func fromHeader(f experiment.Experiment, s *schedule.Schedule, v *survey) Status {
	h := s.Header()
	st := Status{
		Format: StatusFormat, Directory: f.Dir(), ConfigHash: h.ConfigHash, Created: h.Created,
		Order: h.Order, Seed: h.Seed, Slots: CountsOf(v.seen), Blocks: v.blocks, Attempts: v.seen.Attempts,
		Running: slotOf(v.running), Next: slotOf(v.next), Reboots: h.Reboots, Mails: h.Mails,
		ErrorsTotal: v.failed, Errors: []Failure{}, Damaged: []DamagedSlot{}, Findings: []string{},
		Keys: []KeyStatus{},
	}
	if st.Slots.Total > 0 {
		st.Percent = 100 * float64(st.Slots.Finished) / float64(st.Slots.Total)
	}
	switch {
	case st.Slots.Finished == st.Slots.Total:
		st.State = StateFinished
	case v.seen.Attempts == 0 && v.seen.Final() == 0:
		st.State = StateNew
	default:
		st.State = StateUnfinished
	}
	for _, d := range v.damaged {
		st.Damaged = append(st.Damaged, DamagedSlot{Slot: d.Index, Reason: d.Reason})
	}
	if err := s.HeaderDamage(); err != nil {
		st.note("one of the two copies of the schedule's header is damaged; the next update repairs it: %v",
			err)
	}
	return st
}

func (st *Status) note(format string, args ...any) {
	st.Findings = append(st.Findings, fmt.Sprintf(format, args...))
}

// addLast adds the record of the slot that was worked on last: an attempt of the running slot may
// already have a record.
func (st *Status) addLast(r *results.Reader, v *survey) {
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
		st.Last = &LastRecord{
			SlotState: recordOf(&rec), Outcome: rec.Outcome, Started: rec.Started,
			WallNS: rec.Process.WallNS,
		}
		return
	}
}

// addFailures adds the first reason of each failed slot.
func (st *Status) addFailures(r *results.Reader, v *survey) {
	for _, slot := range v.failures {
		f := Failure{
			SlotState: *slotOf(&slot), Outcome: slot.Flag.String(), Reason: "no reason is recorded",
		}
		rec, ok, err := r.Latest(slot.Index, slot.Attempts)
		switch {
		case err != nil:
			f.Reason = err.Error()
		case !ok:
			f.Reason = "no attempt was completed: the machine or krund stopped each time"
		case len(rec.Reasons) > 0:
			f.Reason = rec.Reasons[0]
		}
		st.Errors = append(st.Errors, f)
	}
}

// addRepeated adds keys that krund has given up, and equal failures at the end of what was run.
func (st *Status) addRepeated(r *results.Reader, v *survey) {
	for _, k := range v.keys {
		if failed := k.Error + k.Timeout; failed > 0 && k.Completed == 0 && k.Skipped > 0 {
			st.note("%s was given up after %s (experiment.give_up); after a repair `krunctl run --again --key "+
				"%s` runs it", k.Key, display.Count(failed, "failure"), display.ShellQuote(k.Key.String()))
		}
	}
	var first results.Record
	for i, slot := range v.tail {
		rec, ok, err := r.Latest(slot.Index, slot.Attempts)
		if i == 0 {
			first = rec
		}
		if err != nil || !ok || !rec.FailedLike(first) {
			return
		}
	}
	if len(v.tail) == mostTail {
		st.note("the last %d executions failed, and at least %d of them in the same way: something on the "+
			"machine may have changed; after a repair `krunctl run --again --outcome error,timeout` runs them",
			v.tailed, mostTail)
	}
}

// mostTail is how many failures at the end are compared.
const mostTail = 3

// addConfig adds the data of the configuration, and the estimates based on it.
func (st *Status) addConfig(f experiment.Experiment, host string, v *survey, samples []Sample) {
	var waits Waits
	cfg, err := f.Config(cmp.Or(st.Host, host))
	if err == nil {
		restarts := config.Restarts(st.Reboot)
		if st.Reboot != "" && restarts != config.Restarts(cfg.Experiment.Reboot) { // by --reboot
			cfg = cfg.WithReboot(st.Reboot)
		}
		waits = WaitsOf(cfg)
		st.fill(cfg)
		decided, err := stop.Load(f.FS(), f.Decisions())
		if err != nil {
			st.Findings = append(st.Findings, err.Error())
		}
		st.Stop = stopOf(cfg, v, samples, decided)
		st.Bounds, st.StoppedIterations = boundsOf(cfg, v, samples, decided), stoppedOf(cfg, samples)
	} else {
		st.Findings = append(st.Findings, "the limits and waits are unknown: "+FirstProblem(err))
	}
	left := v.left()
	st.ETA = Estimate(left, samples, waits, v.seen.Attempts > 0)
	means := MeanTimes(samples)
	for _, k := range v.keys {
		row := KeyStatus{Key: k.Key.String(), Slots: CountsOf(k.Counts), Attempts: k.Attempts}
		if mean, ok := means[k.Key]; ok {
			row.MeanWallNS = new(int64(mean))
		}
		st.Keys = append(st.Keys, row)
	}
}

func (st *Status) fill(cfg *config.Config) {
	st.Experiment, st.Reboot = cfg.Experiment.Name, cfg.Experiment.Reboot
	st.MaxReboots, st.MaxMails = new(cfg.Experiment.MaxReboots), new(cfg.Notify.MaxMails)
	if cfg.Hash != st.ConfigHash {
		st.note("config.toml is not the text that the schedule was made from; see `krunctl check`")
	}
}

// addRequests adds the requests to krund.
func (st *Status) addRequests(f experiment.Experiment) error {
	for _, r := range []struct {
		directory.Request
		text string
	}{
		{directory.Hold, "held: the boots are ordinary ones until `krunctl resume " +
			display.ShellPath(f.Dir()) + "`"},
		{directory.Stop, "asked to stop: krund ends after the running execution"},
		{directory.Accept, "asked to go on with changed programs, as a new edition"},
	} {
		asked, err := f.Asked(r.Request)
		if err != nil {
			return err
		}
		if asked {
			st.Findings = append(st.Findings, r.text)
		}
	}
	return nil
}

// FirstProblem returns the first line of an error that may have many.
func FirstProblem(err error) string {
	if wrong, ok := errors.AsType[config.Errors](err); ok && len(wrong) > 1 {
		return fmt.Sprintf("%v (and %d more mistakes)", wrong[0], len(wrong)-1)
	}
	return err.Error()
}

// unscheduled reports whether an experiment has a configuration, but neither a schedule nor
// records: krund makes the schedule when it has read the base temperatures.
func unscheduled(f experiment.Experiment) bool {
	if _, err := f.FS().Lstat(f.Schedule()); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if _, err := f.FS().Lstat(f.ConfigCopy()); err != nil {
		return false
	}
	listing, err := f.Reader().List()
	return err == nil && len(listing.Records)+len(listing.Replaced) == 0
}

// starting returns the status of such an experiment, from its configuration.
func starting(f experiment.Experiment, host string) (Status, error) {
	st := Status{Format: StatusFormat, Directory: f.Dir(), State: StateNew, Errors: []Failure{},
		Damaged: []DamagedSlot{}, Findings: []string{}, Keys: []KeyStatus{}}
	if pid, on := f.LastHolder(); pid > 0 && on == host && directory.HoldsLock(f.FS(), pid) {
		st.State = StateStarting
	}
	v := newSurvey()
	if cfg, err := f.Config(host); err == nil {
		st.ConfigHash, st.Order, st.Seed = cfg.Hash, cfg.Experiment.Order, cfg.Experiment.Seed
		v.grow(cfg)
		st.Slots = CountsOf(v.seen)
	}
	st.addConfig(f, host, v, nil)
	return st, st.addRequests(f)
}

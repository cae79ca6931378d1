package summary

import (
	"errors"
	"io/fs"

	"krund/internal/experiment/directory"
	"krund/internal/reading/experiment"
)

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

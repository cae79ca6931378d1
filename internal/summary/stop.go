package summary

import (
	"slices"

	"krund/internal/config"
	"krund/internal/schedule"
	"krund/internal/stop"
)

// Stop describes what finishing keys early ([stop]) may save, and what it has saved. Times are
// estimates like the remaining one.
type Stop struct {
	Rules   []stop.Rule `json:"rules"`
	Minimum int         `json:"minimum"`
	// MaySave are the unfinished slots that may still be skipped.
	MaySave    int          `json:"may_save_slots"`
	MaySaveNS  int64        `json:"may_save_ns"`
	Saved      int          `json:"saved_slots"`
	SavedNS    int64        `json:"saved_ns"`
	LastFailed string       `json:"last_failed"` // why the last decision was not followed; "" if it was
	Finished   []stop.Group `json:"finished"`    // keys that were finished early, and why
}

// stopOf returns what [stop] saves; nil without rules. v is nil for an experiment that has not
// begun.
func stopOf(cfg *config.Config, v *survey, samples []Sample, d stop.Decisions) *Stop {
	if len(cfg.Stop.Rules) == 0 {
		return nil
	}
	s := &Stop{Rules: cfg.Stop.Rules, Minimum: cfg.Stop.Minimum, LastFailed: d.Failed, Finished: d.Groups}
	var may, saved []Remaining
	var counts []schedule.KeyCounts
	if v != nil {
		counts = v.keys
	}
	for _, group := range cfg.Groups() {
		keeps := slices.ContainsFunc(group, cfg.Stop.Keeps)
		for _, k := range group {
			left, completed, skipped := cfg.Executions(k), 0, 0
			if i := slices.IndexFunc(counts, func(c schedule.KeyCounts) bool { return c.Key == k }); i >= 0 {
				c := counts[i]
				left, completed, skipped = c.Outstanding, c.Completed, c.Skipped
			}
			if !keeps {
				n := max(0, left-max(0, s.Minimum-completed))
				s.MaySave += n
				may = append(may, Remaining{k, n})
			}
			s.Saved += skipped
			saved = append(saved, Remaining{k, skipped})
		}
	}
	waits := WaitsOf(cfg)
	s.MaySaveNS = int64(Estimate(may, samples, waits, true).Total)
	s.SavedNS = int64(Estimate(saved, samples, waits, true).Total)
	return s
}

package summary

import (
	"slices"

	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/stop"
	"krund/internal/schedule"
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
	Changed    string       `json:"changed"`     // why no key is finished any more; "" while some may be
	Finished   []stop.Group `json:"finished"`    // keys that were finished early, and why
}

// stopOf returns what [stop] saves; nil without rules. v is nil for an experiment that has not
// begun.
func stopOf(cfg *config.Config, v *survey, samples []Sample, d stop.Decisions) *Stop {
	if len(cfg.Stop.Rules) == 0 {
		return nil
	}
	s := &Stop{Rules: cfg.Stop.Rules, Minimum: cfg.Stop.Minimum, LastFailed: d.Failed, Changed: d.Changed,
		Finished: d.Groups}
	var may, saved []Remaining
	most := mayFinish(cfg, v, d)
	for _, k := range cfg.Keys() {
		s.MaySave += most[k]
		may = append(may, Remaining{k, most[k]})
		skipped := progressOf(cfg, v, k).Skipped
		s.Saved += skipped
		saved = append(saved, Remaining{k, skipped})
	}
	waits := WaitsOf(cfg)
	s.MaySaveNS = int64(Estimate(may, samples, waits, true).Total)
	s.SavedNS = int64(Estimate(saved, samples, waits, true).Total)
	return s
}

// progressOf returns the counts of a key; v is nil for an experiment that has not begun.
func progressOf(cfg *config.Config, v *survey, k key.Key) schedule.KeyCounts {
	if v != nil {
		if i, ok := v.at[k]; ok {
			return v.keys[i]
		}
	}
	return schedule.KeyCounts{Key: k, Counts: schedule.Counts{Outstanding: cfg.Executions(k)}}
}

// mayFinish returns how many outstanding executions of each key [stop] may skip.
func mayFinish(cfg *config.Config, v *survey, d stop.Decisions) map[key.Key]int {
	may := map[key.Key]int{}
	for _, group := range cfg.Groups() {
		if len(cfg.Stop.Rules) == 0 || d.Changed != "" || slices.ContainsFunc(group, cfg.Stop.Keeps) {
			continue
		}
		for _, k := range group {
			c := progressOf(cfg, v, k)
			may[k] = max(0, c.Outstanding-max(0, cfg.Stop.Minimum-c.Completed))
		}
	}
	return may
}

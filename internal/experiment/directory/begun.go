package directory

import (
	"fmt"
	"strings"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/config"
)

// OtherConfig is the error for a directory whose experiment was started with a configuration that
// means something else. Results of two configurations are never mixed.
type OtherConfig struct {
	Dir     string          // directory of the experiment
	Path    string          // the configuration given now
	Changes []config.Change // of the configuration, less what it only adds; none: they are unknown
	// Added are its changes if it only adds to the other one, so that the experiment can grow; else
	// none.
	Added []config.Change
	Was   *config.Config // the other one, if Added
}

func (e *OtherConfig) Error() string {
	const most = 3
	text := fmt.Sprintf("%s was started with another configuration than %s", e.Dir, e.Path)
	for i, c := range e.Changes[:min(len(e.Changes), most)] {
		text += [...]string{": ", "; ", "; "}[i] + c.String()
	}
	if more := len(e.Changes) - most; more > 0 {
		text += "; and " + display.Count(more, "other change")
	}
	return text + fmt.Sprintf("; revert that (%s/config.toml is the original), or move the directory away "+
		"to start a new experiment. An experiment can only grow: by executions, benchmarks, VMs, variants "+
		"and arms", e.Dir)
}

// Growth returns a sentence about how the experiment would grow to the given number of slots from
// that of the other configuration: "the experiment grows by 30 slots, from 20 to 50: ...".
func (e *OtherConfig) Growth(slots int) string {
	const most = 3
	var what []string
	for _, c := range e.Added[:min(len(e.Added), most)] {
		what = append(what, c.String())
	}
	if more := len(e.Added) - most; more > 0 {
		what = append(what, "and "+display.Count(more, "other change"))
	}
	was := e.Was.Slots()
	return fmt.Sprintf("the experiment grows by %s, from %d to %d: %s", display.Count(slots-was, "slot"), was,
		slots, strings.Join(what, "; "))
}

// AsBegun returns the configuration with which the experiment goes on: cfg, with the text that the
// experiment was started with, which means the same. hash is that of this text, according to the
// schedule.
func (f Directory) AsBegun(cfg *config.Config, hash string) (*config.Config, *OtherConfig) {
	if hash == cfg.Hash {
		return cfg, nil
	}
	other := &OtherConfig{Dir: f.dir, Path: cfg.Path}
	was, err := durable.ReadFile(f.fsys, f.ConfigCopy())
	if err != nil {
		return nil, other
	}
	old, err := cfg.Earlier(string(was))
	if err != nil || old.Hash != hash {
		return nil, other // the copy is not the original
	}
	same, _, err := cfg.AsBegun(was)
	if err == nil && same == nil {
		added, forbidden, err := cfg.Extends(was)
		if other.Changes = forbidden; err == nil && len(forbidden) == 0 {
			other.Added, other.Was = added, old
		}
	}
	if same == nil {
		return nil, other
	}
	return same, nil
}

package directory

import (
	"fmt"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/config"
)

// OtherConfig is the error for a directory whose experiment was started with a configuration that
// means something else. Results of two configurations are never mixed.
type OtherConfig struct {
	Dir     string          // directory of the experiment
	Path    string          // the configuration given now
	Changes []config.Change // of the configuration; none: they are unknown
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
		"to start a new experiment", e.Dir)
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
	same, changes, err := cfg.AsBegun(was)
	if err != nil || same == nil || same.Hash != hash { // the last: the copy is not the original
		other.Changes = changes
		return nil, other
	}
	return same, nil
}

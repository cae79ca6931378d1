package joined

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"krund/internal/experiment/config"
)

// StateDirectory is the directory of what must survive a crash and belongs to no experiment.
const StateDirectory = "/var/lib/krund"

// Given returns the directory in which krunctl unpacks the experiments that the hub gives to this
// machine, one below the other.
func Given(state string) string { return filepath.Join(state, "hub") }

// IsGiven reports whether the configuration at path, which is absolute, came from the hub.
func IsGiven(path, state string) bool { return strings.HasPrefix(path, Given(state)+"/") }

// DefaultExecution is Hub.MaxExecution unless the owner says otherwise.
const DefaultExecution = "2h"

// maxExecution is the key of hub.toml.
const maxExecution = "max_execution"

// Longest returns how long an execution of an experiment of the hub may take, and each of its
// waits; 0 is any time.
func (h Hub) Longest() (time.Duration, error) {
	const unlimited = "none"
	if h.MaxExecution == unlimited {
		return 0, nil
	}
	d, err := config.ParseDuration(cmp.Or(h.MaxExecution, DefaultExecution))
	if err != nil {
		return 0, fmt.Errorf("%s = %q is %w; write a duration, such as %q, or %q", maxExecution,
			h.MaxExecution, err, DefaultExecution, unlimited)
	}
	return d, nil
}

// Bound returns the configuration of an experiment of the hub as this machine runs it, with the
// owner's limits of time. It is an error if root may not run it, or if a wait is longer than these
// limits. cfg must be read for the name that the machine has now: a configuration may have sections
// for any name.
func (h Hub) Bound(cfg *config.Config) (*config.Config, error) {
	longest, err := h.Longest()
	if err != nil {
		return nil, err
	}
	bound := cfg.WithLongest(longest, maxExecution+" of this machine's hub.toml")
	var long []error
	for _, w := range []struct {
		key  string
		wait time.Duration
	}{
		{"wait.startup", cfg.Wait.Startup}, {"wait.settle", cfg.Wait.Settle}, {"wait.sync", cfg.Wait.Sync},
		{"temperature.base_wait", cfg.Temperature.BaseWait},
	} {
		if longest > 0 && w.wait > longest {
			long = append(long, fmt.Errorf("%s: this machine's owner does not allow %s = %s: at most %s; "+
				"write less, or change %s in the machine's hub.toml", cfg.Experiment.Name, w.key, w.wait,
				longest, maxExecution))
		}
	}
	if err := errors.Join(append(long, Refused(cfg, h.Allow))...); err != nil {
		return nil, err
	}
	return bound, nil
}

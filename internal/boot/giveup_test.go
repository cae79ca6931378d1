package boot

import (
	"strings"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/execution"
	"krund/rig/must"
)

// TestGiveUp: a key that fails the same way in each execution is given up, the others go on; one
// that has a result, or fails in different ways, is not. C is completed, E an error, S skipped.
func TestGiveUp(t *testing.T) {
	fasta := 0
	fails := func(j execution.Job, boot int) execution.Measured {
		if j.Benchmark == "fasta" {
			return failed(j, boot)
		}
		return good(j, boot)
	}
	for name, c := range map[string]struct {
		more    string
		outcome func(execution.Job, int) execution.Measured
		want    string
	}{
		"three by default": {"", fails, "CECECECSCS"},
		"after a reboot":   {"reboot = \"hardware\"\nmax_reboots = 20", fails, "CECECECSCS"},
		"as configured":    {"give_up = 2", fails, "CECECSCSCS"},
		"never":            {"give_up = 0", fails, "CECECECECE"},
		"once it has run": {"", func(j execution.Job, boot int) execution.Measured {
			if fasta++; fasta <= 2 {
				return good(j, boot)
			}
			return fails(j, boot)
		}, "CCCECECECE"},
		"in different ways": {"", func(j execution.Job, boot int) execution.Measured {
			m := fails(j, boot)
			if fasta++; fasta%4 == 0 && m.Process.Exit != nil && *m.Process.Exit == 1 {
				m.Execution.Signal, m.Process.Exit, m.Execution.Exit = "SIGSEGV", nil, nil
			}
			return m
		}, "CECECECECE"},
	} {
		t.Run(name, func(t *testing.T) {
			fasta = 0
			s := newSimulated(t)
			s.outcome = c.outcome
			if !strings.Contains(c.more, "reboot") {
				c.more += "\nreboot = \"none\""
			}
			cfg := parse(t, experimentText("executions = 5\nattempts = 1\n"+c.more))
			fsys := must.Get(s.lifetime(cfg, crashfs.New("/lab"), 20, rebooted))(t)
			must.Equal(t, flags(t, fsys), c.want)
			must.Equal(t, strings.Contains(s.log.String(), "a key is given up"), strings.Contains(c.want,
				"S"))
		})
	}
}

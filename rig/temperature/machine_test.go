// Package temperature lets krund wait for a machine that is too hot, heat one that is too cold,
// give up on one that stays so, and continue without sensors that vanish.
package temperature

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/rig"
	"krund/rig/must"
)

const name = "warm"

var directory = rig.ExperimentHome + "/" + name + ".krun"

// experiment returns a configuration with executions of the benchmark "held". top contains lines of
// [experiment], gate lines of [temperature], policy is that of the control. A hook tells the rig
// that the gate comes next, and notifications are written to a file.
func experiment(top, gate, policy string) string {
	return "[experiment]\n" + top + "\n" + rig.Limits("10m", "256MiB") + gate + "\n" + rig.Python(1) +
		fmt.Sprintf(`%s = { parameter = 0 }

[hooks]
before = [["/bin/sh", "-c", "echo RIG-HOOK >/dev/ttyS0"]]

[notify]
command = ["/usr/bin/tee", "-a", "/srv/krund/told"]

[controls]
temperature = %q
isolcpus = "warn"
overcommit = "warn"
tickless = "warn"
`, rig.HeldBenchmark, policy)
}

// hardware is a machine with an experiment of two executions. The first start reads the base
// temperatures; each of the next two has an execution.
func hardware(t *testing.T, gate string) *rig.Machine {
	t.Helper()
	var files rig.Payload
	files.Held()
	files.Experiment(name, experiment("executions = 2", gate, "require"))
	files.Enable(name)
	return rig.Krund(t, rig.Options{Payload: &files})
}

// atTheGate starts the machine, and returns when krund is about to read the temperatures.
func atTheGate(m *rig.Machine) {
	m.PowerOn()
	m.WaitConsole("^RIG-HOOK$")
	m.WaitUp()
}

// guestNow returns the time of the guest's clock.
func guestNow(t *testing.T, m *rig.Machine) time.Time {
	t.Helper()
	now := must.Get(
		time.Parse(time.RFC3339Nano, strings.Replace(m.Sh("date -u --iso-8601=ns"), ",", ".", 1)))(t)
	return now
}

// celsius formats readings in the order of the record.
func celsius(list []results.Temperature) string {
	var values []string
	for _, r := range list {
		values = append(values, fmt.Sprintf("%.1f", float64(r.MilliC)/1000))
	}
	return strings.Join(values, " ")
}

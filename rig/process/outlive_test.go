package process

import (
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/rig"
	"krund/rig/must"
)

// outlived: the deadline is enforced, and what was measured before is kept.
func outlived(t *testing.T, e *rig.Experiment) {
	names := must.Get(new(rig.Payload).Benchmarks(outliving.name, suite, outliving.name))(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) { timedOut(t, of(t, e, name, "CPython")) })
	}
}

func timedOut(t *testing.T, r results.Record) {
	must.Be(t, r.Outcome == results.Timeout && r.Process.TimedOut && r.Process.Signal == "SIGKILL", "outcome",
		r.Outcome, "timed out", r.Process.TimedOut, "signal", r.Process.Signal)
	must.Be(t, len(r.WallNS) == 2 && len(r.StartNS) == 2 && r.Library != nil && r.Library.BegunNS != nil,
		len(r.WallNS), "iterations are kept, want 2, and the begin of the third")
	must.Be(t, len(r.Reasons) != 0 &&
		strings.Contains(r.Reasons[0], "time limit of 30s (limits.timeout) after 2 of 1000 iterations"),
		"reasons", r.Reasons)
	// Not a measurement: it only checks that the end was neither early nor delayed by anything but
	// the deadline. A busy host takes its time.
	const limit = 30 * time.Second
	wall := time.Duration(r.Process.WallNS)
	must.Be(t, wall >= limit && wall <= limit+rig.Scaled(20*time.Second), "ended after", wall)
	if len(r.Process.Findings) > 0 && slices.ContainsFunc(r.Process.Findings,
		func(s string) bool { return strings.Contains(s, "could not be killed") }) {
		t.Errorf("findings %q", r.Process.Findings)
	}
	must.Be(t, r.Key.Benchmark != "floods" || r.Process.Stdout.Truncated,
		"the flood's output is not truncated", r.Process.Stdout.Bytes, "bytes")
	if t.Failed() {
		t.Log(describe(r))
	}
}

// held runs a benchmark that waits for a frozen file system, where not even SIGKILL works: krund
// must not wait for it, must store what it has, and must not measure anything else meanwhile.
func held(t *testing.T, m *rig.Machine) {
	m.Sh(`mkdir -p /mnt/frozen; for d in /sys/block/vd*; do [ "$(cat $d/serial)" = frozen ] && mount /dev/${d##*/} /mnt/frozen; done; mountpoint /mnt/frozen`)
	m.Sh("chmod 777 /mnt/frozen && fsfreeze -f /mnt/frozen")
	unit := rig.UnitOf(holding.name)
	m.Sh("mkdir -p /etc/systemd/system/" + unit +
		".d && printf '[Service]\\nTimeoutStopSec=5\\n' >/etc/systemd/system/" + unit + ".d/stop.conf")
	m.RunExperiment(holding.name)
	if log := m.Log(holding.name); !strings.Contains(log, "time limit of 30s") || !strings.Contains(log,
		"not fit to measure: account: ") {
		t.Errorf("krund must end the first execution and not begin the second; its log:\n%s", log)
	}
	if state := m.Sh("ps -o stat= -C python3"); !strings.HasPrefix(state, "D") {
		t.Errorf("the benchmark is in state %q: the test does not show what it should", state)
	}
	m.Sh("fsfreeze -u /mnt/frozen")
	m.Sh("until ! pgrep -u krun; do sleep 0.1; done >/dev/null; rm -f /mnt/frozen/file; fsfreeze -f " +
		"/mnt/frozen")
	t.Log("continues where it stopped")
	m.RunExperiment(holding.name)
	m.Sh("fsfreeze -u /mnt/frozen && until umount /mnt/frozen; do sleep 0.1; done")
	out, _ := m.Try("pgrep -u krun -l")
	must.Equal(t, out, "", "still there")
}

func heldRecords(t *testing.T, e *rig.Experiment) {
	e.Check(t)
	must.Be(t, len(e.Records) == 2 && e.Finished(), len(e.Records), "records, want 2, and the end", e.Slots)
	for _, r := range e.Records {
		must.Be(t, r.Outcome == results.Timeout && len(r.WallNS) == 2 && r.Attempt == 1, describe(r))
		if !slices.ContainsFunc(r.Process.Findings, func(s string) bool {
			return strings.Contains(s, "could not be killed")
		}) {
			t.Errorf("no finding reports the process that was left behind: %q", r.Process.Findings)
		}
	}
}

package controls

import (
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig"
	"krund/rig/must"
)

const allowed = `
[kernel_log]
allow = ["^rig: allowed [0-9]+$"]
[notify]
command = ["/usr/bin/tee", "-a", "/srv/krund/told"]
`

// flood writes more than the kernel's log buffer holds: 128 KiB plus some per processor by Debian's
// default.
const flood = `python3 -c '
import os
log = os.open("/dev/kmsg", os.O_WRONLY)
for i in range(3000): os.write(log, b"<6>rig: flood %d %s\n" % (i, b"x" * 700))'`

// logged are the executions of TestKernelLog: what happens during each, and what its record must
// contain.
var logged = []struct {
	name string
	do   string
	want []string // parts of the unexpected lines, in order
	lost bool
}{
	{"nothing", "true", nil, false},
	{"a line as a user would write it", `echo "<2>rig: something bad" >/dev/kmsg`,
		[]string{"rig: something bad"}, false},
	{"a line of the kernel itself", "echo h >/proc/sysrq-trigger", []string{"sysrq: HELP"}, false},
	{"a line that the configuration allows, and one that is built in",
		`echo "<2>rig: allowed 7" >/dev/kmsg; echo "<6>eth0: Link is Up" >/dev/kmsg`, nil, false},
	{"a line of a daemon about itself", `echo "<30>rig: a unit has started" >/dev/kmsg`, nil, false},
	{"two lines", `echo "<4>rig: one" >/dev/kmsg; echo "rig: another, without a level" >/dev/kmsg`,
		[]string{"rig: one", "rig: another, without a level"}, false},
	{"more than the buffer holds", flood, []string{"rig: flood 2999"}, true},
	{"nothing again", "true", nil, false},
}

// TestKernelLog uses one start, with one execution per case. Between executions a line is logged
// that belongs to none.
func TestKernelLog(t *testing.T) {
	rig.Long(t, "not in the short selection")
	var files rig.Payload
	files.Held()
	m := rig.KrundUp(t, rig.Options{Payload: &files})
	m.Hold()
	const between = "\n[hooks]\nbefore = [[\"/bin/sh\", \"-c\", \"echo '<2>rig: before the run' " +
		">/dev/kmsg\"]]\nafter = [[\"/bin/sh\", \"-c\", \"echo '<2>rig: after the run' >/dev/kmsg\"]]\n"
	krund := begin(m, "kernellog", experiment("executions = 8")+allowed+between)
	for i, run := range logged {
		m.WaitHeld()
		m.Sh(run.do)
		if i < len(logged)-1 {
			m.NextHeld()
		}
	}
	m.LetGo()
	ended(t, m, krund)
	e := m.ExperimentNow(directory("kernellog"))
	told := m.Sh("cat /srv/krund/told")
	must.Need(t, len(e.Records) == len(logged), len(e.Records), "records, want", len(logged))
	for i, run := range logged {
		t.Run(run.name, func(t *testing.T) {
			log := e.Records[i].Machine.KernelLog
			checkLines(t, log, run.want)
			must.Be(t, (log.Lost > 0) == run.lost, log.Lost, "lines are said to be lost, want some", run.lost)
			if about := slices.ContainsFunc(e.Records[i].Reasons,
				func(r string) bool { return strings.Contains(r, "lost") }); about != run.lost {
				t.Errorf("reasons %q, want one about lost lines: %v", e.Records[i].Reasons, run.lost)
			}
			for _, part := range run.want {
				must.Contain(t, told, part, "no notification about")
			}
		})
	}
}

// checkLines requires these parts in the lines of a record, and no other lines. After a flood, only
// the last line is checked.
func checkLines(t *testing.T, log results.KernelLog, want []string) {
	t.Helper()
	lines := slices.Clone(log.Lines)
	if log.Lost > 0 && len(lines) > 1 {
		lines = lines[len(lines)-1:]
	}
	if len(lines) != len(want) {
		t.Errorf("%d unexpected lines, want %d: %q", len(lines), len(want), lines)
		return
	}
	for i, part := range want {
		must.Contain(t, lines[i], part, "line", "want one with")
	}
}

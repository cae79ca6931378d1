package attack

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"krund/internal/experiment/results"
	"krund/rig"
	"krund/rig/must"
)

// hostileSuite is an external suite that prints false results, floods its output, crashes under
// unusual names and attacks krund.
const hostileSuite = `#!/usr/bin/python3
import ctypes, fcntl, os, signal, subprocess, sys
name, iterations = sys.argv[1], int(sys.argv[2])
times = ["1e-6"] * iterations
if name == "years":
    times = ["4.6e9"] * iterations
elif name == "flood":
    piece = b"\x1b[2J\x00\xff" * (1 << 17)
    for i in range(200):
        os.write(1 + i % 2, piece)
elif name == "names":
    for i in range(300):
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(15, b"\x1b[2J\n\xe2\x80\xae", 0, 0, 0)
            ctypes.string_at(0)
        os.wait()
elif name == "signals":
    krund = os.getppid()
    for do in (
        lambda: os.kill(krund, signal.SIGKILL),
        lambda: os.kill(-krund, signal.SIGKILL),
        lambda: os.open("/proc/%d/mem" % krund, os.O_RDWR),
        lambda: os.open("/proc/%d/fd/1" % krund, os.O_RDWR),
        lambda: os.open("/proc/%d/environ" % krund, os.O_RDONLY),
        lambda: open("/proc/%d/oom_score_adj" % krund, "w").write("1000"),
        lambda: subprocess.run(["busctl", "call", "org.freedesktop.login1", "/org/freedesktop/login1",
            "org.freedesktop.login1.Manager", "SetUserLinger", "ubb", str(os.getuid()), "1", "0"], check=True, capture_output=True),
    ):
        try:
            do()
            print("did something forbidden:", do.__code__.co_firstlineno, file=sys.stderr)
        except (OSError, subprocess.CalledProcessError):
            pass
    for fd in range(3):
        for command, value in (fcntl.F_SETOWN, krund), (10, signal.SIGKILL), (fcntl.F_SETFL, os.O_ASYNC | os.O_APPEND):
            try:
                fcntl.fcntl(fd, command, value)
            except OSError:
                pass
print('{"wallclock_times": [%s], "core_cycle_counts": [], "aperf_counts": [], "mperf_counts": []}' % ", ".join(times))
`

const hostileSuites = `
[experiment]
reboot = "none"
attempts = 1
executions = 1
iterations = 5
` + rig.NoWaits + `
[controls]
tickless = "require"

[vms.Suite]
runner = "external"
path = "/srv/krund/hostile-suite"
variants = ["default"]

[variants.default]

[benchmarks]
years = { parameter = 1 }
flood = { parameter = 1 }
names = { parameter = 1 }
signals = { parameter = 1 }
`

// TestHostileSuites: the output and effects of a suite are only in its own record, and bounded.
func TestHostileSuites(t *testing.T) {
	rig.Long(t, "takes about 20 s more than a boot")
	var files rig.Payload
	files.Script("/srv/krund/hostile-suite", hostileSuite)
	files.Experiment("hostile", hostileSuites)
	m := machine(t, &files)
	ended := m.RunExperiment("hostile")
	must.Equal(t, ended.Result, "success", "the unit ended with", ended, m.Log("hostile"))
	log := m.Log("hostile")
	if strings.ContainsFunc(log, func(r rune) bool { return r != '\n' && r != ' ' && !unicode.IsPrint(r) }) {
		t.Errorf("the journal has what drives a terminal: %q", log)
	}
	out, status := m.Try("ls -A /var/lib/systemd/linger")
	must.Be(t, status != 0 || out == "", "user managers that outlive the benchmark", out)
	wants := map[string]struct {
		outcome results.Outcome
		reason  string
	}{
		"years":   {results.Error, "the 5 iterations reportedly took 2.3e+10 s in total"},
		"flood":   {results.Error, "the suite's output: stdout begins with"},
		"names":   {results.Completed, ""},
		"signals": {results.Completed, ""},
	}
	records := m.ExperimentNow(rig.Directory("hostile")).Records
	for _, r := range records {
		want := wants[r.Key.Benchmark]
		delete(wants, r.Key.Benchmark)
		must.Be(t, r.Outcome == want.outcome && strings.Contains(strings.Join(r.Reasons, "\n"), want.reason),
			r.Key, r.Outcome, "because of", r.Reasons, "stderr", r.Process.Stderr.Text)
		grown := r.Daemon.RSSBytes - r.Daemon.RSSBeforeBytes
		must.Be(t, grown <= 32<<20, r.Key, "krund grew by", grown, "bytes")
		lines := slices.Concat(r.Machine.KernelLog.Lines, r.Reasons, r.Process.Findings)
		if len(lines) > 250 || strings.ContainsFunc(strings.Join(lines, ""),
			func(r rune) bool { return r != ' ' && r != '\t' && !unicode.IsPrint(r) }) {
			t.Errorf("%s: %d lines: %.500q", r.Key, len(lines), lines)
		}
		must.Be(t, r.Key.Benchmark != "signals" || r.Process.Stderr.Text == "",
			"the benchmark got further than it may", r.Process.Stderr.Text)
	}
	must.Be(t, len(wants) <= 0, "no records of", wants)
}

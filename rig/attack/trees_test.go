package attack

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

//go:embed leaves fills
var benchmarks embed.FS

// experimentText has verbs for: benchmarks, executions, limits.
const experimentText = `
[experiment]
reboot = "none"
attempts = 1
benchmarks = %q
executions = %d
iterations = 1

[limits]
timeout = "10m"
%s
` + rig.NoWaits + `
[controls]
tickless = "require"

[vms.CPython]
runner = "python"
path = "python3"
variants = ["default"]

[variants.default]
entry = "bench.py"

[benchmarks]
`

// experiment is an experiment with a single benchmark.
type experiment struct {
	name       string
	source     string // the directory of the benchmark in this package
	executions int
	parameter  int
	limits     string // TOML
}

func (x experiment) add(t *testing.T, files *rig.Payload) {
	t.Helper()
	names, err := files.Benchmarks(x.name, benchmarks, x.source)
	must.Need(t, err == nil && len(names) == 1, "benchmarks of", x.source, names, err)
	text := fmt.Sprintf(experimentText, x.name, x.executions, x.limits)
	files.Experiment(x.name, text+fmt.Sprintf("%s = { parameter = %d }\n", names[0], x.parameter))
}

// run runs the experiment and requires a completed record of each execution at the first attempt.
func (x experiment) run(t *testing.T, m *rig.Machine) *rig.Experiment {
	t.Helper()
	name, executions := x.name, x.executions
	ended := m.RunExperiment(name)
	must.Equal(t, ended.Result, "success", name, "krund ended with", ended, "its log", m.Log(name))
	e := m.ExperimentNow(rig.Directory(name))
	if n := e.Count(schedule.Completed); n != executions || len(e.Records) != executions {
		t.Errorf("%s: %d completed of %d records, want %d", name, n, len(e.Records), executions)
	}
	for _, r := range e.Records {
		must.Be(t, len(rig.Reasons(r)) <= 0 && r.Attempt == 1, name, "execution", r.Pexec, "attempt",
			r.Attempt, r.Outcome, r.Reasons)
	}
	return e
}

// TestDeepTreesAndKeys: a benchmark leaves 45,000 nested directories in its home, on disk and in
// memory, 1000 in /tmp, and a key in each of the kernel's keyrings. The next execution sees none of
// it, and nothing remains at the end.
func TestDeepTreesAndKeys(t *testing.T) {
	rig.Long(t, "takes minutes")
	var files rig.Payload
	list := []experiment{
		{name: "leaves", source: "leaves", executions: 2, parameter: 45_000},
		{name: "memory", source: "leaves", executions: 2, parameter: 5000, limits: `home = "32MiB"`},
	}
	for _, x := range list {
		x.add(t, &files)
	}
	m := machine(t, &files)
	for _, x := range list {
		name := x.name
		for _, r := range x.run(t, m).Records {
			var found struct{ Home, Tmp, Keys []string }
			must.Do(t, json.Unmarshal([]byte(r.Process.Stdout.Text), &found), "execution", r.Pexec, "printed",
				r.Process.Stdout.Text)
			must.Be(t, len(found.Home)+len(found.Tmp)+len(found.Keys) <= 0, name, "execution", r.Pexec,
				"found", found)
			removed := strings.Join(r.Process.Findings, "\n")
			must.Be(t, r.Pexec <= 1 || removed == "removed 1000 files that the last benchmark left in /tmp",
				name, "execution", r.Pexec, "findings", removed)
		}
		out := m.Sh("ls -d /home/krun /tmp/left 2>/dev/null; grep krun /etc/passwd /proc/mounts | head -c " +
			"1000; :")
		must.Equal(t, out, "", name, "in the end there")
	}
}

// TestFilledDisk: the homes and the results are on one small disk, and a benchmark fills it.
func TestFilledDisk(t *testing.T) {
	rig.Long(t, "takes a minute")
	var files rig.Payload
	fills := experiment{name: "fills", source: "fills", executions: 3, parameter: 1}
	fills.add(t, &files)
	m := rig.Krund(t, rig.Options{Payload: &files, Kernel: rig.Tickless,
		Devices: rig.SmallDisk(t, "small", 48)})
	m.PowerOn()
	m.WaitUp()
	dir := rig.Directory("fills")
	m.Sh(`mkdir -p /mnt/small
for d in /sys/block/vd*; do [ "$(cat $d/serial)" = small ] && mount /dev/${d##*/} /mnt/small; done
mountpoint /mnt/small`)
	m.Sh("mkdir /mnt/small/home /mnt/small/results " + dir + " && mount --bind /mnt/small/home /home && " +
		"mount --bind /mnt/small/results " + dir)
	for _, r := range fills.run(t, m).Records {
		var written int
		_, err := fmt.Sscan(r.Process.Stdout.Text, &written)
		must.Be(t, err == nil && written >= 20<<20, "execution", r.Pexec, "wrote", r.Process.Stdout.Text, err)
	}
	log := m.Sh("cat " + dir + "/log")
	const reason = "no space was left on the disk of the results; removed the benchmark's files"
	must.Equal(t, strings.Count(log, reason), fills.executions, "the log gives the reason", "times")
	out := m.Sh("ls -A /home | grep krun; ls " + dir + "/reserve 2>/dev/null; :")
	must.Equal(t, out, "", "in the end there")
}

// statInterval is the setting that the experiments of the suite change, with the value they set.
const (
	statInterval = "/proc/sys/vm/stat_interval"
	changed      = "37"
)

// held is an experiment in one boot that changes one setting, with a benchmark that the test can
// hold. more contains further lines of [experiment], sections further sections.
func held(more, sections string) string {
	return "[experiment]\nreboot = \"none\"\nexecutions = 2\n" + more + rig.Limits("4m", "none") + `
[controls]
stat_interval = { policy = "require", seconds = ` + changed + ` }
` + sections + rig.Python(1) + rig.HeldBenchmark + " = { parameter = 0 }\n"
}

// withHeld boots a machine with experiments, keyed by name.
func withHeld(t *testing.T, experiments map[string]string) *rig.Machine {
	t.Helper()
	var files rig.Payload
	files.Held()
	for name, text := range experiments {
		files.Experiment(name, text)
	}
	return machine(t, &files)
}

// asMallory returns a command that runs as mallory.
func asMallory(command string) string { return "runuser -u " + mallory + " -- " + command }

// setting waits until the setting has a value.
func setting(m *rig.Machine, want string) {
	m.Await(statInterval+" to be "+want, func() (string, bool) {
		value := m.Sh("cat " + statInterval)
		return value, value == want
	})
}

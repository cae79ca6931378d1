package attack

import (
	"testing"

	"krund/rig"
)

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

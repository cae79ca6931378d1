// Package controls lets krund set everything that it can set on a complete machine, kills it in the
// middle, and checks that the machine is restored. It also checks that the records and krunctl
// doctor describe the machine correctly.
package controls

import (
	"fmt"
	"strings"
	"testing"

	"krund/rig"

	"krund/rig/must"
)

// toml and directory return the paths of the experiment with that name.
func toml(name string) string      { return rig.ExperimentHome + "/" + name + ".toml" }
func directory(name string) string { return rig.ExperimentHome + "/" + name + ".krun" }

// experiment returns an experiment in one boot with one key, whose benchmark the test can hold.
// more contains further lines of [experiment].
func experiment(more string) string {
	return "[experiment]\nreboot = \"none\"\n" + more + rig.Limits("4m", "256MiB") + rig.Python(1) +
		rig.HeldBenchmark + " = { parameter = 0 }\n"
}

// begin writes the configuration, removes an earlier experiment of that name, and starts krund as a
// user would.
func begin(m *rig.Machine, name, text string) *rig.Process {
	m.Put(toml(name), 0o644, []byte(text))
	m.Sh("rm -rf " + directory(name))
	return m.Start("krund run --verbose " + toml(name))
}

// ended waits for krund, which must have succeeded.
func ended(t *testing.T, m *rig.Machine, krund *rig.Process) {
	t.Helper()
	out, status := krund.Wait()
	must.Need(t, status == 0, "krund ended with status", status, out,
		m.Sh("journalctl -b -o short-monotonic --no-pager | tail -60"))
}

// as compares values in the guest with expected values. Each line of want is a path, a space, and
// the expected content.
func as(t *testing.T, m *rig.Machine, want string) {
	t.Helper()
	want = strings.TrimSpace(want)
	var script strings.Builder
	for line := range strings.Lines(want) {
		path, _, _ := strings.Cut(line, " ")
		fmt.Fprintf(&script, "echo %s $(cat %s)\n", path, path)
	}
	got := strings.Split(m.Sh(script.String()), "\n")
	for i, line := range strings.Split(want, "\n") {
		must.Be(t, i < len(got) && got[i] == line, line,
			strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""))
	}
}

// same fails the test for everything that has changed.
func same(t *testing.T, m *rig.Machine, before rig.Snapshot) {
	t.Helper()
	if warned, _ := m.Try("dmesg | grep -B2 -A30 'cut here'"); warned != "" {
		t.Logf("what the kernel warns of:\n%s", warned)
	}
	changed := m.Since(before)
	must.Be(t, len(changed) == 0, "the machine was not restored", strings.Join(changed, "\n"))
}

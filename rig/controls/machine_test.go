// Package controls lets krund set everything that it can set on a real machine, kills it in the middle, and looks whether the machine is as it was
// found; and whether its records and krunctl doctor tell the truth about the machine.
package controls

import (
	"fmt"
	"strings"
	"testing"

	"krund/rig"
)

// toml and directory say where the experiment of a name is.
func toml(name string) string      { return rig.ExperimentHome + "/" + name + ".toml" }
func directory(name string) string { return rig.ExperimentHome + "/" + name + ".krun" }

// experiment is an experiment in one boot with one key, whose benchmark the test can hold. more are further lines of [experiment].
func experiment(more string) string {
	return `[experiment]
reboot = "none"
` + more + `
[limits]
timeout = "4m"
heap = "256MiB"

[wait]
startup = "0s"
sync = "0s"

[temperature]
base_wait = "0s"

[vms.CPython]
runner = "python"
path = "python3"
iterations = 1
variants = ["default-python"]

[variants.default-python]
entry = "bench.py"
subfolder = "python"

[benchmarks]
` + rig.HeldBenchmark + ` = { parameter = 0 }
`
}

// begin writes the configuration, forgets an earlier experiment of the name, and starts krund as a person would.
func begin(m *rig.Machine, name, text string) *rig.Process {
	m.Put(toml(name), 0o644, []byte(text))
	m.Sh("rm -rf " + directory(name))
	return m.Start("krund run --verbose " + toml(name))
}

// ended waits for krund, which must have done all that it should.
func ended(t *testing.T, m *rig.Machine, krund *rig.Process) {
	t.Helper()
	if out, status := krund.Wait(); status != 0 {
		t.Fatalf("krund ended with status %d:\n%s\n%s", status, out, m.Sh("journalctl -b -o short-monotonic --no-pager | tail -60"))
	}
}

// as compares values inside with what they should be. Each line of want is a path, a space, and the wanted content.
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
		if i >= len(got) || got[i] != line {
			t.Errorf("want %s\ngot  %s", line, strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""))
		}
	}
}

// same fails the test for everything that is not as it was.
func same(t *testing.T, m *rig.Machine, before rig.Snapshot) {
	t.Helper()
	if warned, _ := m.Try("dmesg | grep -B2 -A30 'cut here'"); warned != "" {
		t.Logf("what the kernel warns of:\n%s", warned)
	}
	if changed := m.Since(before); len(changed) > 0 {
		t.Errorf("the machine is not as it was found:\n%s", strings.Join(changed, "\n"))
	}
}

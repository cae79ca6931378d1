package install

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/results"
	"krund/rig"
	"krund/rig/must"
)

// TestUpgradeInTheMiddleOfAnExperiment: a krund with a newer record format continues the experiment
// and reads both formats. The older one, installed again, reports that it cannot and changes
// nothing.
func TestUpgradeInTheMiddleOfAnExperiment(t *testing.T) {
	rig.Long(t, "seven boots")
	const name = "brief"
	var files rig.Payload
	files.Experiment(name, "[experiment]\nexecutions = 4\n"+common)
	files.Enable(name)
	m := rig.KrundUp(t, rig.Options{Payload: &files, Kernel: rig.Tickless})
	boots := func(n int) {
		t.Helper()
		for range n {
			m.Execution(rig.UnitOf(name))
		}
	}
	newer := programs(t, rig.Build(t, "krund", "-tags", "rignext"), rig.Build(t, "krunctl", "-tags",
		"rignext"))
	older := programs(t, rig.Build(t, "krund"), rig.Build(t, "krunctl"))

	boots(2) // the schedule, the first execution
	m.Install(newer)
	boots(1)
	formats(t, m, name, 1, 2)

	m.Install(older)
	before := disk(t, m, name)
	m.PowerOn()
	if ended := m.RunToEnd(rig.UnitOf(name), 0); ended.Result != "exit-code" || ended.Status != 1 {
		t.Errorf("the older krund ended with %+v, want exit status 1", ended)
	}
	m.WaitUp()
	const message = "a newer krund has continued"
	out := m.Sh("journalctl -b -o cat -u " + rig.UnitOf(name))
	must.Be(t, strings.Contains(out, message) && strings.Contains(out, "nothing was changed"),
		"the journal does not say", message, out)
	state, _ := m.Try("systemctl is-enabled " + rig.UnitOf(name))
	must.Equal(t, state, "disabled", "the unit is", "after a failed start, want disabled")
	out, _ = m.Try("krunctl check-data " + rig.ExperimentHome + "/" + name + ".krun")
	must.Contain(t, out, "newer format", "the older krunctl check-data says")
	m.Shutdown()
	after := disk(t, m, name)
	for file, content := range before {
		must.Be(t, bytes.Equal(after[file], content), "the older krund has changed", file)
	}
	must.Equal(t, len(after), len(before), "files before the older krund", "after it")

	m.Install(newer)
	m.Sh("krunctl enable --start " + rig.ExperimentHome + "/" + name + ".toml")
	ended := m.RunToEnd(rig.UnitOf(name), 3)
	must.Need(t, ended.Result == "success", "krund ended with", ended)
	m.WaitUp()
	directory := rig.ExperimentHome + "/" + name + ".krun"
	out = m.Sh("krunctl check " + directory + " && krunctl show " + directory)
	must.Be(t, !strings.Contains(out, "damaged"), "krunctl says", out)
	must.Contain(t, m.Sh("krunctl status "+directory), "4", "krunctl status")
	m.Shutdown()
	formats(t, m, name, 1, 2, 2, 2)
}

// programs returns a payload that replaces both programs.
func programs(t *testing.T, krund, krunctl string) *rig.Payload {
	t.Helper()
	var files rig.Payload
	for _, file := range []string{krund, krunctl} {
		must.Do(t, files.Copy("/usr/local/bin/"+filepath.Base(file), file))
	}
	return &files
}

// disk returns the files of an experiment that record what was measured and what is outstanding.
// The journal of settings is not included, because the unit restores changes of another boot in any
// case.
func disk(t *testing.T, m *rig.Machine, name string) map[string][]byte {
	t.Helper()
	dir := m.Disk().Dump(rig.ExperimentHome + "/" + name + ".krun")
	content := map[string][]byte{}
	for _, pattern := range []string{"schedule", "config.toml", "results/*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		must.Need(t, err == nil && len(names) != 0, pattern, err)
		for _, file := range names {
			content[strings.TrimPrefix(file, dir)] = must.Get(os.ReadFile(file))(t)
		}
	}
	return content
}

// formats requires records of these formats, one for each slot from the first on.
func formats(t *testing.T, m *rig.Machine, name string, want ...int) {
	t.Helper()
	reader := results.NewReader(durable.OS(),
		filepath.Join(m.Disk().Dump(rig.ExperimentHome+"/"+name+".krun"), "results"))
	list, err := reader.List()
	must.Need(t, err == nil && len(list.Records) == len(want), len(list.Records), "records", err, len(want))
	for i, n := range list.Records {
		if format, err := reader.Format(n); err != nil || format != want[i] {
			t.Errorf("%s has format %d, %v; want %d", n, format, err, want[i])
		}
	}
}

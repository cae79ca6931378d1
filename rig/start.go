package rig

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

// Directory returns the guest's directory of an experiment, with schedule and records.
func Directory(experiment string) string { return path.Join(ExperimentHome, experiment+".krun") }

// Benchmarks adds a suite's own benchmarks: the Python files NAME.py in dir become
// ExperimentHome/SET/NAME/bench.py, for an experiment with benchmarks = "SET". It returns their
// names.
func (p *Payload) Benchmarks(set string, files embed.FS, dir string) ([]string, error) {
	found, err := fs.Glob(files, path.Join(dir, "*.py"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range found {
		text, err := files.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(path.Base(file), ".py")
		p.Text(path.Join(ExperimentHome, set, name, "bench.py"), string(text))
		names = append(names, name)
	}
	return names, nil
}

// RunExperiment runs an experiment with reboot = "none" in its unit, in this boot, and returns how
// the unit ended. The system must be up.
func (m *Machine) RunExperiment(name string) Ended {
	m.tb.Helper()
	m.StartExperiment(name)
	return m.RunToEnd(UnitOf(name), 0)
}

// StartExperiment starts the unit of an experiment without waiting for it: see
// RunToEnd(UnitOf(name), 0).
func (m *Machine) StartExperiment(name string) {
	m.tb.Helper()
	unit := UnitOf(name)
	dropIn := "/etc/systemd/system/" + unit + ".d"
	config := path.Join(ExperimentHome, name+".toml")
	// its limit of starts is for boots
	m.Sh("mkdir -p " + dropIn + " && printf '[Service]\\nEnvironment=KRUND_CONFIG=" + config + "\\n' >" +
		dropIn + "/config.conf && systemctl daemon-reload && { systemctl reset-failed " + unit + "; :; }")
	m.Sh("systemctl start --no-block " + unit)
}

// Log returns the log of an experiment's unit in this boot.
func (m *Machine) Log(name string) string {
	m.tb.Helper()
	out, _ := m.Try("journalctl -b -o cat -u " + UnitOf(name))
	return out
}

package rig

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
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

// Process is a command that runs in the guest while the test continues.
type Process struct {
	m   *Machine
	dir string // directory in the guest: run, pid, out, status
	PID int
}

// Start runs one command in the guest in the background, in its own session as from another
// terminal. The shell must be able to exec it: a program with its arguments, with assignments made
// by env.
func (m *Machine) Start(command string) *Process {
	m.tb.Helper()
	const script = `mkdir -p /run/rig && d=$(mktemp -d /run/rig/process.XXXXXX) && cat >$d/run <<'RIG-END'
echo $$ >"$1"
exec %s
RIG-END
(setsid bash $d/run $d/pid >$d/out 2>&1 </dev/null; echo $? >$d/ended; mv $d/ended $d/status) >/dev/null 2>&1 </dev/null &
until [ -s $d/pid ]; do sleep 0.05; done
echo $d; cat $d/pid`
	var dir, pid string
	if _, err := fmt.Sscan(m.Sh(fmt.Sprintf(script, command)), &dir, &pid); err != nil {
		m.fatal(fmt.Errorf("start %s: %w", command, err))
	}
	n, err := strconv.Atoi(pid)
	m.check(err)
	return &Process{m: m, dir: dir, PID: n}
}

// Kill sends SIGKILL to the process, but not to its children, and waits for its end.
func (p *Process) Kill() {
	p.m.tb.Helper()
	p.m.Sh(fmt.Sprintf("kill -KILL %d", p.PID))
	if output, status := p.Wait(); status != 128+9 {
		p.m.fatal(fmt.Errorf("the process had ended before it could be killed: exit status %d: %s", status,
			output))
	}
}

// krunds prints the PIDs of all processes of krund, including guards and stages, whatever their
// names are.
const krunds = `krunds() { for p in /proc/[0-9]*; do case $(readlink $p/exe) in */bin/krund) echo ${p##*/} ;; esac; done; }; `

// WaitNoKrund waits until no process of krund is left.
func (m *Machine) WaitNoKrund() {
	m.tb.Helper()
	m.Sh(krunds + `while [ -n "$(krunds)" ]; do sleep 0.05; done`)
}

// KillKrund sends SIGKILL to every krund, including its guard, and waits for the end of this one.
// Changed settings stay changed.
func (m *Machine) KillKrund(p *Process) {
	m.tb.Helper()
	m.Sh(krunds + "kill -KILL $(krunds)")
	p.Wait()
	m.WaitNoKrund()
}

// Wait waits for the end of the process and returns its output, stdout and stderr, and its exit
// status, or 128 plus the number of the signal that killed it.
func (p *Process) Wait() (output string, status int) {
	p.m.tb.Helper()
	status, err := strconv.Atoi(p.m.Sh(fmt.Sprintf(
		"until [ -e %[1]s/status ]; do sleep 0.05; done; cat %[1]s/status", p.dir)))
	p.m.check(err)
	return p.Output(), status
}

// Output returns what the process has printed so far.
func (p *Process) Output() string {
	p.m.tb.Helper()
	return p.m.Sh("cat " + p.dir + "/out")
}

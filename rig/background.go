package rig

import (
	"fmt"
	"strconv"
)

// Process is a command that runs inside while the test goes on.
type Process struct {
	m   *Machine
	dir string // in the guest: run, pid, out, status
	PID int
}

// Start runs one command inside in the background, in a session of its own as from another terminal. It must be one that a shell can exec: a
// program with its arguments, and assignments before it by env.
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

// Kill sends SIGKILL to the process, not to those that it has started, and waits for its end.
func (p *Process) Kill() {
	p.m.tb.Helper()
	p.m.Sh(fmt.Sprintf("kill -KILL %d", p.PID))
	if output, status := p.Wait(); status != 128+9 {
		p.m.fatal(fmt.Errorf("the process had ended before it could be killed: exit status %d: %s", status, output))
	}
}

// krunds prints the numbers of all processes of krund, its guards and stages included, whatever they call themselves.
const krunds = `krunds() { for p in /proc/[0-9]*; do case $(readlink $p/exe) in */bin/krund) echo ${p##*/} ;; esac; done; }; `

// WaitNoKrund waits until no process of krund is left.
func (m *Machine) WaitNoKrund() {
	m.tb.Helper()
	m.Sh(krunds + `while [ -n "$(krunds)" ]; do sleep 0.05; done`)
}

// KillKrund sends SIGKILL to every krund, the guard of each included, and waits for the end of this one. What it had changed stays changed.
func (m *Machine) KillKrund(p *Process) {
	m.tb.Helper()
	m.Sh(krunds + "kill -KILL $(krunds)")
	p.Wait()
	m.WaitNoKrund()
}

// Wait waits for the end of the process and returns its output so far, stdout and stderr, and its exit status; 128 and the signal's number when
// one has ended it.
func (p *Process) Wait() (output string, status int) {
	p.m.tb.Helper()
	status, err := strconv.Atoi(p.m.Sh(fmt.Sprintf("until [ -e %[1]s/status ]; do sleep 0.05; done; cat %[1]s/status", p.dir)))
	p.m.check(err)
	return p.Output(), status
}

// Output returns what the process has printed so far.
func (p *Process) Output() string {
	p.m.tb.Helper()
	return p.m.Sh("cat " + p.dir + "/out")
}

// For returns the same process for a subtest.
func (p *Process) For(m *Machine) *Process { return &Process{m: m, dir: p.dir, PID: p.PID} }

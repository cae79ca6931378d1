package rig

import (
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// WaitUp waits until this start accepts commands, and returns which boot it is. Later calls return
// the same immediately. Services may still be starting: see WaitRunning.
func (m *Machine) WaitUp() Up {
	m.tb.Helper()
	p := m.mustBeOn()
	if p.up == nil {
		p = m.startSilent(p)
		ctx, cancel := m.limit("the first command")
		defer cancel()
		up, err := p.agent.waitUp(ctx)
		m.check(err)
		p.up = &up
	}
	return *p.up
}

// silentTime is how long a start may take to print the first line of the kernel, on the reference
// host. It takes less than a second there.
const silentTime = 15 * time.Second

// startSilent returns the running start p, or a new one if p is still silent after silentTime: the
// emulator hangs before the kernel in about one of 500 starts. Such a start has changed nothing.
func (m *Machine) startSilent(p *power) *power {
	m.tb.Helper()
	if speaks := m.hears(Scaled(silentTime)); speaks || !m.On() {
		return p
	}
	m.tb.Log("rig: the emulator hangs before the kernel's first line; the machine is started again")
	p.kill()
	p.known = true
	m.PowerOn()
	return m.mustBeOn()
}

// hears reports whether the machine printed a line since it was started, after at most limit.
func (m *Machine) hears(limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	again := time.NewTicker(limit / 100)
	defer again.Stop()
	for m.console.len() <= m.begun {
		select {
		case <-m.power.off:
			return false
		case <-ctx.Done():
			return false
		case <-again.C:
		}
	}
	return true
}

// WaitRunning waits until systemd has no more start jobs, and returns the system state: usually
// running or degraded.
func (m *Machine) WaitRunning() string {
	m.tb.Helper()
	state, _ := m.Try("systemctl is-system-running --wait")
	return state
}

// Try runs a shell command in the guest as root and returns its output (stdout and stderr, without
// surrounding white space) and exit status. A command that does not end in time is killed and fails
// the test with its output so far.
func (m *Machine) Try(command string) (output string, status int) {
	m.tb.Helper()
	limit, over := m.commandLimit()
	begin := now()
	ctx, cancel := m.limit(command)
	defer cancel()
	r, err := m.mustBeOn().agent.run(ctx, limit, command)
	if err != nil {
		m.fatal(fmt.Errorf("%s: %w", command, err))
	}
	if (r.Status == statusTimedOut || r.Status == statusKilled) && now().Sub(begin) >= limit {
		m.fatal(fmt.Errorf("%s: %w after %v; output so far: %s", command, over, limit, r.Output))
	}
	return strings.TrimSpace(r.Output), r.Status
}

// Sh is Try for commands that must succeed.
func (m *Machine) Sh(command string) string {
	m.tb.Helper()
	output, status := m.Try(command)
	if status != 0 {
		m.fatal(fmt.Errorf("%s: exit status %d: %s", command, status, output))
	}
	return output
}

// Await calls look a few times a second until it returns done. Between the calls it runs nothing in
// the guest, because that would wake the processors of an idle machine. saw is part of the failure
// message after a timeout.
func (m *Machine) Await(what string, look func() (saw string, done bool)) {
	m.tb.Helper()
	ctx, cancel := m.limit(what)
	defer cancel()
	for {
		saw, done := look()
		if done {
			return
		}
		select {
		case <-ctx.Done():
			m.fatal(fmt.Errorf("wait until %s: %w; last seen: %s", what, context.Cause(ctx), saw))
		case <-m.mustBeOn().off:
			m.fatal(fmt.Errorf("wait until %s: the machine went off; last seen: %s", what, saw))
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// Put writes a file in the running guest, at about 40 KB/s: larger files belong in the payload. The
// file is not synced.
func (m *Machine) Put(name string, mode fs.FileMode, data []byte) {
	m.tb.Helper()
	// The shell's arguments have a limit of 128 KiB each.
	const portion = 48 << 10
	quoted := "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	m.Sh(": >" + quoted)
	for len(data) > 0 {
		n := min(portion, len(data))
		m.Sh("base64 -d >>" + quoted + " <<<" + base64.StdEncoding.EncodeToString(data[:n]))
		data = data[n:]
	}
	m.Sh(fmt.Sprintf("chmod %o %s", mode.Perm(), quoted))
}

// Reboot reboots the guest in an orderly way, starts it again, and waits until it accepts commands.
func (m *Machine) Reboot() Up {
	m.tb.Helper()
	m.check(m.mustBeOn().agent.send(0, "systemctl reboot"))
	m.WaitReboot()
	m.PowerOn()
	return m.WaitUp()
}

// Shutdown powers the guest off in an orderly way.
func (m *Machine) Shutdown() {
	m.tb.Helper()
	m.check(m.mustBeOn().agent.send(0, "systemctl poweroff"))
	if off := m.WaitOff(); off.Reason != OffShutdown {
		m.fatal(fmt.Errorf("power off: the machine ended with %s", off.Reason))
	}
}

// Send starts a shell command without waiting for its result, such as one that ends the machine. No
// other command may follow in this boot.
func (m *Machine) Send(command string) {
	m.tb.Helper()
	m.check(m.mustBeOn().agent.send(0, command))
}

// WaitingBenchmark is the name of the benchmark of Payload.Waiting.
const WaitingBenchmark = "waits"

// Running is the console line, for WaitConsole, at the beginning of an iteration of a benchmark of
// Payload.Waiting.
const Running = "^RIG-RUNNING$"

// GoOn is the command that lets it continue, and all others of this boot.
const GoOn = "touch /run/rig/go"

// waitingBenchmark rings the bell and continues when the file that GoOn creates exists. An
// unattended boot blocks in it.
const waitingBenchmark = `import os, time
def run_iter(p):
    with open("/run/rig/bell", "w") as f:
        f.write("ring\n")
    while not os.path.exists("/run/rig/go"):
        time.sleep(0.05)
`

// bell notifies the test when a benchmark, which is unprivileged, rings it.
const bell = `#!/bin/bash
mkdir -p /run/rig
mkfifo -m 622 /run/rig/bell
while read -r what </run/rig/bell; do echo RIG-RUNNING >/dev/ttyS0; done
`

// Waiting adds the benchmark "waits", in Python, which waits in each of its runs until the test
// runs GoOn. Unlike Held, which is for runs that the test starts, it also works in a boot that
// starts automatically, before which no command can be sent.
func (p *Payload) Waiting() {
	p.Text(ExperimentHome+"/benchmarks/"+WaitingBenchmark+"/python/bench.py", waitingBenchmark)
	p.Script("/usr/local/rig/bell", bell)
	p.Unit("rig-bell.service", "[Service]\nExecStart=/usr/local/rig/bell\n", "multi-user.target",
		"bench.target")
}

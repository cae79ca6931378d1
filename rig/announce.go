package rig

import (
	"fmt"
	"regexp"
	"strconv"
)

// announceUnit runs when an announced service has stopped. It is a separate unit because the
// sandbox of a service may deny access to the console. While the machine shuts down it is not
// started, or sees the state stopping.
const announceUnit = `[Unit]
Description=Tell the rig that %i has stopped

[Service]
Type=oneshot
ExecStart=/usr/local/rig/announce %i
`

const announceScript = `#!/bin/bash
result=$(systemctl show --value -p Result "$1")
status=$(systemctl show --value -p ExecMainStatus "$1")
echo "RIG-UNIT $1 $result $status $(systemctl is-system-running)" >/dev/ttyS0
`

// Announce makes systemd print a line on the console whenever the service has stopped, for
// RunToEnd. unit is the full name; a template name, with the at sign, covers all instances.
func (p *Payload) Announce(unit string) {
	p.Script("/usr/local/rig/announce", announceScript)
	p.Unit("rig-announce@.service", announceUnit)
	p.Text("/etc/systemd/system/"+unit+".d/rig-announce.conf",
		"[Unit]\nOnSuccess=rig-announce@%n.service\nOnFailure=rig-announce@%n.service\n")
}

// Ended is how a service ended, in systemd's terms.
type Ended struct {
	Result string // success, exit-code, signal, timeout, ...
	Status int    // exit status, or number of the signal
}

// RunToEnd lets the machine reboot itself, up to boots times, until the service has ended and the
// machine stays up. The service must be announced (Announce).
func (m *Machine) RunToEnd(unit string, boots int) Ended {
	m.tb.Helper()
	groups := m.RunUntil(announced(unit), boots)
	status, err := strconv.Atoi(groups[2])
	m.check(err)
	return Ended{Result: groups[1], Status: status}
}

// WaitOffOrEnded waits until the machine is off, or until the service has ended while the machine
// stays up (ended). The service must be announced (Announce).
func (m *Machine) WaitOffOrEnded(unit string) (off Off, ended bool) {
	m.tb.Helper()
	return m.WaitOffOr(announced(unit))
}

// Execution performs a start in which the service must end with a restart of the machine.
func (m *Machine) Execution(unit string) {
	m.tb.Helper()
	m.PowerOn()
	if off, ended := m.WaitOffOrEnded(unit); ended || off.Reason != OffRebooted {
		m.fatal(fmt.Errorf("off by %q, ended %v; want a restart", off.Reason, ended))
	}
}

// announced returns the pattern of the line of a service that ends while the system stays up. The
// only state of systemd that means a shutdown is stopping; a service that ends before start-up is
// complete sees one of the first two states.
func announced(unit string) string {
	return fmt.Sprintf(`^RIG-UNIT %s (\S+) (\d+) (?:initializing|starting|running|degraded|maintenance)$`,
		regexp.QuoteMeta(unit))
}

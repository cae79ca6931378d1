package rig

import (
	"fmt"
	"regexp"
	"strconv"
)

// announceUnit runs when an announced service has stopped: a unit of its own, because a service's sandbox may keep the console from it. While
// the machine goes down it is refused, or sees the state stopping.
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

// Announce makes systemd print a line on the console whenever the service has stopped, for RunToEnd. unit is the full name; of a template, with the
// at sign, it holds for all instances.
func (p *Payload) Announce(unit string) {
	p.Script("/usr/local/rig/announce", announceScript)
	p.Unit("rig-announce@.service", announceUnit)
	p.Text("/etc/systemd/system/"+unit+".d/rig-announce.conf", "[Unit]\nOnSuccess=rig-announce@%n.service\nOnFailure=rig-announce@%n.service\n")
}

// Ended says how a service ended, in systemd's words.
type Ended struct {
	Result string // success, exit-code, signal, timeout, ...
	Status int    // exit status, or number of the signal
}

// RunToEnd lets the machine reboot itself, up to boots times, until the service has ended and the machine stays up. The service must be one of
// Announce.
func (m *Machine) RunToEnd(unit string, boots int) Ended {
	m.tb.Helper()
	groups := m.RunUntil(announced(unit), boots)
	status, err := strconv.Atoi(groups[2])
	m.check(err)
	return Ended{Result: groups[1], Status: status}
}

// WaitOffOrEnded waits for what comes first: the machine is off, or the service has ended while the machine stays up (ended). The service must be
// one of Announce.
func (m *Machine) WaitOffOrEnded(unit string) (off Off, ended bool) {
	m.tb.Helper()
	return m.WaitOffOr(announced(unit))
}

// announced is the pattern of the line of a service that ends while the system does not. Of systemd's states only stopping says that it does;
// a service that ends before everything is started sees one of the first two.
func announced(unit string) string {
	return fmt.Sprintf(`^RIG-UNIT %s (\S+) (\d+) (?:initializing|starting|running|degraded|maintenance)$`, regexp.QuoteMeta(unit))
}

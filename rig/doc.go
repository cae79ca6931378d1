// Package rig boots complete machines for tests: the stock Debian kernel and systemd in QEMU, by
// software emulation, with reboots by the machine itself, power cuts, temperatures that a test
// sets, P-states that a test observes, and a disk that can be read while the machine is off. It
// measures nothing, because the time in the guest is emulated.
//
// A test looks like this:
//
//	func TestKeepsItsStateOverAPowerCut(t *testing.T) {
//		var files rig.Payload
//		files.Unit("mine.service", unitText, "multi-user.target")
//		m := rig.Boot(t, rig.Options{Payload: &files, Kernel: rig.Tickless})
//		m.SetTemperature(0, 75)             // zone 0, degrees Celsius
//		m.Sh("systemctl start mine.service") // fails the test unless it exits with 0
//		m.WaitConsole(`^MINE step 3$`)       // a whole line on /dev/ttyS0
//		m.PowerCut()
//		m.PowerOn()
//		m.WaitUp()
//	}
//
// Subtests use m.For(t), so that a failure ends the right test. Every test that uses a Machine is
// skipped, with the reason, unless KRUND_RIG names an image directory; `make rig` sets it.
// README.md explains how the machine is built and what it can prove.
//
// Start reading at options.go (what a test can configure), then machine.go (power), guest.go
// (commands in the guest), ports.go (temperature, P-states, counters), disk.go (files while it is
// off).
package rig

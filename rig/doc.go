// Package rig boots real machines for tests: the stock Debian kernel and systemd in QEMU, by software emulation, with reboots that the
// machine makes itself, power cuts, temperatures that a test sets, P-states that a test sees, and a disk that can be read while the machine is
// off. It measures nothing: the time inside is emulated.
//
// A test reads like this:
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
// Subtests take m.For(t), so that a failure stops the right test. Every test that takes a Machine is skipped, with the reason, unless
// KRUND_RIG names an image directory; `make rig` sets it. README.md beside this file says how the machine is made and what it can prove.
//
// Where to start reading: options.go (what a test may ask for), machine.go (power), guest.go (commands inside), ports.go (temperature,
// P-states, counters), disk.go (files while it is off).
package rig

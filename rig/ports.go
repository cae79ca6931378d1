package rig

import (
	"context"
	"fmt"
	"os"
)

// The machine's I/O ports; see image/rig.asl.
const (
	portPState      = 0x81 // and 0x82
	portClockRatio  = 0x83
	portMSRFaults   = 0x87
	portTemperature = 0x89 // and 0x8a

	// CutPort cuts the machine's power when the guest writes a byte to it: at exactly that
	// instruction, which no host can time. A byte v from 1 to 126 is returned as Off.Code. In a
	// shell: printf '\001' | dd of=/dev/port bs=1 seek=244
	CutPort = 0xf4
)

// SetTemperature sets the temperature of zone 0 or 1 in degrees Celsius, in steps of 0.5 from 0.5
// to 127.5. It persists over reboots. The initial temperature is 40. From 126 on, the kernel powers
// the machine off.
func (m *Machine) SetTemperature(zone int, celsius float64) {
	m.tb.Helper()
	halves := celsius * 2
	if zone < 0 || zone > 1 || halves < 1 || halves > 255 || halves != float64(byte(halves)) {
		m.fatal(fmt.Errorf("no zone %d with %v degrees", zone, celsius))
	}
	m.setPort(portTemperature+uint16(zone), byte(halves))
}

// PState returns the frequency that the cpufreq driver last requested for CPU 0 or 1, in MHz: 3000,
// 2400, 1800 or 800, or 0 before the first request.
func (m *Machine) PState(cpu int) int {
	m.tb.Helper()
	if cpu < 0 || cpu > 1 {
		m.fatal(fmt.Errorf("no CPU %d", cpu))
	}
	value := m.port(portPState + uint16(cpu))
	mhz, ok := map[byte]int{0: 0, 0x10: 3000, 0x18: 2400, 0x20: 1800, 0x28: 800}[value]
	if !ok {
		m.fatal(fmt.Errorf("the P-state register of CPU %d holds %#x", cpu, value))
	}
	return mhz
}

// SetClockRatio makes APERF run at percent of MPERF, instead of following the P-state; 0 ends that.
// It needs Options.MSR.
func (m *Machine) SetClockRatio(percent byte) {
	m.tb.Helper()
	m.setPort(portClockRatio, percent)
}

// Faults of the counters, which can be combined.
const (
	FaultNoErrors    = 1 << iota // MSRs that do not exist can be read anyway
	FaultThrottled               // the processor is being throttled
	FaultWasThrottle             // only the log bit: it was throttled meanwhile
	FaultUnreadable              // APERF and MPERF fail with EIO
	FaultStuck                   // all counters stand still
)

// SetMSRFaults sets the faults of the counters; 0 removes them. It needs Options.MSR.
func (m *Machine) SetMSRFaults(bits byte) {
	m.tb.Helper()
	m.setPort(portMSRFaults, bits)
}

// setPort sets a port now, if the machine is on, and in every later start, because the port stands
// for something outside the machine.
func (m *Machine) setPort(port uint16, value byte) {
	m.tb.Helper()
	m.ports[port] = value
	if !m.On() {
		return
	}
	ctx, cancel := m.limit("write a port")
	defer cancel()
	m.check(m.power.qmp.outb(ctx, port, value))
}

func (m *Machine) port(port uint16) byte {
	m.tb.Helper()
	ctx, cancel := m.limit("read a port")
	defer cancel()
	value, err := m.mustBeOn().qmp.inb(ctx, port)
	m.check(err)
	return value
}

// The unit that loads the module before anything that reads counters.
const msrUnit = `[Unit]
Description=Counters that move, for the rig
DefaultDependencies=no
Before=systemd-modules-load.service basic.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/sbin/insmod /usr/local/rig/rigmsr.ko
`

// addMSR adds the rigmsr module to the payload, or skips the test with the reason if the image has
// none.
func (m *Machine) addMSR(files *Payload) {
	m.tb.Helper()
	if reason, err := os.ReadFile(m.image.file("rigmsr.missing")); err == nil {
		m.tb.Skipf("the image has no rigmsr module: %s", reason)
	}
	m.check(files.Copy("/usr/local/rig/rigmsr.ko", m.image.file("rigmsr.ko")))
	files.Unit("rigmsr.service", msrUnit, "sysinit.target")
}

// HostAddress is the host's address in the network of a machine with Options.Network. What listens
// on 127.0.0.1 of the host is reached there.
const HostAddress = "10.0.2.2"

// networkUnit configures the machine's interface: the image masks what usually does it.
const networkUnit = `[Unit]
Description=The rig's network
DefaultDependencies=no
After=local-fs.target
Before=network.target network-online.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/sbin/modprobe virtio_net
ExecStart=/sbin/ip address add 10.0.2.15/24 dev eth0
ExecStart=/sbin/ip link set eth0 up
ExecStart=/sbin/ip route add default via 10.0.2.2
`

// addNetwork adds what the guest needs for its interface.
func addNetwork(files *Payload) {
	files.Unit("rig-network.service", networkUnit, "multi-user.target", "network-online.target")
}

// networkArguments are the arguments of QEMU for a network that ends at the host.
var networkArguments = []string{"-netdev", "user,id=net", "-device", "virtio-net-pci,id=nic,netdev=net"}

// SetNetwork plugs the machine's network cable in or out, from now on and over reboots. Initially
// it is plugged in. The machine must have Options.Network.
func (m *Machine) SetNetwork(plugged bool) {
	m.tb.Helper()
	m.unplugged = !plugged
	if m.On() {
		ctx, cancel := m.limit("plug the network cable")
		defer cancel()
		m.check(m.power.setLink(ctx, plugged))
	}
}

func (p *power) setLink(ctx context.Context, up bool) error {
	return p.qmp.execute(ctx, "set_link", map[string]any{"name": "nic", "up": up}, nil)
}

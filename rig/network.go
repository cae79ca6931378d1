package rig

import "context"

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

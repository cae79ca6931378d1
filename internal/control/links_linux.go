package control

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// netlinkLinks brings Linux interfaces up and down. Taking one down removes its routes, its
// permanent neighbors and its IPv6 addresses, and only a network manager would restore them. So
// they are saved and restored, as `ip route save` and `ip route restore` do.
type netlinkLinks struct{}

// List returns all interfaces.
func (netlinkLinks) List() ([]Link, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	var links []Link
	for _, i := range interfaces {
		links = append(links, Link{Name: i.Name, Up: i.Flags&net.FlagUp != 0,
			Loopback: i.Flags&net.FlagLoopback != 0})
	}
	return links, nil
}

// Save returns the routes, addresses and neighbor table entries that are lost when the interface
// goes down.
func (netlinkLinks) Save(name string) (string, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return "", fmt.Errorf("interface %s: %w", name, err)
	}
	addresses, err := dump(unix.RTM_GETADDR)
	if err != nil {
		return "", fmt.Errorf("addresses of %s: %w", name, err)
	}
	routes, err := dump(unix.RTM_GETROUTE)
	if err != nil {
		return "", fmt.Errorf("routes of %s: %w", name, err)
	}
	neighbours, err := dump(unix.RTM_GETNEIGH)
	if err != nil {
		return "", fmt.Errorf("neighbors of %s: %w", name, err)
	}
	index := uint32(i.Index)
	return encodeSaved(bodies{selectAddresses(addresses, index), selectNeighbours(neighbours, index),
		selectRoutes(routes, index)})
}

// Down takes an interface down.
func (netlinkLinks) Down(name string) error {
	_, err := setUp(name, false)
	return err
}

// Up brings an interface up and restores what was saved.
func (netlinkLinks) Up(name, saved string) (changed bool, err error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return false, fmt.Errorf("interface %s: %w", name, err)
	}
	b, err := decodeSaved(saved)
	if err == nil && !b.of(uint32(i.Index)) {
		err = fmt.Errorf("saved addresses, neighbors or routes of %s are damaged, or belong to another "+
			"interface", name)
	}
	if err != nil {
		return false, err
	}
	changed, err = setUp(name, true)
	if err != nil {
		return false, err
	}
	messages := slices.Concat(asMessages(unix.RTM_NEWADDR, b.Addresses),
		asMessages(unix.RTM_NEWNEIGH, b.Neighbours), asMessages(unix.RTM_NEWROUTE, b.Routes))
	for _, message := range messages {
		switch one := request(message); {
		case one == nil:
			changed = true
		case errors.Is(one, unix.EEXIST): // it exists already
		default:
			err = errors.Join(err, fmt.Errorf("restore an address, neighbor or route of %s: %w", name, one))
		}
	}
	return changed, err
}

// setUp sets or clears IFF_UP and reports whether that changed anything.
func setUp(name string, up bool) (changed bool, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false, fmt.Errorf("open socket: %w", err)
	}
	defer func() { _ = unix.Close(fd) }() // closing it cannot lose data
	req, err := unix.NewIfreq(name)
	if err != nil {
		return false, fmt.Errorf("interface %s: %w", name, err)
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, req); err != nil {
		return false, fmt.Errorf("interface %s: read flags: %w", name, err)
	}
	flags := req.Uint16()
	if (flags&unix.IFF_UP != 0) == up {
		return false, nil
	}
	req.SetUint16(flags ^ unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return false, fmt.Errorf("interface %s: write flags: %w", name, err)
	}
	return true, nil
}

// dump returns the bodies of all messages in the kernel's answer to a request for a whole table,
// for every address family.
func dump(request int) ([][]byte, error) {
	data, err := syscall.NetlinkRIB(request, unix.AF_UNSPEC)
	if err != nil {
		return nil, err
	}
	messages, err := syscall.ParseNetlinkMessage(data)
	if err != nil {
		return nil, err
	}
	var bodies [][]byte
	for _, m := range messages {
		if int(m.Header.Type) == request-2 { // an answer RTM_NEW... is two below its request RTM_GET...
			bodies = append(bodies, m.Data)
		}
	}
	return bodies, nil
}

// asMessages prepends the header of a create request to each body.
func asMessages(kind uint16, bodies [][]byte) [][]byte {
	var messages [][]byte
	for _, body := range bodies {
		m := make([]byte, unix.SizeofNlMsghdr, unix.SizeofNlMsghdr+len(body))
		binary.NativeEndian.PutUint32(m[0:], uint32(unix.SizeofNlMsghdr+len(body)))
		binary.NativeEndian.PutUint16(m[4:], kind)
		binary.NativeEndian.PutUint16(m[6:],
			unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
		binary.NativeEndian.PutUint32(m[8:], 1)
		messages = append(messages, append(m, body...))
	}
	return messages
}

// request sends one message to the kernel and returns the error in its answer, nil for an
// acknowledgement.
func request(message []byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("open netlink socket: %w", err)
	}
	defer func() { _ = unix.Close(fd) }() // the answer has been read by then
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO,
		&unix.Timeval{Sec: 10}); err != nil {
		return err
	}
	if err := unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	buffer := make([]byte, 8192)
	n, _, err := unix.Recvfrom(fd, buffer, 0)
	if err != nil {
		return err
	}
	return parseAnswer(buffer[:n])
}

// parseAnswer reads the error number of an NLMSG_ERROR message; 0 there is an acknowledgement.
func parseAnswer(data []byte) error {
	messages, err := syscall.ParseNetlinkMessage(data)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if m.Header.Type == unix.NLMSG_ERROR && len(m.Data) >= 4 {
			if code := int32(binary.NativeEndian.Uint32(m.Data)); code != 0 {
				return unix.Errno(-code)
			}
			return nil
		}
	}
	return errors.New("netlink: no answer")
}

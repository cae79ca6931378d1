package control

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

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

package probe

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"krund/internal/machine/host"
)

// WatchKernelLog begins to follow the kernel's log. Only root may, on systems with
// kernel.dmesg_restrict.
func WatchKernelLog(_ context.Context, h host.Host) (KernelLog, error) {
	fd, err := unix.Open(h.Root.Path("/dev/kmsg"), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/kmsg: %w", err)
	}
	k, err := newKmsg(kmsgDevice(fd))
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return k, nil
}

// kmsgDevice is an open /dev/kmsg.
type kmsgDevice int

func (d kmsgDevice) ReadRecord(buffer []byte) (int, error) {
	for {
		n, err := unix.Read(int(d), buffer)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return 0, errNoRecord
		case errors.Is(err, unix.EPIPE):
			return 0, errOverwritten
		case errors.Is(err, unix.EINVAL):
			return 0, errTooLong
		case err == nil && n == 0:
			return 0, errNoRecord // a regular file instead of the device
		}
		return n, err
	}
}

func (d kmsgDevice) Close() error { return unix.Close(int(d)) }

package libkrun

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bufferName is the name of buffers; BufferLink begins what the kernel writes as the file of a
// descriptor of one (/proc/PID/fd).
const (
	bufferName = "krun-buffer"
	BufferLink = "/memfd:" + bufferName + " "
)

// newFile returns a memfd that can be sealed. Kernels from 6.3 on expect MFD_NOEXEC_SEAL or
// MFD_EXEC and otherwise write a line to the kernel log; older ones return EINVAL for it.
func newFile() (*os.File, error) {
	flags := unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(bufferName, flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate(bufferName, flags)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), bufferName), nil
}

// seal fixes the size, so that no holder of the descriptor can make a reader or the mapped process
// fail by truncating the file, or fill the memory by extending it.
func seal(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	if err != nil {
		return fmt.Errorf("seal: %w", os.NewSyscallError("fcntl", err))
	}
	return nil
}

// eventID returns the id of a perf event. It identifies the event, because all of them share one
// inode.
func eventID(f *os.File) (id uint64, ok bool) {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), unix.PERF_EVENT_IOC_ID, uintptr(unsafe.Pointer(&id)))
	return id, errno == 0
}

const (
	clockID   = unix.CLOCK_MONOTONIC_RAW // not slewed by NTP
	clockKind = clockRaw
	clockName = "CLOCK_MONOTONIC_RAW"
)

package msr

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openEvent is perf_event_open(2). A leader is pinned: it always counts, or fails. An inherited
// group starts disabled, so that this thread's own work is not counted; exec enables it in a child.
func openEvent(e event, o eventOptions) (*os.File, error) {
	attr := unix.PerfEventAttr{
		Type:   e.kind,
		Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config: e.config,
		Read_format: unix.PERF_FORMAT_GROUP |
			unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
	}
	leader := -1
	if o.leader != nil {
		leader = int(o.leader.Fd())
	} else {
		attr.Bits |= unix.PerfBitPinned
	}
	if o.inherit {
		attr.Bits |= unix.PerfBitInherit
		if o.leader == nil {
			attr.Bits |= unix.PerfBitDisabled | unix.PerfBitEnableOnExec
		}
	}
	pid := -1
	if o.core < 0 {
		pid = 0
	}
	fd, err := unix.PerfEventOpen(&attr, pid, o.core, leader, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("perf_event_open", err)
	}
	return os.NewFile(uintptr(fd), "perf:"+e.name), nil
}

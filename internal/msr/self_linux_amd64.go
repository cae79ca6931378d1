package msr

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// capUserRDPMC is cap_user_rdpmc of perf_event_mmap_page.
const capUserRDPMC = 1 << 2

// lookMapped maps the page of an event of this thread, as libkrun will.
func lookMapped(f *os.File) error {
	raw, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return os.NewSyscallError("mmap the event", err)
	}
	defer func() { _ = unix.Munmap(raw) }()
	page := (*unix.PerfEventMmapPage)(unsafe.Pointer(&raw[0]))
	switch {
	case page.Capabilities&capUserRDPMC == 0:
		return errors.New("the kernel does not allow RDPMC (cap_user_rdpmc is 0)")
	case page.Index == 0:
		return errors.New("the event has no hardware counter")
	}
	return nil
}

package control

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Flags of swapon(2).
const (
	swapPrefer       = 0x8000
	swapPriorityMask = 0x7fff
)

// linuxSwap is swapon(2) and swapoff(2).
type linuxSwap struct{}

func (linuxSwap) Off(device string) error { return swapCall(unix.SYS_SWAPOFF, device, 0) }

func (linuxSwap) On(device string, priority int) error {
	flags := 0
	if priority >= 0 {
		flags = swapPrefer | priority&swapPriorityMask
	}
	return swapCall(unix.SYS_SWAPON, device, flags)
}

func swapCall(call uintptr, device string, flags int) error {
	name, err := unix.BytePtrFromString(device)
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(call, uintptr(unsafe.Pointer(name)), uintptr(flags), 0); errno != 0 {
		return errno
	}
	return nil
}

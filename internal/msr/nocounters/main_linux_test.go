package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestMain makes this test binary the command itself, and the program that it runs.
func TestMain(m *testing.M) {
	switch os.Getenv("NOCOUNTERS_TEST") {
	case "run":
		os.Setenv("NOCOUNTERS_TEST", "open")
		status, err := run([]string{os.Args[0]})
		if err != nil {
			fmt.Print(err)
		}
		os.Exit(status)
	case "open":
		fmt.Print(opened())
		os.Exit(7)
	}
	os.Exit(m.Run())
}

// opened describes how the kernel takes two events. The flags of the hardware event are invalid,
// which the kernel checks before it looks for a PMU: ENOENT is the filter's answer on every
// machine, with counters or without.
func opened() string {
	open := func(kind uint32, flags int) error {
		attr := unix.PerfEventAttr{Type: kind, Config: unix.PERF_COUNT_SW_PAGE_FAULTS}
		attr.Size, attr.Bits = uint32(unsafe.Sizeof(attr)), unix.PerfBitExcludeKernel
		fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, flags)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}
	const invalid = 1 << 20
	_, noDevices := os.Stat("/dev/cpu/0")
	_, noPMU := os.Stat("/sys/bus/event_source/devices/cpu")
	return fmt.Sprintf("hardware: %v, software: %v, files: %v", open(unix.PERF_TYPE_HARDWARE, invalid),
		open(unix.PERF_TYPE_SOFTWARE, 0), noDevices == nil || noPMU == nil)
}

func TestHardwareEventsAreHidden(t *testing.T) {
	t.Setenv("NOCOUNTERS_TEST", "open")
	plain, _ := exec.CommandContext(t.Context(), os.Args[0]).Output()
	t.Setenv("NOCOUNTERS_TEST", "run")
	out, err := exec.CommandContext(t.Context(), os.Args[0]).Output()
	var exit *exec.ExitError
	// EBUSY: another filter listens already
	for _, refused := range []error{unix.EPERM, unix.ENOSYS, unix.EBUSY} {
		if strings.HasSuffix(string(out), refused.Error()) {
			t.Skipf("this kernel or container does not allow it: %s", out)
		}
	}
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("%v, want the exit status of the command, 7", err)
	}
	hardware, rest, _ := strings.Cut(string(out), ", ")
	_, usual, _ := strings.Cut(string(plain), ", ")
	if mayMount() {
		usual = strings.Replace(usual, "files: true", "files: false", 1)
	}
	if hardware != "hardware: no such file or directory" || rest != usual {
		t.Errorf("under nocounters: %s\nwithout it: %s", out, plain)
	}
}

// mayMount reports whether this process could hide the files. It tries so on a thread of its own,
// which ends with its namespace.
func mayMount() bool {
	may := make(chan bool)
	go func() {
		runtime.LockOSThread()
		may <- unix.Unshare(unix.CLONE_NEWNS) == nil
	}()
	return <-may
}

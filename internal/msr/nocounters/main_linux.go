// Command nocounters runs a command as on a machine without hardware counters, such as a virtual
// machine whose hypervisor shows no PMU. `make test-nocounters` runs the tests that open counters
// under it, so that a machine with counters also shows what breaks without them.
//
//	nocounters COMMAND [ARGUMENT...]
//
// For the command and all its descendants
//
//   - perf_event_open(2) fails with ENOENT, as kernel/events/core.c does when no PMU takes the
//     event. The kernel's own events (software, tracepoint, breakpoint) still work. A seccomp
//     filter sends the calls to this process.
//   - In a mount namespace of its own, /dev/cpu is empty and /sys/bus/event_source/devices lists
//     only the kernel's own event sources. Without CAP_SYS_ADMIN these files stay visible.
//
// It exits with the command's exit status, or with 125 when the counters cannot be hidden.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

const exitCannotHide = 125

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: nocounters COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	status, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "nocounters: %v\n", err)
	}
	os.Exit(status)
}

// run runs the command and returns its exit status.
func run(command []string) (status int, err error) {
	// The child inherits the filter and the mount namespace of the thread that starts it. This
	// thread does nothing else afterwards, and is not reused.
	runtime.LockOSThread()
	if err := hideFiles(); err != nil && !errors.Is(err, unix.EPERM) {
		return exitCannotHide, err
	}
	listener, err := installFilter()
	if err != nil {
		return exitCannotHide, err
	}
	go serve(listener)
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode(), nil
	case err != nil:
		return exitCannotHide, err
	}
	return 0, nil
}

// kernelOwn are the event sources that need no hardware, by their names in sysfs.
var kernelOwn = []string{"software", "tracepoint", "breakpoint", "kprobe", "uprobe"}

// hideFiles moves this thread into a mount namespace in which the files of the counters are
// missing. Without the right to do so it fails with EPERM and changes nothing.
func hideFiles() error {
	const sources, cpus = "/sys/bus/event_source/devices", "/dev/cpu"
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("create a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	targets := map[string]string{}
	for _, name := range kernelOwn {
		if target, err := filepath.EvalSymlinks(filepath.Join(sources, name)); err == nil {
			targets[name] = target
		}
	}
	for _, dir := range []string{sources, cpus} {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := unix.Mount("none", dir, "tmpfs", 0, "mode=755"); err != nil {
			return fmt.Errorf("hide %s: %w", dir, err)
		}
	}
	for name, target := range targets {
		if err := os.Symlink(target, filepath.Join(sources, name)); err != nil {
			return err
		}
	}
	return nil
}

// installFilter makes perf_event_open of this thread and its children wait for an answer on the
// returned descriptor: see seccomp_unotify(2).
func installFilter() (listener int, err error) {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // seccomp_data.nr
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 0, Jf: 1, K: unix.SYS_PERF_EVENT_OPEN},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	install := func() (uintptr, unix.Errno) {
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
			unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
		return fd, errno
	}
	fd, errno := install()
	if errno == unix.EACCES { // without CAP_SYS_ADMIN the kernel wants no_new_privs first
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return 0, fmt.Errorf("give up new privileges: %w", err)
		}
		fd, errno = install()
	}
	runtime.KeepAlive(filter)
	if errno != 0 {
		return 0, fmt.Errorf("install the seccomp filter: %w", errno)
	}
	return int(fd), nil
}

// notification is struct seccomp_notif of linux/seccomp.h.
type notification struct {
	id    uint64
	pid   uint32
	flags uint32
	data  struct {
		nr   int32
		arch uint32
		ip   uint64
		args [6]uint64
	}
}

// answer is struct seccomp_notif_resp.
type answer struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// serve answers calls of perf_event_open until this process ends.
func serve(listener int) {
	for {
		var n notification
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV,
			uintptr(unsafe.Pointer(&n))); errno != 0 {
			if errno == unix.EINTR || errno == unix.ENOENT { // ENOENT: the caller was killed
				continue
			}
			fmt.Fprintf(os.Stderr, "nocounters: receive a call of perf_event_open: %v\n", errno)
			os.Exit(exitCannotHide)
		}
		a := answer{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if needsHardware(n.pid, n.data.args[0]) {
			a.flags, a.err = 0, -int32(unix.ENOENT)
		}
		// It fails with ENOENT when the caller was killed meanwhile.
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND,
			uintptr(unsafe.Pointer(&a)))
	}
}

// needsHardware reports whether the perf_event_attr at an address of a process is one of a hardware
// counter. Memory that cannot be read is left to the kernel to refuse.
func needsHardware(pid uint32, address uint64) bool {
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return false
	}
	defer func() { _ = memory.Close() }()
	kind := make([]byte, 4) // perf_event_attr.type
	if _, err := memory.ReadAt(kind, int64(address)); err != nil {
		return false
	}
	software := []uint32{unix.PERF_TYPE_SOFTWARE, unix.PERF_TYPE_TRACEPOINT, unix.PERF_TYPE_BREAKPOINT}
	return !slices.Contains(software, binary.NativeEndian.Uint32(kind))
}

package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// askKernel adds what only system calls tell: whether system calls are audited, and which programs
// of BPF hook into the kernel. What may not be asked, as in a container, has no entry.
func askKernel(state Fingerprint) {
	if enabled, err := auditEnabled(); err == nil {
		state[StatePrefix+"kernel.audit"] = fmt.Sprint(enabled)
	}
	if programs, err := bpfPrograms(); err == nil {
		state[StatePrefix+"kernel.bpf"] = programs
	}
}

// auditEnabled asks by netlink(7) for struct audit_status (linux/audit.h): 0 off, 1 on, 2 locked.
func auditEnabled() (uint32, error) {
	const (
		get, headerBytes = 1000, 16 // AUDIT_GET, struct nlmsghdr
		enabledAt        = headerBytes + 4
	)
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_AUDIT)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	second := unix.Timeval{Sec: 1}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &second); err != nil {
		return 0, err
	}
	order := binary.NativeEndian
	ask := make([]byte, headerBytes)
	order.PutUint32(ask, headerBytes)
	order.PutUint16(ask[4:], get)
	order.PutUint16(ask[6:], unix.NLM_F_REQUEST)
	if err := unix.Sendto(fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, err
	}
	answer := make([]byte, unix.Getpagesize())
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil || n < enabledAt+4 || order.Uint16(answer[4:]) != get {
		return 0, fmt.Errorf("no audit status in %d bytes: %w", n, err)
	}
	return order.Uint32(answer[enabledAt:]), nil
}

// bpfPrograms counts the loaded programs that run in system calls, context switches and functions
// of the kernel by type: "kprobe 2, lsm 1"; "none". Those of networks and control groups are left
// out.
func bpfPrograms() (string, error) {
	const nextID, fdByID, infoByFD, most = 11, 13, 15, 4096 // enum bpf_cmd (linux/bpf.h)
	names := map[uint32]string{2: "kprobe", 5: "tracepoint", 7: "perf_event", 17: "raw_tracepoint",
		26: "tracing", 27: "struct_ops", 29: "lsm"} // enum bpf_prog_type
	counts := map[string]int{}
	call := func(command uintptr, attr []byte) (uintptr, error) {
		r, _, errno := unix.Syscall(unix.SYS_BPF, command, uintptr(unsafe.Pointer(&attr[0])),
			uintptr(len(attr)))
		if errno != 0 {
			return 0, errno
		}
		return r, nil
	}
	order := binary.NativeEndian
	for id, n := uint32(0), 0; n < most; n++ {
		ask := make([]byte, 12) // start_id, next_id, open_flags
		order.PutUint32(ask, id)
		if _, err := call(nextID, ask); err != nil {
			if errors.Is(err, unix.ENOENT) {
				break
			}
			return "", err
		}
		id = order.Uint32(ask[4:])
		order.PutUint32(ask, id)
		order.PutUint32(ask[4:], 0)
		fd, err := call(fdByID, ask)
		if err != nil {
			continue // unloaded meanwhile
		}
		info := make([]byte, 8) // struct bpf_prog_info begins with type and id
		about := make([]byte, 16)
		order.PutUint32(about, uint32(fd))
		order.PutUint32(about[4:], uint32(len(info)))
		order.PutUint64(about[8:], uint64(uintptr(unsafe.Pointer(&info[0]))))
		_, err = call(infoByFD, about)
		_ = unix.Close(int(fd))
		if name := names[order.Uint32(info)]; err == nil && name != "" {
			counts[name]++
		}
	}
	var list []string
	for name, n := range counts {
		list = append(list, fmt.Sprintf("%s %d", name, n))
	}
	if slices.Sort(list); len(list) == 0 {
		return "none", nil
	}
	return strings.Join(list, ", "), nil
}

// tscLine is what the kernel says of its calibration (arch/x86/kernel/tsc.c:
// tsc_refine_calibration_work, tsc_enable_sched_clock).
var tscLine = regexp.MustCompile(
	`tsc: (?:Detected|Refined TSC clocksource calibration:) ([0-9]+)\.([0-9]{3}) MHz`)

// TSCKHz returns the frequency in kHz to which the kernel calibrated the time stamp counter in this
// boot, which every duration is divided by; 0 if the kernel's log does not say it any more.
func TSCKHz() int64 {
	const readAll, size = 3, 10 // syslog(2)
	n, err := unix.Klogctl(size, nil)
	if err != nil || n <= 0 {
		return 0
	}
	text := make([]byte, min(n, 1<<24))
	if n, err = unix.Klogctl(readAll, text); err != nil {
		return 0
	}
	return tscKHz(string(text[:n]))
}

func tscKHz(log string) int64 {
	all := tscLine.FindAllStringSubmatch(log, -1)
	if len(all) == 0 {
		return 0
	}
	last := all[len(all)-1] // the refined one is later
	khz, _ := strconv.ParseInt(last[1]+last[2], 10, 64)
	return khz
}

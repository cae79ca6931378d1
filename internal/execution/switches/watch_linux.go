package switches

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	libkrun "krund/cgo"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// Memory for records: a processor has at most most, all of them together at most mostAll. A
// switch takes 64 bytes.
const (
	most    = 1 << 20
	mostAll = 64 << 20
)

// Watch is a recording that goes on.
type Watch struct {
	root  sysroot.Root
	cpus  []int
	names map[int32]string // before
	fds   []int
	rings [][]byte // a page of the kernel's, then the records
}

// Open begins to record on the processors, nil for all that are online.
func Open(root sysroot.Root, cpus []int) (*Watch, error) {
	if cpus == nil {
		text, err := root.Read("/sys/devices/system/cpu/online")
		if err != nil {
			return nil, fmt.Errorf("find the online processors: %w", err)
		}
		online, err := host.ParseCPUList(text)
		if err != nil {
			return nil, fmt.Errorf("find the online processors: %w", err)
		}
		cpus = online
	}
	size := most
	for size*len(cpus) > mostAll && size > os.Getpagesize() {
		size /= 2
	}
	w := &Watch{root: root, cpus: cpus, names: processes(root)}
	for _, cpu := range cpus {
		if err := w.add(cpu, size); err != nil {
			return nil, errors.Join(fmt.Errorf("record the context switches of CPU %d: %w", cpu, err),
				w.Close())
		}
	}
	return w, nil
}

// add opens the event of a processor. It wakes no task: the watermark is all of its memory.
func (w *Watch) add(cpu, size int) error {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME,
		Bits: unix.PerfBitContextSwitch | unix.PerfBitComm | unix.PerfBitTask | unix.PerfBitSampleIDAll |
			unix.PerfBitUseClockID | unix.PerfBitWatermark,
		Wakeup:  uint32(size), //nolint:gosec // at most a MiB
		Clockid: unix.CLOCK_MONOTONIC_RAW,
	}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("perf_event_open", err)
	}
	w.fds = append(w.fds, fd)
	memory, err := unix.Mmap(fd, 0, os.Getpagesize()+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	w.rings = append(w.rings, memory)
	return nil
}

// Stop ends the recording and returns what was recorded.
func (w *Watch) Stop() (Log, error) {
	var errs []error
	for _, fd := range w.fds {
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_DISABLE, 0); err != nil {
			errs = append(errs, os.NewSyscallError("ioctl", err))
		}
	}
	stopped := libkrun.Now()
	rings := make([]ring, len(w.rings))
	for i, memory := range w.rings {
		page := (*unix.PerfEventMmapPage)(unsafe.Pointer(&memory[0])) //nolint:gosec // the kernel's
		data := memory[os.Getpagesize():]
		head := min(atomic.LoadUint64(&page.Data_head), uint64(len(data)))
		var ok bool
		if rings[i].records, ok = parse(data[:head]); !ok {
			errs = append(errs, fmt.Errorf("a record of CPU %d is not as expected", w.cpus[i]))
		}
		rings[i].full = uint64(len(data))-head < forkBytes
	}
	w.lookUp(rings)
	return newLog(w.cpus, rings, w.names, stopped), errors.Join(append(errs, w.Close())...)
}

// Close frees the memory.
func (w *Watch) Close() error {
	var errs []error
	for _, memory := range w.rings {
		errs = append(errs, unix.Munmap(memory))
	}
	for _, fd := range w.fds {
		errs = append(errs, unix.Close(fd))
	}
	w.rings, w.fds = nil, nil
	return errors.Join(errs...)
}

// lookUp adds the names that the tasks of the rings have now.
func (w *Watch) lookUp(rings []ring) {
	seen := map[int32]bool{}
	for _, ring := range rings {
		for _, r := range ring.records {
			if r.kind != recordSwitch || r.tid <= 0 || seen[r.tid] {
				continue
			}
			seen[r.tid] = true
			if text, ok := comm(w.root, strconv.Itoa(int(r.tid))); ok {
				w.names[r.tid] = text
			}
		}
	}
}

// processes returns the names of the processes that there are.
func processes(root sysroot.Root) map[int32]string {
	names := map[int32]string{}
	for _, entry := range root.List("/proc") {
		pid, err := strconv.ParseInt(entry, 10, 32)
		if err != nil {
			continue
		}
		if text, ok := comm(root, entry); ok {
			names[int32(pid)] = text
		}
	}
	return names
}

// comm returns the name of a task.
func comm(root sysroot.Root, tid string) (string, bool) {
	text, err := root.ReadBytes("/proc/" + tid + "/comm")
	if n := len(text); n > 0 && text[n-1] == '\n' {
		text = text[:n-1]
	}
	return plain(text), err == nil
}

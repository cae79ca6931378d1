package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"krund/internal/durable"
)

// LastHolder says which process took the experiment last, whether or not it still has it; 0 when unknown. It only reads:
// trying the lock would for that moment keep away a krund that starts.
func (f Folder) LastHolder() (pid int, host string) {
	for _, name := range []string{f.holderFile(), f.lockFile()} { // earlier versions wrote it into the lock's file
		file, err := f.fsys.OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			continue
		}
		text := make([]byte, holderBytes)
		n, _ := file.ReadAt(text, 0) // short or unreadable: unknown
		if pid, host = parseHolder(string(text[:n])); file.Close() == nil && pid > 0 {
			return pid, host
		}
	}
	return 0, ""
}

// HoldsLock says whether the process pid of this machine may hold a lock: it lives and, where the kernel lists locks, has one. So a number that was given to
// another process since is not taken for krund. It errs on the side of yes.
func HoldsLock(fsys durable.FS, pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) { // asks, and sends nothing
		return false
	}
	list, err := durable.ReadFile(fsys, "/proc/locks")
	return err != nil || listsLock(string(list), pid)
}

// listsLock reports whether a process has any lock of flock(2), by the text of /proc/locks.
func listsLock(list string, pid int) bool {
	return slices.ContainsFunc(parseLocks(list), func(l flock) bool { return l.pid == pid })
}

// A flock is a lock of flock(2) that is held.
type flock struct {
	pid   int
	inode string
}

// parseLocks reads the text of /proc/locks, whose lines are as "1: FLOCK  ADVISORY  WRITE 4711 08:01:1312 0 EOF"; "->"
// behind the number marks one that is waited for.
func parseLocks(list string) []flock {
	var locks []flock
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[1] != "FLOCK" {
			continue
		}
		pid, err := strconv.Atoi(fields[4])
		if err == nil && pid > 0 {
			locks = append(locks, flock{pid, fields[5][strings.LastIndexByte(fields[5], ':')+1:]})
		}
	}
	return locks
}

func (f Folder) lastPID() int {
	pid, _ := f.LastHolder()
	return pid
}

// stranger describes the process that has the lock of a file and is not krund; "" when it is krund, when it is the process
// last, which has noted that it took the lock, or when the kernel does not say. The process that took the lock may have
// ended, while another one goes on with its descriptor.
func stranger(fsys durable.FS, file fs.FileInfo, last int) string {
	stat, ok := file.Sys().(*syscall.Stat_t)
	list, err := durable.ReadFile(fsys, "/proc/locks")
	if !ok || err != nil {
		return ""
	}
	for _, l := range parseLocks(string(list)) {
		if l.inode != strconv.FormatUint(stat.Ino, 10) {
			continue
		}
		if errors.Is(syscall.Kill(l.pid, 0), syscall.ESRCH) {
			return fmt.Sprintf("a process that has it from process %d, which has ended,", l.pid)
		}
		program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", l.pid))
		if err == nil && l.pid != last && !isKrund(program) {
			return fmt.Sprintf("process %d (%.100q)", l.pid, program)
		}
	}
	return ""
}

// isKrund reports whether the path is that of a program that takes locks of experiments.
func isKrund(program string) bool {
	return slices.Contains([]string{"krund", "krunctl"}, filepath.Base(strings.TrimSuffix(program, " (deleted)")))
}

package folder

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"krund/internal/durable"
)

// LastHolder says which process took the experiment last, whether or not it still has it; 0 when unknown. It only reads: trying the lock would for that
// moment keep away a krund that starts.
func (f Folder) LastHolder() (pid int, host string) {
	file, err := f.fsys.OpenFile(f.lockFile(), os.O_RDONLY, 0)
	if err != nil {
		return 0, ""
	}
	e := f.holder(file)
	if file.Close() != nil {
		return 0, ""
	}
	return e.PID, e.Host
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

// listsLock looks for a lock of flock(2) in the text of /proc/locks, whose lines are as "1: FLOCK  ADVISORY  WRITE 4711 08:01:1312 0 EOF"; "->" behind the
// number marks one that is waited for.
func listsLock(list string, pid int) bool {
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if slices.Contains(fields, "FLOCK") && !slices.Contains(fields, "->") && slices.Contains(fields, strconv.Itoa(pid)) {
			return true
		}
	}
	return false
}

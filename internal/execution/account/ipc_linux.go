package account

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// objectKinds are the tables of System V objects and the calls that remove one.
var objectKinds = []struct {
	table, id string
	remove    func(id int) error
}{
	{"/proc/sysvipc/shm", "shmid", func(id int) error {
		return control(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0)
	}},
	{"/proc/sysvipc/sem", "semid", func(id int) error {
		return control(unix.SYS_SEMCTL, id, 0, unix.IPC_RMID)
	}},
	{"/proc/sysvipc/msg", "msqid", func(id int) error {
		return control(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0)
	}},
}

// removeObjects removes the System V objects that a user owns or has created. A kernel may lack
// them.
func removeObjects(uid int) (removed int, err error) {
	var errs []error
	for _, kind := range objectKinds {
		text, err := os.ReadFile(kind.table)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var list []object
		if err == nil {
			list, err = parseObjects(text, kind.id)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", kind.table, err))
		}
		for _, o := range list {
			if o.uid != uid && o.maker != uid {
				continue
			}
			switch err := kind.remove(o.id); {
			case err == nil:
				removed++
			case !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EIDRM): // else it was removed meanwhile
				errs = append(errs, fmt.Errorf("%s %d: %w", kind.id, o.id, err))
			}
		}
	}
	return removed, errors.Join(errs...)
}

func control(call uintptr, id, first, second int) error {
	if _, _, errno := unix.Syscall6(call, uintptr(id), uintptr(first), uintptr(second), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

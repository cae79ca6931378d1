package unit

import (
	"fmt"
	"os"
	"syscall"

	"krund/internal/shellword"
)

// Trusted says whether root may run what the configuration at path says at
// every boot: nobody else may be able to change the file. For other users (uid
// not 0) there is nothing to fear.
func Trusted(path string, uid int) error {
	if uid != 0 {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	const othersWrite = 0o022
	switch {
	case ok && owner.Uid != 0:
		return fmt.Errorf("%s belongs to user %d, who could make root run anything; `chown root %s`", path, owner.Uid, shellword.Path(path))
	case info.Mode().Perm()&othersWrite != 0:
		return fmt.Errorf("%s can be changed by others than its owner; `chmod go-w %s`", path, shellword.Path(path))
	}
	return nil
}

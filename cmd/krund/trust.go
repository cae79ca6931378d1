package main

import (
	"fmt"
	"os"
	"syscall"
)

// trusted says whether a configuration may be believed: as root, nobody else may be able to change what root will run. Where the machine is taken
// over (hardware) its owner must be root, too; without reboots a checkout of somebody else's will do, as long as root starts it by hand.
func trusted(path string, hardware bool) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case hardware && ok && owner.Uid != 0:
		return fmt.Errorf("%s belongs to user %d, who could make root run anything; `chown root %s`", path, owner.Uid, path)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s can be changed by others than its owner; `chmod go-w %s`", path, path)
	}
	return nil
}

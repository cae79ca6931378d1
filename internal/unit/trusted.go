package unit

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"krund/internal/shellword"
)

// Trusted says whether root may run what the configuration at path says at
// every boot: nobody else may be able to change the file, or to put another one
// in its place. For other users (uid not 0) there is nothing to fear.
func Trusted(path string, uid int) error {
	if uid != 0 {
		return nil
	}
	if err := rootsAlone(path); err != nil {
		return err
	}
	return rootsAlone(filepath.Dir(path))
}

// rootsAlone says who else than root can change a file, or what is in a folder.
// In a sticky folder, like /tmp, everybody can change only what is theirs.
func rootsAlone(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	const othersWrite = 0o022
	switch {
	case ok && owner.Uid != 0:
		return fmt.Errorf("%s belongs to user %d, who could make root run anything; `chown root %s`", path, owner.Uid, shellword.Path(path))
	case info.IsDir() && info.Mode()&os.ModeSticky != 0:
		return nil
	case info.Mode().Perm()&othersWrite != 0:
		return fmt.Errorf("%s can be changed by others than its owner; `chmod go-w %s`", path, shellword.Path(path))
	}
	return nil
}

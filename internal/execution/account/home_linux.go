package account

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"krund/internal/machine/sysroot"
)

// homeSource is the source of a home in memory in the table of mounts. Other mounts are not
// krund's.
const homeSource = "krund-home"

// fileBytes is how much space a file or directory is assumed to need. It bounds the number of
// files, because small ones could fill the memory.
const fileBytes = 4096

// mountHome mounts a file system of size bytes in memory on the directory home.
func mountHome(home string, size int64, uid, gid int) error {
	files := max(size/fileBytes, 16)
	options := fmt.Sprintf("size=%d,nr_inodes=%d,mode=0700,uid=%d,gid=%d", size, files, uid, gid)
	if err := unix.Mount(homeSource, home, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount a home in memory (limits.home) on %s: %w", home, err)
	}
	return nil
}

// unmountHome unmounts what mountHome has mounted.
func unmountHome(home string) error {
	for {
		table, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			return fmt.Errorf("look for a home in memory: %w", err)
		}
		if !isHomeMount(string(table), home) {
			return nil
		}
		if err := unix.Unmount(home, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return fmt.Errorf("unmount the home in memory %s: %w", home, err)
		}
	}
}

// isHomeMount reports whether mountHome made the topmost mount on home. table is in the form of
// proc_pid_mountinfo(5).
func isHomeMount(table, home string) bool {
	own := false
	for _, m := range sysroot.ParseMounts(table) {
		if m.Point == home {
			own = m.Kind == "tmpfs" && m.Source == homeSource
		}
	}
	return own
}

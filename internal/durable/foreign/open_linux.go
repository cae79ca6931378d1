package foreign

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// kernels are the file systems whose files the kernel makes up (statfs(2)): reading one may wait
// for an event, such as /proc/kmsg and trace_pipe, take it from its reader, or start something.
var kernels = []uint32{
	unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.TRACEFS_MAGIC, unix.DEBUGFS_MAGIC, unix.SECURITYFS_MAGIC,
	unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.RDTGROUP_SUPER_MAGIC, unix.BPF_FS_MAGIC,
	unix.SELINUX_MAGIC, unix.SMACK_MAGIC, unix.AAFS_MAGIC, unix.BINFMTFS_MAGIC, unix.BINDERFS_SUPER_MAGIC,
	unix.EFIVARFS_MAGIC, unix.PSTOREFS_MAGIC, unix.OPENPROM_SUPER_MAGIC, unix.XENFS_SUPER_MAGIC,
	unix.USBDEVICE_SUPER_MAGIC, unix.DEVPTS_SUPER_MAGIC, unix.NSFS_MAGIC, unix.SOCKFS_MAGIC,
	unix.PIPEFS_MAGIC, unix.ANON_INODE_FS_MAGIC, unix.PID_FS_MAGIC, unix.DMA_BUF_MAGIC,
	configfs, mqueue, fuseControl, rpcPipe, nfsd, functionfs, gadgetfs,
}

// Those that are not in include/uapi/linux/magic.h.
const (
	configfs    = 0x62656570
	mqueue      = 0x19800202
	fuseControl = 0x65735543
	rpcPipe     = 0x67596969
	nfsd        = 0x6e667364
	functionfs  = 0x0a647361
	gadgetfs    = 0xaee71ee7
)

// open judges the file by a descriptor that does not open it, and then opens that descriptor: the
// path cannot lead elsewhere in between.
func open(path string) (*os.File, error) {
	fd, err := retried(func() (int, error) { return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	if err := judge(fd); err != nil {
		return nil, err
	}
	// with O_NONBLOCK, a lease of another process is an error and not a wait
	return os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDONLY|unix.O_NONBLOCK, 0)
}

func check(path string) error {
	fd, err := retried(func() (int, error) { return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0) })
	if err != nil {
		return err
	}
	return errors.Join(judge(fd), unix.Close(fd))
}

func judge(fd int) error {
	var file unix.Stat_t
	var system unix.Statfs_t
	_, err := retried(func() (int, error) { return 0, unix.Fstat(fd, &file) })
	if err == nil {
		_, err = retried(func() (int, error) { return 0, unix.Fstatfs(fd, &system) })
	}
	switch {
	case err != nil:
		return err
	case file.Mode&unix.S_IFMT != unix.S_IFREG:
		return ErrNotRegular
	case slices.Contains(kernels, uint32(system.Type)): //nolint:gosec // the numbers have 32 bits
		return ErrKernel
	}
	return nil
}

func retried(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

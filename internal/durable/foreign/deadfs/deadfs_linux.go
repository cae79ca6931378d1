// Package deadfs mounts a file system that never answers, as one of a server that is gone: tests
// show with it what ends nevertheless. Start reading at [Mount].
package deadfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// The parts of the protocol that are needed (include/uapi/linux/fuse.h).
const (
	opInit    = 26
	major     = 7
	minor     = 31
	header    = 40 // bytes of fuse_in_header: length, opcode, unique
	atOpcode  = 4
	atUnique  = 8
	mostBytes = 1 << 17 // of a request
	maxWrite  = 1 << 12
)

// Mount mounts the file system on the directory dir until the test ends, and skips the test where
// that is not possible. The channel gets a value when a process waits for its answer.
func Mount(t testing.TB, dir string) <-chan struct{} {
	t.Helper()
	fuse, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("open /dev/fuse: %v", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other", fuse, os.Getuid(),
		os.Getgid())
	if err := unix.Mount("krund-test", dir, "fuse", 0, options); err != nil {
		t.Skipf("mount FUSE: %v", errors.Join(err, unix.Close(fuse)))
	}
	asked, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(done)
		if waiting(fuse) && begin(fuse) == nil && waiting(fuse) {
			asked <- struct{}{}
		}
	}()
	t.Cleanup(func() {
		err := unix.Unmount(dir, unix.MNT_DETACH|unix.MNT_FORCE) // ends what waits, also above
		<-done
		if err = errors.Join(err, unix.Close(fuse)); err != nil {
			t.Error(err)
		}
	})
	return asked
}

// waiting waits for a request, and reports whether there is one. A request that is not read lets go
// of a process that is killed, as those to other servers do.
func waiting(fuse int) bool {
	for {
		wait := []unix.PollFd{{Fd: int32(fuse), Events: unix.POLLIN}}
		if _, err := unix.Poll(wait, -1); !errors.Is(err, unix.EINTR) {
			return err == nil && wait[0].Revents == unix.POLLIN
		}
	}
}

// begin answers the kernel's first request, without which there are no others.
func begin(fuse int) error {
	request := make([]byte, mostBytes)
	n, err := unix.Read(fuse, request)
	if err != nil {
		return err
	}
	if n < header || binary.NativeEndian.Uint32(request[atOpcode:]) != opInit {
		return errors.New("the first request is another one")
	}
	answer := make([]byte, 80) // fuse_out_header and fuse_init_out
	for at, value := range map[int]uint32{0: uint32(len(answer)), 16: major, 20: minor, 36: maxWrite} {
		binary.NativeEndian.PutUint32(answer[at:], value)
	}
	copy(answer[8:16], request[atUnique:])
	_, err = unix.Write(fuse, answer)
	return err
}

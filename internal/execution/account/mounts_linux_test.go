package account

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"krund/rig/must"
)

// btrfs mounts an empty file system of that kind. It skips the test where that is not possible.
func btrfs(t *testing.T) string {
	t.Helper()
	needRoot(t)
	disk, dir := filepath.Join(t.TempDir(), "disk"), t.TempDir()
	const size = 256 << 20
	must.Do(t, errors.Join(os.WriteFile(disk, nil, 0o600), os.Truncate(disk, size)))
	for _, command := range [][]string{{"mkfs.btrfs", "-q", disk}, {"mount", "-o", "loop", disk, dir}} {
		c := exec.CommandContext(t.Context(), command[0], command[1:]...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Skipf("%s: %v: %s", command[0], err, out)
		}
	}
	t.Cleanup(func() {
		must.Do(t, unix.Unmount(dir, unix.MNT_DETACH))
	})
	return dir
}

// subvolume makes one as the test's user does, who needs no privilege for it.
func subvolume(t *testing.T, path string) {
	t.Helper()
	const create = 0x5000940e // BTRFS_IOC_SUBVOL_CREATE of include/uapi/linux/btrfs.h
	var args struct {
		_    int64
		name [4088]byte
	}
	copy(args.name[:], filepath.Base(path))
	parent := must.Get(os.Open(filepath.Dir(path)))(t)
	defer parent.Close()
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, parent.Fd(), create, uintptr(unsafe.Pointer(&args)))
	must.Need(t, errno == 0, "make the subvolume", path, errno)
	must.Do(t, os.Chown(path, testUID, testUID))
}

// readOnly makes a subvolume read-only, as its owner may.
func readOnly(t *testing.T, path string) {
	t.Helper()
	d := must.Get(os.Open(path))(t)
	defer d.Close()
	flags := uint64(subvolumeReadOnly)
	must.Do(t, subvolumeFlags(int(d.Fd()), setSubvolumeFlags, &flags), "make the subvolume", path,
		"read-only")
}

func directoryOf(t *testing.T, path string) {
	t.Helper()
	must.Do(t, errors.Join(os.Mkdir(path, 0o755), os.Chown(path, testUID, testUID)))
}

func fileOf(t *testing.T, path string) {
	t.Helper()
	write(t, path)
	must.Do(t, os.Chown(path, testUID, testUID))
}

// TestSubvolumes: on btrfs any user may make subvolumes. Each has a device number of its own, but
// is no mount: it goes with the rest, also if it is read-only, or in another one.
func TestSubvolumes(t *testing.T) {
	dir := btrfs(t)
	fill := func(at string) {
		t.Helper()
		sub := filepath.Join(at, "sub")
		subvolume(t, sub)
		fileOf(t, filepath.Join(sub, "file"))
		subvolume(t, filepath.Join(sub, "inner"))
		fileOf(t, filepath.Join(sub, "inner/file"))
		readOnly(t, filepath.Join(sub, "inner"))
		directoryOf(t, filepath.Join(at, "mine"))
		subvolume(t, filepath.Join(at, "mine/other"))
		fileOf(t, filepath.Join(at, "mine/other/file"))
		readOnly(t, filepath.Join(at, "mine/other"))
		readOnly(t, sub)
	}
	const entries = 7 // of fill
	home := filepath.Join(dir, "home")
	directoryOf(t, home)
	fill(home)
	mustRemove(t, home, entries+1)

	public := filepath.Join(dir, "tmp")
	must.Do(t, errors.Join(os.Mkdir(public, 0o777), os.Chmod(public, 0o777|os.ModeSticky)))
	fill(public)
	removed, err := removeOwned(t.Context(), public, testUID)
	must.Be(t, removed == entries && err == nil, "removed", removed, err, "want", entries)
	list, err := os.ReadDir(public)
	must.Be(t, len(list) == 0 && err == nil, "left", list, err)
}

// TestSubvolumesDeep: directories cannot be renamed from one subvolume into another, so those that
// are nested too deep to be entered must not need it.
func TestSubvolumesDeep(t *testing.T) {
	dir := btrfs(t)
	home := filepath.Join(dir, "home")
	directoryOf(t, home)
	made := 1
	at := home
	for level := range 2 * maxOpen {
		at = filepath.Join(at, "d")
		if made++; level%2 == 0 {
			subvolume(t, at)
		} else {
			directoryOf(t, at)
		}
		must.Need(t, len(at) <= unix.PathMax/2, "the path is too long")
	}
	dig(t, at, 2*maxOpen, "deep")
	mustRemove(t, home, made+2*maxOpen)
}

// TestOverlay: on an overlay the regular files may have other device numbers than the directories.
func TestOverlay(t *testing.T) {
	needRoot(t)
	lower, upper, merged := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, filepath.Join(lower, "tmp/theirs"))
	must.Do(t, os.Chmod(filepath.Join(lower, "tmp"), 0o777|os.ModeSticky))
	if err := unix.Mount("test", upper, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mount a tmpfs: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(upper, unix.MNT_DETACH) })
	must.Do(t, errors.Join(os.Mkdir(filepath.Join(upper, "upper"), 0o755),
		os.Mkdir(filepath.Join(upper, "work"), 0o755)))
	options := fmt.Sprintf("lowerdir=%s,upperdir=%[2]s/upper,workdir=%[2]s/work,xino=off", lower, upper)
	if err := unix.Mount("test", merged, "overlay", 0, options); err != nil {
		t.Skipf("mount an overlay: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(merged, unix.MNT_DETACH) })
	home, public := filepath.Join(merged, "home"), filepath.Join(merged, "tmp")
	directoryOf(t, home)
	fileOf(t, filepath.Join(home, "file"))
	mustRemove(t, home, 2)
	fileOf(t, filepath.Join(public, "mine"))
	removed, err := removeOwned(t.Context(), public, testUID)
	must.Be(t, removed == 1 && err == nil, "removed", removed, err)
	must.Be(t, exists(t, filepath.Join(public, "theirs")), "the file of another user is gone")
}

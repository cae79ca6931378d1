package account

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"krund/rig/must"
)

// testUID is a user that no machine should have. Its processes are killed.
const testUID = 54321

func needRoot(t *testing.T) {
	t.Helper()
	must.Root(t, "needs root")
}

// TestOwnedDeep: others' directories are passed through, and the account's own go, however deep.
func TestOwnedDeep(t *testing.T) {
	needRoot(t)
	dir := top(t)
	for _, name := range []string{"theirs", "theirs/mine", "theirs/mine/keep"} {
		must.Do(t, os.Mkdir(filepath.Join(dir, name), 0o777))
	}
	mine := filepath.Join(dir, "theirs/mine")
	dig(t, mine, 3*maxOpen, "d")
	at := must.Get(openRoot(dir))(t)
	for name := "theirs"; ; name = "d" {
		next, err := at.open(name)
		if errors.Is(err, unix.ENOENT) {
			break
		}
		if err == nil && name != "theirs" {
			err = unix.Fchown(next.fd(), testUID, testUID)
		}
		if name == "theirs" && err == nil {
			at = next
			next, err = at.open("mine")
			err = errors.Join(err, unix.Fchown(next.fd(), testUID, testUID))
		}
		if err = errors.Join(err, at.close()); err != nil {
			t.Fatal(err)
		}
		at = next
	}
	must.Do(t, at.close())
	removed, err := removeOwned(t.Context(), dir, testUID)
	must.Be(t, removed == 3*maxOpen && err != nil && errors.Is(err, unix.ENOTEMPTY), "removed", removed, err,
		3*maxOpen, "and that", mine, "is not empty")
	must.Be(t, exists(t, filepath.Join(mine, "keep")) && !exists(t, filepath.Join(mine, "d")),
		"the wrong files were removed")
}

// TestMounts: nothing on another mount is touched, of another file system or of the same one.
func TestMounts(t *testing.T) {
	needRoot(t)
	dir, outside := top(t), t.TempDir()
	write(t, filepath.Join(outside, "kept"))
	for name, mount := range map[string]func(at string) error{
		"tmpfs": func(at string) error { return unix.Mount("test", at, "tmpfs", 0, "size=64k") },
		"bind":  func(at string) error { return unix.Mount(outside, at, "", unix.MS_BIND, "") },
	} {
		at := filepath.Join(dir, name)
		must.Do(t, os.Mkdir(at, 0o755))
		if err := mount(at); err != nil {
			t.Skipf("cannot mount: %v", err)
		}
		t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
		write(t, filepath.Join(at, "kept"))
	}
	_, err := removeTree(t.Context(), dir)
	must.Be(t, errors.Is(err, errMount) && strings.Contains(err.Error(), "unmount it"), err)
	n, err := removeOwned(t.Context(), dir, 0)
	must.Be(t, n == 0 && errors.Is(err, errMount), "removed", n, err, "the user may have files there")
	for _, at := range []string{filepath.Join(dir, "tmpfs"), outside} {
		must.Do(t, os.Chmod(at, 0o755))
	}
	n, err = removeOwned(t.Context(), dir, testUID)
	must.Be(t, n == 0 && err == nil, "removed", n, err, "the user cannot have files there")
	for _, name := range []string{"tmpfs/kept", "bind/kept"} {
		must.Be(t, exists(t, filepath.Join(dir, name)), name, "is gone")
	}
}

func TestOwned(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	at := func(name string) string { return filepath.Join(dir, name) }
	own := func(name string) {
		t.Helper()
		must.Do(t, os.Lchown(name, testUID, testUID))
	}
	for _, sub := range []string{"mine", "mine/deep", "mine/mixed", "theirs", "theirs/open"} {
		must.Do(t, os.Mkdir(at(sub), 0o777))
	}
	for _, file := range []string{
		at("mine/a"), at("mine/deep/b"), at("mine/mixed/keep"), at("theirs/keep"),
		at("theirs/open/c"), outside,
	} {
		must.Do(t, os.WriteFile(file, nil, 0o600))
	}
	must.Do(t, errors.Join(os.Symlink(outside, at("mine/link")), os.Symlink("/", at("theirs/root")),
		syscall.Mkfifo(at("fifo"), 0o600)))
	for _, name := range []string{
		"mine", "mine/deep", "mine/mixed", "mine/a", "mine/deep/b", "mine/link", "theirs/open/c", "fifo",
	} {
		own(at(name))
	}
	own(outside)
	own(outside)
	link := filepath.Join(t.TempDir(), "link") // as /var/spool/mail is one
	must.Do(t, os.Symlink(dir, link))
	removed, err := removeOwned(t.Context(), link, testUID)
	// The directories that hold what belongs to others stay, and that is an error to report.
	must.Be(t, removed == 6 && err != nil, "removed", removed, err)
	for name, want := range map[string]bool{
		"mine/a": false, "mine/deep": false, "mine/link": false, "theirs/open/c": false, "fifo": false,
		"mine/mixed/keep": true, "theirs/keep": true, "theirs/root": true, "theirs/open": true,
	} {
		_, err := os.Lstat(at(name))
		must.Equal(t, (err == nil), want, name, "there", err == nil)
	}
	must.Get(os.Stat(outside))(t, "a link was followed")
	n, err := removeOwned(t.Context(), filepath.Join(dir, "absent"), testUID)
	must.Be(t, n == 0 && err == nil, "no such directory", n, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = removeOwned(ctx, dir, testUID)
	must.Fail(t, err, context.Canceled, "cancelled")
}

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

// TestOwnedInTmp: below a directory for everyone, files in directories that the user can write to
// are removed at any depth. Other files, which only root or their owner can have put there, stay.
func TestOwnedInTmp(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	modes := map[string]os.FileMode{
		"": 0o777, "shut": 0o755, "shut/open": 0o777, "group": 0o775, "barred": 0o700, "barred/open": 0o777,
		"mine": 0o700, "mine/deep": 0o755,
	}
	for _, name := range []string{"", "shut", "shut/open", "group", "barred", "barred/open", "mine",
		"mine/deep"} {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(path, 0o700))
		must.Do(t, os.Chmod(path, modes[name]|os.ModeSticky))
		file := filepath.Join(path, "file")
		must.Do(t, os.WriteFile(file, nil, 0o600))
		must.Do(t, os.Lchown(file, testUID, testUID))
	}
	for _, name := range []string{"mine", "mine/deep"} {
		must.Do(t, os.Lchown(filepath.Join(dir, name), testUID, testUID))
	}
	n, err := removeOwned(t.Context(), dir, testUID)
	must.Be(t, n == 7 && err == nil, "removed", n, err, "want 5 files and 2 directories")
	for name, want := range map[string]bool{
		"file": false, "shut/file": true, "shut/open/file": false, "group/file": false, "mine": false,
		"barred/file": true, "barred/open/file": true, // which root, and not the user, has put there
	} {
		_, err := os.Lstat(filepath.Join(dir, name))
		must.Equal(t, (err == nil), want, name, "there", err == nil)
	}
}

// BenchmarkOwned has 20,000 files of another user in directories that only that user can write to.
func BenchmarkOwned(b *testing.B) {
	dir := b.TempDir()
	must.Do(b, os.Chmod(dir, 0o777|os.ModeSticky))
	const directories, files = 200, 100
	for i := range directories {
		sub := filepath.Join(dir, string(rune('a'+i%26))+filepath.Base(dir)+string(rune('a'+i/26)))
		must.Do(b, os.Mkdir(sub, 0o755))
		for k := range files {
			must.Do(b, os.WriteFile(filepath.Join(sub, string(rune('a'+k%26))+string(rune('a'+k/26))), nil,
				0o600))
		}
	}
	for b.Loop() {
		must.Get(removeOwned(b.Context(), dir, testUID))(b)
	}
}

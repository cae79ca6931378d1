package crashfs_test

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/rig/must"
)

// openFile opens /x/f for reading and writing, and creates it if needed.
func openFile(t *testing.T, fsys *crashfs.FS, name string) durable.File {
	t.Helper()
	return must.Get(fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644))(t)
}

func writeAt(t *testing.T, f durable.File, text string, offset int64) {
	t.Helper()
	must.Get(f.WriteAt([]byte(text), offset))(t)
}

// TestNumbersAndLog: the same calls get the same numbers; reads get none.
func TestNumbersAndLog(t *testing.T) {
	fsys := crashfs.New("/x")
	must.Do(t, durable.WriteFile(fsys, "/x/f", []byte("hello"), 0o644))
	must.Get(durable.ReadFile(fsys, "/x/f"))(t)
	must.Do(t, fsys.Mkdir("/x/d", 0o755))
	must.Do(t, fsys.Remove("/x/d"))
	must.Get(fsys.OpenFile("/x/f", os.O_WRONLY|os.O_TRUNC, 0))(t)
	var got []string
	for _, op := range fsys.Log() {
		got = append(got, op.String())
	}
	want := []string{
		"1 create /x/f.tmp", "2 write /x/f.tmp 5 bytes at 0", "3 sync /x/f.tmp", "4 rename /x/f.tmp to /x/f",
		"5 syncdir /x", "6 mkdir /x/d", "7 remove /x/d", "8 truncate /x/f",
	}
	must.Be(t, slices.Equal(got, want) && fsys.Ops() == len(want), got, want)
}

func TestCrashAt(t *testing.T) {
	fsys := crashfs.New("/x")
	f := openFile(t, fsys, "/x/f") // 1
	fsys.CrashAt(3)
	writeAt(t, f, "one", 0) // 2
	must.Be(t, !fsys.IsCut(), "cut too early")
	n, err := f.WriteAt([]byte("two"), 3)
	must.Be(t, n == 0 && errors.Is(err, crashfs.ErrPowerCut), "the write in the cut", n, err)
	_, statErr := f.Stat()
	_, listErr := fsys.ReadDir("/x")
	_, openErr := fsys.OpenFile("/x/f", os.O_RDONLY, 0)
	_, lstatErr := fsys.Lstat("/x/f")
	for _, err := range []error{
		f.Sync(), f.SyncData(), fsys.SyncDir("/x"), fsys.Mkdir("/x/d", 0o755), fsys.Rename("/x/f", "/x/g"),
		fsys.Remove("/x/f"), statErr, listErr, openErr, lstatErr, f.TryLock(),
	} {
		must.Fail(t, err, crashfs.ErrPowerCut, "after the cut")
	}
	must.Do(t, f.Close())
	must.Be(t, fsys.IsCut() && fsys.Ops() == 3, "cut", fsys.IsCut(), "after", fsys.Ops(), "operations")
}

func TestPanicOnCut(t *testing.T) {
	fsys := crashfs.New("/x")
	fsys.PanicOnCut()
	fsys.CrashAt(2)
	var deferred error
	err := crashfs.Run(func() error {
		defer func() { deferred = fsys.Remove("/x/f") }()
		f := openFile(t, fsys, "/x/f")
		_, err := f.Write([]byte("x"))
		t.Errorf("continued after the cut with %v", err)
		return err
	})
	must.Be(t, errors.Is(err, crashfs.ErrPowerCut) && errors.Is(deferred, crashfs.ErrPowerCut), err,
		"deferred", deferred)
	defer func() {
		must.Equal(t, recover(), "a bug", "another panic became")
	}()
	_ = crashfs.Run(func() error { panic("a bug") })
}

// outcomes collects the contents of name after many random reboots.
func outcomes(fsys *crashfs.FS, name string, policy func(uint64) crashfs.Policy) map[string]int {
	seen := make(map[string]int)
	for seed := range uint64(300) {
		data, ok := fsys.Reboot(policy(seed)).Files()[name]
		if ok {
			seen[string(data)]++
		}
	}
	return seen
}

// TestSectorsSurviveOnTheirOwn: if three sectors are written twice each, every combination of
// versions occurs, and nothing else.
func TestSectorsSurviveOnTheirOwn(t *testing.T) {
	fsys := crashfs.New("/x")
	fsys.Put("/x/f", bytes.Repeat([]byte("0"), 3*512))
	f := openFile(t, fsys, "/x/f")
	writeAt(t, f, strings.Repeat("1", 3*512), 0)
	writeAt(t, f, strings.Repeat("2", 3*512), 0)
	seen := outcomes(fsys, "/x/f", crashfs.Random)
	for text := range seen {
		for s := range 3 {
			part := text[s*512 : (s+1)*512]
			must.Need(t, strings.Trim(part, part[:1]) == "", "sector", s, "is torn")
		}
	}
	must.Equal(t, len(seen), 27, "of 27 combinations")
	torn := outcomes(fsys, "/x/f", crashfs.Torn)
	must.Be(t, len(torn) >= 200, "Torn gave only", len(torn), "different contents")
}

// TestNamesSurviveOnTheirOwn: two creations and a rename, not synced.
func TestNamesSurviveOnTheirOwn(t *testing.T) {
	fsys := crashfs.New("/x")
	for _, name := range []string{"/x/a", "/x/b"} {
		must.Do(t, openFile(t, fsys, name).Sync())
	}
	must.Do(t, fsys.Rename("/x/b", "/x/c"))
	seen := make(map[string]bool)
	for seed := range uint64(300) {
		seen[strings.Join(slices.Sorted(maps.Keys(fsys.Reboot(crashfs.Random(seed)).Files())), " ")] = true
	}
	for _, want := range []string{"", "/x/a", "/x/b", "/x/c", "/x/a /x/b", "/x/a /x/c"} {
		must.Be(t, seen[want], "never found", want)
	}
	must.Equal(t, len(seen), 6, "found")
}

func TestDirectorySurvivesOnlyWithItsName(t *testing.T) {
	fsys := crashfs.New("/")
	must.Do(t, fsys.Mkdir("/d", 0o755))
	must.Do(t, durable.WriteFile(fsys, "/d/f", []byte("x"), 0o644))
	files := fsys.Reboot(crashfs.Nothing).Files()
	must.Equal(t, len(files), 0, "found", files)
	fsys = crashfs.New("/")
	must.Do(t, fsys.Mkdir("/d", 0o755))
	must.Do(t, durable.WriteFile(fsys, "/d/f", []byte("x"), 0o644))
	must.Do(t, fsys.SyncDir("/"))
	files = fsys.Reboot(crashfs.Nothing).Files()
	must.Equal(t, string(files["/d/f"]), "x", "found", files)
}

func TestRebootIsDeterministic(t *testing.T) {
	fsys := crashfs.New("/x")
	for _, name := range []string{"/x/a", "/x/b", "/x/c"} {
		writeAt(t, openFile(t, fsys, name), strings.Repeat(name, 500), 0)
	}
	for _, policy := range []crashfs.Policy{crashfs.Random(7), crashfs.Torn(7)} {
		first, second := fsys.Reboot(policy).Files(), fsys.Reboot(policy).Files()
		must.Be(t, maps.EqualFunc(first, second, bytes.Equal), policy, "differs from itself")
	}
}

// TestFailedSync: what a Sync failed to write is not written by a later one either, until it is
// written again.
func TestFailedSync(t *testing.T) {
	fsys := crashfs.New("/x")
	fsys.Put("/x/f", []byte("old"))
	f := openFile(t, fsys, "/x/f")
	writeAt(t, f, "new", 0)
	fsys.Inject(crashfs.Fault{Err: syscall.EIO,
		Match: func(op crashfs.Op) bool { return op.Kind == crashfs.Sync }})
	must.Fail(t, f.Sync(), syscall.EIO, "first Sync")
	must.Do(t, f.Sync())
	got := fsys.Reboot(crashfs.Nothing).Files()["/x/f"]
	must.Equal(t, string(got), "old", "the second Sync has written", got)
	fsys = fsys.Reboot(crashfs.Everything)
	f = openFile(t, fsys, "/x/f")
	writeAt(t, f, "3rd", 0)
	must.Do(t, f.Sync())
	got = fsys.Reboot(crashfs.Nothing).Files()["/x/f"]
	must.Equal(t, string(got), "3rd", "writing again has left", got)
}

func TestFullDisk(t *testing.T) {
	fsys := crashfs.New("/x")
	fsys.Put("/x/f", []byte("12345678"))
	f := openFile(t, fsys, "/x/f")
	fsys.Inject(crashfs.Fault{Op: 2, Err: syscall.ENOSPC, Permanent: true, Short: 3})
	// existing content
	writeAt(t, f, "in ", 0)
	writeAt(t, f, "place", 3)                                                                // needs no space
	if n, err := f.WriteAt([]byte("longer"), 6); n != 3 || !errors.Is(err, syscall.ENOSPC) { // short
		t.Errorf("growing: %d, %v", n, err)
	}
	got := fsys.Files()["/x/f"]
	must.Equal(t, string(got), "in pla"+"lon", "content", got)
	must.Fail(t, fsys.Mkdir("/x/d", 0o755), syscall.ENOSPC, "mkdir")
	must.Fail(t, durable.WriteFile(fsys, "/x/g", []byte("x"), 0o644), syscall.ENOSPC, "new file")
	must.Do(t, f.Sync())
	must.Do(t, fsys.Remove("/x/f"))
	fsys.Heal()
	must.Do(t, durable.WriteFile(fsys, "/x/g", []byte("x"), 0o644))
}

func TestFailReads(t *testing.T) {
	fsys := withOldFile()
	fsys.FailReads("/x/f", syscall.EIO)
	_, err := durable.ReadFile(fsys, "/x/f")
	must.Fail(t, err, syscall.EIO, "reading")
	fsys.FailReads("/x", syscall.EIO)
	_, err = fsys.ReadDir("/x")
	must.Fail(t, err, syscall.EIO, "listing")
	fsys.Heal()
	data, err := durable.ReadFile(fsys, "/x/f")
	must.Be(t, err == nil && bytes.Equal(data, oldContent), "healed", len(data), "bytes", err)
	must.Fail(t, fsys.SyncDir("/x/f"), syscall.ENOTDIR, "a file")
}

func TestLock(t *testing.T) {
	fsys := crashfs.New("/x")
	f, g := openFile(t, fsys, "/x/lock"), openFile(t, fsys, "/x/lock")
	must.Do(t, f.TryLock())
	must.Do(t, f.TryLock())
	must.Fail(t, g.TryLock(), durable.ErrLocked, "second lock")
	must.Do(t, f.Close())
	must.Fail(t, f.TryLock(), fs.ErrClosed, "a closed file")
	must.Do(t, g.WaitLock())
	after := fsys.Reboot(crashfs.Everything)
	must.Do(t, openFile(t, after, "/x/lock").TryLock())
}

func TestNotSimulated(t *testing.T) {
	fsys := crashfs.New("/x", "/y")
	fsys.Put("/x/f", nil)
	must.Fail(t, fsys.Rename("/x/f", "/y/f"), syscall.EXDEV, "renaming between directories")
	_, err := fsys.OpenFile("/", os.O_RDONLY, 0)
	must.Fail(t, err, fs.ErrInvalid, "opening the root")
}

// TestEveryCutEnds: there are as many cuts as operations, and one after the end.
func TestEveryCutEnds(t *testing.T) {
	var numbers []int
	for cut, after := range crashfs.EveryCut(withOldFile, properly, crashfs.Nothing) {
		numbers = append(numbers, cut.Op.Number)
		must.Be(t, (cut.Op.Number == 0) == (cut.Err == nil) && after.Ops() == 0, cut, cut.Err, after.Ops(),
			"operations after it")
	}
	must.EqualList(t, numbers, []int{1, 2, 3, 4, 5, 0}, "cut in operations")
	for cut := range crashfs.EveryCut(withOldFile, properly, crashfs.Nothing) {
		must.Equal(t, cut.String(), "cut in 1 create /x/f.tmp, nothing survives")
		break
	}
}

// TestSurvivor returns what Reboot would, and changes nothing.
func TestSurvivor(t *testing.T) {
	fsys := crashfs.New("/x")
	f := openFile(t, fsys, "/x/f")
	must.Do(t, fsys.SyncDir("/x"))
	writeAt(t, f, "x", 0)
	got := fsys.Survivor(crashfs.Nothing).Files()["/x/f"]
	must.Equal(t, len(got), 0, "survived", got)
	must.Do(t, f.Sync())
	for _, after := range []*crashfs.FS{fsys.Survivor(crashfs.Nothing), fsys.Reboot(crashfs.Nothing)} {
		got := after.Files()["/x/f"]
		must.Equal(t, string(got), "x", "survived", got)
	}
}

// TestState differs for file systems that a program can tell apart, and only for these.
func TestState(t *testing.T) {
	state := func(act func(*crashfs.FS)) string {
		fsys := crashfs.New("/x")
		fsys.Put("/x/f", []byte("1"))
		act(fsys)
		return fsys.State()
	}
	seen := map[string]string{}
	for name, act := range map[string]func(*crashfs.FS){
		"as it was":       func(*crashfs.FS) {},
		"content":         func(fsys *crashfs.FS) { fsys.Put("/x/f", []byte("2")) },
		"name":            func(fsys *crashfs.FS) { must.Do(t, fsys.Rename("/x/f", "/x/g")) },
		"empty directory": func(fsys *crashfs.FS) { must.Do(t, fsys.Mkdir("/x/d", 0o755)) },
		"mode":            func(fsys *crashfs.FS) { must.Do(t, fsys.Mkdir("/x/d", 0o700)) },
		"deeper":          func(fsys *crashfs.FS) { fsys.Put("/x/d/f", nil) },
	} {
		got := state(act)
		other, ok := seen[got]
		must.Be(t, !ok, name, "and", other, "have the same state")
		seen[got] = name
		must.Equal(t, got, state(act), name, "two states")
	}
}

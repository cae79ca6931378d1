package sysroot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"krund/rig/must"
)

// tree creates a root whose files have the given texts.
func tree(t *testing.T, files map[string]string) Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must.Write(t, filepath.Join(dir, name), text)
	}
	return New(dir)
}

func TestRead(t *testing.T) {
	r := tree(t, map[string]string{"sys/a": " text \n", "sys/n": "-12\n", "sys/long": strings.Repeat("line\n",
		5000), "sys/empty": ""})
	if got, err := r.Read("/sys/a"); got != "text" || err != nil {
		t.Errorf("Read = %q, %v", got, err)
	}
	if got, err := r.Read("sys/a"); got != "text" || err != nil {
		t.Errorf("Read without a leading slash = %q, %v", got, err)
	}
	if got, err := r.ReadBytes("/sys/a"); string(got) != " text \n" || err != nil {
		t.Errorf("ReadBytes = %q, %v", got, err)
	}
	if got, err := r.ReadBytes("/sys/long"); len(got) != 25000 || err != nil {
		t.Errorf("ReadBytes of 25000 bytes = %d bytes, %v", len(got), err)
	}
	if got, err := r.ReadInt("/sys/n"); got != -12 || err != nil {
		t.Errorf("ReadInt = %d, %v", got, err)
	}
	for _, name := range []string{"/sys/a", "/sys/empty"} {
		must.Refused(r.ReadInt(name))(t, name, "ReadInt", "want an error that names the file")
	}
	_, err := r.Read("/sys/none")
	must.Fail(t, err, fs.ErrNotExist, "missing file", "want fs.ErrNotExist")
	must.Be(t, !strings.Contains(err.Error(), r.Path("/")), err,
		"names the directory of the test instead of the kernel's path")
	_, err = r.Read("/sys")
	must.Be(t, errors.Is(err, syscall.EISDIR), "directory", err, "want EISDIR")
}

func TestNamesStayBelowTheRoot(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("x"), 0o600))
	sub := filepath.Join(dir, "root")
	must.Do(t, os.Mkdir(sub, 0o755))
	r := New(sub)
	must.Be(t, !r.Exists("/../secret"), "a name with .. left the root")
	must.Do(t, os.Symlink("../secret", filepath.Join(sub, "link")))
	got, err := r.Resolve("/link")
	must.Be(t, err != nil, "Resolve of a link out of the root", got, "want an error")
}

func TestZeroRootIsTheMachine(t *testing.T) {
	must.Be(t, (Root{}).IsMachine() && New("/").IsMachine() && !New(t.TempDir()).IsMachine(),
		"IsMachine is wrong")
	must.Equal(t, (Root{}).Path("proc/x"), "/proc/x", "Path")
}

func TestGlobIsNatural(t *testing.T) {
	r := tree(t, map[string]string{"sys/cpu10/online": "", "sys/cpu9/online": "", "sys/cpu0/x": "",
		"sys/cpufreq/online": ""})
	got, err := r.Glob("/sys/cpu[0-9]*/online")
	want := []string{"/sys/cpu9/online", "/sys/cpu10/online"}
	must.Be(t, err == nil && slices.Equal(got, want), "Glob", got, err, "want", want)
	got, err = r.Glob("/sys/none*")
	must.Be(t, err == nil && len(got) == 0, "Glob without a match", got, err)
	must.Refused(r.Glob("/sys/["))(t, "", "malformed pattern gave no error")
	got, want = r.List("/sys"), []string{"cpu0", "cpu9", "cpu10", "cpufreq"}
	must.Be(t, slices.Equal(got, want), "List", got, "want", want)
	got = r.List("/none")
	must.Be(t, got == nil, "List of a missing directory", got)
}

func TestGlobInADirectoryWithMetacharacters(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*")
	must.Do(t, os.MkdirAll(filepath.Join(dir, "sys"), 0o755))
	got, err := New(dir).Glob("/s*")
	must.Be(t, err == nil && slices.Equal(got, []string{"/sys"}), "Glob", got, err)
}

func TestLinks(t *testing.T) {
	r := tree(t, map[string]string{"sys/devices/platform/coretemp.0/hwmon/hwmon2/name": "coretemp"})
	must.Do(t, os.MkdirAll(r.Path("/sys/class/hwmon"), 0o755))
	must.Do(t, os.Symlink("../../devices/platform/coretemp.0/hwmon/hwmon2",
		r.Path("/sys/class/hwmon/hwmon2")))
	got, err := r.ReadLink("/sys/class/hwmon/hwmon2")
	must.Be(t, got == "../../devices/platform/coretemp.0/hwmon/hwmon2" && err == nil, "ReadLink", got, err)
	got, err = r.Resolve("/sys/class/hwmon/hwmon2")
	must.Be(t, got == "/sys/devices/platform/coretemp.0/hwmon/hwmon2" && err == nil, "Resolve", got, err)
	_, err = r.ReadLink("/sys/class/hwmon/none")
	must.Be(t, errors.Is(err, fs.ErrNotExist), "missing link", err)
}

// TestCompareIsATotalOrder checks the properties that sorting relies on, for names that differ in
// every relevant way.
func TestCompareIsATotalOrder(t *testing.T) {
	names := []string{"", "a", "a0", "a00", "a01", "a1", "a2", "a10", "a10b", "a10b2", "b", "1", "01", "10",
		"9", "99999999999999999999999", "a99999999999999999999999"}
	for _, a := range names {
		for _, b := range names {
			must.Be(t, (Compare(a, b) < 0) == (Compare(b, a) > 0) && (Compare(a, b) == 0) == (a == b),
				"Compare", a, b, Compare(a, b), "mirrored", Compare(b, a))
			for _, c := range names {
				must.Be(t, Compare(a, b) >= 0 || Compare(b, c) >= 0 || Compare(a, c) < 0, a, "<", b, "<", c,
					"yet not", a, "<", c)
			}
		}
	}
	must.Be(t, Compare("hwmon9", "hwmon10") < 0, "hwmon9 is not before hwmon10")
}

func FuzzCompare(f *testing.F) {
	f.Add("cpu2", "cpu10")
	f.Add("a00", "a0")
	f.Fuzz(func(t *testing.T, a, b string) {
		must.Be(t, (Compare(a, b) < 0) == (Compare(b, a) > 0) && (Compare(a, b) == 0) == (a == b), "Compare",
			a, b, Compare(a, b), "mirrored", Compare(b, a))
	})
}

func TestSet(t *testing.T) {
	r := tree(t, map[string]string{"proc/v": "12345\n"})
	got, err := r.Set("/proc/v", "2", nil)
	must.Need(t, got == "2" && err == nil, "Set", got, err)
	if data, _ := r.ReadBytes("/proc/v"); string(data) != "2\n" {
		t.Errorf("file holds %q, want the value as echo writes it and nothing of the longer old one", data)
	}
}

func TestSetNeverCreates(t *testing.T) {
	r := tree(t, map[string]string{"proc/v": "1\n"})
	_, err := r.Set("/proc/none", "1", nil)
	must.Fail(t, err, fs.ErrNotExist, "error", "want fs.ErrNotExist")
	must.Be(t, !r.Exists("/proc/none"), "Set created the file")
}

// refusing is a kernel that returns err for reads or writes, or accepts a write but keeps its own
// value.
type refusing struct {
	OS
	read, write error
	keep        bool
}

func (a refusing) ReadFile(path string) ([]byte, error) {
	if a.read != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: a.read}
	}
	return a.OS.ReadFile(path)
}

func (a refusing) WriteFile(path string, data []byte) error {
	if a.write != nil {
		return &fs.PathError{Op: "write", Path: path, Err: a.write}
	}
	if a.keep {
		return nil
	}
	return a.OS.WriteFile(path, data)
}

func TestSetReportsTheKernelsError(t *testing.T) {
	r := tree(t, map[string]string{"proc/v": "1\n"})
	for _, errno := range []syscall.Errno{syscall.EACCES, syscall.EINVAL, syscall.EIO, syscall.EBUSY} {
		_, err := r.With(refusing{write: errno}).Set("/proc/v", "2", nil)
		must.Be(t, errors.Is(err, errno) && strings.Contains(err.Error(), "/proc/v"), "refused write", err,
			"want one with", errno, "and the name")
		_, err = r.With(refusing{read: errno}).Set("/proc/v", "2", nil)
		must.Fail(t, err, errno, "refused read-back", "want one with")
	}
}

func TestSetReportsAMismatchWithBothValues(t *testing.T) {
	r := tree(t, map[string]string{"proc/v": "1\n"}).With(refusing{keep: true})
	got, err := r.Set("/proc/v", "2", nil)
	m, ok := errors.AsType[*Mismatch](err)
	must.Need(t, ok && m.Wrote == "2" && m.Read == "1" && m.Name == "/proc/v" && got == "1", "Set", got, err,
		"want a Mismatch of 2 and 1")
	must.Be(t, strings.Contains(err.Error(), `"2"`) && strings.Contains(err.Error(), `"1"`), "message", err,
		"lacks a value")
}

func TestSetComparesWhatTheFileShows(t *testing.T) {
	upper := func(text string) string { return strings.ToUpper(strings.TrimSpace(text)) }
	r := tree(t, map[string]string{"proc/v": "ON\n"}).With(refusing{keep: true})
	must.Get(r.Set("/proc/v", "on", upper))(t, "values that show the same")
}

func TestReadDoesNotWaitForABrokenDriver(t *testing.T) {
	r := tree(t, map[string]string{"sys/temp1_input": "1\n"}).With(refusing{read: syscall.EAGAIN})
	_, err := r.Read("/sys/temp1_input")
	must.Fail(t, err, syscall.EAGAIN, "error", "want EAGAIN")
}

// TestReadOfAnEmptyPipe uses a real descriptor: a read that would block returns EAGAIN at once,
// where os.ReadFile would wait.
func TestReadOfAnEmptyPipe(t *testing.T) {
	fds := make([]int, 2)
	must.Do(t, syscall.Pipe(fds))
	t.Cleanup(func() { _ = syscall.Close(fds[0]); _ = syscall.Close(fds[1]) })
	must.Do(t, syscall.SetNonblock(fds[0], true))
	n, err := Uninterrupted(func() (int, error) { return syscall.Read(fds[0], make([]byte, 8)) })
	must.Fail(t, err, syscall.EAGAIN, "read =", n, "want EAGAIN")
}

func TestDeviceAccess(t *testing.T) {
	r := tree(t, map[string]string{"dev/msr": strings.Repeat("\x00", 64)})
	must.Do(t, r.WriteAt("/dev/msr", []byte{1, 2, 3, 4}, 16))
	got := make([]byte, 4)
	err := r.ReadAt("/dev/msr", got, 16)
	must.Be(t, err == nil && string(got) == "\x01\x02\x03\x04", "ReadAt =", got, err)
	must.Refuse(t, r.ReadAt("/dev/msr", got, 62), "", "a short read gave no error")
	must.Fail(t, r.WriteAt("/dev/none", got, 0), fs.ErrNotExist, "missing device")
}

func TestHold(t *testing.T) {
	r := tree(t, map[string]string{"dev/cpu_dma_latency": "...."})
	c := must.Get(r.Hold("/dev/cpu_dma_latency", []byte{0, 0, 0, 0}))(t)
	data, _ := r.ReadBytes("/dev/cpu_dma_latency")
	must.Equal(t, string(data), "\x00\x00\x00\x00", "device holds", data)
	must.Do(t, c.Close())
	_, err := r.Hold("/dev/none", nil)
	must.Fail(t, err, fs.ErrNotExist, "missing device")
}

func TestDirectories(t *testing.T) {
	r := New(t.TempDir())
	must.Do(t, r.Mkdir("/group"))
	must.Fail(t, r.Mkdir("/group"), fs.ErrExist, "second Mkdir", "want fs.ErrExist")
	must.Do(t, os.WriteFile(r.Path("/group/x"), nil, 0o644))
	must.Refuse(t, r.Rmdir("/group"), "", "Rmdir removed a directory that is not empty")
	must.Do(t, os.Remove(r.Path("/group/x")))
	for range 2 {
		must.Do(t, r.Rmdir("/group"))
	}
}

func TestSleepLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := RealClock{}.Now()
		must.Do(t, (RealClock{}).Sleep(t.Context(), 3*time.Minute))
		must.Equal(t, (RealClock{}).Now().Sub(began), 3*time.Minute, "slept")
	})
}

func TestSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		must.Fail(t, (RealClock{}).Sleep(ctx, time.Hour), context.DeadlineExceeded, "error",
			"want the context's")
		must.Equal(t, time.Since(began), time.Second, "slept")
	})
}

func TestSleepOfZeroChecksTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	must.Do(t, (RealClock{}).Sleep(ctx, 0))
	cancel()
	must.Fail(t, (RealClock{}).Sleep(ctx, 0), context.Canceled, "error", "want context.Canceled")
}

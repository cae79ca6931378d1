package sysroot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

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

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
	if _, err := r.Read("/sys"); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("directory: %v, want EISDIR", err)
	}
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
	if want := []string{"/sys/cpu9/online", "/sys/cpu10/online"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Glob = %v, %v; want %v", got, err, want)
	}
	if got, err := r.Glob("/sys/none*"); err != nil || len(got) != 0 {
		t.Errorf("Glob without a match = %v, %v", got, err)
	}
	must.Refused(r.Glob("/sys/["))(t, "", "malformed pattern gave no error")
	if got, want := r.List("/sys"), []string{"cpu0", "cpu9", "cpu10", "cpufreq"}; !slices.Equal(got, want) {
		t.Errorf("List = %v, want %v", got, want)
	}
	if got := r.List("/none"); got != nil {
		t.Errorf("List of a missing directory = %v", got)
	}
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
	if got, err := r.ReadLink(
		"/sys/class/hwmon/hwmon2"); got != "../../devices/platform/coretemp.0/hwmon/hwmon2" || err != nil {
		t.Errorf("ReadLink = %q, %v", got, err)
	}
	if got, err := r.Resolve(
		"/sys/class/hwmon/hwmon2"); got != "/sys/devices/platform/coretemp.0/hwmon/hwmon2" || err != nil {
		t.Errorf("Resolve = %q, %v", got, err)
	}
	if _, err := r.ReadLink("/sys/class/hwmon/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing link: %v", err)
	}
}

// TestCompareIsATotalOrder checks the properties that sorting relies on, for names that differ in
// every relevant way.
func TestCompareIsATotalOrder(t *testing.T) {
	names := []string{"", "a", "a0", "a00", "a01", "a1", "a2", "a10", "a10b", "a10b2", "b", "1", "01", "10",
		"9", "99999999999999999999999", "a99999999999999999999999"}
	for _, a := range names {
		for _, b := range names {
			if (Compare(a, b) < 0) != (Compare(b, a) > 0) || (Compare(a, b) == 0) != (a == b) {
				t.Errorf("Compare(%q, %q) = %d, mirrored %d", a, b, Compare(a, b), Compare(b, a))
			}
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
		if (Compare(a, b) < 0) != (Compare(b, a) > 0) || (Compare(a, b) == 0) != (a == b) {
			t.Errorf("Compare(%q, %q) = %d, mirrored %d", a, b, Compare(a, b), Compare(b, a))
		}
	})
}

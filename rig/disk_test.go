package rig

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

func TestParseList(t *testing.T) {
	// debugfs -R 'ls -p /srv/cut' (e2fsprogs 1.47.0)
	const out = "/12/040755/0/0/.//\n/2/040755/0/0/..//\n/14/100644/0/0/plain/3/\n/15/104755/1000/50/with " +
		"space/0/\n\n"
	want := []Entry{{"plain", 0o100644, 0, 0, 3}, {"with space", 0o104755, 1000, 50, 0}}
	got, err := parseList(out)
	must.Be(t, err == nil && reflect.DeepEqual(got, want), "parseList", got, err, want)
	for _, bad := range []string{"x", "/1/2/3/4/5/6", "/1/9/0/0/a/1/", "/1/100644/a/0/a/1/",
		"/1/100644/0/0/a/x/"} {
		got, err := parseList(bad)
		must.Be(t, err != nil, "parseList", bad, got, "want an error")
	}
}

func TestQuoteDebugfs(t *testing.T) {
	got, err := quoteDebugfs(`/a "b"/c`)
	must.Be(t, err == nil && got == `"/a ""b""/c"`, "quoteDebugfs =", got, err)
	got, err = quoteDebugfs("/a\nrm /b")
	must.Be(t, err != nil, "quoteDebugfs accepted a line end", got)
}

func TestNeedsRecoveryReadsTheSuperblock(t *testing.T) {
	image := func(magic uint16, incompat byte, size int) string {
		b := make([]byte, 4096)
		b[offMagic], b[offMagic+1], b[offIncompat] = byte(magic), byte(magic>>8), incompat
		name := filepath.Join(t.TempDir(), "image")
		must.Do(t, os.WriteFile(name, b[:size], 0o600))
		return name
	}
	for _, c := range []struct {
		name        string
		file        string
		dirty, fail bool
	}{
		{"clean", image(ext4Magic, 0x42, 4096), false, false},
		{"dirty", image(ext4Magic, 0x46, 4096), true, false},
		{"not ext4", image(0, 4, 4096), false, true},
		{"too short", image(ext4Magic, 4, 1100), false, true},
		{"missing", "/no/such/image", false, true},
	} {
		dirty, err := needsRecovery(c.file)
		must.Be(t, dirty == c.dirty && (err != nil) == c.fail, c.name, dirty, err)
	}
}

func FuzzParseList(f *testing.F) {
	f.Add("/14/100644/0/0/plain/3/\n")
	f.Fuzz(func(t *testing.T, out string) {
		entries, err := parseList(out)
		for _, e := range entries {
			must.Be(t, err == nil && e.Name != "." && e.Name != "..", out, entries, err)
		}
	})
}

func TestFindImageSaysWhatIsMissing(t *testing.T) {
	all := func(string) (string, error) { return "", nil }
	none := func(string) (string, error) { return "", exec.ErrNotFound }
	dir := t.TempDir()
	for _, c := range []struct {
		name, dir string
		look      func(string) (string, error)
		want      []string
	}{
		{"not asked for", "", all, []string{"KRUND_RIG is not set", "make rig"}},
		{"no image", dir, all, []string{dir, "make rig-image"}},
		{"no emulator", dir, none, []string{"apt-get install qemu-system-x86 seabios",
			"apt-get install e2fsprogs"}},
	} {
		_, err := findImage(c.dir, c.look)
		for _, want := range c.want {
			must.Refuse(t, err, want, c.name, "in it")
		}
	}
	write(t, filepath.Join(dir, "complete"), "")
	write(t, filepath.Join(dir, "kernel"), "6.1.0-56-amd64\n")
	image := must.Get(findImage(dir, all))(t)
	version, err := image.KernelVersion()
	must.Be(t, err == nil && version == "6.1.0-56-amd64", "kernel version is", version, err)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(name, []byte(text), 0o644))
}

// TestACPITable: the committed table is compiled from the committed source.
func TestACPITable(t *testing.T) {
	table := must.Get(os.ReadFile("image/rig.aml"))(t)
	var sum byte
	for _, b := range table {
		sum += b
	}
	must.Be(t, string(table[:4]) == "SSDT" && int(binary.LittleEndian.Uint32(table[4:])) == len(table) &&
		sum == 0, "not a valid table", table[:4], len(table), "bytes, checksum", sum)
	iasl, err := exec.LookPath("iasl")
	if errors.Is(err, exec.ErrNotFound) {
		t.Log("iasl is not installed: the table is not compared with its source")
		return
	}
	prefix := filepath.Join(t.TempDir(), "rig")
	out, err := exec.CommandContext(t.Context(), iasl, "-p", prefix, "image/rig.asl").CombinedOutput()
	must.Do(t, err, out)
	fresh := must.Get(os.ReadFile(prefix + ".aml"))(t)
	// Bytes 9 and 28 to 35 are the checksum and the compiler's own name and version.
	const checksum, compiler, body = 9, 28, 36
	if len(fresh) != len(table) || !bytes.Equal(fresh[checksum+1:compiler], table[checksum+1:compiler]) ||
		!bytes.Equal(fresh[body:], table[body:]) {
		t.Error("rig.aml was not compiled from this rig.asl; run: iasl -p rig rig.asl")
	}
}

// TestImageListsHaveNoDuplicates: lists in the image's directory name each item once, in order, so
// that a change is one line.
func TestImageListsHaveNoDuplicates(t *testing.T) {
	for _, name := range []string{"packages", "modules", "masked"} {
		text := must.Get(os.ReadFile(filepath.Join("image", name)))(t)
		var names []string
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(line, "#")
			names = append(names, strings.Fields(line)...)
		}
		sorted := slices.Compact(slices.Sorted(slices.Values(names)))
		must.Be(t, len(names) != 0 && len(sorted) == len(names), name, len(names), "names", len(sorted),
			"different")
	}
}

func TestArguments(t *testing.T) {
	o := Options{Kernel: "x=1", Devices: []string{"-device", "i6300esb"}}.withDefaults()
	line := strings.Join(o.arguments(Image{"/img"}, drives{root: "/d/disk.raw", payload: "/d/payload.tar"}),
		" ")
	for _, want := range []string{"-m 512 ", "-kernel /img/vmlinux",
		"file=/d/disk.raw,if=virtio,format=raw,cache=unsafe", "file=/d/payload.tar", "-no-reboot",
		"-device i6300esb", "iobase=0xf4", "noauto_da_alloc,commit=300 x=1 rig.payload"} {
		must.Contain(t, line, want)
	}
	line = strings.Join(Options{MemoryMB: 256}.withDefaults().arguments(Image{}, drives{root: "d"}), " ")
	must.Be(t, !strings.Contains(line, "payload") && strings.Contains(line, "-m 256 "), "no payload, 256 MB",
		line)
}

func TestRandomChoicesFollowFromSeedAndName(t *testing.T) {
	draw := func(t *testing.T) uint64 { return Rand(t).Uint64() }
	t.Setenv(envSeed, "7")
	first := draw(t)
	must.Equal(t, draw(t), first, "the same seed and name made another choice")
	t.Run("other name", func(t *testing.T) {
		must.Be(t, draw(t) != first, "another name made the same choice")
	})
	t.Setenv(envSeed, "8")
	must.Be(t, draw(t) != first, "another seed made the same choice")
}

func TestCuts(t *testing.T) {
	t.Setenv(envCuts, "")
	must.Equal(t, Cuts(t, 3), 3, "unset", "want 3")
	t.Setenv(envCuts, "100")
	must.Equal(t, Cuts(t, 3), 100, "set", "want 100")
	t.Setenv(envCuts, "none")
	must.Contain(t, failure(t, func(tb testing.TB) { Cuts(tb, 3) }), "not a number", "nonsense: failed with")
}

package libkrun

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"krund/rig/must"
)

// command runs a command and returns its stdout.
func command(t *testing.T, env []string, argv ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	c.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	must.Do(t, err, argv, stderr.String())
	return string(out)
}

// TestInstalled installs the library, builds the example as its first comment
// says, and reads its CSV.
func TestInstalled(t *testing.T) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	for _, tool := range []string{cc, "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	command(t, nil, "make", "--silent", "install", "BUILD="+filepath.Join(dir, "build"), "DESTDIR="+root,
		"PREFIX=/usr", "CC="+cc)
	flags := []string{"-I" + filepath.Join(root, "usr", "include"),
		"-L" + filepath.Join(root, "usr", "lib"), "-lkrun"}
	if _, err := exec.LookPath("pkg-config"); err == nil {
		env := []string{"PKG_CONFIG_LIBDIR=" + filepath.Join(root, "usr", "lib", "pkgconfig"),
			"PKG_CONFIG_SYSROOT_DIR=" + root, "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1",
			"PKG_CONFIG_ALLOW_SYSTEM_LIBS=1"}
		got := strings.Fields(command(t, env, "pkg-config", "--cflags", "--libs", "krun"))
		must.EqualList(t, got, flags, "pkg-config")
		must.Equal(t, strings.TrimSpace(command(t, env, "pkg-config", "--modversion", "krun")), "1",
			"pkg-config says version", "want 1")
	}
	program := filepath.Join(dir, "csv")
	command(t, nil, append([]string{cc, "-std=c11", "-Wall", "-Wextra", "-Werror", "example/csv.c", "-o",
		program}, flags...)...)
	out := command(t, []string{"KRUN_ITERATIONS=7", "LD_LIBRARY_PATH=" + filepath.Join(root, "usr", "lib")},
		program)
	checkCSV(t, out, 7)
	t.Run("C++", func(t *testing.T) { fromCPlusPlus(t, dir, flags, root) })
	t.Run("ctypes", func(t *testing.T) { fromPython(t, root) })
}

// fromCPlusPlus builds a program of the strictest kind against the header.
func fromCPlusPlus(t *testing.T, dir string, flags []string, root string) {
	t.Helper()
	if _, err := exec.LookPath("c++"); err != nil {
		t.Skip(err)
	}
	source, program := filepath.Join(dir, "user.cc"), filepath.Join(dir, "user")
	const text = `#include <krun.h>
#include <cstdio>
int main()
{
	krun *k = nullptr;
	if (krun_init(&k))
		return 1;
	const int gc = krun_column(k, "gc", "ns");
	while (!krun_should_stop(k)) {
		krun_begin(k);
		krun_set(k, gc, 5);
		if (krun_end(k))
			return 2;
	}
	krun_done(k);
	std::printf("%d iterations, column %d", krun_count(k), static_cast<int>(krun_value(k, gc, 1)));
	krun_free(k);
}
`
	must.Do(t, os.WriteFile(source, []byte(text), 0o644))
	command(t, nil, append([]string{"c++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic",
		"-Wold-style-cast", "-Werror", source, "-o", program}, flags...)...)
	out := command(t, []string{"KRUN_ITERATIONS=3", "LD_LIBRARY_PATH=" + filepath.Join(root, "usr", "lib")},
		program)
	must.Equal(t, out, "3 iterations, column 5", "C++")
}

// fromPython calls the library without any binding.
func fromPython(t *testing.T, root string) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	const text = `
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
lib.krun_wall_ns.restype = ctypes.c_int64
k = ctypes.c_void_p()
assert lib.krun_init(ctypes.byref(k)) == 0
while not lib.krun_should_stop(k):
    lib.krun_begin(k)
    assert lib.krun_end(k) == 0
assert lib.krun_done(k) == 0
print(lib.krun_count(k), all(lib.krun_wall_ns(k, i) > 0 for i in range(4)))
lib.krun_free(k)
`
	must.Equal(t, command(t, []string{"KRUN_ITERATIONS=4"}, "python3", "-c", text,
		filepath.Join(root, "usr", "lib", "libkrun.so")), "4 True\n", "ctypes says")
}

// checkCSV reads the example's output.
func checkCSV(t *testing.T, text string, iterations int) {
	t.Helper()
	rows := must.Get(csv.NewReader(strings.NewReader(text)).ReadAll())(t)
	if len(rows) != iterations+1 || strings.Join(rows[0], " ") != "iteration start_ns wall_ns comparisons" {
		t.Fatalf("%d rows, the first is %q", len(rows), rows[0])
	}
	var end int64
	for i, row := range rows[1:] {
		var n [4]int64
		for j, field := range row {
			n[j] = must.Get(strconv.ParseInt(field, 10, 64))(t)
		}
		must.Be(t, n[0] == int64(i) && n[1] >= end && n[2] > 0 && n[3] >= 9999, "row", i, n, "after", end)
		end = n[1] + n[2]
	}
}

// TestManual holds krun.h and libkrun(3) together: the same functions, the same
// errors.
func TestManual(t *testing.T) {
	header := must.Get(os.ReadFile("krun.h"))(t)
	manual := must.Get(os.ReadFile("man/libkrun.3"))(t)
	for _, kind := range []struct{ what, header, manual string }{
		{"functions", `(?m)^KRUN_API .*?(krun_\w+)\(`, `(?m)^\.Ft .*\n\.Fn (krun_\w+)`},
		{"names", `(?m)^KRUN_API .*?(krun_\w+)\(`, `(?m)^\.Nm (krun_\w+)`},
		{"errors", `(?m)^\t(KRUN_E\w+) = -`, `(?m)^\.It Bq Er (KRUN_E\w+)`},
	} {
		inHeader, inManual := matches(kind.header, header), matches(kind.manual, manual)
		must.Be(t, len(inHeader) != 0 && slices.Equal(inHeader, inManual), kind.what, "in krun.h", inHeader,
			"in libkrun(3", inManual)
	}
}

// matches returns the first group of each match, in order.
func matches(pattern string, text []byte) []string {
	var list []string
	for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
		list = append(list, string(m[1]))
	}
	return list
}

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
)

// command runs a command and returns its stdout.
func command(t *testing.T, env []string, argv ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	c.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, stderr.String())
	}
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
	command(t, nil, "make", "--silent", "install", "BUILD="+filepath.Join(dir, "build"), "DESTDIR="+root, "PREFIX=/usr", "CC="+cc)
	flags := []string{"-I" + filepath.Join(root, "usr", "include"), "-L" + filepath.Join(root, "usr", "lib"), "-lkrun"}
	if _, err := exec.LookPath("pkg-config"); err == nil {
		env := []string{"PKG_CONFIG_LIBDIR=" + filepath.Join(root, "usr", "lib", "pkgconfig"), "PKG_CONFIG_SYSROOT_DIR=" + root, "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1", "PKG_CONFIG_ALLOW_SYSTEM_LIBS=1"}
		got := strings.Fields(command(t, env, "pkg-config", "--cflags", "--libs", "krun"))
		if !slices.Equal(got, flags) {
			t.Errorf("pkg-config says %q, want %q", got, flags)
		}
		if version := strings.TrimSpace(command(t, env, "pkg-config", "--modversion", "krun")); version != "1" {
			t.Errorf("pkg-config says version %q, want 1", version)
		}
	}
	program := filepath.Join(dir, "csv")
	command(t, nil, append([]string{cc, "-std=c11", "-Wall", "-Wextra", "-Werror", "example/csv.c", "-o", program}, flags...)...)
	out := command(t, []string{"KRUN_ITERATIONS=7", "LD_LIBRARY_PATH=" + filepath.Join(root, "usr", "lib")}, program)
	checkCSV(t, out, 7)
}

// checkCSV reads the example's output.
func checkCSV(t *testing.T, text string, iterations int) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != iterations+1 || strings.Join(rows[0], " ") != "iteration start_ns wall_ns comparisons" {
		t.Fatalf("%d rows, the first is %q", len(rows), rows[0])
	}
	var end int64
	for i, row := range rows[1:] {
		var n [4]int64
		for j, field := range row {
			if n[j], err = strconv.ParseInt(field, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		if n[0] != int64(i) || n[1] < end || n[2] <= 0 || n[3] < 9999 {
			t.Errorf("row %d: %v after %d", i, n, end)
		}
		end = n[1] + n[2]
	}
}

// TestManual holds krun.h and libkrun(3) together: the same functions, the same
// errors.
func TestManual(t *testing.T) {
	header, err := os.ReadFile("krun.h")
	if err != nil {
		t.Fatal(err)
	}
	manual, err := os.ReadFile("man/libkrun.3")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []struct{ what, header, manual string }{
		{"functions", `(?m)^KRUN_API .*?(krun_\w+)\(`, `(?m)^\.Ft .*\n\.Fn (krun_\w+)`},
		{"names", `(?m)^KRUN_API .*?(krun_\w+)\(`, `(?m)^\.Nm (krun_\w+)`},
		{"errors", `(?m)^\t(KRUN_E\w+) = -`, `(?m)^\.It Bq Er (KRUN_E\w+)`},
	} {
		inHeader, inManual := matches(kind.header, header), matches(kind.manual, manual)
		if len(inHeader) == 0 || !slices.Equal(inHeader, inManual) {
			t.Errorf("%s in krun.h: %q\nin libkrun(3): %q", kind.what, inHeader, inManual)
		}
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

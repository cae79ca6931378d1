package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestImportConfig(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "x.krun"), filepath.Join(dir, "y.toml")
	text := "VMS = {\"C\": {\"vm_def\": NativeCodeVMDef(), \"variants\": [\"v\"]}}\n" +
		"VARIANTS = {\"v\": EntryPoint(\"bench.so\", subdir=\"c\")}\nBENCHMARKS = {\"nbody\": 15}\n" +
		"HEAP_LIMIT = 2097152\nos.system(\"touch /tmp/krund-test-was-run\")\n"
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := krunctl(t, "import-config", in, "-o", out)
	if r.code != exitOK || !strings.Contains(r.stderr, "line 5 is not an assignment: os . system") {
		t.Error(r.text())
	}
	if _, err := os.Lstat("/tmp/krund-test-was-run"); err == nil {
		t.Error("the program was run")
	}
	if p := krunctl(t, "plan", out); p.code != exitOK || !strings.Contains(p.stdout, "nbody:C:v") {
		t.Errorf("the result is no configuration: %s", p.text())
	}
	if written, _ := os.ReadFile(out); !strings.Contains(string(written), "heap = \"2GiB\"") {
		t.Errorf("wrote %s", written)
	}
}

// TestImportConfigOntoItself: the user's configuration of Krun is not replaced by its conversion.
func TestImportConfigOntoItself(t *testing.T) {
	const text = "VMS = {}\n"
	name := save(t, "old.krun", text)
	if r := krunctl(t, "import-config", name, "-o", name); r.code != exitUsage {
		t.Error(r.text())
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != text {
		t.Errorf("%q, %v", got, err)
	}
}

// TestImportConfigKeepsFiles: a file that exists is replaced with --force only, and what is far
// larger than a configuration is not read.
func TestImportConfigKeepsFiles(t *testing.T) {
	const precious = "precious"
	name, out := save(t, "old.krun", "VMS = {}\n"), save(t, "new.toml", precious)
	if r := krunctl(t, "import-config", name, "-o", out); r.code != exitUsage ||
		!strings.Contains(r.stderr, out+" exists; name another file, or give --force to replace it") {
		t.Error(r.text())
	}
	if got, err := os.ReadFile(out); err != nil || string(got) != precious {
		t.Errorf("%q, %v", got, err)
	}
	if r := krunctl(t, "import-config", "--force", name, "-o", out); r.code != exitOK {
		t.Error(r.text())
	}
	if got, err := os.ReadFile(out); err != nil || string(got) == precious {
		t.Errorf("%q, %v", got, err)
	}
	large := save(t, "large.krun", strings.Repeat("# x\n", mostKrun/4+1))
	if r := krunctl(t, "import-config", large); r.code != exitError ||
		!strings.Contains(r.stderr, "more than 1048576 bytes") {
		t.Error(r.text())
	}
}

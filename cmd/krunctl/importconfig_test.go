package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"krund/rig/must"
)

func TestImportConfig(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "x.krun"), filepath.Join(dir, "y.toml")
	text := "VMS = {\"C\": {\"vm_def\": NativeCodeVMDef(), \"variants\": [\"v\"]}}\n" +
		"VARIANTS = {\"v\": EntryPoint(\"bench.so\", subdir=\"c\")}\nBENCHMARKS = {\"nbody\": 15}\n" +
		"HEAP_LIMIT = 2097152\nos.system(\"touch /tmp/krund-test-was-run\")\n"
	must.Do(t, os.WriteFile(in, []byte(text), 0o600))
	r := krunctl(t, "convert", "--to", "toml", in, "-o", out)
	r.says(t, exitOK, "", `line 5: os.system("touch /tmp/krund-test-was-run") has no counterpart`)
	_, err := os.Lstat("/tmp/krund-test-was-run")
	must.Be(t, err != nil, "the program was run")
	krunctl(t, "check", "--plan", out).says(t, exitOK, "nbody:C:v", "", "the result is no configuration")
	written, _ := os.ReadFile(out)
	must.Contain(t, string(written), "heap = \"2GiB\"", "wrote", written)
}

// TestImportConfigOntoItself: the user's configuration of Krun is not replaced by its conversion.
func TestImportConfigOntoItself(t *testing.T) {
	const text = "VMS = {}\n"
	name := save(t, "old.krun", text)
	krunctl(t, "convert", "--to", "toml", name, "-o", name).says(t, exitUsage, "", "")
	got, err := os.ReadFile(name)
	must.Be(t, err == nil && string(got) == text, got, err)
}

// TestImportConfigKeepsFiles: a file that exists is not replaced, and what is far larger than a
// configuration is not read.
func TestImportConfigKeepsFiles(t *testing.T) {
	const precious = "precious"
	name, out := save(t, "old.krun", "VMS = {}\n"), save(t, "new.toml", precious)
	krunctl(t, "convert", "--to", "toml", name, "-o", out).says(t, exitUsage,
		"", out+" exists; name another file, or remove it")
	got, err := os.ReadFile(out)
	must.Be(t, err == nil && string(got) == precious, got, err)
	large := save(t, "large.krun", strings.Repeat("# x\n", 1<<18+1))
	krunctl(t, "convert", "--to", "toml", large).says(t, exitError, "", "more than 1048576 bytes")
}

// TestImportConfigReadsBelow: execfile reads a file beside the configuration, but nothing to which
// a link leads out of its directory, and no FIFO.
func TestImportConfigReadsBelow(t *testing.T) {
	dir, outside := t.TempDir(), save(t, "secret.krun", "SECRET = 1\n")
	write := func(name, text string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	must.Do(t, errors.Join(os.Symlink(outside, filepath.Join(dir, "link.krun")),
		syscall.Mkfifo(filepath.Join(dir, "fifo.krun"), 0o600)))
	write("base.krun", "VMS = {\"C\": {\"vm_def\": NativeCodeVMDef(), \"variants\": [\"v\"]}}\n"+
		"VARIANTS = {\"v\": EntryPoint(\"bench.so\")}\nBENCHMARKS = {\"nbody\": 15}\n")
	write("own.krun", "execfile('base.krun', globals())\nN_EXECUTIONS = 7\nexecfile('link.krun')\n"+
		"execfile('fifo.krun')\n")
	r := krunctl(t, "convert", "--to", "toml", filepath.Join(dir, "own.krun"))
	must.Be(t, r.code == exitOK && strings.Contains(r.stdout, "executions = 7") &&
		strings.Contains(r.stdout, "nbody = { parameter = 15 }"), r.text())
	for _, want := range []string{"line 3: ", "path escapes from parent", "line 4: ", "it is a FIFO"} {
		must.Contain(t, r.stderr, want)
	}
	must.Be(t, !strings.Contains(r.stderr, "SECRET"), "the file outside was read", r.stderr)
}

// TestImportConfigIsBounded: a configuration that takes all memory, in one operation or in many,
// ends the process that evaluates it, and no other.
func TestImportConfigIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"doubling": "x = 'a'\nwhile True: x += x\n",
		"format":   "x = '%s' * 100000 % (('a' * 100000,) * 100000)\n",
	} {
		name := save(t, name+".krun", text)
		krunctl(t, "convert", "--to", "toml", name).says(t, exitError, "",
			"its evaluation takes more than 10 s or 512 MiB of memory", name)
	}
}

package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/rig/must"
)

// experiment creates a directory with a complete experiment of two benchmarks and returns the path
// of its configuration.
func experiment(t *testing.T, added string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "benchmarks/b/bench.so"), "", 0o644)
	write(t, filepath.Join(dir, "benchmarks/c/bench.so"), "", 0o644)
	write(t, filepath.Join(dir, "vm"), "", 0o755)
	write(t, filepath.Join(dir, "data"), "", 0o644)
	path := filepath.Join(dir, "x.toml")
	write(t, path, base+"c = { parameter = 2 }\n"+added, 0o644)
	return path
}

// loadProblems creates an experiment, prepares its directory and returns the error text of Load,
// with DIR in place of the directory.
func loadProblems(t *testing.T, added string, prepare func(dir string) error) string {
	t.Helper()
	path := experiment(t, added)
	dir := filepath.Dir(path)
	if prepare != nil {
		must.Do(t, prepare(dir))
	}
	_, err := config.Load(path, "lab1", doctor.Settings())
	return strings.ReplaceAll(strings.ReplaceAll(errorText(err), path+":", ""), dir, "DIR")
}

func write(t *testing.T, name, text string, perm os.FileMode) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must.Do(t, os.WriteFile(name, []byte(text), perm))
	if err := os.Chmod(name, perm); err != nil { // regardless of the umask
		t.Fatal(err)
	}
}

// noDirectory is the one message about all missing files if their directory is missing.
const noDirectory = "6: the directory of the benchmarks is DIR/benchmarks (no such file or directory); " +
	"write where it is in [experiment], such as benchmarks = \"../benchmarks\"; a relative path begins at " +
	"the directory of this file\n"

// leaveOut is the end of the message about the VM P.
const leaveOut = `, or leave the VM out: skip = ["*:P:*"] in [experiment]`

func TestLoadFindsFiles(t *testing.T) {
	const vm = "[vms.P]\nrunner = \"external\"\nvariants = [\"v\"]\n"
	tests := []struct {
		name, added string
		prepare     func(dir string) error
		want        string // with DIR in place of the directory; "" for no error
	}{
		{"all there", "", nil, ""},
		{"entry missing", "", func(dir string) error { return os.Remove(dir + "/benchmarks/c/bench.so") },
			"8: c:C:v needs the file DIR/benchmarks/c/bench.so (no such file or directory); build the " +
				"benchmark, or skip the key"},
		{"skipped entry missing", "[experiment]\nskip = [\"c:*:*\"]",
			func(dir string) error { return os.RemoveAll(dir + "/benchmarks/c") }, ""},
		{"entry is no file", "", func(dir string) error {
			if err := os.Remove(dir + "/benchmarks/b/bench.so"); err != nil {
				return err
			}
			return os.Mkdir(dir+"/benchmarks/b/bench.so", 0o755)
		}, "7: b:C:v needs the file DIR/benchmarks/b/bench.so, which is not a regular file; correct the " +
			"variant's entry and subfolder, or skip the key"},
		{"relative VM", vm + "path = \"./vm\"", nil, ""},
		{"bare VM", vm + "path = \"sh\"", nil, ""},
		{"VM missing", vm + "path = \"bin/vm\"", nil, "12: vms.P.path: DIR/bin/vm cannot be found (no such " +
			"file or directory); install it or correct the path" + leaveOut},
		{"VM not in the path", vm + "path = \"no-such-vm\"", nil, "12: vms.P.path: there is no program " +
			"no-such-vm in /usr/local/bin:/usr/bin:/bin; install it or write its path" + leaveOut},
		{"VM not executable", vm + "path = \"./data\"", nil,
			"12: vms.P.path: DIR/data is not executable; chmod +x it, or correct the path" + leaveOut},
		{"VM is a directory", vm + "path = \"./benchmarks\"", nil,
			"12: vms.P.path: DIR/benchmarks is not a regular file; write the path of a program" + leaveOut},
		{"skipped VM missing", vm + "path = \"bin/vm\"\n[experiment]\nskip = [\"*:P:*\"]", nil, ""},
		{"hooks", "[hooks]\nbefore = [[\"./vm\"], [\"./no\"]]\nafter = [[\n\"no-such-hook\"]]", nil,
			"10: hooks.before[1]: DIR/no cannot be found (no such file or directory); install it or " +
				"correct the path\n11: hooks.after[0]: there is no program no-such-hook in " +
				"/usr/local/bin:/usr/bin:/bin; install it or write its path"},
		{"command", "[notify]\ncommand = [\"./no\"]", nil, "10: notify.command: DIR/no cannot be found (no " +
			"such file or directory); install it or correct the path"},
		{"sendmail", "[notify]\nmail = [\"a@b\"]\nsendmail = \"./no\"", nil, "11: notify.sendmail: DIR/no " +
			"cannot be found (no such file or directory); install it or correct the path"},
		{"no mail, no sendmail", "[notify]\nsendmail = \"./no\"", nil, ""},
		{"limits copied from Krun", "[limits]\nheap = 2097152\nstack = 8192", nil,
			"10: limits.heap is 2097152 bytes (2MiB), too little for most programs to start; write it with " +
				"its unit: \"2GiB\" if it comes from Krun, which counts KiB, or \"2MiB\"\n" +
				"11: limits.stack is 8192 bytes (8KiB), too little for most programs to start; write it " +
				"with its unit: \"8MiB\" if it comes from Krun, which counts KiB, or \"8KiB\""},
		{"small limits with units", "[limits]\nheap = \"2MiB\"\nstack = \"8KiB\"", nil, ""},
		{"a Java class without its suffix", "[vms.J]\nrunner = \"java\"\npath = \"./vm\"\n" +
			"variants = [\"j\"]\n[variants.j]\nentry = \"KrunEntry\"\nsubfolder = \"java\"\n" +
			"[experiment]\nskip = [\"c:J:*\"]", nil,
			"7: b:J:j needs the file DIR/benchmarks/b/java/KrunEntry (no such file or directory); write " +
				"entry = \"KrunEntry.class\" in [variants.j], the compiled class, and compile it with javac"},
		{"each arm has a directory of its own", "[arms.a]\nbenchmarks = \"old\"\n[arms.b]\nbenchmarks = " +
			"\"new\"", func(dir string) error {
			return errors.Join(os.Rename(dir+"/benchmarks", dir+"/old"),
				os.CopyFS(dir+"/new", os.DirFS(dir+"/old")))
		}, ""},
		{"an arm has none of its own", "[arms.a]\n[arms.b]\nbenchmarks = \"new\"", func(dir string) error {
			return os.Rename(dir+"/benchmarks", dir+"/new")
		}, strings.TrimSuffix(noDirectory, "\n")},
		{"no file of a VM", strings.NewReplacer("external", "c", `"v"`, `"w"`).Replace(vm) + "[variants.w]\nentry = \"x.so\"\n",
			nil, "9: none of the 2 files of P's benchmarks exists, such as DIR/benchmarks/b/x.so; build " +
				"them" + leaveOut},
		{"no program and no file of a VM", strings.NewReplacer("external", "python", `"v"`, `"w"`).Replace(vm) +
			"path = \"bin/vm\"\n[variants.w]\nentry = \"x.py\"\n", nil,
			"12: vms.P.path: DIR/bin/vm cannot be found (no such file or directory); install it or correct " +
				"the path" + leaveOut},
		{"several", vm + "path = \"bin/vm\"",
			func(dir string) error { return os.RemoveAll(dir + "/benchmarks") },
			noDirectory +
				"12: vms.P.path: DIR/bin/vm cannot be found (no such file or directory); install it or " +
				"correct the path" + leaveOut},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			must.Equal(t, loadProblems(t, test.added, test.prepare), test.want)
		})
	}
}

func TestLoadShowsThePathAsGiven(t *testing.T) {
	path := experiment(t, "[wait]\nx = 1")
	t.Chdir(filepath.Dir(path))
	_, err := config.Load("x.toml", "", doctor.Settings())
	must.Equal(t, errorText(err), `x.toml:10: unknown key wait.x; write "startup", "settle" or "sync"`)
}

func TestLoadRefusesOtherFiles(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{
		dir:             "configuration: " + dir + " is not a regular file; name an experiment's TOML file",
		dir + "/x.toml": "configuration: open " + dir + "/x.toml: no such file or directory",
	} {
		_, err := config.Load(name, "", doctor.Settings())
		must.Equal(t, errorText(err), want, "got", err)
	}
	if runtime.GOOS == "linux" {
		must.Do(t, os.Symlink("/proc/version", dir+"/kernel.toml"))
		_, err := config.Load(dir+"/kernel.toml", "", doctor.Settings())
		must.Contain(t, errorText(err), "kernel.toml is a file of the kernel", "got", err)
	}
	write(t, dir+"/large.toml", strings.Repeat("#\n", 1<<20), 0o644)
	_, err := config.Load(dir+"/large.toml", "", doctor.Settings())
	must.Contain(t, errorText(err), "has more than 1048576 bytes", "large file", err)
}

// TestLoadReportsParsingAndFilesTogether mixes both kinds of problems. Missing files that follow
// from another mistake are not reported.
func TestLoadReportsParsingAndFilesTogether(t *testing.T) {
	noFiles := func(dir string) error { return os.RemoveAll(dir + "/benchmarks") }
	const badWait = `write a duration with a unit, such as "30s", "5m" or "1h30m"`
	tests := []struct {
		name, added string
		prepare     func(dir string) error
		want        string
	}{
		{"wrong unit and missing files", "[wait]\nsync = \"x\"", noFiles,
			noDirectory + `10: wait.sync is "x", which is not a duration; ` + badWait},
		{"misspelt skip", "[experiment]\nskips = [\"*:*:*\"]", noFiles,
			`10: unknown key experiment.skips; did you mean "skip"?`},
		{"wrong skip", "[experiment]\nskip = [\"c\"]", noFiles,
			`10: experiment.skip: pattern "c" has 1 parts; write "benchmark:vm:variant" or "benchmark:vm:variant@arm", with a lone * for any`},
		{"wrong directory", "[experiment]\nbenchmarks = 3", noFiles,
			`10: experiment.benchmarks is the integer 3; write a string, such as "text"`},
		{"wrong subfolder", "[variants.w]\nentry = \"x\"\nsubfolder = 1\n[vms.D]\nrunner = \"c\"\nvariants " +
			"= [\"w\"]", nil,
			`11: variants.w.subfolder is the integer 1; write a string, such as "text"`},
		{"one hook wrong, the next missing", "[hooks]\nbefore = [\"x\",\n[\"./no\"]]", nil,
			"10: hooks.before[0] is the string \"x\"; write the command as a list, such as [\"x\"]; no " +
				"shell reads it\n11: hooks.before[1]: DIR/no cannot be found (no such file or directory); " +
				"install it or correct the path"},
		{"wrong sendmail", "[notify]\nmail = [\"a@b\"]\nsendmail = 3", nil,
			`11: notify.sendmail is the integer 3; write a string, such as "text"`},
		{"wrong VM path", "[vms.P]\nrunner = \"python\"\nvariants = [\"v\"]\npath = 3", nil,
			`12: vms.P.path is the integer 3; write a string, such as "text"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			must.Equal(t, loadProblems(t, test.added, test.prepare), test.want)
		})
	}
}

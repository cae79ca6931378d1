// Package packaging has no code: its tests install krund like make install does and run what was
// installed. See README.md.
package packaging

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
	"krund/runners"
	"krund/runners/suites"
)

// makeInRoot runs make in the repository, without the environment variables of a make that runs
// this test.
func makeInRoot(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "make", append([]string{"--no-print-directory"}, args...)...)
	c.Dir = ".."
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "MAKE") && name != "MFLAGS" &&
			name != "DESTDIR" && name != "PREFIX" {
			c.Env = append(c.Env, v)
		}
	}
	out, err := c.CombinedOutput()
	must.Do(t, err, "make", strings.Join(args, " "), string(out))
	return string(out)
}

// built skips a test if make build has not run.
func built(t *testing.T) {
	t.Helper()
	for _, file := range []string{"../build/bin/krund", "../build/bin/krunctl",
		"../build/libexec/krund/runner-c", "../benchmarks/nbody/c/bench.so"} {
		if _, err := os.Stat(file); err != nil {
			t.Skipf("%v; make build makes it", err)
		}
	}
}

// installed returns the files below root with their permissions.
func installed(t *testing.T, root string) map[string]fs.FileMode {
	t.Helper()
	all := make(map[string]fs.FileMode)
	must.Do(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[strings.TrimPrefix(file, root)] = info.Mode()
		return nil
	}))
	return all
}

// wanted returns all files of an installation in /opt/krund, except for one manual page for each
// command of krunctl.
func wanted(t *testing.T) []string {
	t.Helper()
	const prefix = "/opt/krund/"
	var all []string
	for _, file := range []string{
		"bin/krund", "bin/krunctl", "lib/krund/libkrun.so",
		"lib/libkrun.so", "lib/libkrun.a", "lib/pkgconfig/krun.pc", "include/krun.h",
		"share/man/man1/krunctl.1", "share/man/man3/libkrun.3", "share/man/man5/krund.toml.5",
		"share/man/man8/krund.8",
		"share/bash-completion/completions/krunctl", "share/zsh/site-functions/_krunctl",
		"share/fish/vendor_completions.d/krunctl.fish", "share/bash-completion/completions/krund",
		"share/zsh/site-functions/_krund", "share/fish/vendor_completions.d/krund.fish",
		"share/doc/krund/README.md", "share/doc/krund/CHANGELOG.md", "share/doc/krund/LICENSE",
		"share/doc/krund/runners/README.md", "share/doc/krund/examples/relink.sh",
		"share/doc/krund/benchmarks/README.md",
	} {
		all = append(all, prefix+file)
	}
	all = append(all, prefix+"libexec/krund/go/krun.go", prefix+"libexec/krund/noise-spin")
	for _, name := range runners.Names() {
		l, _ := runners.Lookup(name)
		for _, file := range l.Files {
			// the compilers of the others may be missing
			if _, err := os.Stat("../build/libexec/krund/" + file); err == nil || name == "c" ||
				name == "python" {
				all = append(all, prefix+"libexec/krund/"+file)
			}
		}
	}
	hooks := []string{"KrunDacapoCallback.class", "awfy.cpp"}
	for _, name := range suites.Names() {
		suite, _ := suites.Lookup(name)
		hooks = slices.AppendSeq(hooks, maps.Values(suite.Hooks))
	}
	for _, file := range slices.DeleteFunc(hooks, func(hook string) bool { return hook == suites.Own }) {
		_, err := os.Stat("../build/libexec/krund/suites/" + file)
		if err == nil || filepath.Ext(file) != ".class" { // its compiler may be missing
			all = append(all, prefix+"libexec/krund/suites/"+file)
		}
	}
	for _, name := range []string{"binary_trees", "fannkuch_redux", "fasta", "nbody", "richards",
		"spectralnorm"} {
		for _, file := range []string{
			"c/bench.c", "c/bench.so", "python/bench.py", "lua/bench.lua", "javascript/bench.js",
			"java/KrunEntry.java", "ruby/bench.rb", "php/bench.php", "go/bench.go", "rust/bench.rs",
			"dotnet/bench.cs",
		} {
			all = append(all, prefix+"lib/krund/benchmarks/"+name+"/"+file)
		}
		// their compilers may be missing
		for _, file := range []string{"java/*.class", "go/bench", "rust/bench.so", "wasm/bench.wasm",
			"dotnet/bench.dll"} {
			built := must.Get(filepath.Glob("../benchmarks/" + name + "/" + file))(t)
			for _, path := range built {
				all = append(all, prefix+"lib/krund/"+strings.TrimPrefix(path, "../"))
			}
		}
	}
	all = append(all, prefix+"lib/krund/benchmarks/ab/loop.c")
	for _, arm := range []string{"base", "longer"} { // an older build has none
		if _, err := os.Stat("../benchmarks/ab/" + arm + "/loop/c/bench.so"); err == nil {
			all = append(all, prefix+"lib/krund/benchmarks/ab/"+arm+"/loop/c/bench.so")
		}
	}
	for pattern, directory := range map[string]string{"../docs/*.md": "docs/",
		"../configs/*.toml": "examples/"} {
		found, err := filepath.Glob(pattern)
		must.Need(t, err == nil && len(found) >= 3, pattern, found, err)
		for _, file := range found {
			all = append(all, prefix+"share/doc/krund/"+directory+filepath.Base(file))
		}
	}
	images := must.Get(filepath.Glob("../docs/img/*"))(t)
	for _, file := range images {
		all = append(all, prefix+"share/doc/krund/docs/img/"+filepath.Base(file))
	}
	return append(all, "/usr/lib/systemd/system/krund@.service", "/usr/lib/systemd/system/bench.target",
		"/usr/lib/systemd/system/krund-ship.service", "/usr/lib/systemd/system/krund-ship.timer")
}

func TestInstallPutsEverythingInPlace(t *testing.T) {
	built(t)
	root := t.TempDir()
	makeInRoot(t, "-o", "build", "install", "PREFIX=/opt/krund", "DESTDIR="+root)
	got := installed(t, root)
	pages := 0
	for file, mode := range got {
		page := must.Get(filepath.Match("/opt/krund/share/man/man1/krunctl-*.1", file))(t)
		if page {
			pages++
		} else if !slices.Contains(wanted(t), file) {
			t.Errorf("%s is installed, and no test says so", file)
		}
		want := fs.FileMode(0o644)
		programs := []string{"runner-c", "runner-command", "noise-spin", "gobench"}
		if strings.Contains(file, "/bin/") || slices.Contains(programs, filepath.Base(file)) ||
			strings.HasSuffix(file, "/go/bench") || strings.HasSuffix(file, "/relink.sh") ||
			file == "/opt/krund/lib/libkrun.so" {
			want = 0o755
		}
		must.Equal(t, mode, want, file, "has mode")
	}
	for _, file := range wanted(t) {
		if _, ok := got[file]; !ok {
			t.Errorf("%s is not installed", file)
		}
	}
	must.Be(t, pages >= 15, pages, "pages of commands")
	for _, file := range []string{"/usr/lib/systemd/system/krund@.service",
		"/opt/krund/lib/pkgconfig/krun.pc", "/opt/krund/share/doc/krund/examples/demo.toml"} {
		text := must.Get(os.ReadFile(root + file))(t)
		must.Be(t, (!strings.Contains(string(text), "@") || !strings.Contains(string(text), "PREFIX@")) &&
			!strings.Contains(string(text), root) && strings.Contains(string(text), "/opt/krund"), file,
			"has a wrong prefix", text)
	}
	makeInRoot(t, "uninstall", "PREFIX=/opt/krund", "DESTDIR="+root)
	left := installed(t, root)
	must.Equal(t, len(left), 0, "make uninstall leaves", left)
}

// TestInstallHub: the hub is installed by a target of its own, and removed by another.
func TestInstallHub(t *testing.T) {
	built(t)
	if _, err := os.Stat("../build/bin/krunhub"); err != nil {
		t.Skipf("%v; make build makes it", err)
	}
	root := t.TempDir()
	makeInRoot(t, "-o", "build", "install-hub", "PREFIX=/opt/krund", "DESTDIR="+root)
	got := installed(t, root)
	for _, file := range []string{"/opt/krund/bin/krunhub", "/opt/krund/share/man/man1/krunhub.1",
		"/opt/krund/share/man/man1/krunhub-serve.1", "/opt/krund/share/bash-completion/completions/krunhub",
		"/opt/krund/share/zsh/site-functions/_krunhub",
		"/opt/krund/share/fish/vendor_completions.d/krunhub.fish",
		"/usr/lib/systemd/system/krunhub.service"} {
		if _, ok := got[file]; !ok {
			t.Errorf("%s is not installed", file)
		}
	}
	unit, err := os.ReadFile(root + "/usr/lib/systemd/system/krunhub.service")
	must.Be(t, err == nil && strings.Contains(string(unit), "\nExecStart=/opt/krund/bin/krunhub serve "), err,
		unit)
	makeInRoot(t, "uninstall-hub", "PREFIX=/opt/krund", "DESTDIR="+root)
	left := installed(t, root)
	must.Equal(t, len(left), 0, "make uninstall-hub leaves", left)
}

// TestInstalledExamples: each example runs from wherever it is copied to, or its mistakes are VMs
// that this machine lacks, and name what leaves them out; then it runs.
func TestInstalledExamples(t *testing.T) {
	built(t)
	prefix, home := t.TempDir(), t.TempDir()
	makeInRoot(t, "-C", "benchmarks", "ab")
	makeInRoot(t, "-o", "build", "install", "PREFIX="+prefix, "UNITDIR=")
	krund := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w",
		"-o", // not that of an older build
		filepath.Join(prefix, "bin/krund"), "../cmd/krund")
	if out, err := krund.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	examples, err := filepath.Glob(filepath.Join(prefix, "share/doc/krund/examples/*.toml"))
	must.Need(t, err == nil && len(examples) >= 6, examples, err)
	runs := func(file, text string) (string, error) {
		t.Helper()
		must.Do(t, os.WriteFile(file, []byte(text), 0o644))
		c := exec.CommandContext(t.Context(), filepath.Join(prefix, "bin/krund"), "run", "--dry-run", file)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	advice := regexp.MustCompile(`leave the VM out: skip = \[("\*:[^"]+:\*")\] in \[experiment\]$`)
	for _, example := range examples {
		text := must.Get(os.ReadFile(example))(t)
		file := filepath.Join(home, filepath.Base(example))
		out, err := runs(file, string(text))
		if err == nil {
			continue
		}
		var skip []string
		for line := range strings.Lines(out) {
			if m := advice.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				skip = append(skip, m[1])
			} else {
				t.Errorf("%s: %s", filepath.Base(example), line)
			}
		}
		t.Logf("%s: without %q", filepath.Base(example), skip)
		without := regexp.MustCompile(`(?m)^skip = .*\n`).ReplaceAllString(string(text), "")
		without = strings.Replace(without, "[experiment]\n",
			"[experiment]\nskip = ["+strings.Join(skip, ", ")+"]\n", 1)
		if out, err := runs(file, without); err != nil {
			t.Errorf("%s without %q: %s", filepath.Base(example), skip, out)
		}
	}
}

// TestInstalledRuns runs an installed example with only what was installed: a shortened copy of the
// demonstration, from another directory, with an empty environment.
func TestInstalledRuns(t *testing.T) {
	built(t)
	prefix, home := t.TempDir(), t.TempDir()
	makeInRoot(t, "-o", "build", "install", "PREFIX="+prefix, "UNITDIR=")
	text := must.Get(os.ReadFile(filepath.Join(prefix, "share/doc/krund/examples/demo.toml")))(t)
	short := regexp.MustCompile(`(?m)^(iterations|executions) = \d+`).ReplaceAllStringFunc(string(text),
		func(line string) string {
			if strings.HasPrefix(line, "iterations") {
				return "iterations = 3"
			}
			return "executions = 1"
		})
	file := filepath.Join(home, "demo.toml")
	must.Do(t, os.WriteFile(file, []byte(short), 0o644))
	run := func(program string, args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), filepath.Join(prefix, "bin", program), args...)
		c.Dir, c.Env = home, []string{"PATH=/usr/bin:/bin", "HOME=" + home}
		out, err := c.CombinedOutput()
		must.Do(t, err, program, args, string(out))
		return string(out)
	}
	must.Contain(t, run("krund", "run", file), "nothing is outstanding", "krund run")
	slots := len(regexp.MustCompile(`(?m)^(fannkuch_redux|spectralnorm) = `).FindAllString(short, -1)) * 2
	if out := run("krunctl", "status", "--json", file); !strings.Contains(out, fmt.Sprintf(`"completed": %d`,
		slots)) || slots != 4 {
		t.Errorf("%d slots; krunctl status:\n%s", slots, out)
	}
	if out := run("krunctl", "summary", file); strings.Count(out, "1/1") != slots {
		t.Errorf("krunctl show:\n%s", out)
	}
}

// TestPackageScriptsStartNothing checks what the packages run as root.
func TestPackageScriptsStartNothing(t *testing.T) {
	for _, file := range []string{"reload.sh", "remove.sh"} {
		text := must.Get(os.ReadFile(file))(t)
		calls := regexp.MustCompile(`(?m)^[^#\n]*systemctl.*$`).FindAllString(string(text), -1)
		must.Be(t, len(calls) == 1 && strings.Contains(calls[0], "systemctl daemon-reload"), file,
			"calls systemctl", calls)
		whole := strings.ReplaceAll(string(text), "\\\n", "")
		for _, line := range regexp.MustCompile(`(?m)^\s*rm .*$`).FindAllString(whole, -1) {
			for _, path := range strings.Fields(line)[2:] { // rm -f PATH...
				must.Be(t, path == `"$dropin"` ||
					path == "/etc/systemd/system/timers.target.wants/krund-ship.timer" ||
					strings.HasPrefix(path, "/etc/krund/") ||
					strings.HasSuffix(path, ".wants/krund@*.service"), file, "removes", path)
			}
		}
	}
	config := must.Get(os.ReadFile("nfpm.yaml"))(t)
	scripts := regexp.MustCompile(`(?m)^\s+\w+: (\S+\.sh)$`).FindAllStringSubmatch(string(config), -1)
	var names []string
	for _, s := range scripts {
		names = append(names, s[1])
	}
	must.EqualList(t, names, []string{"reload.sh", "reload.sh", "remove.sh"}, "the packages run")
	for _, file := range []string{"reload.sh", "remove.sh", "release.sh", "../openbsd/krund.rc"} {
		sh, err := exec.LookPath("sh")
		if err != nil {
			t.Skip(err)
		}
		if out, err := exec.CommandContext(t.Context(), sh, "-n", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}

// TestUnits checks the essential directives of the units.
func TestUnits(t *testing.T) {
	for file, lines := range map[string][]string{
		"../systemd/bench.target": {"Requires=sysinit.target", "AllowIsolate=yes",
			"Conflicts=timers.target rescue.service rescue.target"},
		"../systemd/krund@.service": {"ExecStart=@PREFIX@/bin/krund run ${KRUND_CONFIG}", "Restart=no",
			"WantedBy=multi-user.target bench.target"},
	} {
		text := must.Get(os.ReadFile(file))(t)
		for _, line := range lines {
			must.Contain(t, string(text), "\n"+line+"\n", file, "has no line")
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("the units are not checked: ", err)
	}
	dir := t.TempDir()
	unit := must.Get(os.ReadFile("../systemd/krund@.service"))(t)
	target := must.Get(os.ReadFile("../systemd/bench.target"))(t)
	// Programs that certainly exist, because only the unit is checked.
	for _, program := range []string{"krund", "krunctl"} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, "bin"), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(dir, "bin", program), []byte("#!/bin/sh\n"), 0o755))
	}
	files := []string{filepath.Join(dir, "krund@x.service"), filepath.Join(dir, "bench.target")}
	for i, text := range []string{strings.ReplaceAll(string(unit), "@PREFIX@", dir), string(target)} {
		must.Do(t, os.WriteFile(files[i], []byte(text), 0o644))
	}
	c := exec.CommandContext(t.Context(), analyze, append([]string{"verify", "--man=no"}, files...)...)
	c.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":")
	out, err := c.CombinedOutput()
	must.Be(t, err == nil && !strings.Contains(string(out), dir), "systemd-analyze verify", err, out)
}

// TestFirstSteps runs the commands of docs/first-steps.md in order, as a person would, with fewer
// executions: all succeed, and the second version is compared with the first.
func TestFirstSteps(t *testing.T) {
	built(t)
	page := string(must.Get(os.ReadFile("../docs/first-steps.md"))(t))
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(page, -1)
	must.Need(t, len(blocks) == 5, len(blocks), "blocks of commands")
	script := ""
	for _, block := range blocks {
		script += block[1]
	}
	run := regexp.MustCompile(`(?m)^krunctl run`)
	must.Equal(t, len(run.FindAllString(script, -1)), 3)
	script = run.ReplaceAllString(script, "sed -i 's/^executions = 5/executions = 2/' *.toml; $0")
	// What is found in two blocks on a busy machine is chance: only wrong usage is a failure.
	const compare = "krunctl compare faster.krun"
	must.Contain(t, script, compare)
	script = strings.Replace(script, compare, compare+" || [ $? != 2 ]", 1)
	c := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
	bin := must.Get(filepath.Abs("../build/bin"))(t)
	c.Dir, c.Env = t.TempDir(), append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	must.Do(t, err, string(out))
	must.Be(t, strings.Contains(string(out), "faster.krun@base → faster.krun@new"), string(out))
	must.Get(os.Stat(filepath.Join(c.Dir, "first", "faster.report", "index.html")))(t)
}

// TestCompletionsOfKrund: the scripts know each command and flag of `krund help`, and no other one.
func TestCompletionsOfKrund(t *testing.T) {
	source := must.Get(os.ReadFile("../cmd/krund/main.go"))(t)
	_, usage, _ := strings.Cut(string(source), "const usage = `")
	usage, _, _ = strings.Cut(usage, "With experiment.reboot")
	words := func(text, pattern string) []string {
		var list []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			if name := m[1]; !slices.Contains(list, name) && name != "folder" {
				list = append(list, name)
			}
		}
		slices.Sort(list)
		return list
	}
	commands, flags := words(usage, `(?m)^  krund (\w+)`), words(usage, `--([\w-]+)`)
	must.Need(t, len(commands) >= 4 && len(flags) >= 6, "the help has the commands", commands,
		"and the flags", flags)
	for file, pattern := range map[string]string{"krund.bash": `--([\w-]+)`, "krund.zsh": `--([\w-]+)\[`,
		"krund.fish": `-l ([\w-]+)`} {
		text := must.Get(os.ReadFile("completions/" + file))(t)
		must.EqualList(t, words(string(text), pattern), flags, file, "completes", "krund")
		for _, command := range commands {
			must.Contain(t, string(text), command, file, "does not complete")
		}
	}
}

// TestBashCompletesKrund asks bash itself.
func TestBashCompletesKrund(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed: completion is not tried")
	}
	for line, want := range map[string]string{
		"krund ": "run check census version help", "krund c": "check census",
		"krund run --re": "--reboot", "krund run --reboot h": "hardware",
		"krund check --": "--reboot --quick --json --try", "krund check --reboot n": "none",
	} {
		script := `. completions/krund.bash; COMP_WORDS=($1); [[ $1 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _krund; echo "${COMPREPLY[*]}"`
		out, err := exec.CommandContext(t.Context(), bash, "-c", script, "bash", line).Output()
		got := strings.TrimSpace(string(out))
		must.Be(t, err == nil && got == want, line, "completes to", got, err, "want", want)
	}
}

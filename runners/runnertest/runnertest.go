// Package runnertest finds what tests of runners and benchmarks need on a machine: a C compiler and
// VMs. Only tests import it.
package runnertest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

// Compiler returns the command of the C compiler: the variable CC, or cc. It skips the test if
// there is none.
func Compiler(t testing.TB) string {
	t.Helper()
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skipf("no C compiler: %v", err)
	}
	return cc
}

// Pythons are the Interpreters of Python, for instance "CPython 2.7.18": those with the usual names
// in PATH, those installed by pyenv, and those listed in KRUN_TEST_PYTHONS (a list like PATH).
func Pythons(t testing.TB) map[string]string {
	t.Helper()
	return Interpreters(t, "python")
}

// vms are the programs that run a language (names, or patterns of paths), and a command that prints
// the name of a VM that can load libkrun.
var vms = map[string]struct {
	programs []string
	question []string
}{
	"python": {[]string{"python", "python2", "python2.7", "python3", "pypy", "pypy2", "pypy3"},
		[]string{"-c", "import ctypes, platform; print(platform.python_implementation() + ' ' + " +
			"platform.python_version())"}},
	"lua": {[]string{"luajit"}, []string{"-e", `require("ffi"); io.write(jit.version)`}},
	"javascript": {[]string{"node", "nodejs"},
		[]string{"-e",
			"console.log('Node ' + process.version); process.exit(process.versions.napi ? 0 : 1)"}},
	"java":   {[]string{"java", "/usr/lib/jvm/*/bin/java"}, []string{"-version"}},
	"dotnet": {[]string{"mono"}, []string{"--version"}},
	"ruby": {[]string{"ruby", "truffleruby", "jruby"},
		[]string{"-e", `require "fiddle"; print RUBY_DESCRIPTION`}},
	"php": {[]string{"php"}, []string{"-r",
		`echo "PHP ", PHP_VERSION; exit(extension_loaded("FFI") ? 0 : 1);`}},
}

// Interpreters returns the paths of the VMs of a language (its name as in package runners) in PATH
// and the usual directories, by their own names, so that each occurs once. Of each implementation
// it returns the oldest and the newest; with the build tag slow, all. It skips the test if there is
// none, or if no runner could be built for them.
func Interpreters(t testing.TB, language string) map[string]string {
	t.Helper()
	vm, ok := vms[language]
	if !ok {
		t.Fatalf("no VM is known for %s", language)
	}
	paths := candidates(t, vm.programs)
	if language == "python" {
		home, _ := os.UserHomeDir() // without a home directory there is no pyenv either
		paths = slices.Concat(filepath.SplitList(os.Getenv("KRUN_TEST_PYTHONS")), paths,
			candidates(t, []string{filepath.Join("/", home, ".pyenv/versions/*/bin/python")}))
	}
	found := make(map[string]string)
	for _, path := range paths {
		answer, err := exec.CommandContext(t.Context(), path, vm.question...).CombinedOutput()
		if err != nil {
			t.Logf("%s does not work: %v: %s", path, err, answer)
			continue
		}
		said, _, _ := strings.Cut(strings.TrimSpace(string(answer)), "\n")
		if _, ok := found[said]; !ok {
			found[said] = path
		}
	}
	if len(found) == 0 {
		t.Skipf("no VM for %s in PATH or the usual directories: none of %q", language, vm.programs)
	}
	return ends(found)
}

// ends leaves the oldest and the newest version of each implementation, unless all are wanted.
func ends(found map[string]string) map[string]string {
	if must.Slow {
		return found
	}
	versions := map[string][]string{}
	for name := range found {
		of := name[:max(0, strings.IndexAny(name, "0123456789"))]
		versions[of] = append(versions[of], name)
	}
	left := map[string]string{}
	for _, names := range versions {
		for _, name := range []string{slices.MinFunc(names, Versions), slices.MaxFunc(names, Versions)} {
			left[name] = found[name]
		}
	}
	return left
}

var number = regexp.MustCompile("[0-9]+")

// Versions compares the names of two VMs by the numbers in them.
func Versions(a, b string) int {
	x, y := number.FindAllString(a, -1), number.FindAllString(b, -1)
	return slices.CompareFunc(x, y, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
}

// NodeWithWASI returns the command of Node with its WebAssembly system interface, which needs an
// option before Node 20. It skips the test if there is none.
func NodeWithWASI(t testing.TB, node string) []string {
	t.Helper()
	for _, command := range [][]string{{node}, {node, "--experimental-wasi-unstable-preview1"}} {
		args := append(command[1:len(command):len(command)], "-e",
			`new (require("wasi").WASI)({ version: "preview1" }).initialize`)
		if exec.CommandContext(t.Context(), node, args...).Run() == nil {
			return command
		}
	}
	t.Skip(node + " has no WebAssembly system interface")
	return nil
}

// candidates returns the paths of programs: those in PATH, and those that match patterns.
func candidates(t testing.TB, programs []string) []string {
	t.Helper()
	var paths []string
	for _, program := range programs {
		if !filepath.IsAbs(program) {
			if path, err := exec.LookPath(program); err == nil {
				paths = append(paths, path)
			}
			continue
		}
		matches, err := filepath.Glob(program)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, matches...)
	}
	return paths
}

// CopyBuilt copies directories with the times of their files into dir, which is new. A Makefile
// that builds in dir then builds only what is missing in them or older than its sources.
// Directories that do not exist are left out.
func CopyBuilt(dir string, directories ...string) error {
	args := []string{"-Rp"}
	for _, d := range directories {
		if _, err := os.Stat(d); err == nil {
			args = append(args, d)
		}
	}
	if len(args) == 1 {
		return nil
	}
	out, err := exec.CommandContext(context.Background(), "cp", append(args, dir)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("cp %v %s: %w\n%s", args, dir, err, out)
	}
	return nil
}

// CopyRunners is CopyBuilt of what `make build` has built of libkrun and the runners in build.
func CopyRunners(dir, build string) error {
	return CopyBuilt(dir, build+"/cgo", build+"/include", build+"/lib", build+"/runners")
}

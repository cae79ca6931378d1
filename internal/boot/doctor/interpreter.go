package doctor

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"krund/internal/boot/autostart"
	"krund/internal/experiment/config"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/command"
	"krund/internal/machine/sysroot"
)

// An Interpreter is the program of a VM with which an experiment runs benchmarks. krund's runners
// need its foreign function interface, which minimal installations omit.
type Interpreter struct {
	VM       string // name in the configuration
	Language string // of the runner
	Path     string // absolute, or a name for config.LookPath
}

// A question is a command for an interpreter: it prints its name and version, then fails with an
// error that names what the runner needs and the interpreter lacks.
type question struct {
	args   []string
	needs  string // the missing component, as named in the error and in messages
	advice string // how to get it
}

// questions by language. They load no site packages and write no compiled files.
var questions = map[string]question{
	config.RunnerPython: {
		// Python 2 has no -I, so that the working directory is removed from the path here.
		[]string{"-E", "-s", "-S", "-B", "-c", "import sys; sys.path = [p for p in sys.path if p]; import " +
			"platform; print('%s %s' % (platform.python_implementation(), platform.python_version())); " +
			"sys.stdout.flush(); import ctypes"},
		"ctypes", "install the complete standard library: on Debian the package python3 or " +
			"libpython3-stdlib, not python3-minimal alone",
	},
	"lua": {[]string{"-e", `print(jit and jit.version or _VERSION) io.stdout:flush() require("ffi")`}, "ffi",
		"use LuaJIT: on Debian the package luajit"},
	"javascript": {
		[]string{"-e", "console.log('Node ' + process.version); if (!process.versions.napi) throw new " +
			"Error('no Node-API')"},
		"Node-API", "use Node.js 12 or later",
	},
	"java":   {[]string{"-version"}, "", ""}, // every JVM has JNI
	"dotnet": {[]string{"--version"}, "", ""},
	"ruby": {
		// With RubyGems, which provides fiddle since Ruby 3.5.
		[]string{"-e", `puts RUBY_ENGINE + " " + RUBY_VERSION; $stdout.flush; require "fiddle"`},
		"fiddle", "install Ruby's whole standard library",
	},
	"php": {
		[]string{"-r",
			`echo "PHP ", PHP_VERSION, "\n"; if (!extension_loaded("FFI")) { fwrite(STDERR, "no FFI\n"); exit(1); }`},
		"FFI", "install or enable PHP's extension FFI; on Debian it is in the package php-cli",
	},
}

// interpreters returns the interpreters of a configuration, in its order.
func interpreters(cfg *config.Config) []Interpreter {
	var list []Interpreter
	for _, key := range cfg.Keys() {
		vm, _, _, err := cfg.Lookup(key)
		if err == nil && asked(vm.Runner) && !slices.ContainsFunc(list,
			func(i Interpreter) bool { return i.VM == vm.Name }) {
			list = append(list, Interpreter{VM: vm.Name, Language: vm.Runner, Path: vm.Path})
		}
	}
	return list
}

// answerTime bounds how long an interpreter may take to print its name. PyPy and GraalPy need a
// second.
const answerTime = 20 * time.Second

func asked(language string) bool {
	_, ok := questions[language]
	return ok
}

// check makes the row of an interpreter.
func (i Interpreter) check(ctx context.Context) setting.Finding {
	q := questions[i.Language]
	f := setting.Finding{
		Name: "vm " + i.VM, Policy: setting.Require, Status: setting.StatusCannot, Wanted: with(i.Language,
			q.needs),
		Why: fmt.Sprintf("krund's runner for %s reads the clock through libkrun, a C library, which the VM "+
			"must be able to load", i.Language),
	}
	path, err := config.LookPath(i.Path)
	if err != nil {
		f.Found, f.Detail, f.Fix = "not found", err.Error(),
			fmt.Sprintf("install it, or correct path in [vms.%s]", i.VM)
		return f
	}
	if owner, foreign := others(path); foreign {
		f.Policy, f.Found = setting.Warn, "not checked"
		f.Detail = fmt.Sprintf("%s belongs to user %d, and root runs no programs of others", path, owner)
		f.Fix = "run krund check as that user"
		return f
	}
	out, err := command.Run(ctx, command.Cmd{Argv: append([]string{path}, q.args...),
		Env: []string{"PATH=" + config.SearchPath, "LC_ALL=C"}, Timeout: answerTime})
	name, rest, _ := strings.Cut(strings.TrimSpace(out), "\n")
	switch {
	case err == nil:
		f.Status, f.Found = setting.StatusOK, name
	case q.needs != "" && strings.Contains(rest, q.needs):
		f.Found, f.Detail = name+" without "+q.needs, path+" lacks what the runner needs"
		f.Fix = q.advice
	default: // perhaps only the question was wrong
		f.Policy, f.Found, f.Detail, f.Fix = setting.Warn, "does not answer", err.Error(),
			fmt.Sprintf("run `%s --version` to see whether it works", path)
	}
	return f
}

// with describes the required interpreter.
func with(language, needs string) string {
	if needs == "" {
		return "a VM for " + language
	}
	return "a VM for " + language + " with " + needs
}

// others reports whether this process is root and the program belongs to another user. Such a
// program must not be run here, because it would run as root.
func others(path string) (owner int, foreign bool) {
	info, err := os.Stat(path)
	if err != nil || os.Geteuid() != 0 {
		return 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), st.Uid != 0
}

// checkRestart makes the row of the way that the machine restarts before each execution.
func checkRestart(kind string, root sysroot.Root) setting.Finding {
	f := setting.Finding{
		Name: "restart", Policy: setting.Require, Status: setting.StatusOK, Wanted: kind, Found: kind,
		Why: "experiment.reboot: the machine restarts this way before each process execution",
	}
	if f.Detail = autostart.Unavailable(kind, root); f.Detail != "" {
		f.Status, f.Found = setting.StatusCannot, "not available"
		f.Fix = "set experiment.reboot to a kind of restart that this machine has"
	}
	return f
}

// checkEntry makes the row of the boot loader's entry that the experiment boots by.
func checkEntry(e autostart.Entry) setting.Finding {
	f := setting.Finding{
		Name: "boot entry", Policy: setting.Require, Status: setting.StatusOK, Found: e.Name,
		Wanted: e.Name + ", for one boot at a time",
		Why:    "a krund that has died requests no further boot, so the next boot is an ordinary one",
	}
	if err := e.Check(); err != nil {
		f.Status, f.Found, f.Detail = setting.StatusCannot, "cannot be requested", err.Error()
		f.Fix = "see \"A boot entry of its own\" in docs/lab-machine.md"
	}
	return f
}

package doctor

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"krund/internal/command"
	"krund/internal/config"
	"krund/internal/control"
)

// An Interpreter is a Python that an experiment runs benchmarks with. krund's runner for it needs ctypes, which small installations leave out.
type Interpreter struct {
	VM   string // in the configuration
	Path string // absolute, or a name for config.LookPath
}

// interpreters returns those of a configuration, in its order.
func interpreters(cfg *config.Config) []Interpreter {
	var list []Interpreter
	for _, key := range cfg.Keys() {
		vm, _, _, err := cfg.Lookup(key)
		if err == nil && vm.Runner == config.RunnerPython && !slices.ContainsFunc(list, func(i Interpreter) bool { return i.VM == vm.Name }) {
			list = append(list, Interpreter{VM: vm.Name, Path: vm.Path})
		}
	}
	return list
}

// answerTime bounds how long an interpreter may take to say its name. PyPy and GraalPy need a second.
const answerTime = 20 * time.Second

// question is asked of an interpreter: its name and version, and then whether it has ctypes. It runs isolated (-I), without site packages (-S), and
// writes no compiled files (-B).
var question = []string{"-I", "-S", "-B", "-c", "import sys, platform; print(platform.python_implementation(), platform.python_version()); sys.stdout.flush(); import ctypes"}

// check makes the row of an interpreter.
func (i Interpreter) check(ctx context.Context) control.Finding {
	f := control.Finding{
		Name: "vm " + i.VM, Policy: control.Require, Status: control.StatusCannot, Wanted: "Python with ctypes",
		Why: "krund's runner for Python reads the clock through libkrun, which ctypes loads",
	}
	path, err := config.LookPath(i.Path)
	if err != nil {
		f.Found, f.Detail, f.Fix = "not found", err.Error(), fmt.Sprintf("install it, or mend path in [vms.%s]", i.VM)
		return f
	}
	if owner, foreign := others(path); foreign {
		f.Policy, f.Found = control.Warn, "not asked"
		f.Detail = fmt.Sprintf("%s belongs to user %d, and root runs no programs of others", path, owner)
		f.Fix = "run krund check as that user"
		return f
	}
	out, err := command.Run(ctx, command.Cmd{Argv: append([]string{path}, question...), Env: []string{"PATH=" + config.SearchPath, "LC_ALL=C"}, Timeout: answerTime})
	name, rest, _ := strings.Cut(strings.TrimSpace(out), "\n")
	switch {
	case err == nil:
		f.Status, f.Found = control.StatusOK, name
	case strings.Contains(rest, "ctypes"):
		f.Found, f.Detail = name+" without ctypes", path+" is not a whole Python"
		f.Fix = "install all of it: on Debian the package python3 or libpython3-stdlib, not python3-minimal alone"
	default: // perhaps only the question was wrong
		f.Policy, f.Found, f.Detail, f.Fix = control.Warn, "does not answer", err.Error(), fmt.Sprintf("look at what `%s --version` says", path)
	}
	return f
}

// others tells whether this process is root and the program somebody else's: then it must not be run here, where it would have root's rights.
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

package rehearsal

import (
	"fmt"
	"strings"

	"krund/internal/execution"
)

// A hint is what to do when the output of a failed benchmark contains a text.
type hint struct {
	runner string // "" for all
	said   string // by the process or in the reason why it was not started, in lower case
	fix    string
}

// hints, the first one that applies counts. The texts are those of the VMs: CPython 2.7 and 3,
// LuaJIT 2.1, Node 12 to 22, HotSpot 8 to 21, PHP 7 and 8, glibc's loader.
var hints = []hint{
	{"python", "missing parentheses in call to 'print'", "it is written for Python 2: name a Python 2 or " +
		"PyPy 2 as path of the VM, or translate it (2to3)"},
	{"python", "name 'xrange' is not defined", "it is written for Python 2: name a Python 2 or PyPy 2 as " +
		"path of the VM, or translate it (2to3)"},
	{"php", "<?", "PHP printed the file instead of running it: it begins with the short tag <?; write " +
		"args = [\"-d\", \"short_open_tag=1\"] in the VM's section"},
	{"lua", "bit32", "LuaJIT has the library bit and not Lua 5.2's bit32: use bit, or run it with " +
		"another VM"},
	{"lua", "'unpack' (a nil value)", "LuaJIT has Lua 5.1's unpack; table.unpack needs a LuaJIT that was " +
		"built with XCFLAGS=-DLUAJIT_ENABLE_LUA52COMPAT"},
	{"lua", "'pack' (a nil value)", "table.pack of Lua 5.2 needs a LuaJIT that was built with " +
		"XCFLAGS=-DLUAJIT_ENABLE_LUA52COMPAT"},
	{"lua", "'len' (a nil value)", "this function of Lua 5.2 needs a LuaJIT that was built with " +
		"XCFLAGS=-DLUAJIT_ENABLE_LUA52COMPAT"},
	{"lua", "unexpected symbol near '/'", "LuaJIT has no integer division // (Lua 5.3): use " +
		"math.floor(a / b)"},
	{"javascript", "read is not defined", "read is a function of d8; use require(\"fs\").readFileSync"},
	{"java", "unsupportedclassversionerror", "the class was compiled for a newer Java: compile it with " +
		"javac --release N, where N is the version of this VM"},
	{"java", "noclassdeffounderror", "a class that it needs is missing: compile all of the benchmark's " +
		"classes into the directory of the entry; the class path has that and krund's own"},
	{"java", "classnotfoundexception", "write entry = \"KrunEntry.class\", and compile the benchmark into " +
		"the directory of the entry"},
	{"c", "undefined symbol", "link the library that defines the symbol into bench.so, such as with -lm " +
		"after the object files"},
	{"c", "wrong elf class", "it was compiled for another processor: compile it on this machine"},
	{"c", "invalid elf header", "it is not a shared library: compile it with -shared -fPIC"},
	{"c", "only et_dyn and et_exec", "it is an object file: link it with -shared"},
	{"c", "cannot dynamically load", "it is a program, not a shared library: link it with -shared -fPIC " +
		"instead of -pie"},
}

// advice returns what to do about a failed trial, "" if unknown.
func advice(job execution.Job, m execution.Measured) string {
	const most = 64 << 10
	said := m.Process.Stderr.Text[:min(most, len(m.Process.Stderr.Text))] + "\n" +
		m.Process.Stdout.Text[:min(most, len(m.Process.Stdout.Text))]
	if f := m.Process.NotStarted; f != nil {
		said += "\n" + f.Text
	}
	said = strings.ToLower(said)
	for _, h := range hints {
		if (h.runner == "" || h.runner == job.VM.Runner) && strings.Contains(said, h.said) {
			return h.fix
		}
	}
	if strings.Contains(said, "permission denied") {
		return fmt.Sprintf("the account %s must be able to reach and read it: not below /root, and each "+
			"directory on the way with mode o+x; or set experiment.account = \"caller\"", accountName(job))
	}
	return ""
}

func accountName(job execution.Job) string {
	if job.Account.IsCaller() {
		return "that runs krund"
	}
	return job.Account.Name
}

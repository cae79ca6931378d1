package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/durable/trust"
	"krund/rig/must"
)

// program copies echo(1) to a directory of the test.
func program(t *testing.T) string {
	t.Helper()
	must.Root(t, "only what root runs is judged")
	text := must.Get(os.ReadFile("/bin/echo"))(t)
	path := filepath.Join(t.TempDir(), "echo")
	must.Do(t, os.WriteFile(path, text, 0o755))
	return path
}

// TestRunsWhatWasJudged: a program that is replaced after it was judged does not run in its place.
func TestRunsWhatWasJudged(t *testing.T) {
	path := program(t)
	evil := path + ".evil"
	must.Do(t, os.WriteFile(evil, []byte("#!/bin/sh\necho evil\n"), 0o755))
	replace := func(v trust.Verdict) error { return errors.Join(v.RootOnly(), os.Rename(evil, path)) }
	out, err := Run(t.Context(), Cmd{Argv: []string{path, "good"}, Trust: replace})
	must.Be(t, err == nil && out == "good\n", "printed", out, err)
	out, err = Run(t.Context(), Cmd{Argv: []string{path, "good"}, Trust: trust.Verdict.RootOnly})
	must.Be(t, err == nil && out == "evil\n", "afterwards: printed", out, err)
}

// TestDistrustedProgram: nothing runs that others could have changed, or that is no absolute path.
func TestDistrustedProgram(t *testing.T) {
	path := program(t)
	must.Do(t, os.Chmod(filepath.Dir(path), 0o777))
	out, err := Run(t.Context(), Cmd{Argv: []string{path, "good"}, Trust: trust.Verdict.OneOwner})
	must.Be(t, err != nil && out == "" && strings.Contains(err.Error(), "can be changed by others"),
		"printed", out, err)
	out, err = Run(t.Context(), Cmd{Argv: []string{"echo", "good"}, Trust: trust.Verdict.OneOwner})
	must.Be(t, err != nil, "a bare name printed", out)
}

// TestScriptKeepsItsName: a script finds the files beside it by its own path.
func TestScriptKeepsItsName(t *testing.T) {
	path := program(t) + ".sh"
	must.Do(t, os.WriteFile(path, []byte("#!/bin/sh\necho \"$0\" \"$1\"\n"), 0o755))
	out, err := Run(t.Context(), Cmd{Argv: []string{path, "x"}, Trust: trust.Verdict.RootOnly})
	must.Be(t, err == nil && out == path+" x\n", "printed", out, err)
}

// TestInterpretedProgramKeepsItsName: what binfmt_misc gives to an interpreter is found by it only
// under its own path.
func TestInterpretedProgramKeepsItsName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tool.jar")
	must.Do(t, os.WriteFile(path, []byte("PK\x03\x04"), 0o755))
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	must.Equal(t, byDescriptor(file, path), path, "executed as")
}

// TestPathThatLeadsBack: the path that was judged is executed, not another one that the kernel
// makes of it.
func TestPathThatLeadsBack(t *testing.T) {
	base := filepath.Dir(program(t))
	for dir, text := range map[string]string{"": "good", "other": "evil"} {
		must.Do(t, os.MkdirAll(filepath.Join(base, dir, "dir"), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(base, dir, "hook"),
			[]byte("#!/bin/sh\necho "+text+"\n"), 0o755))
	}
	must.Do(t, os.Symlink("other/dir", filepath.Join(base, "link")))
	out, err := Run(t.Context(), Cmd{Argv: []string{base + "/link/../hook"}, Trust: trust.Verdict.RootOnly})
	must.Be(t, err == nil && out == "good\n", "printed", out, err)
}

// TestExpendable: what a process that is exempt from the OOM killer runs is not exempt.
func TestExpendable(t *testing.T) {
	const own = "/proc/self/oom_score_adj"
	before := must.Get(os.ReadFile(own))(t)
	if err := os.WriteFile(own, []byte("-500"), 0); err != nil {
		t.Skip("only root can exempt a process: ", err)
	}
	defer func() { must.Do(t, os.WriteFile(own, before, 0)) }()
	const untilChanged = `until read n <` + own + ` && [ "$n" = 0 ]; do :; done; echo done`
	out, err := Run(t.Context(), Cmd{Argv: []string{"sh", "-c", untilChanged}})
	must.Equal(t, out, "done\n", err)
}

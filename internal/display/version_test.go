package display

import (
	"os"
	"path/filepath"
	"testing"

	"krund/rig/must"
)

func TestProgram(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, file := range []string{"build/bin/krunctl", "usr/bin/krunctl", "a b/krunctl"} {
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must.Do(t, os.WriteFile(file, nil, 0o755))
	}
	here := must.Get(os.Getwd())(t)
	for _, test := range []struct{ arg0, path, want string }{
		{"build/bin/krund", "/nowhere", "build/bin/krunctl"},
		{"./build/bin/krund", here + "/usr/bin", "./build/bin/krunctl"}, // another one is installed
		{here + "/usr/bin/krund", here + "/usr/bin", "krunctl"},         // as the unit starts it
		{"krund", here + "/usr/bin", "krunctl"},
		{"krund", "/nowhere", "krunctl"},
		{"a b/krund", "/nowhere", "'a b/krunctl'"},
		{"elsewhere/krund", "/nowhere", "krunctl"},
		{"", "/nowhere", "krunctl"},
	} {
		t.Setenv("PATH", test.path)
		must.Equal(t, Program(test.arg0, "krunctl"), test.want, test.arg0, "in PATH", test.path)
	}
}

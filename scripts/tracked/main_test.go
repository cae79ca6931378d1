package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ file, text, want string }{
		"a Go program":     {"krunctl", string(program), "krunctl: "},
		"one that was cut": {"a.out", string(program[:16]), "a.out: "},
		"a Java class":     {"A.class", "\xca\xfe\xba\xbe\x00\x00\x00A", "Java class"},
		"compiled Python":  {"a.pyc", "\xa7\r\r\n", "compiled Python"},
		"a large text":     {"a.csv", strings.Repeat("x", largest+1), "1048577 bytes"},
		"the largest text": {"a.csv", strings.Repeat("x", largest), ""},
		"a short text":     {"a", "MIT", ""},
		"nothing":          {"a", "", ""},
	} {
		file := filepath.Join(t.TempDir(), c.file)
		if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		found, err := run(&out, []string{file, file + ".removed"})
		if err != nil || (found == 1) != (c.want != "") || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: %d, %v: %s", name, found, err, out.String())
		}
	}
}

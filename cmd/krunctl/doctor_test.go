package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/control"
	"krund/internal/sysroot"
)

// captured is the absolute path of the copies of machines: examples are run in
// another folder.
var captured = func() string {
	dir, err := filepath.Abs("../../internal/control/testdata")
	if err != nil {
		panic(err)
	}
	return dir + "/"
}()

// doctorOn runs doctor over a copy of a machine.
func doctorOn(t *testing.T, tree string, args ...string) ran {
	t.Helper()
	if _, err := os.Stat(captured + tree); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	a := &app{
		stdin: strings.NewReader(""), stderr: &stderr, host: "bencher7", fsys: lax(), uid: 1000,
		machine: func(ctx context.Context) *control.Machine { return control.NewMachine(ctx, sysroot.New(captured+tree)) },
	}
	code := runIn(a, append([]string{"doctor"}, args...), &stdout)
	return ran{code, stdout.String(), stderr.String()}
}

func TestDoctor(t *testing.T) {
	trees, err := os.ReadDir(captured)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, tree := range trees {
		if _, err := os.Stat(captured + tree.Name() + "/sys"); err != nil {
			continue
		}
		seen++
		t.Run(tree.Name(), func(t *testing.T) {
			r := doctorOn(t, tree.Name(), "--json")
			var doc doctorJSON
			if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil {
				t.Fatalf("%v\n%s", err, r.text())
			}
			if doc.Format != 1 || len(doc.Findings) < 20 || doc.Fit != (r.code == exitOK) || doc.Proof != nil {
				t.Errorf("exit %d, %+v", r.code, doc)
			}
			text := doctorOn(t, tree.Name())
			for _, f := range doc.Findings {
				if !strings.Contains(text.stdout, f.Name) {
					t.Errorf("the table has no %s:\n%s", f.Name, text.stdout)
				}
			}
		})
	}
	if seen == 0 {
		t.Error("no machine to look at")
	}
}

func TestProveNeedsRoot(t *testing.T) {
	trees, err := os.ReadDir(captured)
	if err != nil {
		t.Fatal(err)
	}
	if r := doctorOn(t, trees[0].Name(), "--prove"); r.code != exitError || !strings.Contains(r.stderr, "only root") {
		t.Error(r.text())
	}
}

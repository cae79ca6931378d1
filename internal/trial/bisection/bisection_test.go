package bisection

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/analysis/sequential"
	"krund/internal/durable"
	"krund/rig/must"
)

func plan() Plan {
	return Plan{Versions: []string{"a", "b", "c"}, Key: "x:y:z", Delta: 0.05, Most: 60, Timeout: "1m",
		Build:    `test $KRUND_REVISION != b && echo $KRUND_REVISION >> $KRUND_OUTPUT/log`,
		Template: "@GOOD@ @CANDIDATE@ @GOOD_BUILD@ @CANDIDATE_BUILD@"}
}

// TestNext: builds happen once, a version that cannot be built is skipped, and the good and the bad
// one must be.
func TestNext(t *testing.T) {
	dir := t.TempDir()
	b := must.Get(Create(durable.OS(), dir, plan()))(t)
	file := must.Get(b.Next(context.Background(), sequential.BisectDecision{Version: 2}, 1))(t)
	text, err := os.ReadFile(file)
	want := "a c " + filepath.Join(dir, "builds", "0000") + " " + filepath.Join(dir, "builds", "0002")
	must.Be(t, err == nil && string(text) == want, text, err)
	b = must.Get(Open(durable.OS(), dir))(t)
	if file, err = b.Next(context.Background(), sequential.BisectDecision{Version: 1},
		2); err != nil || file != "" ||
		!b.Skipped(1) ||
		b.Skipped(2) {
		t.Errorf("%q, %v, skipped %t", file, err, b.Skipped(1))
	}
	text, err = os.ReadFile(filepath.Join(dir, "builds", "0000", "log"))
	must.Be(t, err == nil && string(text) == "a\n", "built", text, err)
	n, err := b.Retry()
	must.Be(t, n == 1 && err == nil && !b.Skipped(1), "retry", n, err)
	lock := must.Get(b.Lock())(t)
	_, err = b.Lock()
	must.Fail(t, err, durable.ErrLocked, "two calls at once")
	must.Do(t, lock.Close())
	p := plan()
	p.Build = "exit 3"
	b = must.Get(Create(durable.OS(), filepath.Join(t.TempDir(), "new"), p))(t)
	if _, err = b.Next(context.Background(), sequential.BisectDecision{Version: 2}, 1); err == nil {
		t.Error("the good version was not built")
	}
	must.Refused(Create(durable.OS(), dir, plan()))(t, "already", "a second plan")
}

func TestCheck(t *testing.T) {
	for name, change := range map[string]func(*Plan){
		"one version":    func(p *Plan) { p.Versions = p.Versions[:1] },
		"twice":          func(p *Plan) { p.Versions[2] = "a" },
		"no error":       func(p *Plan) { p.Delta = 0 },
		"no blocks":      func(p *Plan) { p.Most = 0 },
		"no time":        func(p *Plan) { p.Timeout = "soon" },
		"no placeholder": func(p *Plan) { p.Template = "x" },
	} {
		p := plan()
		change(&p)
		must.Be(t, p.Check() != nil, name, "no error")
	}
}

// TestTemplateOfDocumentation: the template of docs/history.md is complete.
func TestTemplateOfDocumentation(t *testing.T) {
	_, text, _ := strings.Cut(string(must.Get(os.ReadFile("../../../docs/history.md"))(t)), "```\n[experiment]")
	text, _, _ = strings.Cut("[experiment]"+text, "```")
	file := filepath.Join(t.TempDir(), "confirm-a-b.toml")
	made, cfg, err := Confirmation(file, text, "4f2a91c", "2e270321", []string{"bdd.26:C:default-c"}, "host")
	must.Do(t, err)
	must.Be(t, cfg.Slots() == 3*20 && strings.Contains(made, `skip = ["nbody:C:default-c"]`), cfg.Slots(), made)
	_, _, err = Confirmation(file, text, "a", "b", []string{"x:y:z"}, "host")
	must.Be(t, err != nil && strings.Contains(err.Error(), `has the keys "nbody:C:default-c"`), err)
}

package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestPlanDetect: the number of blocks for a change, from an experiment with arms.
func TestPlanDetect(t *testing.T) {
	ab := armsDirectory(t, 1, 1)
	r := krunctl(t, "check", "--plan", "--detect", "2%", "--from", ab)
	if r.code != exitOK || !strings.Contains(r.stdout, "b:C:v") || !strings.Contains(r.stdout,
		"blocks for all keys") {
		t.Error(r.text())
	}
	need := func(change string) int {
		r := krunctl(t, "check", "--plan", "--detect", change, "--from", ab, "--json")
		var n struct {
			Format, Executions int
			Paired             bool
			Keys               []struct{ Measured int }
		}
		if err := json.Unmarshal([]byte(r.stdout), &n); err != nil || n.Format != 1 || !n.Paired ||
			len(n.Keys) != 1 || n.Keys[0].Measured != 10 {
			t.Fatal(err, r.text())
		}
		return n.Executions
	}
	if small, large := need("0.1%"), need("2%"); small <= large || large < 2 {
		t.Errorf("0.1 %% needs %d blocks, 2 %% needs %d", small, large)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{}, "needs the experiment's configuration"},
		{[]string{"--detect", "2%"}, "--detect needs --from"},
		{[]string{"--from", ab}, "--detect must be a percentage"},
		{[]string{"--detect", "0.02", "--from", ab}, "--detect must be a percentage"},
		{[]string{"--detect", "2%", "--from", ab, "x.toml"}, "omit the configuration"},
	} {
		krunctl(t, append([]string{"check", "--plan"}, c.args...)...).says(t, exitUsage, "", c.want, c.args)
	}
}

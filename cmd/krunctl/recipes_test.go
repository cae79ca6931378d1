package main

import (
	"encoding/xml"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestMain makes the test's program krunctl where a recipe calls it.
func TestMain(m *testing.M) {
	if os.Getenv(asKrunctl) != "" {
		main()
		return
	}
	if err := os.Setenv(asKrunctl, "1"); err != nil { // of the processes that tests start
		panic(err)
	}
	m.Run()
}

const asKrunctl = "KRUNCTL_TEST_AS_KRUNCTL"

// part finds the shell commands in the recipes of docs/ci.md: of GitHub, GitLab (one, or several),
// Buildkite and Jenkins.
var part = regexp.MustCompile(
	`(?m)^\s*(?:- run: |script: |- (?:command: )?|sh ')((?:krunctl|buildkite-agent) .*?)'?$`)

// TestRecipes runs the shell commands of each recipe for CI systems against a hub with a machine,
// on which HEAD is slower: the results are there, and the exit status is that of a change.
func TestRecipes(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join("..", "..", "docs", "ci.md")))(t)
	blocks := regexp.MustCompile("(?s)\n(\\w+)[^\n]*:\n\n```(?:yaml|groovy)\n(.*?)```").
		FindAllStringSubmatch(string(text), -1)
	must.Need(t, len(blocks) == 4, len(blocks), "recipes")
	for _, block := range blocks {
		t.Run(block[1], func(t *testing.T) { runRecipe(t, block[2]) })
	}
}

func runRecipe(t *testing.T, text string) {
	h := newHub(t)
	lab := filepath.Dir(repository(t))
	work, bin := filepath.Dir(lab), t.TempDir()
	config := must.Get(os.ReadFile(filepath.Join(lab, "x.toml")))(t)
	self := must.Get(os.Executable())(t)
	agent := "#!/bin/sh\ntest \"$*\" = 'artifact download id .' && test -s id\n"
	for name, text := range map[string]string{
		filepath.Join(work, "bench.toml"):     strings.Replace(string(config), "../src", "src", 1),
		filepath.Join(bin, "krunctl"):         "#!/bin/sh\n" + asKrunctl + "=1 exec " + self + " \"$@\"\n",
		filepath.Join(bin, "buildkite-agent"): agent, // all jobs have the same directory here
	} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o755))
	}
	env := append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "KRUNHUB_URL="+h.url,
		"KRUNHUB_TOKEN="+h.users["ann"], "GITHUB_STEP_SUMMARY="+filepath.Join(work, "summary"))
	shell := func(command string) (int, string) {
		c := exec.CommandContext(t.Context(), "sh", "-e", "-c", command)
		c.Dir, c.Env = work, env
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		must.Need(t, err == nil || errors.As(err, &exit), err)
		return c.ProcessState.ExitCode(), string(out)
	}
	code, out := shell("git update-ref refs/remotes/origin/main v1")
	must.Need(t, code == 0, out)
	var codes []int
	for _, match := range part.FindAllStringSubmatch(text, -1) {
		command := strings.ReplaceAll(match[1], "$$", "$") // as Buildkite does
		code, out := shell(command)
		codes = append(codes, code)
		t.Logf("%d: %s", code, command)
		if strings.Contains(command, " submit ") {
			if code, out := shell(`krunctl compare "$(cat id)"`); code != exitWaiting {
				t.Fatalf("before the machine: %d %s", code, out)
			}
			n := h.idle(t, "lab1")
			must.Need(t, n != nil, "nothing was submitted", out)
			h.run(t, "lab1", n, secondSlower)
		}
	}
	must.Be(t, len(codes) == 3 && codes[0] == exitOK && codes[1] == exitOK && codes[2] == exitError,
		"exit codes", codes, "want 0, 0, 1")
	if summary, err := os.ReadFile(filepath.Join(work, "summary")); err == nil {
		must.Contain(t, string(summary), "| ▲ worse | b:Python:v | 1.003", "summary")
	}
	if junit, err := os.ReadFile(filepath.Join(work, "verdict.xml")); err == nil {
		var suite struct {
			Failures int `xml:"failures,attr"`
		}
		err := xml.Unmarshal(junit, &suite)
		must.Be(t, err == nil && suite.Failures == 1, err, junit)
	}
}

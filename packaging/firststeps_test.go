package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestFirstSteps runs the commands of docs/first-steps.md in order, as a person would, with fewer
// executions: all succeed, and the second version is compared with the first.
func TestFirstSteps(t *testing.T) {
	built(t)
	page := string(must.Get(os.ReadFile("../docs/first-steps.md"))(t))
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(page, -1)
	must.Need(t, len(blocks) == 5, len(blocks), "blocks of commands")
	script := ""
	for _, block := range blocks {
		script += block[1]
	}
	run := regexp.MustCompile(`(?m)^krunctl run`)
	must.Equal(t, len(run.FindAllString(script, -1)), 3)
	script = run.ReplaceAllString(script, "sed -i 's/^executions = 5/executions = 2/' *.toml; $0")
	// What is found in two blocks on a busy machine is chance: only wrong usage is a failure.
	const compare = "krunctl compare faster.krun"
	must.Contain(t, script, compare)
	script = strings.Replace(script, compare, compare+" || [ $? != 2 ]", 1)
	c := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
	bin := must.Get(filepath.Abs("../build/bin"))(t)
	c.Dir, c.Env = t.TempDir(), append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	must.Do(t, err, string(out))
	must.Be(t, strings.Contains(string(out), "faster.krun@base → faster.krun@new"), string(out))
	must.Get(os.Stat(filepath.Join(c.Dir, "first", "faster.report", "index.html")))(t)
}

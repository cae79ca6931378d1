package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/hub/jobs"
	"krund/internal/hub/server"
	"krund/rig/must"
)

// TestDocsExamplesParse parses the files hub.toml and login.toml in the docs.
func TestDocsExamplesParse(t *testing.T) {
	block, parsed := regexp.MustCompile("(?s)```toml\n(.*?)```"), 0
	for _, page := range []string{"hub.md", "hub-schedule.md", "hub-security.md"} {
		text := must.Get(os.ReadFile(filepath.Join("..", "..", "docs", page)))(t)
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			parsed++
			if strings.Contains(m[1], "[experiment]") {
				must.Get(config.Parse("/vm.toml", []byte(m[1]), "lab", doctor.Settings()))(t)
				continue
			}
			if strings.Contains(m[1], "[oidc]") {
				file := filepath.Join(t.TempDir(), "login.toml")
				must.Do(t, os.WriteFile(file, []byte(m[1]), 0o600))
				must.Get(server.ReadLogin(durable.OS(), file))(t)
				continue
			}
			if strings.HasPrefix(m[1], "cycle") { // an alternative
				m[1] = "[[power]]\nmachines = \"*\"\n" + m[1]
			}
			must.Get(jobs.ParseConfig(m[1]))(t, m[1])
		}
	}
	must.Be(t, parsed >= 4, parsed, "files")
}

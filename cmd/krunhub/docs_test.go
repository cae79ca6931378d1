package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/hub/jobs"
	"krund/internal/hub/server"
	"krund/rig/must"
)

// TestLinked lists what the other programs link: krund only the three modules that DESIGN permits
// (go-systemd needs dbus), krunctl nothing of the hub but its messages and client.
func TestLinked(t *testing.T) {
	for program, permitted := range map[string][]string{
		"krund": {"golang.org/x/sys", "github.com/coreos/go-systemd/", "github.com/BurntSushi/toml",
			"github.com/godbus/dbus/"},
		"krunctl": nil,
	} {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}",
			"krund/cmd/"+program).Output()
		must.Need(t, err == nil, "list what", program, "links", err)
		list := strings.Fields(string(out))
		must.Need(t, len(list) >= 10, program, "links only", list)
		for _, path := range list {
			part, hub := strings.CutPrefix(path, "krund/internal/hub/")
			switch {
			case hub && !slices.Contains(partsOf[program], part):
				t.Errorf("%s links %s", program, path)
			case strings.Contains(path, "riverqueue") || strings.Contains(path, "sqlite") ||
				strings.Contains(path, "jackc"):
				t.Errorf("%s links %s", program, path)
			case program == "krund" && strings.HasPrefix(path, "krund/internal/analysis/"):
				t.Errorf("krund links %s: it never analyzes", path)
			case program == "krund" && !strings.HasPrefix(path, "krund/") &&
				!slices.ContainsFunc(permitted, func(s string) bool { return strings.HasPrefix(path, s) }):
				t.Errorf("krund links %s", path)
			}
		}
	}
}

// partsOf are the parts of the hub that a program links.
var partsOf = map[string][]string{
	"krund":   {"joined"},
	"krunctl": {"api", "joined", "given", "ship", "submit"},
}

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

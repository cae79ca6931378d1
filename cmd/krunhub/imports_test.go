package main

import (
	"os/exec"
	"strings"
	"testing"

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
			hub := strings.HasPrefix(path, "krund/internal/hub/")
			switch {
			case program == "krund" && hub, hub && path != "krund/internal/hub/api":
				t.Errorf("%s links %s", program, path)
			case strings.Contains(path, "riverqueue") || strings.Contains(path, "sqlite") ||
				strings.Contains(path, "jackc"):
				t.Errorf("%s links %s", program, path)
			case program == "krund" && !strings.HasPrefix(path, "krund/") && !begins(path, permitted):
				t.Errorf("krund links %s", path)
			}
		}
	}
}

func begins(path string, with []string) bool {
	for _, prefix := range with {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

package joined

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/boot/doctor"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/rig/must"
)

const text = `[experiment]
reboot = "none"
[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
b = { parameter = 1 }
`

func parse(t *testing.T, path, text string) *config.Config {
	t.Helper()
	cfg := must.Get(config.Parse(path, []byte(text), "lab1", doctor.Settings()))(t)
	return cfg
}

// TestRefused: the owner of a machine allows what root would do for another user.
func TestRefused(t *testing.T) {
	for lines, want := range map[string]string{
		"":                                            "",
		"[hooks]\nbefore = [[\"/bin/true\"]]":         AllowHooks,
		"[hooks]\nafter = [[\"true\"]]":               AllowHooks,
		"[notify]\nmail = [\"a@example.org\"]":        AllowNotify,
		"[notify]\ncommand = [\"true\"]":              AllowNotify,
		"[notify]\nwebhook = \"http://example.org/\"": AllowNotify,
		"[boot]\nentry = \"rescue\"":                  AllowBoot,
		"[controls]\nservices = { policy = \"apply\", stop = [\"ssh\"] }": AllowServices,
		"[controls]\nnetwork = { policy = \"apply\", down = [\"eth0\"] }": AllowNetwork,
		// sections of this machine count, too
		"[machines.\"lab*\".hooks]\nbefore = [[\"/bin/true\"]]": AllowHooks,
		"[machines.lab2.hooks]\nbefore = [[\"/bin/true\"]]":     "",
	} {
		cfg := parse(t, "/x.toml", text+lines+"\n")
		err := Refused(cfg, nil)
		must.Be(t, (err == nil) == (want == "") && (err == nil ||
			strings.Contains(err.Error(), fmt.Sprintf("(%q)", want))), lines, err, want)
		must.Do(t, Refused(cfg, []string{want}), want, "is allowed")
	}
	caller := strings.Replace(text, "[experiment]", "[experiment]\naccount = \"caller\"", 1)
	err := Refused(parse(t, "/x.toml", caller), nil)
	must.Refuse(t, err, AllowCaller, "account = \"caller\"")
}

// TestBound: an experiment of the hub has no limit of time that is longer than the owner's.
func TestBound(t *testing.T) {
	const long = "[limits]\ntimeout = \"3h\"\n[temperature]\ntimeout = \"4h\"\n[hooks]\ntimeout = \"5h\"\n"
	for _, c := range []struct {
		most, more             string
		timeout, gate, command time.Duration
		by                     bool
		want                   string // in the error
	}{
		{"", "", 2 * time.Hour, time.Hour, time.Minute, true, ""},
		{"", long, 2 * time.Hour, 2 * time.Hour, 2 * time.Hour, true, ""},
		{"10m", "[limits]\ntimeout = \"1m\"\n", time.Minute, 10 * time.Minute, time.Minute, false, ""},
		{"none", long, 3 * time.Hour, 4 * time.Hour, 5 * time.Hour, false, ""},
		{"none", "", 0, time.Hour, time.Minute, false, ""},
		{"1d", "[wait]\nstartup = \"1d1h\"\n", 0, 0, 0, false, "wait.startup = 25h0m0s: at most 24h0m0s"},
		{"", "[wait]\nsync = \"3h\"\n", 0, 0, 0, false, "wait.sync = 3h0m0s"},
		{"", "[wait]\nsettle = \"3h\"\nstartup = \"4h\"\n", 0, 0, 0, false, "wait.settle = 3h0m0s"},
		{"", "[temperature]\nbase_wait = \"3h\"\n", 0, 0, 0, false, "temperature.base_wait = 3h0m0s"},
		{"", "[hooks]\nbefore = [[\"true\"]]\n", 0, 0, 0, false, `[hooks] ("hooks")`},
		{"x", "", 0, 0, 0, false, `max_execution = "x" is not a duration`},
	} {
		cfg := parse(t, "/x.toml", text+c.more)
		bound, err := Hub{MaxExecution: c.most}.Bound(cfg)
		if c.want != "" {
			must.Be(t, err != nil && bound == nil && strings.Contains(err.Error(), c.want), c.more, err,
				c.want)
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.more, err)
			continue
		}
		l := bound.Limits
		must.Be(t, l.Timeout == c.timeout && (l.By != "") == c.by && bound.Temperature.Timeout == c.gate &&
			bound.Hooks.Timeout == c.command, c.most, c.more, "timeout", l.Timeout, "by", l.By, "temperature",
			bound.Temperature.Timeout, "hooks", bound.Hooks.Timeout)
		_, changes, err := bound.AsBegun([]byte(cfg.Text))
		must.Be(t, err == nil && len(changes) == 0, c.more, "it does not go on", changes, err)
	}
}

func TestIsGiven(t *testing.T) {
	for path, want := range map[string]bool{"/var/lib/krund/hub/id/x.toml": true,
		"/var/lib/krund/hub.toml": false, "/var/lib/krund/hubs/x.toml": false, "/etc/x.toml": false} {
		must.Be(t, IsGiven(path, StateDirectory) == want, path, want)
	}
}

// TestStored: what join writes is read again, for its owner only.
func TestStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etc/hub.toml")
	want := Hub{URL: "http://hub:1", Token: "krun_x", Deadline: "10s", Allow: []string{AllowHooks},
		MaxExecution: "1d"}
	must.Do(t, want.Store(durable.OS(), path))
	got, err := Load(durable.OS(), path)
	must.Be(t, err == nil && got.URL == want.URL && got.Token == want.Token &&
		got.Deadline == want.Deadline && len(got.Allow) == 1 && got.MaxExecution == want.MaxExecution, got,
		err)
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	text := must.Get(os.ReadFile(path))(t)
	wrong := strings.Replace(string(text), `"1d"`, `"soon"`, 1)
	must.Do(t, os.WriteFile(path, []byte(wrong), 0o600))
	must.Refused(Load(durable.OS(), path))(t, "max_execution")
}

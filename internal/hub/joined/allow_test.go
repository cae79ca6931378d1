package joined

import (
	"fmt"
	"strings"
	"testing"

	"krund/internal/boot/doctor"
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

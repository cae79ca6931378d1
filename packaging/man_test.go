package packaging

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestManualOfKrund: krund(8) has every command, flag and exit status of `krund help`, and no flag
// that does not exist.
func TestManualOfKrund(t *testing.T) {
	built(t)
	out := must.Get(exec.CommandContext(t.Context(), "../build/bin/krund", "help").Output())(t)
	text := must.Get(os.ReadFile("man/krund.8"))(t)
	help, manual := string(out), string(text)
	compare := func(what, inHelp, inManual string) {
		t.Helper()
		found := regexp.MustCompile(inHelp).FindAllStringSubmatch(help, -1)
		must.Be(t, len(found) != 0, "krund help", what)
		for _, m := range found {
			must.Contain(t, manual, strings.ReplaceAll(inManual, "NAME", m[1]), what, m[1],
				"is not in krund(8")
		}
	}
	compare("command", `(?m)^  krund (\w+)`, "\n.It Cm NAME\n")
	compare("flag", `(?m)^  --(\w+)`, "\n.It Fl -NAME")
	compare("exit status", `(?m)^  (\d+) `, "\n.It NAME\n")
	for _, m := range regexp.MustCompile(`Fl -(\w+)`).FindAllStringSubmatch(manual, -1) {
		if m[1] != "stop" && !strings.Contains(help, "--"+m[1]) { // --stop is krunctl's
			t.Errorf("--%s of krund(8) is not in krund help", m[1])
		}
	}
}

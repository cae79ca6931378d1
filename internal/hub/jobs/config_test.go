package jobs

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"krund/rig/must"
)

func TestConfig(t *testing.T) {
	c := must.Get(ParseConfig(`[notify]
mail = ["lab@example.org"]
[[power]]
machines = "lab1"
cycle = ["/usr/bin/ipmitool", "-H", "{machine}-bmc", "chassis", "power", "cycle"]
times = 3
timeout = "90s"
[[power]]
machines = "lab*"
cycle = ["/usr/bin/pduclient", "--hostname={machine}"]
`))(t)
	one, _ := c.power("lab1")
	other, _ := c.power("lab2")
	want := []string{"/usr/bin/ipmitool", "-H", "lab1-bmc", "chassis", "power", "cycle"}
	must.Be(t, one.Times == 3 && one.Timeout == 90*time.Second && reflect.DeepEqual(one.argv("lab1"), want),
		one)
	must.Be(t, other.Times == 2 && other.Timeout == time.Minute && other.argv("lab2")[1] == "--hostname=lab2",
		other)
	_, ok := c.power("desk")
	must.Be(t, !ok, "a machine without power control has one")
	for text, want := range map[string]string{
		"[[power]]\ncycle = [\"/x\"]":                                       "no pattern",
		"[[power]]\nmachines = \"[\"\ncycle = [\"/x\"]":                     "no pattern",
		"[[power]]\nmachines = \"*\"":                                       "cycle is no command",
		"[[power]]\nmachines = \"*\"\ncycle = [\"ipmitool\"]":               "absolute path",
		"[[power]]\nmachines = \"*\"\ncycle = [\"/x\"]\ntimes = 11":         "times = 11",
		"[[power]]\nmachines = \"*\"\ncycle = [\"/x\"]\ntimeout = \"1d\"":   "timeout",
		"[[power]]\nmachines = \"*\"\ncycle = [\"/x\"]\ntimeout = \"1h\"":   "timeout",
		"[power]\nmachines = \"*\"":                                         "power",
		"[[power]]\nmachines = \"*\"\ncycle = [\"/x\"]\nshell = \"reboot\"": "there is no key power.shell",
		"[notify]\nmail = \"lab@example.org\"":                              "mail",
	} {
		must.Refused(ParseConfig(text))(t, want, text)
	}
}

// TestProjectConfig: schedules of two projects may have the same name, and each is one history.
func TestProjectConfig(t *testing.T) {
	const schedule = `repository = "/r"
branch = "main"
build = ["/b"]
experiment = "/e.toml"
to = "lab"
`
	text := "[[schedule]]\nname = \"vm\"\n" + schedule + "[[schedule]]\nname = \"vm\"\nproject = \"jit\"\n" +
		schedule + "[project.jit]\nmail = [\"jit@example.org\"]\n"
	c := must.Get(ParseConfig(text))(t)
	must.Be(t, c.Schedules[0].Name == "vm" && c.Schedules[1].Name == "jit/vm" &&
		c.Schedules[1].Project == "jit" && c.Projects["jit"].Sendmail != "", c)
	must.Refused(ParseConfig(text+"[project.default]\n"))(t, "[notify] is for the project default")
	must.Refused(ParseConfig(strings.ReplaceAll(text, `"jit"`, `"../x"`)))(t, "project: write its name")
	must.Refused(ParseConfig(strings.ReplaceAll(text, `project = "jit"`, "")))(t, "two schedules")
}

func FuzzConfig(f *testing.F) {
	f.Add("[[power]]\nmachines = \"*\"\ncycle = [\"/x\"]\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConfig(text)
		for _, p := range c.Power {
			must.Be(t, err != nil || p.check() == nil, p)
		}
	})
}

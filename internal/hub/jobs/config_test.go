package jobs

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"
)

func TestConfig(t *testing.T) {
	c, err := ParseConfig(`[notify]
mail = ["lab@example.org"]
[[power]]
machines = "lab1"
cycle = ["/usr/bin/ipmitool", "-H", "{machine}-bmc", "chassis", "power", "cycle"]
times = 3
timeout = "90s"
[[power]]
machines = "lab*"
cycle = ["/usr/bin/pduclient", "--hostname={machine}"]
`)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := c.power("lab1")
	other, _ := c.power("lab2")
	if want := []string{"/usr/bin/ipmitool", "-H", "lab1-bmc", "chassis", "power", "cycle"}; one.Times != 3 ||
		one.Timeout != 90*time.Second || !reflect.DeepEqual(one.argv("lab1"), want) {
		t.Errorf("%+v", one)
	}
	if other.Times != 2 || other.Timeout != time.Minute || other.argv("lab2")[1] != "--hostname=lab2" {
		t.Errorf("%+v", other)
	}
	if _, ok := c.power("desk"); ok {
		t.Error("a machine without power control has one")
	}
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
		if _, err := ParseConfig(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestPower: the command is run without a shell, with the machine's name, and its failure is an
// error, so that River tries it again.
func TestPower(t *testing.T) {
	dir := t.TempDir()
	script, trace := filepath.Join(dir, "cycle"), filepath.Join(dir, "trace")
	text := "#!/bin/sh\necho \"$@\" >>" + trace + "\ntest \"$1\" != lab2\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	w := &powerWorker{log: slog.New(slog.DiscardHandler), config: Config{Power: []Power{{Machines: "lab*",
		Cycle: []string{script, "{machine}", "$(reboot); `reboot`"}, Timeout: time.Minute}}}}
	work := func(machine string) error {
		return w.Work(context.Background(), &river.Job[powerArgs]{Args: powerArgs{Machine: machine}})
	}
	if err := work("lab1"); err != nil {
		t.Error(err)
	}
	if err := work("lab2"); err == nil {
		t.Error("a failure is not reported")
	}
	if err := work("desk"); err != nil {
		t.Errorf("without power control: %v", err)
	}
	got, _ := os.ReadFile(trace)
	if want := "lab1 $(reboot); `reboot`\nlab2 $(reboot); `reboot`\n"; string(got) != want {
		t.Errorf("ran %q, want %q", got, want)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add("[[power]]\nmachines = \"*\"\ncycle = [\"/x\"]\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConfig(text)
		for _, p := range c.Power {
			if err == nil && p.check() != nil {
				t.Errorf("%+v", p)
			}
		}
	})
}

package config_test

import (
	"testing"
	"time"

	"krund/internal/experiment/config"
	"krund/rig/must"
)

// TestDefaultWaits: without reboots krund waits only as long as the file says.
func TestDefaultWaits(t *testing.T) {
	const rest = `
[vms.C]
runner = "c"
variants = ["c"]
[variants.c]
entry = "bench.so"
[benchmarks]
b = { parameter = 1 }
`
	study := []time.Duration{3 * time.Minute, 30 * time.Second, time.Minute, 10 * time.Second}
	for _, test := range []struct {
		name, text, mode string
		want             []time.Duration
	}{
		{"with reboots", "", "", study},
		{"without", "[experiment]\nreboot = \"none\"", "", []time.Duration{0, 0, 0, 0}},
		{"by the flag", "", config.RebootNone, []time.Duration{0, 0, 0, 0}},
		{"with reboots by the flag", "[experiment]\nreboot = \"none\"", config.RebootHardware, study},
		{"written", "[experiment]\nreboot = \"none\"\n[wait]\nsync = \"5s\"\n[temperature]\n" +
			"base_wait = \"7s\"", "",
			[]time.Duration{0, 5 * time.Second, 7 * time.Second, 0}},
		{"the usual limit, written", "[wait]\nstartup = \"3m\"", "", study},
		{"a short wait", "[wait]\nstartup = \"1s\"", "",
			[]time.Duration{time.Second, 30 * time.Second, time.Minute, 0}},
		{"off", "[wait]\nsettle = \"0s\"", "",
			[]time.Duration{3 * time.Minute, 30 * time.Second, time.Minute, 0}},
		{"a limit", "[experiment]\nreboot = \"none\"\n[wait]\nsettle = \"10s\"", "",
			[]time.Duration{3 * time.Minute, 0, 0, 10 * time.Second}},
		{"of this machine", "[machines.\"h*\".experiment]\nreboot = \"none\"", "",
			[]time.Duration{0, 0, 0, 0}},
		{"written for this machine", "[experiment]\nreboot = \"none\"\n[machines.host.wait]\n" +
			"startup = \"1s\"", "",
			[]time.Duration{time.Second, 0, 0, 0}},
	} {
		c := must.Get(config.Parse("x.toml", []byte(test.text+rest), "host", nil))(t, test.name)
		if test.mode != "" {
			c = c.WithReboot(test.mode)
		}
		for i, got := range []time.Duration{c.Wait.Startup, c.Wait.Sync, c.Temperature.BaseWait,
			c.Wait.Settle} {
			must.Equal(t, got, test.want[i], test.name, "wait")
		}
	}
}

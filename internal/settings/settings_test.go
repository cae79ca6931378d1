package settings_test

import (
	"testing"

	"krund/internal/config"
	"krund/internal/control"
	"krund/internal/probe"
	"krund/internal/setting"
	"krund/internal/settings"
	"krund/internal/sysroot"
)

const text = `[experiment]
reboot = "none"
[vms.C]
runner = "c"
variants = ["default-c"]
[variants.default-c]
entry = "bench.so"
[benchmarks]
nbody = { parameter = 1 }
`

func parse(t *testing.T, more string) *config.Config {
	t.Helper()
	cfg, err := config.Parse("/x/x.toml", []byte(text+more), "host")
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestDefaultsAreTheStudys holds the two tables of defaults together: the configuration's, which users see, and the controls' own.
func TestDefaultsAreTheStudys(t *testing.T) {
	cfg := parse(t, "")
	want := control.Defaults()
	want.Heap = cfg.Limits.Heap
	got := settings.Controls(cfg, false)
	m := control.NewMachine(t.Context(), sysroot.New(t.TempDir()))
	a, b := control.CheckAll(t.Context(), m, got), control.CheckAll(t.Context(), m, want)
	if len(a) != len(b) || len(a) == 0 {
		t.Fatalf("%d findings, want %d", len(a), len(b))
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Policy != b[i].Policy || a[i].Wanted != b[i].Wanted {
			t.Errorf("configuration says %s %s %q, the control %s %s %q",
				a[i].Name, a[i].Policy, a[i].Wanted, b[i].Name, b[i].Policy, b[i].Wanted)
		}
	}
	if p := settings.Probes(cfg, false); p.Temperature != probe.Defaults().Temperature || p.KernelLog != probe.Defaults().KernelLog {
		t.Errorf("probes %+v, want %+v", p, probe.Defaults())
	}
}

func TestRelaxedDemandsNothingThatIsNotStated(t *testing.T) {
	cfg := parse(t, "[controls]\naslr = \"require\"\n")
	s := settings.Controls(cfg, true)
	if s.ASLR.Policy != setting.Require || s.Turbo.Policy != setting.Warn || s.Swap.Policy != setting.Off {
		t.Errorf("aslr %s, turbo %s, swap %s; want require, warn, off", s.ASLR.Policy, s.Turbo.Policy, s.Swap.Policy)
	}
}

package control

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/command"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// openbsd returns a machine whose programs are those of testdata/openbsd, with the given state.
func openbsd(t *testing.T, state map[string]string) *Machine {
	t.Helper()
	dir := tempDir(t)
	programs := filepath.Join(dir, "programs")
	must.Do(t, os.CopyFS(programs, os.DirFS("testdata/openbsd")))
	for _, sub := range []string{filepath.Join(programs, "state"), filepath.Join(dir, "root", "etc")} {
		must.Do(t, os.MkdirAll(sub, 0o755))
	}
	for name, text := range state {
		must.Do(t, os.WriteFile(filepath.Join(programs, "state", name), []byte(text+"\n"), 0o644))
	}
	commands := shellPrograms{command.System{Dirs: []string{programs, "/usr/bin", "/bin"}}}
	return &Machine{
		Host: host.Host{Root: sysroot.New(filepath.Join(dir, "root")), Commands: commands},
		Boot: boot, Units: Rcctl{commands}, Links: Ifconfig{commands},
	}
}

// shellPrograms are programs whose directory the tests can find again.
type shellPrograms struct{ command.System }

// stateOf returns all state files.
func stateOf(t *testing.T, m *Machine) map[string]string {
	t.Helper()
	return snapshot(t, filepath.Join(m.Commands.(shellPrograms).Dirs[0], "state"))
}

func TestAPM(t *testing.T) {
	tests := []struct {
		name   string
		state  map[string]string
		status setting.Status
		found  string
		detail string
		after  string // policy and level when applied
	}{
		{"6.x with apmd", map[string]string{"hw.perfpolicy": "manual", "hw.setperf": "0", "apmd": ""},
			setting.StatusSet, "manual 0", "apmd runs", "high 100"},
		{"6.x without apmd", map[string]string{"hw.perfpolicy": "manual", "hw.setperf": "50"},
			setting.StatusSet, "manual 50", "is not running", "manual 100"},
		{"7.x: automatic, and at full speed only while on mains",
			map[string]string{"hw.perfpolicy": "auto", "hw.setperf": "100"}, setting.StatusSet, "auto 100",
			"is not running", "manual 100"},
		{"7.x with apmd -A", map[string]string{"hw.perfpolicy": "auto", "hw.setperf": "0", "apmd": "-A"},
			setting.StatusSet, "auto 0", "apmd runs with -A", "high 100"},
		{"without policies", map[string]string{"hw.setperf": "0"}, setting.StatusSet, "0", "", "100"},
		{"as wanted", map[string]string{"hw.perfpolicy": "high", "hw.setperf": "100"}, setting.StatusOK,
			"high 100", "", ""},
		{"mains and battery apart, on mains",
			map[string]string{"hw.perfpolicy": "high", "hw.setperf": "100", "apmd": ""}, setting.StatusOK,
			"high 100", "apmd runs", ""},
		{"no frequency control", map[string]string{}, setting.StatusCannot, "no hw.setperf", "", ""},
	}
	for _, tt := range tests {
		m := openbsd(t, tt.state)
		before := stateOf(t, m)
		c := required(apm)
		f, restore, err := c.Apply(t.Context(), m, openJournal(t, m))
		must.Be(t, err == nil && f.Status == tt.status && f.Found == tt.found &&
			strings.Contains(f.Detail, tt.detail), tt.name, f, err)
		if tt.after != "" {
			got, err := readPerfState(t.Context(), m.Commands)
			must.Be(t, err == nil && got.String() == tt.after, tt.name, got, err, "want", tt.after)
		}
		must.Do(t, restore(t.Context()), tt.name, "restore")
		after := stateOf(t, m)
		if strings.HasPrefix(tt.found, "auto") {
			delete(before, "/hw.setperf") // the level is the system's own business again
			delete(after, "/hw.setperf")
		}
		sameTree(t, after, before)
	}
}

func TestMalloc(t *testing.T) {
	c := required(malloc, "flags", "cfgrux")
	old := openbsd(t, nil) // 6.4 and before
	f := c.Check(t.Context(), old)
	must.Equal(t, f.Status, setting.StatusOK, "6.x without malloc.conf", f)
	must.Do(t, os.Symlink("S", old.Root.Path("/etc/malloc.conf")))
	if f := c.Check(t.Context(), old); f.Status != setting.StatusCannot ||
		f.Found != "/etc/malloc.conf -> S" || f.Fix != "rm /etc/malloc.conf" {
		t.Errorf("6.x with malloc.conf: %+v", f)
	}
	m := openbsd(t, map[string]string{"vm.malloc_conf": ""})
	f = c.Check(t.Context(), m)
	must.Equal(t, f.Status, setting.StatusOK, "7.x without options", f)
	m = openbsd(t, map[string]string{"vm.malloc_conf": "S>>"}) // and a larger cache
	before := stateOf(t, m)
	f, restore, err := c.Apply(t.Context(), m, openJournal(t, m))
	must.Need(t, err == nil && f.Status == setting.StatusSet, "7.x with options", f, err)
	must.Do(t, restore(t.Context()))
	sameTree(t, stateOf(t, m), before)
	must.Equal(t, mallocEnv(demand(malloc, setting.Require, "flags", "cfgrux")), "MALLOC_OPTIONS=cfgrux",
		"environment")
	must.Equal(t, mallocEnv(demand(malloc, setting.Off, "flags", "cfgrux")), "",
		"environment with the control off")
}

func TestRcctlAndIfconfig(t *testing.T) {
	m := openbsd(t, map[string]string{"started": "apmd\ncron\nsmtpd",
		"em0": "8843<UP,BROADCAST,RUNNING,SIMPLEX,MULTICAST>"})
	before := stateOf(t, m)
	j := openJournal(t, m)
	var restores []Undo
	for _, c := range []Control{
		required(services, "stop", []string{"cron", "smtpd", "ntpd"}),
		required(network, "down", []string{"*"}),
	} {
		f, restore, err := c.Apply(t.Context(), m, j)
		must.Need(t, err == nil && f.Status == setting.StatusSet, f, err)
		restores = append(restores, restore)
	}
	after := stateOf(t, m)
	must.Be(t, after["/started"] == "apmd\n" && !strings.Contains(after["/em0"], "UP"), "started",
		after["/started"], "em0", after["/em0"])
	for _, restore := range restores {
		must.Do(t, restore(t.Context()))
	}
	sameTree(t, stateOf(t, m), before)
}

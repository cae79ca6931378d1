package boot

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/control"
	"krund/internal/durable/crashfs"
	"krund/internal/execution/account"
	"krund/internal/experiment/config"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// fakeGuard counts the messages that it gets.
type fakeGuard struct {
	started, released, left, restarting int
	refuse                              error
}

func (g *fakeGuard) start(context.Context) (Guard, error) {
	if g.refuse != nil {
		return (*fakeGuard)(nil), g.refuse // as guard.Start returns it: not nil as a Guard
	}
	g.started++
	return g, nil
}

func (g *fakeGuard) Dismiss() error  { g.released++; return nil }
func (g *fakeGuard) HandOver() error { g.left++; return nil }

func (g *fakeGuard) AnnounceRestart() error { g.restarting++; return nil }

// fakeAccounts is a machine's user database with room for one account.
type fakeAccounts struct{ there bool }

func (f *fakeAccounts) Name() string                { return "krun" }
func (f *fakeAccounts) Exists() (bool, bool, error) { return f.there, f.there, nil }
func (f *fakeAccounts) Remove(context.Context, bool) (bool, error) {
	was := f.there
	f.there = false
	return was, nil
}

// guarded is a machine with a guard and one setting to apply, or none.
func guarded(t *testing.T, controls string) (*LabMachine, *fakeGuard, func(string) string, string) {
	t.Helper()
	root, read := kernel(t)
	cfg := labConfig(t, "[controls]\n"+controls)
	g := &fakeGuard{}
	return &LabMachine{
		Control: control.NewMachine(t.Context(), root), Guard: g.start, Settings: doctor.Of(cfg,
			config.RebootNone).Control,
		FS:      crashfs.New("/x"),
		Journal: "/x/journal", Root: true, Clock: sysroot.RealClock{}, Log: slog.New(slog.DiscardHandler),
	}, g, read, root.Path("/proc/sys/kernel/randomize_va_space")
}

func TestGuardStandsBeforeTheFirstChange(t *testing.T) {
	m, g, read, _ := guarded(t, `aslr = "require"`)
	start := m.Guard
	m.Guard = func(ctx context.Context) (Guard, error) {
		must.Equal(t, read("proc/sys/kernel/randomize_va_space"), "0",
			"the guard starts after the machine was changed")
		return start(ctx)
	}
	applied, err := m.Apply(t.Context())
	must.Need(t, err == nil && g.started == 1 && g.released+g.left == 0, err, "guard", g)
	err = m.Restore(t.Context(), applied)
	must.Be(t, err == nil && g.released == 1 && g.left == 0, err, "guard", g)
}

// TestNoGuardForNothing: an experiment that changes nothing, as on a laptop, starts no guard.
func TestNoGuardForNothing(t *testing.T) {
	m, g, _, _ := guarded(t, `aslr = "warn"`)
	applied := must.Get(m.Apply(t.Context()))(t)
	err := m.Restore(t.Context(), applied)
	must.Be(t, err == nil && *g == (fakeGuard{}), err, "guard", g)
}

func TestWithoutAGuardNothingIsChanged(t *testing.T) {
	m, g, read, _ := guarded(t, `aslr = "require"`)
	g.refuse = errors.New("no more processes")
	applied, err := m.Apply(t.Context())
	must.Refuse(t, err, "no more processes", "error")
	must.Equal(t, read("proc/sys/kernel/randomize_va_space"), "0", "changed nevertheless")
	must.Do(t, m.Restore(t.Context(), applied))
}

// TestGuardStaysWhenRestoringFails: the guard retries what krund could not restore.
func TestGuardStaysWhenRestoringFails(t *testing.T) {
	m, g, _, file := guarded(t, `aslr = "require"`)
	applied := must.Get(m.Apply(t.Context()))(t)
	must.Do(t, errors.Join(os.Remove(file), os.Mkdir(file, 0o755)))
	err := m.Restore(t.Context(), applied)
	must.Be(t, err != nil && g.left == 1 && g.released == 0, err, "guard", g)
}

func TestAccountComesAndGoes(t *testing.T) {
	for _, before := range []bool{false, true} {
		m, g, _, _ := guarded(t, "")
		accounts := &fakeAccounts{there: before}
		m.Control.Accounts = accounts
		m.MakeAccount = func(context.Context) (account.Account, []string, error) {
			must.Be(t, before || g.started == 1, "the account is created without a guard")
			accounts.there = true
			return account.Account{Name: "krun"}, []string{"a remark"}, nil
		}
		applied := must.Get(m.Apply(t.Context()))(t)
		a, remarks, err := m.Account(t.Context(), applied)
		must.Be(t, err == nil && a.Name == "krun" && len(remarks) == 1, a, remarks, err)
		if err := m.Restore(t.Context(), applied); err != nil || !accounts.there {
			t.Errorf("%v; account %t, but further executions need it", err, accounts.there)
		}
		if err := m.RestoreAll(t.Context()); err != nil || accounts.there != before {
			t.Errorf("%v; an account before %t, now %t", err, before, accounts.there)
		}
	}
}

func TestRestoreLeftover(t *testing.T) {
	m, _, read, file := guarded(t, `aslr = "require"`)
	var said strings.Builder
	m.Log = slog.New(slog.NewTextHandler(&said, nil))
	err := m.RestoreLeftover(t.Context())
	must.Be(t, err == nil && said.Len() <= 0, "without a journal", err, &said)
	if _, err := m.Apply(t.Context()); err != nil { // and then krund is killed
		t.Fatal(err)
	}
	if err := m.RestoreLeftover(t.Context()); err != nil ||
		read("proc/sys/kernel/randomize_va_space") != "0" {
		t.Errorf("%v, randomize_va_space %s", err, read("proc/sys/kernel/randomize_va_space"))
	}
	must.Be(t, strings.Contains(said.String(), "restored a setting left behind by a killed krund") &&
		strings.Contains(said.String(), filepath.Base(file)), "log", &said)
	said.Reset()
	err = m.RestoreLeftover(t.Context())
	must.Be(t, err == nil && said.Len() <= 0, "again", err, &said)
}

// TestRestarting: krund leaves the settings to the restart. Its guard restores them in case the
// restart does not happen, without a warning.
func TestRestarting(t *testing.T) {
	m, g, read, _ := guarded(t, `aslr = "require"`)
	var said strings.Builder
	m.Log = slog.New(slog.NewTextHandler(&said, nil))
	applied := must.Get(m.Apply(t.Context()))(t)
	m.LeaveToRestart(applied)
	m.LeaveToRestart(applied)
	if *g != (fakeGuard{started: 1, restarting: 1}) || read("proc/sys/kernel/randomize_va_space") == "0" {
		t.Errorf("guard %+v, randomize_va_space %s", *g, read("proc/sys/kernel/randomize_va_space"))
	}
	m.RestartExpected = true
	err := m.RestoreLeftover(t.Context())
	must.Be(t, err == nil && said.Len() <= 0 && read("proc/sys/kernel/randomize_va_space") == "0", err,
		"randomize_va_space", read("proc/sys/kernel/randomize_va_space"), "log", &said)
}

// TestRestartingFails: a setting that could not be restored is a warning even if krund ended in
// order.
func TestRestartingFails(t *testing.T) {
	m, _, _, file := guarded(t, `aslr = "require"`)
	var said strings.Builder
	m.Log, m.RestartExpected = slog.New(slog.NewTextHandler(&said, nil)), true
	must.Get(m.Apply(t.Context()))(t)
	must.Do(t, errors.Join(os.Remove(file), os.Mkdir(file, 0o755)))
	err := m.RestoreLeftover(t.Context())
	must.Be(t, err != nil && strings.Contains(said.String(), "level=WARN"), err, "log", &said)
}

// TestMovedDuringTheRun: a program changes the governor and the frequency limit while the benchmark
// runs; the observation names the settings, their values and the program.
func TestMovedDuringTheRun(t *testing.T) {
	m, _, _, aslr := guarded(t, "aslr = \"require\"\nfrequency = { policy = \"warn\" }\n"+
		"temperature = \"off\"\n")
	policy := m.Control.Root.Path("/sys/devices/system/cpu/cpufreq/policy0")
	write := func(name, text string) {
		file := name
		if !filepath.IsAbs(name) {
			file = filepath.Join(policy, name)
		}
		must.Write(t, file, text+"\n")
	}
	for name, text := range map[string]string{
		"scaling_driver": "acpi-cpufreq", "scaling_governor": "performance", "affected_cpus": "0",
		"scaling_available_governors": "performance schedutil powersave", "related_cpus": "0",
		"scaling_min_freq": "3000000", "scaling_max_freq": "3000000", "cpuinfo_min_freq": "800000",
		"cpuinfo_max_freq": "3000000", m.Control.Root.Path("/proc/4711/comm"): "tuned",
	} {
		write(name, text)
	}
	m.Probes = probe.Request{Temperature: setting.Off, KernelLog: setting.Off, Throttle: setting.Off,
		Fingerprint: setting.Off}
	applied := must.Get(m.Apply(t.Context()))(t)
	after := must.Get(m.Watch(t.Context(), applied, nil))(t)
	write("scaling_governor", "powersave")
	write("scaling_max_freq", "1800000")
	write(aslr, "1")
	seen := after(t.Context())
	all := strings.Join(seen.Disturbed, "\n")
	for _, want := range []string{"performance to acpi-cpufreq powersave", "3000-1800 MHz",
		"; this program runs and changes it: tuned", "aslr moved from 2 to 1 after it was set"} {
		must.Contain(t, all, want, "is not")
	}
	for _, c := range seen.Machine.Controls {
		must.Be(t, c.Name != "aslr" || c.After == "1", "the record says of aslr after the run", c.After)
	}
	must.Do(t, m.Restore(t.Context(), applied))
}

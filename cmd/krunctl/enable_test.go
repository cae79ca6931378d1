package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"krund/internal/boot/autostart"
	"krund/internal/control"
	"krund/internal/experiment/directory"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/internal/reading/experiment"
	"krund/rig/must"
)

// startable is an experiment whose files are there, and an image to install to.
func startable(t *testing.T) (b *builder, root string) {
	t.Helper()
	text := strings.NewReplacer(`"none"`, `"hardware"`, "python3", "sh", "[experiment_end]",
		"[controls]\nservices = { policy = \"apply\", stop = [\"cron.service\"] }").Replace(experimentText)
	b = newExperimentOf(t, text)
	for _, k := range b.cfg.Keys() {
		file := b.cfg.EntryPath(k)
		b.must(os.MkdirAll(filepath.Dir(file), 0o755))
		b.must(os.WriteFile(file, nil, 0o755))
	}
	root = t.TempDir()
	b.must(os.MkdirAll(filepath.Join(root, "usr/lib/systemd/system"), 0o755))
	b.must(os.WriteFile(filepath.Join(root, "usr/lib/systemd/system/krund@.service"), nil, 0o644))
	return b, root
}

func TestEnableAndDisable(t *testing.T) {
	b, root := startable(t)
	r := krunctl(t, "enable", "--root", root, b.toml).in(b)
	golden(t, "enable", strings.ReplaceAll(r.text(), root, "ROOT"))
	dropIn, err := os.ReadFile(filepath.Join(root, "etc/systemd/system/krund@test.service.d/experiment.conf"))
	must.Be(t, err == nil && strings.Contains(string(dropIn), `"KRUND_CONFIG=`+b.toml+`"`), "drop-in", dropIn,
		"error", err)
	golden(t, "disable", krunctl(t, "disable", "--root", root, b.toml).text())
	golden(t, "disable-again", krunctl(t, "disable", "--root", root, "test").text())
}

// TestEnableAsks: on a terminal, an experiment with reboots is enabled only after a yes, and
// nothing changes before. It does not ask about an image.
func TestEnableAsks(t *testing.T) {
	b, root := startable(t)
	b.must(os.RemoveAll(b.directory.Dir())) // a new experiment
	var questions, calls []string
	answer := ""
	enable := func(args ...string) ran {
		a := testApp(t)
		a.uid, a.systemctl = 0, noting(&calls)
		a.ask = func(question string) (string, bool) {
			questions = append(questions, a.terminal.(*bytes.Buffer).String()+question)
			return answer, true
		}
		return runApp(a, append([]string{"enable"}, args...)...)
	}
	for _, answer = range []string{"", "\n", "no\n", "yesterday\n"} {
		questions = nil
		r := enable("--start", b.toml)
		must.Need(t, r.code == exitError && len(questions) == 1 &&
			strings.Contains(r.text(), "nothing was changed"), "answer", answer, questions, r.text())
		if q := questions[0]; !strings.HasSuffix(q, "Continue? [y/N] ") ||
			!strings.Contains(q, "the first    after 30s, when the base temperatures have been read") {
			t.Errorf("the question does not follow what it is about:\n%s", q)
		}
	}
	must.Be(t, len(calls) <= 0, "systemctl", calls, "after a")
	questions = nil
	enable("--root", root, b.toml).says(t, exitOK, "", "")
	must.Be(t, len(questions) == 0, "an image:", questions)
	for _, yes := range []string{"y\n", "Y\n", "YES\n"} {
		a := &app{stdout: &bytes.Buffer{}, ask: func(string) (string, bool) { return yes, true }}
		ok, err := a.confirm("Continue?")
		must.Be(t, ok && err == nil, yes, "is not a yes, error", err)
	}
}

func TestEnableRefuses(t *testing.T) {
	b, root := startable(t)
	krunctl(t, "enable", b.toml).says(t, exitError, "", "needs root")
	krunctl(t, "enable", "--root", t.TempDir(), b.toml).says(t, exitError, "", "make install")
	b.must(os.Remove(b.cfg.EntryPath(b.cfg.Keys()[0])))
	krunctl(t, "enable", "--root", root, b.toml).says(t, exitUsage, "", "nbody")
	must.Refused(os.Stat(filepath.Join(root, "etc")))(t, "", "something was installed nevertheless")
}

// noting is a systemctl that does nothing.
func noting(calls *[]string) func(context.Context, ...string) error {
	return func(_ context.Context, args ...string) error {
		*calls = append(*calls, strings.Join(args, " "))
		return nil
	}
}

func TestDisableTellsSystemd(t *testing.T) {
	var calls []string
	a := testApp(t)
	a.uid, a.systemctl = 0, noting(&calls)
	// No such unit is installed on this machine: there is nothing to remove, only something to
	// stop.
	runApp(a, "disable", "--stop", "krunctl-test-that-does-not-exist").says(t, exitOK, "", "")
	must.EqualList(t, calls, []string{"stop krund@krunctl-test-that-does-not-exist.service"}, "calls")
}

func TestRestoreWithNothingToDo(t *testing.T) {
	b := mixed(t)
	r := krunctl(t, "repair", "--machine", b.toml)
	must.Be(t, r.code == exitOK && r.stdout == "nothing to restore\n", r.text())
	lock, err := b.directory.Lock(os.Getpid(), "bencher7")
	b.must(err)
	defer lock.Release()
	krunctl(t, "repair", "--machine", b.toml).says(t, exitError, "", strconv.Itoa(os.Getpid()))
}

// TestEnableAcceptsChanges: krund finds the request in the directory of an experiment that has
// begun.
func TestEnableAcceptsChanges(t *testing.T) {
	b, root := startable(t)
	request := b.directory.RequestFile(directory.Accept)
	for _, flags := range [][]string{nil, {"--accept-changed"}} {
		args := append([]string{"enable", "--root", root, b.toml}, flags...)
		r := krunctl(t, args...).in(b)
		_, err := os.Stat(request)
		asked := len(flags) > 0
		must.Be(t, r.code == 0 && (err == nil) == asked &&
			strings.Contains(r.text(), "are kept apart") == asked, flags, r.text(), "the request", err)
	}
}

// TestSecondEnableIsRefused: two that want the machine for themselves cannot both start with a
// boot. One would fail in each, and the machine stay idle when the other has ended.
func TestSecondEnableIsRefused(t *testing.T) {
	caller := func(text string) string { return text }
	reboots := func(text string) string { return strings.Replace(text, `"none"`, `"hardware"`, 1) }
	fresh := func(text string) string { return strings.Replace(text, `"caller"`, `"fresh"`, 1) }
	for name, test := range map[string]struct {
		// makes the other experiment's configuration of the usual text; nil: it is gone
		other   func(string) string
		own     func(string) string
		refused bool
	}{
		"both with reboots":                  {reboots, reboots, true},
		"reboots beside a fresh account":     {fresh, reboots, true},
		"a fresh account beside reboots":     {reboots, fresh, true},
		"what the other wants is not known":  {nil, reboots, true},
		"the other runs as the caller":       {caller, reboots, false},
		"this one runs as the caller":        {reboots, caller, false},
		"neither wants the machine for both": {caller, caller, false},
	} {
		t.Run(name, func(t *testing.T) {
			b, root := startable(t)
			b.must(os.WriteFile(b.toml, []byte(test.own(plainText())), 0o644))
			other := filepath.Join(t.TempDir(), "first++.toml")
			if test.other != nil {
				b.must(os.WriteFile(other, []byte(test.other(plainText())), 0o644))
			}
			i := autostart.Installer{FS: lax(), Root: root}
			_, err := i.Install(t.Context(), "first++", other)
			b.must(err)
			r := krunctl(t, "enable", "--root", root, b.toml).in(b)
			if !test.refused {
				must.Be(t, r.code == exitOK && i.Enabled("test"), r.text())
				return
			}
			must.Be(t, r.code == exitError && !i.Enabled("test") && i.Enabled("first++"), "enabled",
				i.Enabled("test"), "the first", i.Enabled("first++"), r.text())
			says := []string{`krund@first\x2b\x2b.service`, "krunctl status " + other, "krunctl disable " +
				other}
			for _, part := range says {
				must.Contain(t, r.stderr, part)
			}
		})
	}
	t.Run("the same again", func(t *testing.T) {
		b, root := startable(t)
		for range 2 {
			krunctl(t, "enable", "--root", root, b.toml).in(b).says(t, exitOK, "", "")
		}
	})
	t.Run("when the other is disabled", func(t *testing.T) {
		b, root := startable(t)
		i := autostart.Installer{FS: lax(), Root: root}
		_, err := i.Install(t.Context(), "first", b.toml)
		b.must(err)
		b.must(i.Unlink(t.Context(), "first"))
		krunctl(t, "enable", "--root", root, b.toml).in(b).says(t, exitOK, "", "")
	})
}

// plainText is the text of a startable experiment as the caller, without reboots.
func plainText() string {
	return strings.NewReplacer("python3", "sh", "[experiment_end]\n", "").Replace(experimentText)
}

// bootableMachine is a machine with GRUB and an entry for experiments; its grub-editenv is on the
// PATH.
func bootableMachine(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{
		"boot/grub/grubenv":    "# GRUB Environment Block\n" + strings.Repeat("#", 999),
		"boot/grub/grub.cfg":   "if [ \"${next_entry}\" ]; then\n  set default=\"${next_entry}\"\nfi\n",
		"boot/grub/custom.cfg": "menuentry \"krund\" --id krund {\n  linux /vmlinuz krund.entry\n}\n",
		"proc/self/mountinfo":  "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n",
	} {
		path := filepath.Join(root, name)
		must.Write(t, path, text)
	}
	tools := t.TempDir()
	script := "#!/bin/sh\n{ echo '# GRUB Environment Block'; " +
		"test $2 = unset || echo \"$3\"; echo '###'; } >" + root + "$1\n"
	must.Do(t, os.WriteFile(filepath.Join(tools, "grub-editenv"), []byte(script), 0o755))
	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
	return root
}

func TestBootEntry(t *testing.T) {
	root := bootableMachine(t)
	b, image := startable(t)
	text, err := os.ReadFile(b.toml)
	b.must(err)
	b.must(os.WriteFile(b.toml, append(text, "\n[boot]\nentry = \"krund\"\n"...), 0o644))
	asked := func() bool {
		block, err := os.ReadFile(filepath.Join(root, "boot/grub/grubenv"))
		b.must(err)
		return strings.Contains(string(block), "\nnext_entry=krund\n")
	}
	a := testApp(t)
	a.systemctl = func(context.Context, ...string) error { return nil }
	a.machine = func(context.Context) *control.Machine {
		return &control.Machine{Host: host.Host{Root: sysroot.New(root)}}
	}
	run := func(uid, code int, says string, ask bool, args ...string) {
		t.Helper()
		a.uid = uid
		r := runApp(a, args...)
		must.Be(t, r.code == code && strings.Contains(r.stdout+r.stderr, says) && asked() == ask, args,
			"asked", asked(), r.text())
	}
	// An image's boot loader is not this machine's.
	run(0, exitOK, "boot loader's entry krund", false, "enable", "--root", image, b.toml)
	run(0, exitUsage, "omit --start", false, "enable", "--start", b.toml)
	b.must(os.Rename(filepath.Join(root, "boot/grub/custom.cfg"), filepath.Join(root, "custom.cfg")))
	run(0, exitError, "no such entry", false, "enable", b.toml)
	b.must(os.Rename(filepath.Join(root, "custom.cfg"), filepath.Join(root, "boot/grub/custom.cfg")))
	cfg, err := experiment.ParseConfig(lax(), b.toml, "bencher7")
	b.must(err)
	entry, ok := a.entryOf(t.Context(), cfg)
	must.Need(t, ok, "the configuration's entry is not known")
	b.must(entry.Ask(t.Context()))
	must.Need(t, asked(), "the loader was not asked")
	// A user who may not write the request leaves it alone; root withdraws it, by a hold and by
	// disabling.
	run(1000, exitOK, "", true, "hold", b.toml)
	run(0, exitOK, "", false, "hold", b.toml)
	b.must(entry.Ask(t.Context()))
	run(0, exitOK, "", false, "disable", b.toml)
	b.must(os.WriteFile(b.directory.ConfigCopy(), []byte(cfg.Text), 0o644))
	run(0, exitOK, "sudo krunctl enable", false, "resume", b.toml) // it is not enabled on this machine
}

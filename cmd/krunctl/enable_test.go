package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"krund/internal/experiment/directory"
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

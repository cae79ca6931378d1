package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/rig/must"
)

func (b *builder) asked(r directory.Request) bool {
	b.t.Helper()
	asked, err := b.directory.Asked(r)
	b.must(err)
	return asked
}

func TestHoldAndResume(t *testing.T) {
	b := mixed(t)
	golden(t, "hold", krunctl(t, "hold", b.toml).in(b).text())
	must.Need(t, b.asked(directory.Hold), "it is not held")
	text, err := os.ReadFile(b.directory.RequestFile(directory.Hold))
	must.Be(t, err == nil && strings.Contains(string(text), "user 1000 on bencher7, 2026-11-21T12:00:00Z"),
		"the request lacks its author", text, err)
	r := krunctl(t, "status", b.dir())
	must.Contain(t, r.stdout, "held: the boots are ordinary ones", "status does not report it", r.text())
	krunctl(t, "hold", b.dir()).says(t, exitOK, "", "", "a second time")
	if r := krunctl(t, "check", b.dir()); strings.Contains(r.stdout, "not created by krund") {
		t.Errorf("check-data does not know the hold:\n%s", r.text())
	}
	golden(t, "resume", krunctl(t, "resume", b.dir()).in(b).text())
	golden(t, "resume-again", krunctl(t, "resume", b.dir()).in(b).text())
	must.Be(t, !b.asked(directory.Hold), "it is still held")
	must.Contain(t, krunctl(t, "hold", complete(t).dir()).stdout, "nothing is outstanding", "a finished one")
}

func TestHoldWhileKrundRuns(t *testing.T) {
	b := mixed(t)
	lock, err := b.directory.Lock(4711, "bencher7")
	b.must(err)
	defer lock.Release()
	if r := krunctl(t, "hold", b.dir()); r.code != exitOK || !strings.Contains(r.stdout,
		"process 4711 on bencher7") || !b.asked(directory.Hold) {
		t.Error(r.text())
	}
	quick := complete(t) // without restarts
	again, err := quick.directory.Lock(4711, "bencher7")
	b.must(err)
	defer again.Release()
	r := krunctl(t, "hold", quick.dir())
	must.Be(t, strings.Contains(r.stdout, "restarts nothing"), r.text())
}

func TestHoldBeforeTheBeginning(t *testing.T) {
	toml := filepath.Join(t.TempDir(), "new.toml")
	r := krunctl(t, "hold", toml)
	must.Be(t, r.code == exitError && r.stdout == "", "there is no such experiment", r.text())
	must.Do(t, os.WriteFile(toml, []byte(experimentText), 0o644))
	krunctl(t, "hold", toml).says(t, exitOK, "", "")
	asked, err := directory.Asked(lax(), directory.For(toml), directory.Hold)
	must.Be(t, asked && err == nil, "held", asked, err)
	krunctl(t, "hold", filepath.Join(t.TempDir(), "missing.krun")).says(t, exitError, "", "")
}

func TestStop(t *testing.T) {
	b := mixed(t)
	golden(t, "stop-idle", krunctl(t, "stop", b.toml).in(b).text())
	must.Be(t, !b.asked(directory.Stop), "a request that no krund obeys would end the next one")
	lock, err := b.directory.Lock(4711, "bencher7")
	b.must(err)
	golden(t, "stop", krunctl(t, "stop", b.dir()).in(b).text())
	must.Be(t, b.asked(directory.Stop), "krund was not asked")
	b.must(lock.Release())
	if r := krunctl(t, "stop", b.dir()); r.code != exitOK || b.asked(directory.Stop) {
		t.Errorf("krund is gone, and its request is still there:\n%s", r.text())
	}
}

func TestEnableForgetsAStopAndTellsOfAHold(t *testing.T) {
	b, root := startable(t)
	b.must(b.directory.Ask(directory.Stop, "test"))
	b.must(b.directory.Ask(directory.Hold, "test"))
	r := krunctl(t, "enable", "--root", root, b.toml)
	must.Be(t, r.code == exitOK && !b.asked(directory.Stop) && b.asked(directory.Hold) &&
		strings.Contains(r.stdout, "krunctl resume"), r.text())
}

// TestCommandsCanBePasted: what is advised names the experiment in a way that a shell takes for one
// word.
func TestCommandsCanBePasted(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "my lab's runs")
	toml := filepath.Join(directory, "new one.toml")
	must.Do(t, errors.Join(os.Mkdir(directory, 0o755), os.WriteFile(toml, []byte(experimentText), 0o644)))
	records := strings.TrimSuffix(toml, ".toml") + ".krun/results"
	if err := errors.Join(os.MkdirAll(records, 0o755), // the schedule is lost: there is a record
		os.WriteFile(filepath.Join(records, "0000000-001.json.gz"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	want := `'\''s runs/new one.krun'` + "`"
	krunctl(t, "status", toml).says(t, exitError, "", want)
	want = `krunctl resume '` + strings.ReplaceAll(toml, "'", `'\''`) + "'\n"
	krunctl(t, "hold", toml).says(t, exitOK, want, "")
}

// TestHoldFollowsNoLink: what root makes for an experiment that has not begun is where its
// configuration is.
func TestHoldFollowsNoLink(t *testing.T) {
	for _, relative := range []bool{false, true} {
		dir, other := t.TempDir(), t.TempDir()
		toml := filepath.Join(dir, "x.toml")
		must.Do(t, errors.Join(os.WriteFile(toml, []byte("\n"), 0o644),
			os.Symlink(other, filepath.Join(dir, "x.krun"))))
		if relative {
			t.Chdir(dir)
			toml = "x.toml"
		}
		a := testApp(t)
		a.fsys, a.uid = durable.OS(), 0
		r := runApp(a, "hold", toml)
		made, err := os.ReadDir(other)
		must.Be(t, r.code != exitOK && err == nil && len(made) == 0, r.text(), err, made)
	}
}

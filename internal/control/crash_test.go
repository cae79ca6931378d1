package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"krund/internal/control/machines"
	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/rig/must"
)

const journalPath = "/x/journal"

// A fuse panics with errKilled when it is burnt for the last time. The fakes of a machine share
// one.
type fuse struct{ left int }

func (f *fuse) burn() {
	if f == nil {
		return
	}
	if f.left--; f.left == 0 {
		panic(errKilled)
	}
}

var errKilled = errors.New("killed")

// state is all of a fake machine that controls can change.
func state(t *testing.T, m *Machine, k *fakeKernel) map[string]string {
	t.Helper()
	if k.files == nil || k.memory == nil {
		k.files = snapshot(t, k.dir)
	}
	files := maps.Clone(k.files)
	files["services"] = fmt.Sprint(m.Units.(*fakeUnits).active())
	links := m.Links.(*fakeLinks)
	files["interfaces"] = fmt.Sprint(links.links, links.routes)
	return files
}

// session is a complete life of krund: everything is applied and restored.
func session(ctx context.Context, m *Machine, fsys durable.FS) error {
	j, err := OpenJournal(fsys, journalPath, m.Boot, epoch)
	if err != nil {
		return err
	}
	_, restore, problems := ApplyAll(ctx, m, everything(), j)
	err = restore(ctx)
	if len(problems) > 0 {
		err = errors.Join(err, errors.New(problems[0].String()))
	}
	return errors.Join(err, j.Close())
}

// restoreLater is `krunctl repair --machine` in a new process.
func restoreLater(ctx context.Context, m *Machine, fsys durable.FS) (RestoreReport, error) {
	for name := range m.held { // the kernel closes what a dead process held
		if _, err := m.release(name); err != nil {
			return nil, err
		}
	}
	j, err := OpenJournal(fsys, journalPath, m.Boot, epoch)
	if err != nil {
		return nil, err
	}
	report, err := Restore(ctx, m, j)
	return report, errors.Join(err, j.Close())
}

// killed runs program and reports whether the fuse killed it.
func killed(program func()) (dead bool) {
	defer func() {
		if r := recover(); r == errKilled {
			dead = true
		} else if r != nil {
			panic(r)
		}
	}()
	program()
	return false
}

// TestRestoreAfterKillAtEveryChange kills krund before each single change to the machine, while
// applying and while restoring. A restore in a new process must restore everything, and a second
// one must find nothing to do.
func TestRestoreAfterKillAtEveryChange(t *testing.T) {
	must.Long(t)
	// Each machine begins with another change, so that together they have kills before all.
	step := must.Often(7, 1)
	for i, tree := range machines.Names() {
		t.Run(tree, func(t *testing.T) {
			t.Parallel()
			killAtEveryChange(t, tree, 1+i%step, step)
		})
	}
}

// killAtEveryChange uses one machine: after each kill and restore it must be as before, ready for
// the next kill. It kills before the change of this number and each one that is step further.
func killAtEveryChange(t *testing.T, tree string, number, step int) {
	m, k := fakeMachine(t, tree)
	k.memory = map[string][]byte{}
	before := state(t, m, k)
	for n := number; ; n += step {
		fsys := crashfs.New("/x")
		k.fuse = &fuse{left: n}
		dead := killed(func() { _ = session(t.Context(), m, fsys) })
		k.fuse = nil
		must.Get(restoreLater(t.Context(), m, fsys))(t, "killed before change", n)
		sameTree(t, state(t, m, k), before)
		again, err := restoreLater(t.Context(), m, fsys)
		must.Be(t, err == nil && len(again) == 0, "killed before change", n, "second restore did", again, err)
		must.Need(t, !t.Failed(), "killed before change", n)
		if !dead {
			must.Need(t, n >= 40, "only", n, "changes: the test does not test")
			k.forget()
			sameTree(t, state(t, m, k), before)
			return
		}
	}
}

// TestRestoreAfterKillDuringRestore kills the restore itself before each of its changes.
func TestRestoreAfterKillDuringRestore(t *testing.T) {
	must.Long(t)
	m, k := fakeMachine(t, "intel-cpufreq-passive")
	k.memory = map[string][]byte{}
	before := state(t, m, k)
	for n := 1; ; n++ {
		fsys := crashfs.New("/x")
		j := must.Get(OpenJournal(fsys, journalPath, m.Boot, epoch))(t)
		_, _, problems := ApplyAll(t.Context(), m, everything(), j)
		must.Need(t, len(problems) == 0, problems)
		k.fuse = &fuse{left: n}
		dead := killed(func() { _, _ = restoreLater(t.Context(), m, fsys) })
		k.fuse = nil
		must.Get(restoreLater(t.Context(), m, fsys))(t, "restore killed before change", n)
		sameTree(t, state(t, m, k), before)
		must.Need(t, !t.Failed(), "restore killed before change", n)
		if !dead {
			return
		}
	}
}

// TestJournalBeforeChange cuts krund off in every operation on its journal. The journal is then
// reduced to what is guaranteed to be on disk, while the machine keeps its state: if a single
// change were made before its entry was synced, restoring would miss it.
func TestJournalBeforeChange(t *testing.T) {
	must.Long(t)
	var m *Machine
	var k *fakeKernel
	var before map[string]string
	build := func() *crashfs.FS {
		m, k = fakeMachine(t, "kvm-guest")
		k.memory = map[string][]byte{}
		before = state(t, m, k)
		fsys := crashfs.New("/x")
		fsys.PanicOnCut()
		return fsys
	}
	cuts := 0
	for cut, after := range crashfs.EveryCut(build,
		func(fsys *crashfs.FS) error { return session(t.Context(), m, fsys) }, crashfs.Nothing) {
		cuts++
		must.Get(restoreLater(t.Context(), m, after))(t, cut)
		sameTree(t, state(t, m, k), before)
		must.Need(t, !t.Failed(), cut)
	}
	must.Be(t, cuts >= 40, "only", cuts, "cuts: the test does not test")
}

// TestPowerCut cuts the power in every operation on the journal. The machine comes up in another
// boot with its defaults. Whatever is left of the journal, restoring must not touch the machine and
// must leave no change in the journal.
func TestPowerCut(t *testing.T) {
	must.Long(t)
	m, k := fakeMachine(t, "kvm-guest")
	before := state(t, m, k)
	var dying *Machine
	build := func() *crashfs.FS {
		dying, _ = fakeMachine(t, "kvm-guest")
		return crashfs.New("/x")
	}
	m.Boot = "another boot"
	policies := append(crashfs.Policies(1), crashfs.Torn(2))
	for cut, after := range crashfs.EveryCut(build,
		func(fsys *crashfs.FS) error { return session(t.Context(), dying, fsys) }, policies...) {
		report := must.Get(restoreLater(t.Context(), m, after))(t, cut)
		restored := slices.ContainsFunc(report, func(x Reversal) bool { return x.Outcome != Void })
		must.Be(t, !restored, cut, "restored in another boot", report)
		pending, err := ReadJournal(after, journalPath)
		must.Be(t, err == nil && len(pending) == 0, cut, "journal afterwards holds", pending, err)
	}
	must.Be(t, len(k.writes) == 0, "wrote", k.writes, "in another boot")
	sameTree(t, state(t, m, k), before)
}

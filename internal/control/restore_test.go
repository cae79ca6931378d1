package control

import (
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/config/setting"
	"krund/rig/must"
)

// TestRestoreUnderUnknownBoot: when the system cannot say which boot it is, entries count as this
// boot's.
func TestRestoreUnderUnknownBoot(t *testing.T) {
	for _, id := range []string{"", boot} {
		m, k := fakeMachine(t, "arm64")
		before := state(t, m, k)
		fsys := crashfs.New("/x")
		j := must.Get(OpenJournal(fsys, journalPath, m.Boot, epoch))(t)
		_, _, problems := ApplyAll(t.Context(), m, everything(), j)
		must.Need(t, len(problems) == 0, problems)
		m.Boot = id
		must.Get(restoreLater(t.Context(), m, fsys))(t)
		sameTree(t, state(t, m, k), before)
	}
}

// TestRestoreOfWhatIsGone: interrupts, CPUs and interfaces can be unplugged in the meantime.
func TestRestoreOfWhatIsGone(t *testing.T) {
	m, k := fakeMachine(t, "arm64")
	fsys := crashfs.New("/x")
	j := must.Get(OpenJournal(fsys, journalPath, m.Boot, epoch))(t)
	_, _, problems := ApplyAll(t.Context(), m, everything(), j)
	must.Need(t, len(problems) == 0, problems)
	k.remove(t, "/proc/irq/24")
	m.Links.(*fakeLinks).links = nil
	report := must.Get(restoreLater(t.Context(), m, fsys))(t)
	outcomes := map[string]Restoration{}
	for _, x := range report {
		outcomes[x.Target] = x.Outcome
	}
	for target, want := range map[string]Restoration{"/proc/irq/24/smp_affinity_list": Gone, "eth0": Gone,
		"/proc/irq/16/smp_affinity_list": Restored} {
		must.Equal(t, outcomes[target], want)
	}
}

// TestSecondApplyRestoresFirst: a krund that starts after one that crashed must not mistake krund's
// values for the machine's own.
func TestSecondApplyRestoresFirst(t *testing.T) {
	m, k := fakeMachine(t, "intel-pstate-active")
	before := state(t, m, k)
	fsys := crashfs.New("/x")
	for range 2 {
		j := must.Get(OpenJournal(fsys, journalPath, m.Boot, epoch))(t)
		_, _, problems := ApplyAll(t.Context(), m, everything(), j)
		must.Need(t, len(problems) == 0, problems)
	}
	must.Get(restoreLater(t.Context(), m, fsys))(t)
	sameTree(t, state(t, m, k), before)
}

// TestRestoreWithEndedContext: a restore does not stop halfway.
func TestRestoreWithEndedContext(t *testing.T) {
	m, k := fakeMachine(t, "arm64")
	before := state(t, m, k)
	_, restore, problems := ApplyAll(t.Context(), m, everything(), openJournal(t, m))
	must.Need(t, len(problems) <= 0, problems)
	must.Do(t, restore(ended(t)))
	sameTree(t, state(t, m, k), before)
}

// TestApplyWithEndedContext: nothing is changed any more.
func TestApplyWithEndedContext(t *testing.T) {
	m, k := fakeMachine(t, "arm64")
	before := state(t, m, k)
	s := everything()
	s = under(s, setting.Require, "perf_rate")
	_, _, problems := ApplyAll(ended(t), m, s, openJournal(t, m))
	must.Equal(t, len(problems), 1, "problems", problems)
	sameTree(t, state(t, m, k), before)
}

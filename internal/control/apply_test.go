package control

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/control/machines"
	"krund/internal/durable/crashfs"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/rig/must"
)

// TestApplyAndRestoreEverywhere applies every control to every machine: nothing may be left to set
// afterwards, and restoring must leave each file as it was. A check changes nothing.
func TestApplyAndRestoreEverywhere(t *testing.T) {
	for _, name := range slices.Concat(machines.Names(), machines.More(), machines.Names()) {
		t.Run(name, func(t *testing.T) {
			m, k := fakeMachine(t, name)
			if strings.Contains(t.Name(), "#") { // the second time round
				k.late, m.Clock = map[string]bool{}, k
			}
			before := snapshot(t, k.dir)
			CheckAll(t.Context(), m, everything())
			must.Be(t, len(k.writes) == 0 && len(m.Units.(*fakeUnits).log) == 0, "a check wrote", k.writes)
			j := openJournal(t, m)
			findings, restore, problems := ApplyAll(t.Context(), m, everything(), j)
			must.Need(t, len(problems) == 0, "problems under policy apply", problems)
			for _, f := range findings {
				t.Logf("%-15s %-13s found %s; wanted %s; %s; fix: %s", f.Name, f.Status, f.Found, f.Wanted,
					f.Detail, f.Fix)
			}
			for _, f := range CheckAll(t.Context(), m, everything()) {
				must.Be(t, f.Status != setting.StatusWillSet || f.Name == "irq_affinity", f.Name,
					"is still to be set after applying", f)
			}
			must.Do(t, restore(t.Context()))
			sameTree(t, snapshot(t, k.dir), before)
			p := j.Pending()
			must.Equal(t, len(p), 0, "journal still holds", p)
			units := m.Units.(*fakeUnits)
			got := units.active()
			must.Equal(t, len(got), 5, "services running afterwards", got)
			links := m.Links.(*fakeLinks)
			must.Be(t, links.links[1].Up && !links.links[2].Up && links.routes["eth0"] == "default",
				"interfaces afterwards", links.links, "routes", links.routes)
		})
	}
}

// TestOrderOfFrequency: governor, turbo and limits are set in an order in which no driver reverts
// an earlier one.
func TestOrderOfFrequency(t *testing.T) {
	m, k := fakeMachine(t, "intel-pstate-active")
	s := everything()
	s = under(s, setting.Off, "smt")
	_, _, problems := ApplyAll(t.Context(), m, s, openJournal(t, m))
	must.Need(t, len(problems) == 0, problems)
	at := func(write string) int {
		i := slices.Index(k.writes, write)
		must.Need(t, i >= 0, write, "was never written")
		return i
	}
	const p = host.CPUFreqDir + "/policy3/"
	governor, off := at(p+"scaling_governor=performance"), at(noTurboFile+"=1")
	upper, lower := at(p+"scaling_max_freq=3600000"), at(p+"scaling_min_freq=3600000")
	must.Be(t, governor < off && off < upper && upper < lower, "order of writes: governor", governor,
		"no_turbo", off, "maximum", upper, "minimum", lower)
}

// Apply applies one control; the Undo restores it.
func (c Control) Apply(ctx context.Context, m *Machine, j *Journal) (setting.Finding, Undo, error) {
	finding, made, err := c.apply(ctx, m, j)
	return finding, restorer(m, j, made), err
}

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

// TestTableGolden prints the check of each machine under the study's settings, and what was found
// of the controls that are off, which the table only names.
func TestTableGolden(t *testing.T) {
	for _, name := range append(machines.Names(), machines.More()...) {
		m, _ := fakeMachine(t, name)
		table := setting.Table{Findings: CheckAll(t.Context(), m, Defaults())}
		var out bytes.Buffer
		must.Do(t, table.Print(&out, 0))
		for _, f := range table.Findings {
			if f.Policy == setting.Off {
				fmt.Fprintf(&out, "%s: found %s, wanted %s; %s\n", f.Name, f.Found, f.Wanted, f.Detail)
			}
		}
		golden := filepath.Join("testdata", "tables", path.Base(name)+".txt")
		if *update {
			must.Do(t, os.WriteFile(golden, out.Bytes(), 0o644))
		}
		want := must.Get(os.ReadFile(golden))(t)
		must.Be(t, bytes.Equal(out.Bytes(), want), name, "printed", out.Bytes(), "want", want)
	}
}

package control

import (
	"context"
	"slices"
	"strings"
	"testing"

	"krund/internal/control/machines"
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

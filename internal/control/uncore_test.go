package control

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/rig/must"
)

// TestUncore: the limits of the driver meet (uncore-frequency.c of Linux 6.1:58), the upper one is
// never below the lower one on the way, and everything is restored.
func TestUncore(t *testing.T) {
	const first = uncoreDir + "/package_00_die_00"
	low, high := first+"/min_freq_khz", first+"/max_freq_khz"
	for _, tt := range []struct {
		name   string
		khz    int
		status setting.Status
		found  string
		wanted string
		order  []string // the steps of the first package
	}{
		{"at the maximum", 0, setting.StatusWillSet, "1200000 to 2400000 kHz", "minimum = maximum",
			[]string{low + ": 1200000 -> 2400000"}},
		{"in between", 2000000, setting.StatusWillSet, "1200000 to 2400000 kHz", "2000000 kHz",
			[]string{low + ": 1200000 -> 2000000", high + ": 2400000 -> 2000000"}},
		{"above", 2600000, setting.StatusWillSet, "1200000 to 2400000 kHz", "2600000 kHz",
			[]string{high + ": 2400000 -> 2600000", low + ": 1200000 -> 2600000"}},
		{"below", 1000000, setting.StatusWillSet, "1200000 to 2400000 kHz", "1000000 kHz",
			[]string{low + ": 1200000 -> 1000000", high + ": 2400000 -> 1000000"}},
		{"not a multiple", 2050000, setting.StatusCannot, "unknown", "2050000 kHz", nil},
	} {
		m, k := fakeMachine(t, "intel-server")
		p := required(uncore, "khz", tt.khz).plan(t.Context(), m)
		must.Be(t, p.Status == tt.status && p.Found == tt.found && p.Wanted == tt.wanted &&
			len(p.Steps) == 2*len(tt.order) && fmt.Sprint(p.Steps[:len(tt.order)]) == fmt.Sprint(tt.order),
			tt.name, p)
		before := state(t, m, k)
		f, restore, err := required(uncore, "khz", tt.khz).Apply(t.Context(), m, openJournal(t, m))
		must.Be(t, tt.order == nil || err == nil && f.Status == setting.StatusSet &&
			k.get(low) == k.get(high), tt.name, f, err, k.get(low), "to", k.get(high))
		must.Do(t, restore(t.Context()))
		sameTree(t, state(t, m, k), before)
	}
	f := check(t, required(uncore), texts{})
	must.Be(t, f.Status == setting.StatusCannot && f.Found == "absent", "without the driver", f)
}

// TestUncoreDomains: where there are single domains, the directory that stands for all of them is
// left alone (uncore-frequency-tpmi.c of Linux 6.12:150).
func TestUncoreDomains(t *testing.T) {
	m, k := fakeMachine(t, "intel-server")
	for _, domain := range []string{"uncore00", "uncore01"} {
		dir := uncoreDir + "/" + domain
		must.Do(t, os.MkdirAll(filepath.Join(k.dir, dir), 0o755))
		k.put(dir+"/min_freq_khz", "800000")
		k.put(dir+"/max_freq_khz", "2500000")
		must.Write(t, filepath.Join(k.dir, dir, "current_freq_khz"), "1800000\n")
	}
	p := required(uncore).plan(t.Context(), m)
	must.Equal(t, p.Found, "800000 to 2500000 kHz, now 1800000")
	must.Be(t, len(p.Steps) == 2 && p.Steps[0].Target == uncoreDir+"/uncore00/min_freq_khz" &&
		p.Steps[1].Target == uncoreDir+"/uncore01/min_freq_khz", p)
}

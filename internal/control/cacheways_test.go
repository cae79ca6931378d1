package control

import (
	"fmt"
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/rig/must"
)

// TestCacheWays: the parts are consecutive and cover the cache, as cbm_validate requires
// (arch/x86/kernel/cpu/resctrl/ctrlmondata.c of Linux 6.1:101).
func TestCacheWays(t *testing.T) {
	const group, schemata = "/sys/fs/resctrl/krund", "/sys/fs/resctrl/schemata"
	for _, tt := range []struct {
		name   string
		others int
		put    map[string]string
		status setting.Status
		found  string
		steps  string
	}{
		{"two ways", 2, nil, setting.StatusWillSet, "L3:0=7ff;1=7ff", "[" +
			group + ": absent -> present " +
			group + "/schemata: L3:0=7ff;1=7ff -> L3:0=1ff;1=1ff " +
			group + "/cpus_list:  -> 1-3 " +
			schemata + ": L3:0=7ff;1=7ff -> L3:0=600;1=600]"},
		{"all ways", 11, nil, setting.StatusCannot, "L3:0=7ff;1=7ff", "[]"},
		{"least", 1, map[string]string{"/sys/fs/resctrl/info/L3/min_cbm_bits": "2"}, setting.StatusCannot,
			"L3:0=7ff;1=7ff", "[]"},
		{"code and data", 2, map[string]string{schemata: "L3DATA:0=7ff\nL3CODE:0=7ff"}, setting.StatusCannot,
			"no L3", "[]"},
		{"no mask", 2, map[string]string{"/sys/fs/resctrl/info/L3/cbm_mask": "all"}, setting.StatusCannot,
			"L3:0=7ff;1=7ff", "[]"},
	} {
		m, k := fakeMachine(t, "intel-server")
		for file, text := range tt.put {
			k.put(file, text)
		}
		p := requiredOn("1-3", cacheWays, "others", tt.others).plan(t.Context(), m)
		must.Be(t, p.Status == tt.status && p.Found == tt.found && fmt.Sprint(p.Steps) == tt.steps, tt.name,
			p)
	}
	must.Equal(t, showWays("    MB:0=2048\n    L3:0=00ff;12=0001\n"), "L3:0=ff;12=1", "padded masks")
	m, _ := fakeMachine(t, "intel-acpi-cpufreq")
	p := required(cacheWays).plan(t.Context(), m)
	must.Be(t, p.Status == setting.StatusCannot && p.Found == "not mounted", "not mounted", p)
}

// TestCacheWaysAreRestored: by the running krund, and by the next one after a crash. A group of
// another program is left alone.
func TestCacheWaysAreRestored(t *testing.T) {
	for _, crash := range []bool{false, true} {
		m, k := fakeMachine(t, "intel-server")
		before := state(t, m, k)
		j := openJournal(t, m)
		f, restore, err := requiredOn("1-3", cacheWays).Apply(t.Context(), m, j)
		must.Need(t, err == nil && f.Status == setting.StatusSet &&
			k.get("/sys/fs/resctrl/krund/cpus_list") == "1-3", f, err)
		again := requiredOn("1-3", cacheWays).plan(t.Context(), m)
		must.Equal(t, again.Status, setting.StatusOK, "not as wanted after applying", again)
		if crash {
			_, err = Restore(t.Context(), m, j)
		} else {
			err = restore(t.Context())
		}
		must.Do(t, err, "crash", crash)
		sameTree(t, state(t, m, k), before)
	}
	m, k := fakeMachine(t, "intel-server")
	must.Do(t, k.Mkdir(m.Root.Path("/sys/fs/resctrl/other")))
	p := required(cacheWays).plan(t.Context(), m)
	must.Equal(t, p.Status, setting.StatusCannot, "beside another group", p)
}

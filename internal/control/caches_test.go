package control

import (
	"slices"
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/rig/must"
)

// TestCaches: each file is written once, and never again to restore it. Nothing reads the files:
// the kernel refuses that to root, too (mode 0200, kernel/sysctl.c of Linux 6.1:2213).
func TestCaches(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options []any
		without string // a file that the kernel does not have
		status  setting.Status
		wanted  string
		writes  []string
	}{
		{"both", nil, "", setting.StatusSet, "empty caches, compact memory",
			[]string{dropCachesFile + "=3", compactMemoryFile + "=1"}},
		{"drop", []any{"compact", false}, compactMemoryFile, setting.StatusSet, "empty caches",
			[]string{dropCachesFile + "=3"}},
		{"neither", []any{"compact", false, "drop", false}, "", setting.StatusOK, "", nil},
		{"no compaction", nil, compactMemoryFile, setting.StatusCannot, "empty caches, compact memory", nil},
	} {
		m, k := fakeMachine(t, "intel-acpi-cpufreq")
		for _, file := range []string{dropCachesFile, compactMemoryFile} {
			if file != tt.without {
				k.put(file, "write-only")
			}
		}
		r := Request{Demands: setting.Defaults(Descriptors()).With(
			demand(caches, setting.Apply, tt.options...))}
		for i := range r.Demands {
			if r.Demands[i].Name != "caches" {
				r.Demands[i].Policy = setting.Off
			}
		}
		j := openJournal(t, m)
		findings, restore, problems := ApplyAll(t.Context(), m, r, j)
		i := slices.IndexFunc(findings, func(f setting.Finding) bool { return f.Name == "caches" })
		f := findings[i]
		must.Be(t, len(problems) == 0 && f.Status == tt.status && f.Wanted == tt.wanted, tt.name, f, problems)
		must.Do(t, restore(t.Context()))
		must.EqualList(t, k.writes, tt.writes, tt.name, "wrote")
	}
}

// TestCachesAfterACrash: an entry that is left in the journal makes krund write nothing.
func TestCachesAfterACrash(t *testing.T) {
	m, k := fakeMachine(t, "intel-acpi-cpufreq")
	k.put(dropCachesFile, "write-only")
	j := openJournal(t, m)
	must.Get2(required(caches, "compact", false).Apply(t.Context(), m, j))(t)
	report, err := Restore(t.Context(), m, j)
	must.Be(t, err == nil && len(report) == 1 && report[0].Outcome == Already && len(k.writes) == 1, report,
		err, "wrote", k.writes)
}

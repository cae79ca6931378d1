package control

import (
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/rig/must"
)

func TestRPS(t *testing.T) {
	const (
		eth0 = "/sys/class/net/eth0/queues/rx-0/rps_cpus"
		lo   = "/sys/class/net/lo/queues/rx-0/rps_cpus"
	)
	for _, tt := range []struct {
		name, cpus string
		eth0, lo   string
		status     setting.Status
		found      string
		set        map[string]string // after applying
	}{
		{"all CPUs", "", "f", "0", setting.StatusWillSet, "1 of 2 queues use them: eth0",
			map[string]string{eth0: "1", lo: "0"}},
		{"only benchmark CPUs", "1-3", "c", "2", setting.StatusWillSet, "2 of 2 queues use them: eth0, lo",
			map[string]string{eth0: "0", lo: "0"}},
		{"the other CPUs", "2,3", "3", "1", setting.StatusOK, "2 queues", nil},
		// as on a machine with more possible CPUs
		{"words", "2,3", "00000000,0000000f", "0", setting.StatusWillSet, "1 of 2 queues use them: eth0",
			map[string]string{eth0: "3"}},
		{"not a mask", "2,3", "all", "0", setting.StatusCannot, "unknown", nil},
	} {
		m, k := fakeMachine(t, "intel-acpi-cpufreq")
		k.put(eth0, tt.eth0)
		k.put(lo, tt.lo)
		before := state(t, m, k)
		c := requiredOn(tt.cpus, rps)
		p := c.plan(t.Context(), m)
		must.Be(t, p.Status == tt.status && p.Found == tt.found, tt.name, p)
		_, restore, _ := c.Apply(t.Context(), m, openJournal(t, m))
		for file, want := range tt.set {
			must.Equal(t, k.get(file), want, tt.name)
		}
		must.Do(t, restore(t.Context()))
		sameTree(t, state(t, m, k), before)
	}
}

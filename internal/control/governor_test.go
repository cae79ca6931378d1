package control

import (
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/machine/host"
	"krund/rig/must"
)

// TestPreferenceBeforeGovernor: in reverse order the preference is restored after the governor,
// which would reject it before.
func TestPreferenceBeforeGovernor(t *testing.T) {
	m, _ := fakeMachine(t, "intel-hybrid")
	policies := must.Get(m.FrequencyPolicies())(t)
	governor := false
	for _, s := range planGovernor(policies, nil).Steps {
		if strings.HasSuffix(s.Target, "scaling_governor") {
			governor = true
		} else if governor {
			t.Errorf("%s after a governor", s)
		}
	}
}

// TestGovernorsTunablesAreRestored: a kernel discards a governor's tunables when the last policy
// stops using it.
func TestGovernorsTunablesAreRestored(t *testing.T) {
	m, k := fakeMachine(t, "intel-acpi-cpufreq")
	governor := k.get(host.CPUFreqDir + "/policy0/scaling_governor")
	file := filepath.Join(k.dir, host.CPUFreqDir, governor, "up_threshold")
	must.Write(t, file, "71\n")
	_, restore := must.Get2(required(frequencyGovernor).Apply(t.Context(), m, openJournal(t, m)))(t)
	must.Write(t, file, "95\n") // the kernel's default, as it is when the governor comes back
	must.Do(t, restore(t.Context()))
	must.Equal(t, k.get(host.CPUFreqDir+"/"+governor+"/up_threshold"), "71", "up_threshold of", "want 71")
}

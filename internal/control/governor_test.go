package control

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/machine/host"
)

// TestPreferenceBeforeGovernor: in reverse order the preference is restored after the governor,
// which would reject it before.
func TestPreferenceBeforeGovernor(t *testing.T) {
	m, _ := fakeMachine(t, "intel-hybrid")
	policies, err := m.FrequencyPolicies()
	if err != nil {
		t.Fatal(err)
	}
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
	write := func(text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte(text+"\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("71")
	_, restore, err := required(frequencyGovernor).Apply(t.Context(), m, openJournal(t, m))
	if err != nil {
		t.Fatal(err)
	}
	write("95") // the kernel's default, as it is when the governor comes back
	if err := restore(t.Context()); err != nil {
		t.Error(err)
	}
	if got := k.get(host.CPUFreqDir + "/" + governor + "/up_threshold"); got != "71" {
		t.Errorf("up_threshold of %s is %s, want 71", governor, got)
	}
}

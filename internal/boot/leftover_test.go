package boot

import (
	"errors"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/rig/must"
)

// killed is a machine that a killed krund has left changed. Its journal has a copy.
func killed(t *testing.T) (m *LabMachine, setting func() string) {
	t.Helper()
	m, _, read, _ := guarded(t, `aslr = "require"`)
	m.Spare = "/x/copy"
	must.Get(m.Apply(t.Context()))(t)
	setting = func() string { return read("proc/sys/kernel/randomize_va_space") }
	must.Need(t, setting() != "0", "nothing was changed")
	return m, setting
}

func hasCopy(m *LabMachine) bool {
	_, err := m.FS.Lstat(m.Spare)
	return err == nil
}

// TestRestoreLeftoverFromADamagedJournal: the copy has the entries that the journal has lost.
func TestRestoreLeftoverFromADamagedJournal(t *testing.T) {
	m, setting := killed(t)
	text := must.Get(durable.ReadFile(m.FS, m.Journal))(t)
	damaged := strings.Replace(string(text), `"aslr"`, `"aslX"`, 1)
	must.Need(t, damaged != string(text), "no change", text)
	must.Do(t, durable.WriteFile(m.FS, m.Journal, []byte(damaged), 0o644))
	_ = m.RestoreLeftover(t.Context())
	must.Be(t, setting() == "0" && !hasCopy(m), "randomize_va_space", setting(), "a copy", hasCopy(m))
}

// TestRestoreLeftoverFromALostJournal: the same if the experiment's directory was removed and
// created again.
func TestRestoreLeftoverFromALostJournal(t *testing.T) {
	m, setting := killed(t)
	must.Do(t, m.FS.Remove(m.Journal))
	if err := m.RestoreLeftover(t.Context()); err != nil || setting() != "0" || hasCopy(m) {
		t.Errorf("%v; randomize_va_space %s, a copy %t", err, setting(), hasCopy(m))
	}
}

// TestRestoreLeftoverForgetsAnOldCopy: the machine was restored by a version without copies of the
// journal. What its owner sets afterwards stays, even if the journal is lost later.
func TestRestoreLeftoverForgetsAnOldCopy(t *testing.T) {
	m, setting := killed(t)
	text := must.Get(durable.ReadFile(m.FS, m.Spare))(t)
	must.Do(t, errors.Join(m.RestoreLeftover(t.Context()), durable.WriteFile(m.FS, m.Spare, text, 0o600)))
	must.Do(t, m.Control.Root.Write("/proc/sys/kernel/randomize_va_space", "1"))
	err := m.RestoreLeftover(t.Context())
	must.Be(t, err == nil && !hasCopy(m), err, "a copy", hasCopy(m))
	err = errors.Join(m.FS.Remove(m.Journal), m.RestoreLeftover(t.Context()))
	must.Be(t, err == nil && setting() == "1", err, "randomize_va_space", setting())
}

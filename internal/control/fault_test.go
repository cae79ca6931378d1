package control

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"krund/internal/control/machines"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// TestRefusedWrites makes the kernel reject, or silently ignore, each write of each control on each
// machine in turn. The control is then not set and reports why, or it reports that an optional part
// was rejected; either way the machine can be restored.
func TestRefusedWrites(t *testing.T) {
	must.Long(t)
	errnos := []error{syscall.EACCES, syscall.EINVAL, syscall.EIO}
	for i, machine := range machines.Names() {
		refusals := []error{errKeep, errnos[i%len(errnos)]}
		t.Run(machine, func(t *testing.T) {
			t.Parallel()
			m, k := fakeMachine(t, machine)
			k.memory = map[string][]byte{}
			before := state(t, m, k)
			for _, refusal := range refusals {
				for _, name := range controlNames(t) {
					t.Run(fmt.Sprintf("%v/%s", refusal, name),
						func(t *testing.T) { refuseEach(t, refusal, m, k, name) })
				}
			}
			k.forget()
			sameTree(t, state(t, m, k), before)
		})
	}
}

// controlNames returns the names of all controls, each once.
func controlNames(t *testing.T) []string {
	t.Helper()
	m, _ := fakeMachine(t, "arm64")
	var names []string
	for _, f := range CheckAll(t.Context(), m, everything()) {
		names = append(names, f.Name)
	}
	return names
}

// only returns the controls of one name under policy require.
func only(name string) []Control {
	var list []Control
	for _, c := range Controls(everything()) {
		if c.Name == name {
			c.Policy = setting.Require
			list = append(list, c)
		}
	}
	return list
}

// refuseEach rejects write 1, then 2, and so on until the control makes no more.
func refuseEach(t *testing.T, refusal error, m *Machine, k *fakeKernel, name string) {
	before := state(t, m, k)
	for n := 1; ; n++ {
		left, hit := n, ""
		k.refuse = func(op, file, value string) error {
			if left--; left != 0 || errors.Is(refusal, errKeep) && op != "write" {
				return nil
			}
			hit = file + "=" + value
			return refusal
		}
		j := openJournal(t, m)
		for _, c := range only(name) {
			f, restore, err := c.Apply(t.Context(), m, j)
			switch {
			case err != nil && f.Status != setting.StatusCannot:
				t.Errorf("write %d (%s) refused: error %v, but status %s", n, hit, err, f.Status)
			case err != nil && f.Detail == "":
				t.Errorf("write %d (%s) refused: the finding does not say why", n, hit)
			case err != nil: // then restore does nothing, and the following check finds any remaining change
			case f.Status == setting.StatusSet && maps.Equal(state(t, m, k), before):
				t.Errorf("write %d (%s) refused: set, but nothing changed", n, hit)
			}
			must.Do(t, restore(t.Context()), "write", n, hit, "refused: restore")
		}
		sameTree(t, state(t, m, k), before)
		must.Equal(t, len(j.Pending()), 0, "write", n, hit, "refused: journal holds", j.Pending())
		if left > 0 || t.Failed() {
			k.refuse = nil
			return
		}
	}
}

// TestRequiredRefusalIsAProblem checks the result that boot receives.
func TestRequiredRefusalIsAProblem(t *testing.T) {
	m, k := fakeMachine(t, "intel-acpi-cpufreq")
	before := state(t, m, k)
	k.refuse = func(_, name, value string) error {
		if name == perfRateFile && value == "1" {
			return syscall.EACCES
		}
		return nil
	}
	s := everything()
	s = under(s, setting.Require, "perf_rate")
	findings, restore, problems := ApplyAll(t.Context(), m, s, openJournal(t, m))
	must.Need(t, len(problems) == 1 && problems[0].Control == "perf_rate" &&
		strings.Contains(problems[0].String(), "permission denied") && problems[0].Fix != "", "problems",
		problems)
	must.Equal(t, find(t, findings, "frequency").Status, setting.StatusSet, "frequency, applied before")
	must.Equal(t, find(t, findings, "writeback").Status, setting.StatusWillSet, "writeback, never reached")
	must.Do(t, restore(t.Context()))
	sameTree(t, state(t, m, k), before)
}

// TestUnfitMachineIsNotTouched checks that nothing is changed if the check finds that a required
// setting cannot be met.
func TestUnfitMachineIsNotTouched(t *testing.T) {
	m, k := fakeMachine(t, "kvm-guest")
	s := Defaults()
	findings, restore, problems := ApplyAll(t.Context(), m, s, openJournal(t, m))
	var names []string
	for _, p := range problems {
		names = append(names, p.Control)
		must.Be(t, p.What != "" && p.Fix != "", "problem without text", p)
	}
	must.Equal(t, strings.Join(names, " "), "frequency turbo tickless", "problems with",
		"want frequency, turbo and tickless")
	must.Be(t, len(findings) >= 20 && len(k.writes) == 0, len(findings), "findings; wrote", k.writes)
	must.Do(t, restore(t.Context()))
}

// TestPoliciesThatForbidChange checks that warn and off leave everything alone.
func TestPoliciesThatForbidChange(t *testing.T) {
	for policy, want := range map[setting.Policy]setting.Status{setting.Warn: setting.StatusDiffers,
		setting.Off: setting.StatusOff} {
		m, k := fakeMachine(t, "intel-acpi-cpufreq")
		for _, c := range Controls(everything()) {
			c.Policy = policy
			f, _, err := c.Apply(t.Context(), m, openJournal(t, m))
			must.Be(t, err == nil && f.Status != setting.StatusSet && f.Status != setting.StatusWillSet,
				c.Name, "under", policy, f.Status, err)
			if c.Name == "aslr" {
				continue // as wanted already
			}
			must.Be(t, c.Name != "frequency" || f.Status == want && f.Found != "", "frequency under", policy,
				f, "want", want)
		}
		must.Equal(t, len(k.writes), 0, "policy", policy, "wrote", k.writes)
	}
}

// TestMissingFiles removes each file of a machine in turn. Nothing may break, no file may be
// created, and restore must restore the rest.
func TestMissingFiles(t *testing.T) {
	must.Long(t)
	damageEach(t, "intel-pstate-active", 0, must.Often(3, 1), true,
		func(path string) error { return os.Remove(path) })
}

// TestRubbishInFiles fills each file of a machine in turn with what no kernel would print.
func TestRubbishInFiles(t *testing.T) {
	must.Long(t)
	texts := []string{"", "rubbish [\n", "-1\n", "99999999999999999999\n"}
	for i, text := range texts {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			t.Parallel()
			damageEach(t, "intel-cpufreq-passive", i, must.Often(len(texts), 1), false,
				func(path string) error { return os.WriteFile(path, []byte(text), 0o644) })
		})
	}
}

// damageEach runs everything with each file of a machine damaged in turn, or with the first, in the
// order of the names, and each that is step further; removed says that the damage is to be no more.
func damageEach(t *testing.T, machine string, first, step int, removed bool,
	damage func(path string) error) {
	t.Helper()
	dir := copyTree(t, machine)
	whole := snapshot(t, dir)
	for i, name := range slices.Sorted(maps.Keys(whole)) {
		text := whole[name]
		if i%step != first%step || text == "folder" || strings.Contains(name, "hwmon") ||
			filepath.Base(name) == "README" {
			continue
		}
		m := NewMachine(t.Context(), sysroot.New(dir))
		m.Commands = noCommands{}
		must.Do(t, damage(filepath.Join(dir, name)))
		_, restore, _ := ApplyAll(t.Context(), m, plain(), openJournal(t, m))
		err := restore(t.Context())
		must.Be(t, err == nil || errors.Is(err, os.ErrNotExist), name, "damaged: restore", err)
		// A control may have found the garbage as the old value, and restored it with a newline;
		// but a missing file must not be created.
		_, err = os.Stat(filepath.Join(dir, name))
		must.Be(t, !removed || err != nil, name, "was removed, and made")
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		if sameTree(t, snapshot(t, dir), whole); t.Failed() {
			t.Fatalf("%s damaged", name)
		}
	}
}

// plain is everything but what needs more of a kernel than plain files.
func plain() Request {
	return under(everything(), setting.Off, "smt", "thp", "shield", "swap", "cstates", "services", "network")
}

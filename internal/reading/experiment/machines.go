package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// Parts returns the experiment's directories that arg names: the directory itself, or those of the
// machines that share the experiment, arg/MACHINE/NAME.krun, by machine.
func Parts(fsys durable.FS, arg string) []string {
	dir := DirectoryOf(arg)
	if strings.HasSuffix(dir, ".krun") || isDir(fsys, filepath.Join(dir, "results")) {
		return []string{dir}
	}
	var parts []string
	for _, machine := range namesIn(fsys, dir) {
		for _, name := range namesIn(fsys, filepath.Join(dir, machine)) {
			part := filepath.Join(dir, machine, name)
			if strings.HasSuffix(name, ".krun") && isDir(fsys, part) {
				parts = append(parts, part)
			}
		}
	}
	if len(parts) == 0 {
		return []string{dir}
	}
	return parts
}

// MachineOf returns the machine of a part.
func MachineOf(dir string) string { return filepath.Base(filepath.Dir(dir)) }

// Recorded returns what the first completed record of a machine in an experiment says of the
// machine and of what ran there: the fingerprint, and "control.NAME" for what was found of each
// control. An empty machine is the only one. It is nil if there is no such record.
func Recorded(fsys durable.FS, arg, machine string) map[string]string {
	if arg == "" {
		return nil
	}
	for _, part := range Parts(fsys, arg) {
		if machine != "" && MachineOf(part) != machine {
			continue
		}
		e, err := Open(fsys, part)
		if err != nil {
			continue
		}
		list, err := e.Reader().List()
		if err != nil {
			continue
		}
		for r := range e.Reader().Usable(list.Records, func(error) {}) {
			if r.Outcome != results.Completed {
				continue
			}
			all := maps.Clone(r.Machine.Fingerprint)
			for _, c := range r.Machine.Controls {
				if all["state.control."+c.Name] == "" && all != nil {
					all["control."+c.Name] = c.Status + ", " + c.Found
				}
			}
			return all
		}
	}
	return nil
}

// namesIn returns the names in a directory, sorted; none if it cannot be read.
func namesIn(fsys durable.FS, dir string) []string {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil // opening it reports that
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

func isDir(fsys durable.FS, name string) bool {
	info, err := fsys.Lstat(name)
	return err == nil && info.IsDir()
}

// unite joins the parts of an experiment that several machines have run. Executions keep their
// numbers if each number of a key is of one machine; otherwise, as when each machine has run the
// whole experiment, those of the second and later machines continue after the first's, so that
// executions with the same number remain of one machine. The error names parts that do not belong
// together.
//
// Parts without records, as of a machine that has not completed an execution, are left out.
func unite(all []*dataset.Dataset) (*dataset.Dataset, error) {
	empty := func(p *dataset.Dataset) bool { return len(p.Pairs) == 0 }
	parts := slices.DeleteFunc(slices.Clone(all), empty)
	if len(parts) == 0 {
		parts = all[:1]
	}
	joined, err := join(parts)
	for _, p := range all {
		if err == nil && empty(p) && p != parts[0] {
			addProblems(joined, p)
		}
	}
	return joined, err
}

// join is unite of parts with records.
func join(parts []*dataset.Dataset) (*dataset.Dataset, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	all := &dataset.Dataset{Info: parts[0].Info, Planned: parts[0].Planned, Rounds: parts[0].Rounds}
	all.Machine, all.Stopped, all.Programs = "", nil, ""
	stride := strideOf(parts)
	at := map[key.Key]int{}
	for i, p := range parts {
		if err := belongs(all, p); err != nil {
			return nil, err
		}
		for _, pair := range p.Pairs {
			k, known := at[pair.Key]
			if !known {
				k = len(all.Pairs)
				at[pair.Key] = k
				all.Pairs = append(all.Pairs, dataset.Pair{Key: pair.Key})
			}
			for _, e := range pair.Executions {
				e.Machine = p.Machine
				e.Number += i * stride
				all.Pairs[k].Executions = append(all.Pairs[k].Executions, e)
			}
		}
		addInfo(all, p)
	}
	for i := range all.Pairs {
		slices.SortStableFunc(all.Pairs[i].Executions,
			func(a, b dataset.Execution) int { return a.Number - b.Number })
	}
	if len(all.Arms) > 0 {
		sortArms(all)
	}
	return all, nil
}

// strideOf returns by how much the numbers of each part are moved: 0 if each number of a key is of
// one machine.
func strideOf(parts []*dataset.Dataset) int {
	type number struct {
		key    key.Key
		number int
	}
	of, most, twice := map[number]int{}, 0, false
	for i, p := range parts {
		for _, pair := range p.Pairs {
			for _, e := range pair.Executions {
				n := number{pair.Key, e.Number}
				if j, known := of[n]; known && j != i {
					twice = true
				}
				of[n], most = i, max(most, e.Number)
			}
		}
	}
	if twice {
		return most
	}
	return 0
}

// belongs returns an error if a part is not of the same experiment, or of a machine that is already
// in all.
func belongs(all, part *dataset.Dataset) error {
	switch {
	case part.Experiment != all.Experiment:
		return fmt.Errorf("it has directories of the experiments %s and %s; keep each experiment in a "+
			"directory of its own", all.Experiment, part.Experiment)
	case slices.Contains(strings.Split(all.Machine, machineSeparator), part.Machine):
		return fmt.Errorf("it has two directories of the machine %s; remove one", part.Machine)
	}
	return nil
}

const machineSeparator = ", "

// addInfo adds what is known of a part beside its executions.
func addInfo(all, part *dataset.Dataset) {
	if all.Machine != "" {
		all.Machine += machineSeparator
	}
	all.Machine += part.Machine
	all.Blocked = all.Blocked && part.Blocked
	if all.Layout != part.Layout {
		all.Layout = ""
	}
	if part.Programs != "" {
		all.Programs = strings.TrimPrefix(all.Programs+"; "+part.Machine+": "+part.Programs, "; ")
	}
	for _, s := range part.Stopped {
		s.Reason = part.Machine + ": " + s.Reason
		all.Stopped = append(all.Stopped, s)
	}
	addProblems(all, part)
}

func addProblems(all, part *dataset.Dataset) {
	for _, problem := range part.Problems {
		all.Problems = append(all.Problems, part.Machine+": "+problem)
	}
	for _, problem := range part.LeftOut {
		all.LeftOut = append(all.LeftOut, part.Machine+": "+problem)
	}
}

// planDiffers returns how the plans of two parts of an experiment differ, apart from what each part
// has of it; "" if they do not.
func planDiffers(a, b *config.Config) string {
	x, y := a.Experiment, b.Experiment
	switch {
	case x.Seed != y.Seed || x.Order != y.Order:
		return "the order of the executions"
	case !slices.Equal(a.Keys(), b.Keys()):
		return "the keys"
	}
	for _, k := range a.Keys() {
		if a.Iterations(k) != b.Iterations(k) || a.Planned(k) != b.Planned(k) {
			return "the number of iterations or executions of " + k.String()
		}
	}
	return ""
}

// sameConfigs returns, for the parts of one experiment, one hash for each configuration: those that
// differ only in the part of each machine ([experiment] shard) have that of the first.
func (r Reader) sameConfigs(parts []string) map[string]string {
	same, firsts := map[string]string{}, map[string]string{} // by hash, by what is left of a text
	for _, dir := range parts {
		e, err := Open(r.FS, dir)
		if err != nil {
			continue // reading the part reports it
		}
		text, err := durable.ReadFile(r.FS, e.ConfigCopy())
		if err != nil {
			continue // so the records' hashes stay as they are
		}
		sum := sha256.Sum256(text)
		hash := hex.EncodeToString(sum[:])
		rest, err := config.WithoutShard(string(text))
		if err != nil {
			continue
		}
		if firsts[rest] == "" {
			firsts[rest] = hash
		}
		same[hash] = firsts[rest]
	}
	return same
}

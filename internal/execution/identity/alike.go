package identity

import (
	"cmp"
	"fmt"
	"strings"

	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
)

// Twins are two arms that neither the content of files nor a setting distinguishes, for some keys.
// Null arms, which are meant to be copies, are none.
type Twins struct {
	First, Second string // names of the arms, in the order of the configuration
	Keys          int    // for which they are alike
	All           int    // that have both arms
}

// String returns a sentence with a remedy.
func (t Twins) String() string {
	where := fmt.Sprintf("for %d of %d keys", t.Keys, t.All)
	if t.Keys == t.All {
		where = "for every key"
	}
	return fmt.Sprintf("the arms %s and %s have the same files and settings %s: write null = true in one "+
		"if that is meant, correct its paths, or skip it where it does not differ", t.First, t.Second, where)
}

// Alike returns the arms of cfg that are alike. hashes are those of Programs.Hashes, or the
// fingerprint in a record. A program or an entry without a hash is compared by its path.
func Alike(cfg *config.Config, hashes map[string]string) []Twins {
	null := map[string]bool{}
	for _, arm := range cfg.Arms {
		null[arm.Name] = arm.Null || arm.Anchor // which may be the base at first
	}
	var order [][2]string
	alike, all := map[[2]string]int{}, map[[2]string]int{}
	for group := range groups(cfg.Keys()) {
		first := map[string]string{} // arm by identity
		for i, k := range group {
			if null[k.Arm] {
				continue
			}
			for _, before := range group[:i] {
				all[[2]string{before.Arm, k.Arm}]++
			}
			what := describe(cfg, k, hashes) + "\n" + levelOf(cfg, k)
			if _, seen := first[what]; !seen {
				first[what] = k.Arm
				continue
			}
			pair := [2]string{first[what], k.Arm}
			if alike[pair] == 0 {
				order = append(order, pair)
			}
			alike[pair]++
		}
	}
	twins := make([]Twins, len(order))
	for i, pair := range order {
		twins[i] = Twins{pair[0], pair[1], alike[pair], all[pair]}
	}
	return twins
}

// Costs returns the arms that only the level of instrumentation distinguishes, for every key, as
// pairs of names in the order of the configuration. What they differ in is what instrumenting
// costs.
func Costs(cfg *config.Config, hashes map[string]string) [][2]string {
	differ, levels := map[[2]string]bool{}, map[[2]string]bool{}
	for group := range groups(cfg.Keys()) {
		for i, k := range group {
			for _, before := range group[:i] {
				pair := [2]string{before.Arm, k.Arm}
				differ[pair] = differ[pair] || describe(cfg, before, hashes) != describe(cfg, k, hashes)
				levels[pair] = levels[pair] || levelOf(cfg, before) != levelOf(cfg, k)
			}
		}
	}
	var pairs [][2]string
	for i, arm := range cfg.Arms {
		for _, before := range cfg.Arms[:i] {
			if pair := [2]string{before.Name, arm.Name}; levels[pair] && !differ[pair] {
				pairs = append(pairs, pair)
			}
		}
	}
	return pairs
}

// levelOf returns the level of instrumentation of a key of cfg.
func levelOf(cfg *config.Config, k key.Key) string {
	vm, _, _, _ := cfg.Lookup(k) // it is there
	return vm.Instrument
}

// groups yields the keys that differ only in their arm, which are next to each other in keys.
func groups(keys []key.Key) func(yield func([]key.Key) bool) {
	return func(yield func([]key.Key) bool) {
		for from := 0; from < len(keys); {
			end := from + 1
			for end < len(keys) && sameButArm(keys[from], keys[end]) {
				end++
			}
			if !yield(keys[from:end]) {
				return
			}
			from = end
		}
	}
}

func sameButArm(a, b key.Key) bool {
	a.Arm, b.Arm = "", ""
	return a == b
}

// describe returns everything that distinguishes k from the same key in another arm, except for the
// level of instrumentation.
func describe(cfg *config.Config, k key.Key, hashes map[string]string) string {
	vm, _, _, _ := cfg.Lookup(k) // k is a key of cfg
	parts := []string{fmt.Sprintf("%q %q", vm.Args, vm.Env)}
	for _, file := range []struct{ name, path string }{
		{vmName(k), vm.Path}, {vmName(k) + libraryFiles, ""},
		{benchmarkName(k), cfg.EntryPath(k)}, {benchmarkName(k) + otherFiles, ""},
	} {
		what := hashes[Prefix+file.name]
		what = cmp.Or(what, file.path)
		parts = append(parts, what)
	}
	return strings.Join(parts, "\n")
}

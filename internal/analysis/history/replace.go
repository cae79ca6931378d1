package history

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
)

// Seam is where a machine was replaced by another one, or was changed for good. Keys of which both
// measured the same programs have one series, on the new machine's scale.
type Seam struct {
	Old string `json:"old"` // machines; they are equal if it was changed
	New string `json:"new"`
	// Version is the first one that the old machine did not measure alone: an index in
	// History.Versions.
	Version   int      `json:"version"`
	Revisions []string `json:"revisions"` // that both measured
	// Other are revisions that are not compared, and a file each with other contents.
	Other []string  `json:"other_programs,omitempty"`
	Keys  []SeamKey `json:"keys"` // that both measured
	// Differs is what was recorded of the machines and is not the same.
	Differs []Difference `json:"differs,omitempty"`

	was string // the old machine's name in keys
}

// SeamKey is a key at a seam.
type SeamKey struct {
	Name      string `json:"key"`
	Revisions int    `json:"revisions"` // by which the two are compared
	// Ratio is time on the new machine / on the old one, with its interval; 0: unknown.
	Ratio float64 `json:"ratio,omitempty"`
	Low   float64 `json:"low,omitempty"`
	High  float64 `json:"high,omitempty"`
	// Reason says why the key's series does not go on; "" if it does.
	Reason string `json:"reason,omitempty"`
}

// Joined returns the keys whose series go on.
func (s *Seam) Joined() (list []SeamKey) {
	for _, k := range s.Keys {
		if k.Reason == "" {
			list = append(list, k)
		}
	}
	return list
}

// Seams returns where the machine of a key's series was replaced, the latest first, and the key
// there.
func (h *History) Seams(k *KeyHistory) (list []Seam, keys []SeamKey) {
	machine := k.Machine
	for _, s := range slices.Backward(h.Replaced) {
		for _, own := range s.Joined() {
			if s.New == machine && own.Name == k.Key {
				list, keys = append(list, s), append(keys, own)
				machine = s.Old
			}
		}
	}
	return list, keys
}

// MachineAt returns the machine that measured a version of the series that is now a machine's.
func (h *History) MachineAt(machine string, version int) string {
	for _, s := range slices.Backward(h.Replaced) {
		if s.New == machine && version < s.Version {
			machine = s.Old
		}
	}
	return machine
}

// conversion of a version's values to the scale of the newest machine: shift is added to their
// logarithms. Its standard error is in standard deviations of a version of weight 1; those of
// several machines are added as if they were dependent.
type conversion struct{ shift, offset float64 }

// converted returns the values on the scale of the newest machine.
func (k Key) converted() [][]float64 {
	if k.seams == nil {
		return k.Values
	}
	list := make([][]float64, len(k.Values))
	for v, values := range k.Values {
		for _, x := range values {
			list[v] = append(list[v], x*exp(k.seams[v].shift))
		}
	}
	return list
}

// Bounds of a seam.
const (
	mostNights  = 10   // of a revision on a machine: what is measured later is not the seam's
	otherRatios = 0.01 // how often any key is left out whose ratio does not differ between revisions
)

// Replace joins the series of an old machine and of the one that replaced it. For a machine that
// was changed for good, after is the label of the first version that was measured since, and its
// name before is followed by that. Programs that both measured tell the ratio of the two for each
// key: their revisions are the same, and no hash of what ran differs. The series of a key goes on,
// unless the ratio differs between revisions. recorded is that of Explain. The error says that
// there is no such machine or version.
func Replace(v Values, old, after string, recorded func(machine string, version int) map[string]string) (
	[]Key, Seam, error) {
	s := Seam{Old: old, New: after, Revisions: []string{}, Keys: []SeamKey{}, was: old}
	keys := slices.Clone(v.Keys)
	has := func(machine string) bool {
		return slices.ContainsFunc(keys, func(k Key) bool { return k.Machine == machine })
	}
	switch at := slices.IndexFunc(v.Versions, func(x Version) bool { return x.Label == after }); {
	case !has(old):
		return nil, s, fmt.Errorf("there is no machine %q", old)
	case !has(after) && at < 0 || old == after:
		return nil, s, fmt.Errorf("%q is neither another machine nor a version", after)
	case !has(after):
		s.New, s.was = old, strings.TrimSpace(old+" before "+after)
		for i, k := range v.Keys {
			if k.Machine == old {
				keys[i].Values = append(make([][]float64, at), k.Values[at:]...)
				k.Machine, k.Values = s.was, append(slices.Clone(k.Values[:at]),
					make([][]float64, len(k.Values)-at)...)
				keys = append(keys, k)
			}
		}
	}
	pairs := map[string][2][]int{} // the nights of a revision on both
	for i, x := range v.Versions {
		r := cmp.Or(x.Revision, x.Label)
		for side, machine := range []string{s.was, s.New} {
			if slices.ContainsFunc(keys, func(k Key) bool {
				return k.Machine == machine && len(k.Values[i]) > 0
			}) {
				p := pairs[r]
				p[side] = append(p[side], i)
				pairs[r] = p
			}
		}
		if p := pairs[r]; slices.Contains(p[0], i) && !slices.Contains(p[1], i) {
			s.Version = i + 1
		}
	}
	for _, x := range v.Versions {
		r := cmp.Or(x.Revision, x.Label)
		p := pairs[r]
		if len(p[0]) == 0 || len(p[1]) == 0 || slices.Contains(s.Revisions, r) {
			continue
		}
		p[0], p[1] = p[0][max(0, len(p[0])-mostNights):], p[1][:min(len(p[1]), mostNights)]
		before, since := recorded(old, p[0][len(p[0])-1]), recorded(s.New, p[1][0])
		if other := otherProgram(before, since); other != "" {
			s.Other = append(s.Other, r+": "+other)
			delete(pairs, r)
			continue
		}
		s.Revisions, pairs[r] = append(s.Revisions, r), p
		s.Differs = slices.DeleteFunc(differences(before, since), func(d Difference) bool {
			return strings.HasPrefix(d.Name, program)
		})
	}
	s.join(v.Versions, keys, pairs)
	return slices.DeleteFunc(keys, func(k Key) bool { return k.Values == nil }), s, nil
}

// otherProgram returns the name of a file that ran on both machines with no content in common; ""
// if there is none. Arms of one revision may have different names.
func otherProgram(before, since map[string]string) string {
	hashes := func(of map[string]string) map[string][]string {
		list := map[string][]string{}
		for name, hash := range of {
			if name, ok := strings.CutPrefix(name, program); ok {
				file, arm, _ := strings.Cut(name, "@")
				if dot := strings.IndexByte(arm, '.'); dot >= 0 {
					file += arm[dot:]
				}
				list[file] = append(list[file], hash)
			}
		}
		return list
	}
	a, b := hashes(before), hashes(since)
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if b[name] != nil && !slices.ContainsFunc(a[name], func(h string) bool {
			return slices.Contains(b[name], h)
		}) {
			return name
		}
	}
	return ""
}

// join lets the series of keys on the new machine go on where those of the old one end.
func (s *Seam) join(versions []Version, keys []Key, pairs map[string][2][]int) {
	var from, to []int // indexes of the same key on both machines
	var olds []Key
	for i, k := range keys {
		j := slices.IndexFunc(keys, func(o Key) bool { return o.Name == k.Name && o.Machine == s.New })
		if j >= 0 && k.Machine == s.was {
			from, to, olds = append(from, i), append(to, j), append(olds, k)
		}
	}
	h := newHistory(versions, Options{})
	detectors := map[int]*detector{}
	for _, d := range h.detect(olds) {
		detectors[d.key] = d
	}
	for i := range olds {
		one := SeamKey{Name: olds[i].Name, Reason: h.Keys[i].Reason}
		if one.Reason == "" {
			old, since := &keys[from[i]], &keys[to[i]]
			shift, offset := s.ratio(&one, detectors[i], old, since, pairs, len(olds))
			if one.Reason == "" {
				since.goOn(old, shift, offset)
			}
		}
		s.Keys = append(s.Keys, one)
	}
}

// goOn puts the values of an old machine into a key, where it has none itself.
func (k *Key) goOn(old *Key, shift, offset float64) {
	values, seams := slices.Clone(k.Values), make([]conversion, len(k.Values))
	copy(seams, k.seams)
	for v := range values {
		if len(values[v]) == 0 {
			values[v], seams[v] = old.Values[v], conversion{shift, offset}
			if old.seams != nil {
				seams[v] = conversion{shift + old.seams[v].shift, offset + old.seams[v].offset}
			}
		}
	}
	k.Control = k.Control || old.Control
	k.Values, k.seams, old.Values = values, seams, nil
}

// ratio compares a key on both machines, revision by revision; d has seen what the old one
// measured. The variance of a version is that of its levels there, and executions may show that it
// is larger. Ratios of revisions are weighted by their variances and by what they differ beyond
// these.
func (s *Seam) ratio(one *SeamKey, d *detector, old, since *Key, pairs map[string][2][]int, keys int) (
	shift, offset float64) {
	const least = 1e-18
	known := d.earlier.with(sumOf(d.clipped[d.begin:]))
	alike := d.alike.with(d.points[d.begin:]).near(d.others)
	variance := max(known.variance(d.points[len(d.points)-1].floor), least)
	levels := make([]float64, len(old.Values))
	x, _ := old.points(levels)
	y, reason := since.points(levels)
	type pair struct {
		revision    string
		d, variance float64
	}
	var list []pair
	for _, r := range s.Revisions {
		var sides [2]moments
		total, explained := 0.0, 0.0
		for side, points := range [][]point{x, y} {
			for _, p := range points {
				if slices.Contains(pairs[r][side], p.version) {
					sides[side] = sides[side].with(p)
				}
			}
			m := &sides[side]
			total += variance * inflation(float64(m.n), alike) / m.weight
			explained += m.noise / m.weight / float64(m.n)
		}
		if sides[0].n > 0 && sides[1].n > 0 {
			list = append(list, pair{r, sides[1].mean - sides[0].mean, max(total, explained)})
		}
	}
	switch one.Revisions = len(list); {
	case reason != "":
		one.Reason = reason
	case len(list) == 0:
		one.Reason = "no revision was measured on both"
	case known.freedom < 1:
		one.Reason = "too few versions before to know how much they vary"
	}
	if one.Reason != "" {
		return 0, 0
	}
	mean := func(between float64) (all pooled) {
		for _, p := range list {
			all = all.with(p.d, p.variance+between)
		}
		return all
	}
	all := mean(0)
	if free := float64(len(list) - 1); free > 0 {
		f := distuv.F{D1: free, D2: float64(known.freedom)}
		if f.Survival(all.q/free) < otherRatios/float64(keys) {
			slices.SortFunc(list, func(a, b pair) int { return cmp.Compare(a.d, b.d) })
			a, b := list[0], list[len(list)-1]
			one.Reason = fmt.Sprintf("the ratio differs between revisions: %.4f (%s) to %.4f (%s)", exp(a.d),
				a.revision, exp(b.d), b.revision)
		}
		all = mean(all.between())
	}
	half := distuv.StudentsT{Sigma: 1, Nu: float64(known.freedom)}.Quantile((1+DefaultConfidence)/2) /
		math.Sqrt(all.sum)
	one.Ratio, one.Low, one.High = exp(all.mean), exp(all.mean-half), exp(all.mean+half)
	return all.mean, 1 / math.Sqrt(all.sum*variance)
}

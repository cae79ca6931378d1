package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/compare"
	"krund/rig/must"
)

// seamed is a program that is measured every night by a machine, and then by one that replaced it
// and has measured the last few versions, too.
type seamed struct {
	name  string
	both  int                                      // versions that both machines measured
	noise func(r *rand.Rand, nights int) []float64 // of a machine's nights, standard deviation 0.5 %
	times float64                                  // noise of the new machine / of the old one
}

const seamKeys, seamAt, seamNights = 12, 60, 80

// seamRatio is time on the new machine / on the old one.
func seamRatio(key int) float64 { return math.Exp(0.1 * float64(key-5)) }

// values returns what was measured, with effect added to the logarithms, and the same without a
// seam. Builds differ by 0.5 %, on both machines alike, and executions by 1 %.
func (s seamed) values(r *rand.Rand, effect func(machine, key, version int) float64) (v Values, whole []Key) {
	const build, night, execution, executions = 0.005, 0.005, 0.01, 5
	v.Versions = nightly(seamNights, func(i int) string { return fmt.Sprint("rev", i) })
	machines := []string{"old", "new"}
	for k := range seamKeys {
		name := fmt.Sprintf("k%02d:vm:v", k)
		unbroken, builds := Key{Name: name, Values: make([][]float64, seamNights)}, normal(r, seamNights)
		for m, machine := range machines {
			key := Key{Name: name, Machine: machine, Values: make([][]float64, seamNights)}
			for i, x := range s.noise(r, seamNights) {
				x = build*builds[i] + night*x*(1+float64(m)*(s.times-1)) + effect(m, k, i)
				var values, plain []float64
				for range executions {
					plain = append(plain, math.Exp(x+execution*r.NormFloat64()))
					values = append(values, plain[len(plain)-1]*math.Pow(seamRatio(k), float64(m)))
				}
				if m == 0 && i < seamAt || m == 1 && i >= seamAt-s.both {
					key.Values[i] = values
				}
				if (i < seamAt) == (m == 0) {
					unbroken.Values[i] = plain
				}
			}
			v.Keys = append(v.Keys, key)
		}
		whole = append(whole, unbroken)
	}
	return v, whole
}

// joined finds the changes of the joined series, and the versions after the seam with which a key
// was found to have changed.
func joined(t *testing.T, v Values) (*History, Seam) {
	t.Helper()
	keys, seam, err := Replace(v, "old", "new", func(string, int) map[string]string { return nil })
	must.Do(t, err)
	h, _ := changes(v.Versions, keys, Options{Replaced: []Seam{seam}})
	return h, seam
}

// since counts the changes of keys that were found after the seam, and with how many versions.
func (h *History) since() (changed, delay int) {
	for _, k := range h.Keys {
		for _, c := range k.Changes {
			if c.Found > seamAt && k.Machine != "old" {
				changed, delay = changed+1, delay+c.Found-seamAt
				break
			}
		}
	}
	return changed, delay
}

var seams = []seamed{
	{"3 versions on both machines", 3, normal, 1},
	{"1 version", 1, normal, 1},
	{"10 versions", 10, normal, 1},
	{"3, the new machine twice as noisy", 3, normal, 2},
	{"3, heavy tails", 3, heavy, 1},
	{"3, two states of nights, 3 % apart, 90:10", 3, func(r *rand.Rand, n int) []float64 {
		list := states(0.1)(r, n)
		for i := range list {
			list[i] *= 6
		}
		return list
	}, 1},
	{"3, nights with autocorrelation 0.5", 3, drifting(0.5), 1},
}

// TestReplaced: where a machine is replaced, there are no more false events than elsewhere, the
// ratio of the two machines is in its interval, and a change of the program in the second version
// after it is found nearly as soon as in a series without a seam.
func TestReplaced(t *testing.T) {
	trials := must.Often(1, 25)
	for i, s := range seams[:must.Often(1, len(seams))] {
		r := source(6100 + uint64(i))
		events, covered, drifts, apart, all := 0, 0, 0, 0, trials*seamKeys
		for range trials {
			v, _ := s.values(r, func(_, _, _ int) float64 { return 0 })
			h, seam := joined(t, v)
			for _, e := range h.Events {
				events += arith.One(e.Last >= seamAt-s.both)
			}
			for k := range h.Keys {
				drifts += arith.One(h.Keys[k].Autocorrelation > 0)
			}
			for k, own := range seam.Keys {
				apart += arith.One(own.Reason != "")
				covered += arith.One(own.Low <= seamRatio(k) && own.High >= seamRatio(k))
			}
			must.Be(t, seam.Version == seamAt-s.both && len(seam.Revisions) == s.both, seam)
		}
		share := func(n, of int) float64 { return float64(n) / float64(max(of, 1)) }
		line := fmt.Sprintf("%-42s %d false events in %d versions; ratio in its interval %.3f; %.3f not "+
			"joined, %.3f drift", s.name, events, trials*(seamNights-seamAt), share(covered, all-apart),
			share(apart, all), share(drifts, all))
		for _, factor := range []float64{0.05, 0.02}[:must.Often(1, 2)] {
			var found, delay [2]int
			for range trials {
				v, whole := s.values(r, func(_, k, i int) float64 {
					return factor * float64(arith.One(i > seamAt && k%4 == 0))
				})
				h, _ := joined(t, v)
				unbroken, _ := changes(v.Versions, whole, Options{})
				for j, h := range []*History{h, unbroken} {
					n, d := h.since()
					found[j], delay[j] = found[j]+n, delay[j]+d
				}
			}
			line += fmt.Sprintf(" | %+.0f%%: %.2f with %.1f, unbroken %.2f with %.1f", 100*factor,
				share(found[0], all/4), share(delay[0], found[0]), share(found[1], all/4),
				share(delay[1], found[1]))
			must.Be(t, i > 0 || factor < 0.05 || float64(found[0]) >= 0.8*float64(found[1]), s.name, found)
		}
		t.Log(line)
		low, _ := compare.Binomial(events, trials*(seamNights-seamAt), 0.95)
		must.Be(t, i > 2 || low <= DefaultRate, s.name, events)
		must.Be(t, covered >= 9*(all-apart)/10 && apart <= all/10, s.name, covered, apart)
	}
}

// TestReplaceRules: a machine that was changed is joined by revisions that it measured again; a key
// whose ratio differs between revisions, and a revision whose programs differ, are left out; a
// series goes on over two seams.
func TestReplaceRules(t *testing.T) {
	const nights, again, end = 30, 4, 50
	r := source(67)
	v := Values{Versions: nightly(end, func(i int) string { return fmt.Sprint("rev", i) })}
	for i := nights; i < nights+again; i++ {
		v.Versions[i] = Version{fmt.Sprintf("rev%d, night 2", i-again), "revision",
			fmt.Sprint("rev", i-again)}
	}
	for k := range 3 {
		key := Key{Name: fmt.Sprint("k", k), Machine: "m", Values: make([][]float64, end)}
		for i := range key.Values {
			x := 0.005 * r.NormFloat64()
			if i >= nights {
				x += 0.2 + 0.05*float64(arith.One(k == 2)*(i%2))
			}
			key.Values[i] = []float64{math.Exp(x)}
		}
		v.Keys = append(v.Keys, key)
	}
	record := func(_ string, version int) map[string]string {
		kernel, built := "6.1", "aa"
		if version >= nights {
			kernel, built = "6.12", fmt.Sprint("a", string("ab"[arith.One(version == nights)]))
		}
		return map[string]string{"kernel.release": kernel, "program.benchmark.k@arm": built}
	}
	keys, s, err := Replace(v, "m", "rev26, night 2", record)
	must.Do(t, err)
	must.EqualList(t, s.Revisions, []string{"rev27", "rev28", "rev29"})
	must.EqualList(t, s.Other, []string{"rev26: benchmark.k"})
	must.EqualList(t, s.Differs, []Difference{{"kernel.release", "6.1", "6.12"}})
	must.Be(t, s.Old == "m" && s.New == "m" && s.Version == nights && len(s.Joined()) == 2, s)
	must.Be(t, math.Abs(math.Log(s.Keys[0].Ratio)-0.2) < 0.02 && strings.Contains(s.Keys[2].Reason,
		"differs between revisions: 1.2"), s.Keys)
	must.Be(t, len(keys) == 4 && keys[3].Machine == "m before rev26, night 2" &&
		keys[3].Values[nights] == nil &&
		keys[2].Values[nights-1] == nil, keys[3].Machine)
	h := Of(v.Versions, keys, Options{Replaced: []Seam{s}})
	must.Be(t, len(h.Events) == 0 && len(h.Keys[0].Points) == end, h.Events)
	low, high := h.Keys[0].Points[0].Low, h.Keys[0].Points[0].High
	must.Be(t, high/low > h.Keys[0].Points[end-1].High/h.Keys[0].Points[end-1].Low, low, high)

	next := Key{Name: "k0", Machine: "n", Values: make([][]float64, end)}
	for i := end - again; i < end; i++ {
		next.Values[i] = []float64{0.5 * keys[0].Values[i][0]}
	}
	v.Keys = append(keys, next)
	keys, two, err := Replace(v, "m", "n", record)
	must.Need(t, err == nil && len(two.Joined()) == 1, err, two)
	h = Of(v.Versions, keys, Options{Replaced: []Seam{s, two}})
	at := slices.IndexFunc(h.Keys, func(k KeyHistory) bool { return k.Machine == "n" })
	first := v.Keys[0].converted()[0][0] * two.Keys[0].Ratio
	must.Be(t, math.Abs(h.Keys[at].Points[0].Value-first) < 1e-9, h.Keys[at].Points[0].Value, first)
	list, _ := h.Seams(&h.Keys[at])
	must.Be(t, len(list) == 2 && len(h.Events) == 0 && h.MachineAt("n", 0) == "m", list, h.Events)
	for _, wrong := range [][2]string{{"x", "n"}, {"m", "x"}, {"m", "m"}} {
		_, _, err := Replace(v, wrong[0], wrong[1], record)
		must.Be(t, err != nil, wrong)
	}
}

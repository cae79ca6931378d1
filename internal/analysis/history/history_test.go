package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/rig/must"
)

// made is an artificial history: executions of 1.5 % noise in versions of 0.7 % noise, as the
// median key of 200 JMH benchmarks has them.
type made struct {
	versions, executions int
	between, within      float64         // standard deviations of versions and of executions
	levels               map[int]float64 // factor from this version on
	spikes               map[int]float64 // factor of this version
}

func (m made) values(r *rand.Rand) [][]float64 {
	list := make([][]float64, m.versions)
	level := 1.0
	for v := range list {
		if f, ok := m.levels[v]; ok {
			level *= f
		}
		x := level * math.Exp(m.between*r.NormFloat64())
		if f, ok := m.spikes[v]; ok {
			x *= f
		}
		for range m.executions {
			list[v] = append(list[v], x*math.Exp(m.within*r.NormFloat64()))
		}
	}
	return list
}

func labels(n int) []Version {
	list := make([]Version, n)
	for i := range list {
		list[i] = Version{Label: fmt.Sprintf("v%d", i), Source: "name"}
	}
	return list
}

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

func one(t *testing.T, m made, seed uint64) KeyHistory {
	t.Helper()
	return Of(labels(m.versions), []Key{{Name: "a:b:c", Values: m.values(source(seed))}}, Options{}).Keys[0]
}

var jmh = made{versions: 60, executions: 5, between: 0.007, within: 0.015}

func (m made) with(levels, spikes map[int]float64) made {
	m.levels, m.spikes = levels, spikes
	return m
}

func TestChanges(t *testing.T) {
	for _, c := range []struct {
		name   string
		levels map[int]float64
		spikes map[int]float64
		want   []int // versions
	}{
		{"nothing", nil, nil, nil},
		{"10 % slower", map[int]float64{30: 1.1}, nil, []int{30}},
		{"5 % faster", map[int]float64{30: 0.95}, nil, []int{30}},
		{"slower, and fixed", map[int]float64{20: 1.08, 35: 1 / 1.08}, nil, []int{20, 35}},
		{"a single spike", nil, map[int]float64{30: 2}, nil},
		{"three single spikes", nil, map[int]float64{10: 1.5, 30: 0.7, 59: 3}, nil},
		{"a change after a spike", map[int]float64{40: 1.1}, map[int]float64{20: 3}, []int{40}},
		{"a spike just before a change", map[int]float64{40: 1.1}, map[int]float64{39: 0.8}, []int{40}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := one(t, jmh.with(c.levels, c.spikes), 3)
			must.Need(t, len(k.Changes) == len(c.want) && len(k.Levels) == len(c.want)+1, k.Changes)
			for i, want := range c.want {
				got := k.Changes[i]
				must.Be(t, got.First <= want && got.Last >= want && got.Found >= want+1 &&
					got.Found <= want+8, "want version", want, got)
				f := c.levels[want]
				must.Be(t, (f > 1) == (got.Ratio > 1) && f >= got.Low && f <= got.High, "want factor", f, got)
			}
		})
	}
}

// TestPrefix: what is found up to a version depends on no later version.
func TestPrefix(t *testing.T) {
	m := jmh.with(map[int]float64{15: 1.06, 30: 0.9, 50: 1.2}, map[int]float64{22: 1.4})
	values := m.values(source(5))
	whole := Of(labels(m.versions), []Key{{Name: "a:b:c", Values: values}}, Options{}).Keys[0]
	must.Need(t, len(whole.Changes) == 3, whole.Changes)
	for n := 1; n <= m.versions; n++ {
		part := Of(labels(n), []Key{{Name: "a:b:c", Values: values[:n]}}, Options{}).Keys[0]
		var want, got []int
		for _, c := range whole.Changes {
			if c.Found < n {
				want = append(want, c.Found)
			}
		}
		for _, c := range part.Changes {
			got = append(got, c.Found)
		}
		must.EqualList(t, want, got, n, "versions: found")
	}
}

// TestVersionsWithoutExecutions: indexes are those of the versions, not of the points.
func TestVersionsWithoutExecutions(t *testing.T) {
	values := jmh.with(map[int]float64{30: 1.1}, nil).values(source(3))
	for v := 0; v < 60; v += 5 {
		values[v] = nil
	}
	k := Of(labels(60), []Key{{Name: "a:b:c", Values: values}}, Options{}).Keys[0]
	must.Need(t, len(k.Points) == 48 && len(k.Changes) == 1 && k.Points[0].Version == 1, len(k.Points),
		"points", k.Changes)
	if c := k.Changes[0]; c.First > 31 || c.Last < 31 { // version 30 was not measured
		t.Errorf("%+v", c)
	}
}

func TestDegenerate(t *testing.T) {
	repeat := func(n int, v ...float64) [][]float64 { return slices.Repeat([][]float64{v}, n) }
	for _, c := range []struct {
		name    string
		values  [][]float64
		changes int
		reason  bool
	}{
		{"no version", nil, 0, true},
		{"no execution", repeat(9), 0, true},
		{"one version", repeat(1, 1, 2), 0, false},
		{"equal", repeat(50, 3, 3, 3), 0, false},
		{"exact counts that change", slices.Concat(repeat(30, 1000, 1000), repeat(10, 1010, 1010)), 1, false},
		{"one tick of 10", slices.Concat(repeat(3, 10, 10), repeat(3, 11, 11)), 0, false},
		{"a zero", slices.Concat(repeat(30, 1, 2), repeat(1, 0, 1)), 0, true},
		{"infinite", repeat(30, math.Inf(1)), 0, true},
		{"not a number", repeat(30, math.NaN()), 0, true},
		{"tiny and huge", slices.Concat(repeat(30, 4e-300, 5e-300), repeat(30, 4e300, 5e300)), 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := Of(labels(len(c.values)), []Key{{Name: "a:b:c", Values: c.values}}, Options{}).Keys[0]
			must.Be(t, len(k.Changes) == c.changes && (k.Reason != "") == c.reason, len(k.Changes), "changes",
				k.Reason)
			for _, p := range k.Points {
				must.Be(t, !math.IsNaN(p.Low) && !math.IsNaN(p.High) && !math.IsInf(p.Value, 0), p)
			}
		})
	}
}

func TestMutesAndControls(t *testing.T) {
	slower := jmh.with(map[int]float64{30: 1.1}, nil)
	keys := []Key{
		{Name: "a:b:c", Values: slower.values(source(1))},
		{Name: "d:b:c", Values: slower.values(source(2))},
		{Name: "same:b:c", Control: true, Values: slower.values(source(3))},
		{Name: "d:b:c", Machine: "other", Values: slower.values(source(4))},
	}
	h := Of(labels(60), keys, Options{Mutes: []Mute{{Key: "a:b:c", Version: "v30", Reason: "known"},
		{Key: "d:b:c", Version: "v50"}}})
	must.Be(t, h.Alerts() == 3 && h.Keys[0].Changes[0].Muted && h.Keys[0].Changes[0].MuteReason == "known",
		h.Alerts(), h.Keys[0].Changes)
	for i, want := range []int{1, 1, 0, 0} {
		got := h.Keys[i].Changes[0].Controls
		must.Equal(t, len(got), want, "key", i, got)
	}
	h = Of(labels(60), keys, Options{Mutes: []Mute{{}}})
	must.Equal(t, h.Alerts(), 0, "alerts although all are muted")
}

// TestLogE: expected are the Bayes factors by numerical integration of the noncentral t density
// over the mixture (scipy 1.10.1: integrate.quad of stats.nct.pdf and stats.norm.pdf with scale 2,
// divided by stats.t.pdf), of points that alternate between 1 and -1, then between d+0.5 and d-0.5.
func TestLogE(t *testing.T) {
	for _, c := range []struct {
		n, m    int
		d, want float64
	}{
		{10, 3, 1.5, 1.318446036470392},
		{5, 5, 0.2, -1.1819408134356642},
		{8, 4, -1.0, 0.06100542457368532},
		{20, 5, 0.6, -0.42058502450902435},
	} {
		var before, after moments
		for i := range c.n {
			before = before.with(point{x: 1 - 2*float64(i%2), weight: 1})
		}
		for i := range c.m {
			after = after.with(point{x: c.d + 0.5 - float64(i%2), weight: 1})
		}
		got := logE(past{}, before, after, 0)
		must.Be(t, math.Abs(got-c.want) <= 1e-6, c.n, "and", c.m, c.d, "apart", got, "want", c.want)
	}
}

// TestNeeded: five versions of one key are too few: of ten, the four after a change are one choice
// of 210, which is more than the 1/0.01 that the rate asks for, with a factor of two for its sign.
func TestNeeded(t *testing.T) {
	for versions, want := range map[int]int{5: 10, 9: 10, 10: 0, 30: 0} {
		h := one(t, made{versions: versions, executions: 5, between: 0.001, within: 0.001}, 1)
		must.Be(t, h.Needed == want && (want == 0 || h.Detectable == 0), versions, h.Needed, h.Detectable)
	}
}

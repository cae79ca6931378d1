package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/rig/must"
)

// run returns the changes of a key by itself, and the points as clip bounds them.
func run(points []point) (list []found, clipped []point) {
	d := detector{from: 1}
	for _, p := range points {
		if at, sum := d.next(p); sum >= p.threshold {
			d.change(at, sum)
		}
	}
	return d.list, d.clipped
}

// nights is a table of 54 keys without a change of the program, one value a night, as a machine
// that measures a suite gives it.
type nights struct {
	name   string
	common float64 // standard deviation that all keys of a night share; each key has 1 % of its own
	drift  float64 // autocorrelation of each key
	event  int     // nights that each event of +3 % in 20 of the keys takes; one in 20 nights begins one
}

var nightKinds = []nights{
	{"independent", 0, 0, 0},
	{"1 % that all keys share", 0.01, 0, 0},
	{"correlation 0.3 of neighbors", 0, 0.3, 0},
	{"correlation 0.5", 0, 0.5, 0},
	{"correlation 0.8", 0, 0.8, 0},
	{"events of 1 night", 0, 0, 1},
	{"events of 2 nights", 0, 0, 2},
	{"events of 3 nights", 0, 0, 3},
	{"events of 5 nights", 0, 0, 5},
}

const (
	tableKeys = 54
	keyNoise  = 0.01 // standard deviation
)

func (k nights) table(r *rand.Rand) (list []Key, edges []int) {
	keys := make([]Key, tableKeys)
	drifts := make([][]float64, tableKeys)
	for i := range keys {
		keys[i] = Key{Name: fmt.Sprint("k", i), Values: make([][]float64, tableNights)}
		drifts[i] = drifting(k.drift)(r, tableNights)
	}
	event, hit := 0, map[int]bool{}
	for v := range tableNights {
		if event--; event < 0 && k.event > 0 && r.IntN(20) == 0 {
			event, hit = k.event-1, map[int]bool{}
			edges = append(edges, v, v+k.event)
			for _, i := range r.Perm(tableKeys)[:20] {
				hit[i] = true
			}
		}
		common := k.common * r.NormFloat64()
		for i := range keys {
			x := common + keyNoise*drifts[i][v]
			if event >= 0 && hit[i] {
				x += 0.03
			}
			keys[i].Values[v] = []float64{math.Exp(x)}
		}
	}
	return keys, edges
}

// separately counts the alerts that keys by themselves raise, with the whole rate.
func separately(keys []Key) int {
	n := 0
	levels := thresholds(len(keys[0].Values), keys, DefaultRate)
	for _, k := range keys {
		points, _ := k.points(levels)
		list, _ := run(points)
		n += len(list)
	}
	return n
}

// TestNights: tables have at most the promised rate of events where nothing changed, also if nights
// resemble their neighbors, and what a machine does is few events and not many alerts.
func TestNights(t *testing.T) {
	for i := 0; i < len(nightKinds); i += nightStep {
		k, r := nightKinds[i], source(4001)
		before, alerts, events, wrong := 0, 0, 0, 0
		for range nightTables {
			keys, edges := k.table(r)
			before += separately(keys)
			h := Of(labels(tableNights), keys, Options{})
			alerts, events = alerts+h.Alerts(), events+len(h.Events)
			for _, e := range h.Events {
				wrong += number(!slices.ContainsFunc(edges, func(v int) bool {
					return e.First-beside <= v && v <= e.Last+beside
				}))
			}
		}
		per := func(n int) float64 { return float64(n) / float64(nightTables*tableNights) }
		t.Logf("%-30s alerts of keys by themselves %.4f per version; now alerts %.4f, events %.4f, of "+
			"which %.4f where nothing changed", k.name, per(before), per(alerts), per(events), per(wrong))
		chance := 2 * math.Sqrt(DefaultRate/float64(nightTables*tableNights))
		must.Be(t, per(wrong) <= DefaultRate+chance, k.name, per(wrong))
	}
}

// TestInjectedChanges: changes of the program are found at least as often as in keys by themselves.
func TestInjectedChanges(t *testing.T) {
	for _, c := range []struct {
		share  int // one of so many keys
		factor float64
	}{{1, 1.03}, {5, 1.02}, {5, 1.05}, {54, 1.05}} {
		r := source(4002)
		before, now, all := 0, 0, 0
		at, within := 3*tableNights/4, 20
		for range nightTables {
			keys, _ := nights{}.table(r)
			for i := range keys {
				for v := at; v < tableNights && i%c.share == 0; v++ {
					keys[i].Values[v][0] *= c.factor
				}
			}
			levels := thresholds(tableNights, keys, DefaultRate)
			h := Of(labels(tableNights), keys, Options{})
			for i := 0; i < len(keys); i += c.share {
				all++
				points, _ := keys[i].points(levels)
				list, _ := run(points)
				for _, f := range list {
					before += number(f.when >= at && f.when < at+within)
				}
				for _, f := range h.Keys[i].Changes {
					now += number(f.Found >= at && f.Found < at+within)
				}
			}
		}
		t.Logf("%+.0f %% in one of %d keys: within %d versions %.3f of %d by themselves, now %.3f",
			100*(c.factor-1), c.share, within, float64(before)/float64(all), all, float64(now)/float64(all))
		must.Be(t, float64(now) >= 0.98*float64(before), c.factor, c.share, before, now)
	}
}

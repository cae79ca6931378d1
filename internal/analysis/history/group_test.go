package history

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/internal/analysis/arith"
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

// nights is a table of keys without a change of the program, one value a night, as a machine that
// measures a suite gives it.
type nights struct {
	name   string
	common float64 // standard deviation that all keys of a night share; each key has 1 % of its own
	drift  float64 // autocorrelation of each key
	event  int     // nights that each event of +3 % in 20 of the keys takes; one in 20 nights begins one

	keys       int     // 0: tableKeys
	share, gap float64 // of the nights in the second of two states, and how far it is, in keyNoise
	alike      bool    // all keys are in it in the same nights
}

var nightKinds = []nights{
	{name: "independent"},
	{name: "1 % that all keys share", common: 0.01},
	{name: "correlation 0.3 of neighbors", drift: 0.3},
	{name: "correlation 0.5", drift: 0.5},
	{name: "correlation 0.8", drift: 0.8},
	{name: "events of 1 night", event: 1},
	{name: "events of 2 nights", event: 2},
	{name: "events of 3 nights", event: 3},
	{name: "events of 5 nights", event: 5},
	{name: "two tight states, 50:50", share: 0.5, gap: 2},
	{name: "two tight states, 90:10", share: 0.1, gap: 3},
	{name: "one key, 90:10", share: 0.1, gap: 3, keys: 1},
	{name: "4 keys that share them, 50:50", share: 0.5, gap: 2, keys: 4, alike: true},
}

const (
	tableKeys = 54
	keyNoise  = 0.01 // standard deviation
	inState   = 0.2  // of it within a state
)

func (k nights) size() int { return cmp.Or(k.keys, tableKeys) }

func (k nights) table(r *rand.Rand) (list []Key, edges []int) {
	keys := make([]Key, k.size())
	drifts := make([][]float64, len(keys))
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
		common, slow := k.common*r.NormFloat64(), 0.0
		for i := range keys {
			x := common + keyNoise*drifts[i][v]
			if event >= 0 && hit[i] {
				x += 0.03
			}
			if k.share > 0 {
				if i == 0 || !k.alike {
					slow = float64(arith.One(r.Float64() < k.share))
				}
				x = keyNoise * (inState*drifts[i][v] + k.gap*slow)
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
		before, alerts, events, wrong, named := 0, 0, 0, 0, 0
		tables := nightTables * tableKeys / k.size()
		for range tables {
			keys, edges := k.table(r)
			before += separately(keys)
			h := Of(labels(tableNights), keys, Options{})
			alerts, events = alerts+h.Alerts(), events+len(h.Events)
			for i := range h.Keys {
				named += arith.One(h.Keys[i].States != nil)
			}
			for _, e := range h.Events {
				wrong += arith.One(!slices.ContainsFunc(edges, func(v int) bool {
					return e.First-beside <= v && v <= e.Last+beside
				}))
			}
		}
		per := func(n int) float64 { return float64(n) / float64(tables*tableNights) }
		inStates := float64(named) / float64(tables*k.size())
		t.Logf("%-30s alerts of keys by themselves %.4f per version; now alerts %.4f, events %.4f, of "+
			"which %.4f where nothing changed; %.3f of the keys in two states", k.name, per(before),
			per(alerts), per(events), per(wrong), inStates)
		must.Be(t, k.share == 0 && inStates <= 0.01 || k.share > 0 && inStates >= 0.8, k.name, inStates)
		chance := 2 * math.Sqrt(DefaultRate/float64(tables*tableNights))
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
					before += arith.One(f.when >= at && f.when < at+within)
				}
				for _, f := range h.Keys[i].Changes {
					now += arith.One(f.Found >= at && f.Found < at+within)
				}
			}
		}
		t.Logf("%+.0f %% in one of %d keys: within %d versions %.3f of %d by themselves, now %.3f",
			100*(c.factor-1), c.share, within, float64(before)/float64(all), all, float64(now)/float64(all))
		must.Be(t, float64(now) >= 0.98*float64(before), c.factor, c.share, before, now)
	}
}

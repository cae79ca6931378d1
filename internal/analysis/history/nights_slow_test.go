//go:build slow

package history

import (
	"math"
	"slices"
	"testing"

	"krund/internal/analysis/arith"
	"krund/internal/experiment/fixtures"
	"krund/rig/must"
)

// TestDetectableInNights: on real machines, in nights of one revision, the slowdown that the nights
// before promise to be found within five is found in those that followed: in half of the quiet
// series, without drift before and without an alert after.
func TestDetectableInNights(t *testing.T) {
	const fewest, first, old = 20, 15, 45
	var tried, found [2]int // in young and in old series
	drifts, silent := 0, 0
	for _, file := range fixtures.Glob(t, "history", "sandmark", "*.gz") {
		versions, keys := sandmark(t, file)
		for from, to := 0, 0; from < len(versions); from = to {
			for to = from; to < len(versions) && versions[to].Revision == versions[from].Revision; {
				to++
			}
			if to-from < fewest {
				continue
			}
			cut := func(n int) []Key {
				list := slices.Clone(keys)
				for i := range list {
					list[i].Values = list[i].Values[from : from+n]
				}
				return list
			}
			for at := first; at+within <= to-from; at += within {
				promised := Of(versions[from:from+at], cut(at), Options{})
				whole, detectors := changes(versions[from:from+at+within], cut(at+within), Options{})
				next := 0
				for i := range whole.Keys {
					if whole.Keys[i].Reason != "" {
						continue
					}
					d, size := detectors[next], promised.Keys[i].Detectable
					next++
					s := 0 // the first point of the next nights
					for _, p := range whole.Keys[i].Points {
						s += arith.One(p.Version < at)
					}
					switch {
					case promised.Keys[i].Autocorrelation != 0 || len(whole.Keys[i].Changes) > 0:
						drifts++
					case size == 0 || s+within > len(d.points):
						silent++
					default:
						age := arith.One(at >= old)
						tried[age]++
						found[age] += arith.One(d.delay(s, math.Log1p(size), within) > 0)
					}
				}
			}
		}
	}
	t.Logf("found %v of %v young and old; %d of series that drift or change, %d without a promise", found,
		tried, drifts, silent)
	share := float64(found[1]) / float64(tried[1])
	must.Be(t, tried[1] > 100 && share > 0.45 && share < 0.55, share)
	young := float64(found[0]) / float64(tried[0])
	must.Be(t, tried[0] > 100 && young > 0.45 && young < 0.6, young)
}

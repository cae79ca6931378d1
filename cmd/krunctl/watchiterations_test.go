package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"krund/internal/analysis/stability"
	"krund/internal/execution/watcher"
	"krund/internal/experiment/results"
	"krund/internal/reading/replay"
	"krund/rig/must"
)

var watched = flag.Int("watched", 11, "series of each criterion and profile that TestWatchIsStability makes")

// shapes make durations in nanoseconds; i counts iterations of n.
var shapes = map[string]func(r *rand.Rand, i, n int) float64{
	"constant":       func(*rand.Rand, int, int) float64 { return 1e6 },
	"zeros":          func(*rand.Rand, int, int) float64 { return 0 },
	"often zero":     func(r *rand.Rand, _, _ int) float64 { return float64(r.IntN(2)) * 1e6 },
	"one clock tick": func(r *rand.Rand, _, _ int) float64 { return 1 + float64(r.IntN(3)) },
	"noise":          func(r *rand.Rand, _, _ int) float64 { return 1e6 * math.Exp(0.02*r.NormFloat64()) },
	"much noise":     func(r *rand.Rand, _, _ int) float64 { return 1e6 * math.Exp(r.NormFloat64()) },
	"zero, then noise": func(r *rand.Rand, i, n int) float64 {
		return float64(min(i/(n/3+1), 1) * r.IntN(1000))
	},
	"falls":   func(r *rand.Rand, i, _ int) float64 { return 1e6 * (1 + math.Exp(-float64(i)/5)) },
	"rises":   func(r *rand.Rand, i, _ int) float64 { return 1e6 * (1 + float64(i)) },
	"huge":    func(r *rand.Rand, _, _ int) float64 { return 1e18 * (1 + r.Float64()) },
	"a spike": func(_ *rand.Rand, i, n int) float64 { return 1e6 * (1 + 1e9*float64(i/(n-1))) },
}

// recorded is the buffer of a benchmark that goes on between two looks.
type recorded struct {
	walls   []int64
	planned int
	looks   *rand.Rand
	done    int
	stopped bool
}

func (b *recorded) Iterations() int  { return b.planned }
func (b *recorded) Wall(i int) int64 { return b.walls[i] }
func (b *recorded) Stop()            { b.stopped = true }
func (b *recorded) Done() int        { return b.done }

// Now and Sleep make the buffer the clock of its watcher.
func (b *recorded) Now() time.Time { return time.Time{} }
func (b *recorded) Sleep(context.Context, time.Duration) error {
	b.done = min(b.done+b.looks.IntN(40), len(b.walls))
	if b.done == len(b.walls) || b.stopped {
		return context.Canceled
	}
	return nil
}

// TestWatchIsStability: whenever the watcher looks, it decides what `krunctl stability` says about
// the recorded series, and of a series that is too short for that, what it says about any longer
// one, as far as the short one goes.
func TestWatchIsStability(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(shapes))
	profiles := []stability.Profile{stability.Recommended, stability.Study, stability.JMH, stability.Paper}
	for _, criterion := range stability.Criteria {
		for _, profile := range profiles {
			for i := range *watched {
				shape := names[i%len(names)]
				t.Run(fmt.Sprint(criterion, "/", profile, "/", shape, i), func(t *testing.T) {
					r := rand.New(rand.NewPCG(uint64(i), 11))
					step := 1 + r.IntN(4)
					order := results.WatcherStop{Criterion: string(criterion), Profile: string(profile),
						Step: strconv.Itoa(step), Seed: uint64(i), WarmupMin: 2 + r.IntN(5),
						Measure: 1 + r.IntN(4)}
					order.WarmupMax = order.WarmupMin + r.IntN(5)
					watchOne(t, order, r, shapes[shape], i)
				})
			}
		}
	}
}

func watchOne(t *testing.T, order results.WatcherStop, r *rand.Rand,
	shape func(*rand.Rand, int, int) float64, i int) {
	t.Helper()
	criterion, p := must.Get2(replay.OnlineParameters(order))(t)
	whole := p.Step.Iterations * (p.WarmupMax + p.Measure)
	walls, series := make([]int64, whole+r.IntN(9)), []float64{}
	for k := range walls {
		walls[k] = int64(shape(r, k, len(walls)))
		series = append(series, float64(walls[k])/1e9)
	}
	number := 1 + r.IntN(5)
	p.Numbers = []int{number}
	want := must.Get(stability.Of([][]float64{series}, []stability.Criterion{criterion}, p))(t)
	warmup := want.Criteria[0].Warmups[0]
	// one iteration, the end of warm-up with and without it, that of the measurement, and any
	lengths := []int{1, warmup.First, warmup.First - 1, warmup.Last + 1, warmup.Last, 1 + r.IntN(len(walls)),
		len(walls)}
	for _, n := range lengths {
		b := &recorded{walls: walls[:n], planned: len(walls), looks: r}
		var last watcher.Report
		w := &watcher.Watch{Buffer: b, Clock: b,
			Say: func(r watcher.Report) error { last = r; return nil }}
		must.Do(t, decideBy(w, order, number))
		err := w.Run(t.Context())
		must.Need(t, err == nil && last.Problem == "" && last.Final, last, err)
		checkWatch(t, last, warmup, n, b)
	}
}

// checkWatch compares the report about the first n iterations with the offline decision.
func checkWatch(t *testing.T, got watcher.Report, want stability.Warmup, n int, b *recorded) {
	t.Helper()
	number := func(v *int) int {
		if v == nil {
			return 0
		}
		return *v
	}
	ended, complete := 0, 0
	if want.First <= n {
		ended = want.First
	}
	if want.Last < n {
		complete = want.Last + 1
	}
	must.Be(t, number(got.Warmup) == ended && number(got.StopAt) == complete && got.Stable == (want.Reached &&
		ended > 0), n, "iterations", number(got.Warmup), number(got.StopAt), got.Stable, "want", want)
	value := want.Values[len(want.Values)-1]
	defined := ended > 0 && !math.IsNaN(value) && !math.IsInf(value, 0)
	must.Be(t, (got.Value != nil) == defined && (!defined || *got.Value == value), n, "iterations: value",
		got.Value, "want", value)
	must.Be(t, b.stopped == (got.AskedAt != nil) && (!b.stopped || complete != 0 && *got.AskedAt >= complete),
		n, "iterations: stopped", b.stopped, got)
}

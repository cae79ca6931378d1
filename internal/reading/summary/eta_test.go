package summary_test

import (
	"math"
	"testing"
	"time"

	"krund/internal/experiment/key"
	"krund/internal/reading/summary"
	"krund/rig/must"
)

var (
	a  = key.Key{Benchmark: "nbody", VM: "C", Variant: "v"}
	b  = key.Key{Benchmark: "fasta", VM: "C", Variant: "v"}
	t0 = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
)

func sample(slot int, k key.Key, started, wall time.Duration) summary.Sample {
	return summary.Sample{Slot: slot, Key: k, Started: t0.Add(started), Wall: wall}
}

func TestEstimate(t *testing.T) {
	waits := summary.Waits{Each: 10 * time.Second, Once: time.Minute}
	left := []summary.Remaining{{Key: a, Count: 2}, {Key: b, Count: 3}}
	for name, c := range map[string]struct {
		left    []summary.Remaining
		samples []summary.Sample
		started bool
		want    time.Duration
		known   bool
		unknown int
		between time.Duration
	}{
		"nothing measured, only the waits": {
			left: left, want: time.Minute + 5*10*time.Second, unknown: 2, between: 10 * time.Second,
		},
		"one key measured": {
			left: left, started: true, samples: []summary.Sample{sample(0, a, 0, 2*time.Second),
				sample(2, a, time.Hour, 4*time.Second)},
			want: 5*10*time.Second + 2*3*time.Second, known: true, unknown: 1, between: 10 * time.Second,
		},
		"all measured, in any order, and what is between": {
			left: left, started: true, samples: []summary.Sample{
				sample(2, a, 52*time.Second, 5*time.Second), sample(0, a, 0, 5*time.Second),
				sample(3, b, 77*time.Second, 7*time.Second), sample(1, b, 25*time.Second, 7*time.Second),
			},
			want: 5*20*time.Second + 2*5*time.Second + 3*7*time.Second, known: true,
			between: 20 * time.Second,
		},
		"a night between and a clock set back do no harm": {
			left: left[:1], started: true, samples: []summary.Sample{
				sample(0, a, 0, 5*time.Second), sample(1, a, 25*time.Second, 5*time.Second),
				sample(2, a, 50*time.Second, 5*time.Second),
				sample(3, a, 12*time.Hour, 5*time.Second), sample(4, a, 0, 5*time.Second),
				sample(5, a, 25*time.Second, 5*time.Second),
			},
			want: 2*20*time.Second + 2*5*time.Second, known: true, between: 20 * time.Second,
		},
		"a clock that was set forward by 56 years": {
			left: left[:1], started: true, samples: []summary.Sample{
				sample(0, a, -56*365*24*time.Hour, 5*time.Second), sample(1, a, 0, 5*time.Second),
				sample(2, a, 25*time.Second, 5*time.Second),
			},
			want: 2*20*time.Second + 2*5*time.Second, known: true, between: 20 * time.Second,
		},
		"a clock that is wrong each time": {
			left: left[:1], started: true, samples: []summary.Sample{
				sample(0, a, 0, 5*time.Second), sample(1, a, 200*365*24*time.Hour, 5*time.Second),
				sample(2, a, 0, 5*time.Second),
				sample(3, a, 200*365*24*time.Hour, 5*time.Second),
			},
			// not a negative time
			want: math.MaxInt64, known: true, between: 200*365*24*time.Hour - 5*time.Second,
		},
		"nothing left": {left: []summary.Remaining{{Key: a}}, started: true, known: true,
			between: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			got := summary.Estimate(c.left, c.samples, waits, c.started)
			must.Be(t, got.Total == c.want && (got.RemainingNS != nil) == c.known &&
				len(got.Unknown) == c.unknown && got.Between == c.between, "got", got, c.want, c.known,
				c.unknown, c.between)
			must.Equal(t, got.Known, (c.known && c.unknown == 0), "Known is")
		})
	}
}

package verdict

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestIterationsWithinTheProcess: the iterations cannot take longer in total than the lifetime of
// the process.
func TestIterationsWithinTheProcess(t *testing.T) {
	const year = 365 * 24 * 3600 * 1_000_000_000
	many := func(n int, ns int64) []int64 {
		list := make([]int64, n)
		for i := range list {
			list[i] = ns
		}
		return list
	}
	const ms = time.Millisecond
	tests := []struct {
		name     string
		lifetime time.Duration
		external bool
		walls    []int64
		want     string // part of the error reason; "" if the run is completed
		hint     string // also part of the reason; "" for none
	}{
		{"five times 146 years", 65 * ms, true, many(5, 1<<62),
			"the 5 iterations reportedly took 2.31e+10 s in total, but the process lived for 0.065 s", ""},
		{"sums that overflow to little", 65 * ms, true, []int64{1 << 62, 1 << 62, 1 << 62, 1 << 62, 5},
			"reportedly took", ""},
		{"one below zero makes up for another", 65 * ms, true, []int64{100 * year, -100 * year},
			"reportedly took", ""},
		{"the least of all", 65 * ms, false, []int64{math.MinInt64, year}, "reportedly took",
			"not written by libkrun alone"},
		{"a little more", 1000 * ms, true, many(4, 252_000_001),
			"reportedly took 1.01 s in total, but the process lived for 1 s", ""},
		{"all of it", 1000 * ms, true, many(4, 250_000_000), "", ""},
		{"krund's clock is slewed", 1000 * ms, false, []int64{1_000_500_000}, "", ""},
		{"more than that", 1000 * ms, false, []int64{1_002_000_001}, "reportedly took",
			"not written by libkrun alone"},
		{"whole milliseconds, each rounded up", 1000 * ms, true, many(1000, 2_000_000), "", ""},
		{"whole microseconds, each rounded up", 10 * ms, true, many(10_000, 2_000), "", ""},
		{"whole milliseconds, too many", 1000 * ms, true, many(1001, 3_000_000), "reportedly took", ""},
		{"whole seconds are not rounded", 1000 * ms, true, many(10, 1_000_000_000), "reportedly took", ""},
		{"milliseconds", 1000 * ms, true, many(4, 200e9), "800 s in total",
			"does the suite print milliseconds"},
		{"microseconds", 1000 * ms, true, many(4, 200e12), "reportedly took",
			"does the suite print microseconds"},
		{"nanoseconds", 1000 * ms, true, many(4, 200e15), "reportedly took",
			"does the suite print nanoseconds"},
		{"milliseconds, of a process that began slowly", 10_000 * ms, true, many(4, 200e9), "reportedly took",
			"milliseconds"},
		{"in the buffer", 1000 * ms, false, many(4, 200e9), "reportedly took",
			"not written by libkrun alone"},
		{"nothing", 1000 * ms, true, nil, "", ""},
		{"life unknown", 0, true, many(5, 1<<62), "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			zero := 0
			e := Evidence{Planned: len(test.walls), Done: len(test.walls), Exit: &zero, WallNS: test.walls,
				Lifetime: test.lifetime, External: test.external}
			o := Judge(e, Limits{AttemptsLeft: 3, Disturbed: Rerun})
			text := strings.Join(o.Reasons, "\n")
			if test.want == "" {
				must.Be(t, o.Outcome == results.Completed && text == "", o.Outcome, "because of", text,
					"want it completed without a word")
				return
			}
			must.Be(t, o.Outcome == results.Error && strings.Contains(text, test.want) &&
				strings.Contains(text, test.hint), o.Outcome, "because of", text, "want an error with",
				test.want, "and", test.hint)
			must.Be(t, test.hint != "" || !strings.Contains(text, "does the suite"), "a guess of the unit in",
				text)
		})
	}
}

// TestDoubtfulTimes: suspicious times that may be right cause a remark, and the run counts.
func TestDoubtfulTimes(t *testing.T) {
	const second = time.Second
	tests := []struct {
		name     string
		lifetime time.Duration
		external bool
		walls    []int64
		want     []string
	}{
		{"0 ns", second, false, []int64{5, 0, 7, 0}, []string{"the time is 0 ns in 2 of 4 iterations, the " +
			"first is 1: shorter than the resolution of its clock, or not measured"}},
		{"milliseconds for seconds", 2 * second, true, []int64{900_000, 1_000_000}, []string{
			"the iterations take 0.0019 s of the process's 2 s, and 1000 times that would fill it: does " +
				"the suite print seconds?"}},
		{"microseconds for seconds", 2 * second, true, []int64{900, 1000}, []string{
			"the iterations take 1.9e-06 s of the process's 2 s, and 1000000 times that would fill it: " +
				"does the suite print seconds?"}},
		{"nanoseconds for seconds", 3 * second, true, []int64{1, 1}, []string{
			"the iterations take 2e-09 s of the process's 3 s, and 1000000000 times that would fill it: " +
				"does the suite print seconds?"}},
		{"mostly starting up", 2 * second, true, []int64{200_000, 300_000}, nil},
		{"more than that would fill", 2 * second, true, []int64{2_000_000, 900_000}, nil},
		{"nothing but starting up", second / 2, true, []int64{100_000, 300_000}, nil},
		{"libkrun knows its unit", 2 * second, false, []int64{900_000, 1_000_000}, nil},
		{"as it should be", 2 * second, true, []int64{900_000_000, 1_000_000_000}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			zero := 0
			e := Evidence{Planned: len(test.walls), Done: len(test.walls), Exit: &zero, WallNS: test.walls,
				Lifetime: test.lifetime, External: test.external}
			for _, policy := range []Policy{Accept, Rerun, Fail} {
				o := Judge(e, Limits{Disturbed: policy})
				must.Be(t, o.Outcome == results.Completed && reflect.DeepEqual(o.Reasons, test.want), policy,
					o.Outcome, "because of", o.Reasons, "want it completed with", test.want)
			}
		})
	}
}

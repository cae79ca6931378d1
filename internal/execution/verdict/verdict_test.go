package verdict

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

func TestJudge(t *testing.T) {
	zero, one, usage := 0, 1, 64
	good := func(change func(*Evidence)) Evidence {
		e := Evidence{Planned: 100, Done: 100, Exit: &zero, Timeout: time.Minute}
		change(&e)
		return e
	}
	tests := []struct {
		name   string
		run    Evidence
		limits Limits
		want   results.Outcome
		reason []string // a piece of each reason, in order
	}{
		{"all well", good(func(*Evidence) {}), Limits{}, results.Completed, nil},
		{"not started",
			good(func(e *Evidence) { e.NotStarted, e.Exit, e.Done = "exec /x: no such file", nil, 0 }),
			Limits{AttemptsLeft: 2}, results.Error, []string{"could not be started: exec /x"}},
		{"out of time",
			good(func(e *Evidence) { e.TimedOut, e.Signal, e.Exit, e.Done = true, "SIGKILL", nil, 7 }),
			Limits{}, results.Timeout, []string{"time limit of 1m0s (limits.timeout) after 7 of 100"}},
		{"out of another's time",
			good(func(e *Evidence) { e.TimedOut, e.TimeoutBy, e.Exit = true, "max_execution", nil }),
			Limits{}, results.Timeout, []string{"time limit of 1m0s (max_execution) after 100 of 100"}},
		{"wrong checksum", good(func(e *Evidence) {
			e.Exit, e.Done, e.LastWords = &one, 41,
				"bad checksum: 12 vs 13"
		}),
			Limits{}, results.Error, []string{"exit status 1; its last output: bad checksum: 12 vs 13",
				"41 of 100"}},
		{"the runner's own status", good(func(e *Evidence) {
			e.Exit, e.Done, e.ExitText = &usage, 0,
				"wrong arguments"
		}),
			Limits{}, results.Error, []string{"exit status 64: wrong arguments", "0 of 100"}},
		{"a whole command failed", good(func(e *Evidence) {
			e.Exit, e.Done, e.Failed = &usage, 2, "the command ended with exit status 3"
		}),
			Limits{}, results.Error, []string{"the command ended with exit status 3", "2 of 100"}},
		{"crash", good(func(e *Evidence) { e.Exit, e.Signal, e.Done = nil, "SIGSEGV", 3 }),
			Limits{}, results.Error, []string{"signal SIGSEGV", "3 of 100"}},
		{"out of memory", good(func(e *Evidence) {
			e.Exit, e.Signal, e.OOMKills, e.Done = nil, "SIGKILL", 1,
				3
		}),
			Limits{}, results.Error, []string{"the machine's memory ran out; use a smaller", "3 of 100"}},
		{"exits 0 without iterating", good(func(e *Evidence) { e.Done = 0 }), Limits{}, results.Error,
			[]string{"0 of 100"}},
		{"a status other than 0 after all iterations", good(func(e *Evidence) { e.Exit = &one }), Limits{},
			results.Error,
			[]string{"exit status 1"}},
		{"a buffer that was scribbled over",
			good(func(e *Evidence) { e.Series, e.Done = []string{"no magic"}, 0 }), Limits{}, results.Error,
			[]string{"no magic"}},
		{"throttled, runs again", good(func(e *Evidence) { e.Disturbed = []string{"throttled"} }),
			Limits{AttemptsLeft: 1, Disturbed: Rerun}, results.Rerun, []string{"throttled"}},
		{"throttled in the last attempt", good(func(e *Evidence) { e.Disturbed = []string{"throttled"} }),
			Limits{AttemptsLeft: 0, Disturbed: Rerun}, results.Error,
			[]string{"no attempt is left", "throttled"}},
		{"throttled and accepted", good(func(e *Evidence) { e.Disturbed = []string{"throttled"} }),
			Limits{Disturbed: Accept}, results.Completed, []string{"throttled"}},
		{"throttled and not accepted", good(func(e *Evidence) { e.Disturbed = []string{"throttled"} }),
			Limits{AttemptsLeft: 5, Disturbed: Fail}, results.Error, []string{"throttled"}},
		{"counters missing, runs again",
			good(func(e *Evidence) { e.Unsound, e.Disturbed = []string{"missing"}, []string{"throttled"} }),
			Limits{AttemptsLeft: 1, Disturbed: Rerun}, results.Rerun, []string{"missing", "throttled"}},
		{"counters missing in the last attempt", good(func(e *Evidence) { e.Unsound = []string{"missing"} }),
			Limits{Disturbed: Rerun}, results.Error, []string{"no attempt is left", "missing"}},
		{"missing counters are never accepted", good(func(e *Evidence) { e.Unsound = []string{"missing"} }),
			Limits{AttemptsLeft: 5, Disturbed: Accept}, results.Error, []string{"missing"}},
		{"stopped when it had enough", good(func(e *Evidence) { e.Planned, e.Enough = 2000, 90 }), Limits{},
			results.Completed, nil},
		{"stopped too early", good(func(e *Evidence) { e.Planned, e.Enough = 2000, 101 }), Limits{},
			results.Error, []string{"100 of 2000 iterations were measured"}},
		{"one iteration", good(func(e *Evidence) { e.Planned, e.Done = 20, 1 }), Limits{},
			results.Error, []string{"1 of 20 iterations was measured"}},
		{"crashed when it was asked to stop", good(func(e *Evidence) {
			e.Planned, e.Enough, e.Exit = 2000, 90, &one
		}), Limits{}, results.Error, []string{"exit status 1"}},
		{"missing counters fail", good(func(e *Evidence) { e.Unsound = []string{"missing"} }),
			Limits{AttemptsLeft: 5, Disturbed: Fail}, results.Error, []string{"missing"}},
		{"missing counters and a runner's fault",
			good(func(e *Evidence) { e.Unsound, e.Series = []string{"missing"}, []string{"no runner"} }),
			Limits{AttemptsLeft: 5, Disturbed: Rerun}, results.Error, []string{"no runner", "missing"}},
		{"an error is not run again because it was disturbed, too", good(func(e *Evidence) {
			e.Exit, e.Disturbed = &one, []string{"throttled"}
		}), Limits{AttemptsLeft: 5, Disturbed: Rerun}, results.Error, []string{"exit status 1", "throttled"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Judge(tt.run, tt.limits)
			must.Equal(t, got.Outcome, tt.want)
			must.Be(t, slices.EqualFunc(got.Reasons, tt.reason, strings.Contains), "reasons", got.Reasons,
				tt.reason)
		})
	}
}

// TestRefused: a run with forbidden events does not count, whatever the policy for other
// disturbances.
func TestRefused(t *testing.T) {
	zero := 0
	e := Evidence{Planned: 1, Done: 1, Exit: &zero, Refused: []string{"throttled"},
		Disturbed: []string{"turbo"}}
	for _, test := range []struct {
		policy Policy
		left   int
		want   results.Outcome
		first  string
	}{
		{Accept, 1, results.Rerun, "throttled"}, {Rerun, 1, results.Rerun, "throttled"},
		{Fail, 1, results.Error, "throttled"},
		{Accept, 0, results.Error, "disturbed, and no attempt is left"},
	} {
		o := Judge(e, Limits{AttemptsLeft: test.left, Disturbed: test.policy})
		if o.Outcome != test.want || o.Reasons[0] != test.first || o.Reasons[len(o.Reasons)-1] != "turbo" {
			t.Errorf("%s with %d left: %+v, want %s", test.policy, test.left, o, test.want)
		}
	}
}

// TestLimitIsNamed: the reason of a failure names the limit that caused it. The output of the
// programs was copied from runs under `prlimit --data=2097152` and `prlimit --nproc`.
func TestLimitIsNamed(t *testing.T) {
	one, loader := 1, 127
	heap := Bounds{Heap: "2MiB", HeapBytes: 2 << 20, Stack: "8MiB"}
	large := Bounds{Heap: "2GiB", HeapBytes: 2 << 30, Stack: "8MiB"}
	tests := map[string]struct {
		run  Evidence
		want string // "" for no limit
	}{
		"a JVM without a word": {Evidence{Signal: "SIGSEGV", Bounds: heap},
			`limits.heap = "2MiB" is probably too small for the program to start`},
		"the loader": {Evidence{Exit: &loader, Bounds: heap}, `limits.heap = "2MiB" is probably too small`},
		"PHP": {Evidence{Signal: "SIGSEGV", Said: "Can't initialize heap\n", Bounds: heap},
			`the limit limits.heap = "2MiB" was probably reached`},
		"Ruby": {Evidence{Exit: &one, Said: "[FATAL] failed to allocate memory", Bounds: heap},
			`limits.heap = "2MiB"`},
		"CPython": {Evidence{Exit: &one, Said: "Traceback ...\nMemoryError", Bounds: large},
			`limits.heap = "2GiB"`},
		"no limit of the heap": {Evidence{Exit: &one, Said: "MemoryError"}, ""},
		"threads": {Evidence{Exit: &one, Said: "java.lang.OutOfMemoryError: unable to create native thread",
			Bounds: Bounds{Processes: "16", Heap: "2GiB"}}, `limits.processes = "16"`},
		"a home that is full": {Evidence{Exit: &one, Said: "write: No space left on device",
			Bounds: Bounds{Home: "1MiB"}}, `limits.home = "1MiB"`},
		"a full disk": {Evidence{Exit: &one, Said: "write: No space left on device", Bounds: large}, ""},
		"almost all memory": {Evidence{Signal: "SIGABRT", Done: 3,
			Bounds: Bounds{Heap: "100MiB", HeapBytes: 100 << 20, MaxRSSBytes: 95 << 20}},
			`it used almost all of limits.heap = "100MiB"`},
		"a deep recursion, or a bug": {Evidence{Signal: "SIGSEGV", Planned: 5, Done: 2, Bounds: large},
			`if it recurses deeply, limits.stack = "8MiB" may be too small`},
		"a wrong checksum": {Evidence{Exit: &one, Done: 2, Bounds: heap, Said: "bad checksum"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(Judge(test.run, Limits{}).Reasons, "\n")
			must.Be(t, strings.Contains(got, test.want) && (test.want != "" ||
				!strings.Contains(got, "limits.")), "the reasons are", got, "want", test.want)
		})
	}
}

// TestChanges: which counts of the machine show throttling. The sources are in kindOfCount: Linux
// 6.12, arch/x86/kernel/irq.c:603, drivers/thermal/intel/therm_throt.c:655-692 (the thermal vector
// serves HWP, thresholds and HFI too), arch/x86/kernel/cpu/mce/threshold.c:27.
func TestChanges(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after uint64
		want          string
	}{
		{"cpu2/core_throttle_count", 0, 3, "the processor was throttled: cpu2/core_throttle_count: 0 -> 3"},
		{"cpu2/core_throttle_count", 3, 3, ""},
		{"cpu0/package_power_limit_count", 7, 8,
			"the processor was throttled: cpu0/package_power_limit_count: 7 -> 8"},
		// thermald's thresholds and HFI updates of a healthy hybrid processor
		{"interrupts/TRM", 100, 160, ""},
		{"interrupts/THR", 0, 1, "the hardware corrected errors: interrupts/THR: 0 -> 1"},
		{"interrupts/MCE", 0, 1, "the hardware reported errors: interrupts/MCE: 0 -> 1"},
		{"edac/mc0/ce_count", 1, 2, "the hardware corrected errors: edac/mc0/ce_count: 1 -> 2"},
		{"edac/mc0/ue_count", 1, 2, "the hardware reported errors: edac/mc0/ue_count: 1 -> 2"},
		// the graphics of a healthy processor limit the cores
		{"cpu0/core cross-domain limit (now)", 1, 1, ""},
		{"cpu0/core current limit (log)", 0, 1, ""},
		{"cpu0/package power limit (log)", 0, 1,
			"the processor was throttled: cpu0/package power limit (log): 0 -> 1"},
		{"cpu0/package power limit (log)", 1, 1, ""}, // sticky: not known whether it happened again
		{"cpu0/package power limit (now)", 1, 0, ""},
		{"cpu0/package power limit (now)", 1, 1,
			"the processor was throttled: cpu0/package power limit (now): 1 -> 1"},
	} {
		list := Changes(results.Throttle{
			Before: []results.Count{{Name: "z", Count: 1}, {Name: c.name, Count: c.before}},
			After:  []results.Count{{Name: "z", Count: 1}, {Name: c.name, Count: c.after}},
		})
		got := ""
		if len(list) > 0 {
			got = list[0].String()
		}
		must.Be(t, got == c.want && len(list) <= 1, c.name, "from", c.before, c.after, list, c.want)
	}
	appeared := Changes(results.Throttle{After: []results.Count{{Name: "b", Count: 2},
		{Name: "a", Count: 1}}})
	must.Be(t, len(appeared) == 2 && appeared[0].Name == "a" && appeared[1].Before == 0,
		"counts that were missing before", appeared)
}

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

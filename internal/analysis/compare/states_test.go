package compare

import (
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

// fixed makes a key of executions that take these times.
func fixed(d *dataset.Dataset, k key.Key, times ...float64) {
	for i, t := range times {
		d.Add(k, execution(i+1, slices.Repeat([]float64{t}, 10)))
	}
}

// TestTwoStates: of a key whose executions are in two states, no verdict is made that the numbers
// in each state do not support.
func TestTwoStates(t *testing.T) {
	const low, high = 0.5, 0.55
	jitter := []float64{1, 1.0003, 0.9998, 1.0001, 0.9996, 1.0004, 1.0002, 0.9999, 1.0005, 0.9997}
	times := func(arm, states string) []float64 {
		var list []float64
		for i, s := range states {
			level := low
			if s == 'h' {
				level = high
			}
			list = append(list, level*jitter[(i+len(arm))%len(jitter)])
		}
		return list
	}
	for _, c := range []struct {
		name, before, after, null string
		paired                    bool
		want                      Verdict
		text                      string // in the warning; "" without one
	}{
		{"three of five in the other state", "lllll", "hhhll", "", false, CannotTell,
			"5 of 5 before and 2 of 5 after at 0.5 s, 0 of 5 before and 3 of 5 after at 0.5501 s; " +
				"chance alone divides them so between the sides with a probability of 0.17; it needs " +
				"blocks or at " +
				"least 10"},
		{"apart, as after a change", "lllll", "hhhhh", "", false, Worse, ""},
		{"ten against ten, nearly all", "lllllllllh", "hhhhhhhhhl", "", false, Worse, "9 of 10 before"},
		{"ten against ten, half", "lllllllllh", "hhhhhlllll", "", false, CannotTell, ""},
		{"blocks in either direction", "lhlll", "hlhhh", "", true, CannotTell,
			"in 4 of 5 blocks after takes about 10 % longer, in 1 as much less; chance"},
		{"blocks in one direction", "lllll", "hhhhh", "", true, Worse, ""},
		{"blocks in one direction, states in the null arm", "lllll", "hhhhh", "lhllh", true, CannotTell,
			"with a probability of 0.062; it needs at least 10 blocks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &dataset.Dataset{}
			k := key.Key{Benchmark: "b", VM: "v", Variant: "x"}
			for arm, states := range map[string]string{"before": c.before, "after": c.after, "null": c.null} {
				k.Arm = arm
				if states != "" {
					fixed(d, k, times(arm, states)...)
				}
			}
			of := analyzed(t, d)
			null := armOf(of, "null")
			o := Options{Paired: c.paired}
			if c.null != "" {
				o.Null = &null
			}
			got := mustCompare(t, armOf(of, "before"), armOf(of, "after"), o).Changes[0]
			text := warningOf(got, "two_states")
			must.Be(t, got.Verdict == c.want && strings.Contains(text, c.text), got.Verdict, got.Reason, text)
			must.Be(t, c.text != "" || c.want == CannotTell || got.States == nil, text)
			if c.want == CannotTell && text != "" {
				must.Be(t, got.Reason == text && got.Help == nil, got.Reason)
			}
		})
	}
}

func warningOf(c Change, code string) string {
	for _, w := range c.Warnings {
		if w.Code == code {
			return w.Text
		}
	}
	return ""
}

// TestGroupsOf: ticks of a clock, an outlier and a drift are no groups.
func TestGroupsOf(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   bool
	}{
		"groups":   {[]float64{1, 1.01, 0.99, 2, 2.02, 2.01, 1, 2}, true},
		"ticks":    {[]float64{10, 10, 10, 11, 11, 11, 11, 10}, false},
		"equal":    {[]float64{3, 3, 3, 3}, false},
		"outlier":  {[]float64{1, 1.01, 0.99, 1.02, 1.01, 0.98, 1, 2}, false},
		"drift":    {[]float64{1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7}, false},
		"too few":  {[]float64{1, 2, 2.01}, false},
		"no value": {nil, false},
	} {
		g, ok := warmup.GroupsOf(c.values, warmup.LeastGroup)
		must.Be(t, ok == c.want, name, g)
	}
}

package verdict_test

import (
	"reflect"
	"testing"

	"krund/internal/execution/verdict"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

func counter(name string, core int, counts ...uint64) results.Column {
	return results.Column{Name: name, Kind: results.KindCounter, Core: &core, Counts: counts}
}

func TestRunOf(t *testing.T) {
	first, done, value, core := int64(100), int64(1100), uint64(7), 3
	for _, test := range []struct {
		name string
		rec  results.Record
		want verdict.CounterRun
		ok   bool
	}{
		{"nothing", results.Record{WallNS: []int64{1}}, verdict.CounterRun{WallNS: []int64{1}}, false},
		{
			"columns, core by core",
			results.Record{StartNS: []int64{0, 10}, WallNS: []int64{9, 8}, Columns: []results.Column{
				counter("aperf", 1, 1, 2), counter("mperf", 1, 3, 4), counter("aperf", 0, 5, 6),
				counter("cycles", 1, 7, 8),
				counter("instructions", 1, 9, 9), {Name: "aperf", Kind: results.KindUser, Core: &core,
					Values: []int64{1, 1}},
				{Name: "mperf", Kind: results.KindCounter, Counts: []uint64{1, 1}},
			}},
			verdict.CounterRun{StartNS: []int64{0, 10}, WallNS: []int64{9, 8}, Cores: []verdict.CoreCounts{
				{Core: 1, APERF: []uint64{1, 2}, MPERF: []uint64{3, 4}, Cycles: []uint64{7, 8}},
				{Core: 0, APERF: []uint64{5, 6}},
			}},
			true,
		},
		{
			"totals",
			results.Record{
				WallNS: []int64{9, 8}, Startup: results.Startup{FirstNS: &first, DoneNS: &done},
				Totals: []results.Total{{Name: "aperf", Core: &core, Value: &value},
					{Name: "mperf", Core: &core}},
			},
			verdict.CounterRun{StartNS: []int64{100}, WallNS: []int64{1000}, Whole: true,
				Cores: []verdict.CoreCounts{
					{Core: 3, APERF: []uint64{7}, MPERF: []uint64{results.MissingCount}},
				}},
			true,
		},
		{
			"totals of a run that never came to its end",
			results.Record{WallNS: []int64{9}, Startup: results.Startup{FirstNS: &first},
				Totals: []results.Total{{Name: "aperf", Core: &core, Value: &value}}},
			verdict.CounterRun{WallNS: []int64{9}},
			false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := verdict.RunOf(test.rec)
			must.Be(t, ok == test.ok && reflect.DeepEqual(got, test.want), got, ok, test.want, test.ok)
		})
	}
}

func TestJoin(t *testing.T) {
	const missing = results.MissingCount
	a := verdict.CounterRun{StartNS: []int64{1, 2}, WallNS: []int64{10, 20},
		Cores: []verdict.CoreCounts{{Core: 0, APERF: []uint64{1, 2}, MPERF: []uint64{3, 4}}}}
	b := verdict.CounterRun{WallNS: []int64{30}, Cores: []verdict.CoreCounts{{Core: 1, APERF: []uint64{5}},
		{Core: 0, MPERF: []uint64{6}}}}
	want := verdict.CounterRun{WallNS: []int64{10, 20, 30}, Cores: []verdict.CoreCounts{
		{Core: 0, APERF: []uint64{1, 2, missing}, MPERF: []uint64{3, 4, 6},
			Cycles: []uint64{missing, missing, missing}},
		{Core: 1, APERF: []uint64{missing, missing, 5}, MPERF: []uint64{missing, missing, missing},
			Cycles: []uint64{missing, missing, missing}},
	}}
	got := verdict.Join(a, b)
	must.Be(t, reflect.DeepEqual(got, want), got, "want", want)
	must.Be(t, a.HasRatio() && !b.HasRatio(), "HasRatio")
	must.Be(t, a.Cores[0].APERF[0] == 1 && len(a.Cores) == 1 && len(b.Cores) == 2, "the runs were changed")
}

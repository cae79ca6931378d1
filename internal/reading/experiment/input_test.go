package experiment

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/durable"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

const instrumentText = `[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
b = { parameter = 1 }
[arms.plain]
[arms.events]
instrument = "events"
`

// TestInstrumentedExperiment: the level is in the data, but no events; the second arm is the
// cost of the first; and what is about programs as they are leaves it out.
func TestInstrumentedExperiment(t *testing.T) {
	freed, instrumented := int64(4096), keyed("events", 1, 1)
	instrumented.Instrument, instrumented.EventsLost = "events", 3
	instrumented.Events = []results.Event{{Kind: "gc", TimeNS: 1100, DurationNS: 50, Argument: &freed},
		{Kind: "load", TimeNS: 1200, Name: "A"}}
	d := created(t, filepath.Join(t.TempDir(), "cost.krun"), instrumentText, keyed("plain", 0, 1),
		instrumented)
	var messages []string
	reader := Reader{FS: durable.OS(), LeaveOut: func(_, why string) { t.Error(why) },
		Message: func(format string, args ...any) {
			messages = append(messages, fmt.Sprintf(format, args...))
		}}
	in := must.Get(reader.Read(d.Dir(), Selection{Column: dataset.Wall}))(t)
	plain, events := in.Data.Pairs[0].Executions[0], in.Data.Pairs[1].Executions[0]
	must.Be(t, events.Instrument == "events" && events.Events == nil && events.EventsLost == 3 &&
		events.Starts == nil, events)
	must.Be(t, plain.Instrument == "" && plain.Events == nil && plain.Starts == nil, plain)
	arms := in.Data.Arms
	must.Be(t, reflect.DeepEqual(arms[1].CostOf, []string{"plain"}) && arms[1].Twins == nil, arms)
	clean, err := reader.Read(d.Dir(), Selection{Column: dataset.Wall, Clean: true})
	must.Be(t, err == nil && len(clean.Data.Pairs) == 1 && len(messages) == 1 && strings.Contains(messages[0],
		"left out 1 instrumented key"), err, len(clean.Data.Pairs), messages)
	_, err = reader.Read(d.Dir(), Selection{Column: dataset.Wall, Key: "*:*:*@events", Clean: true})
	must.Refuse(t, err, "every key is instrumented", "only instrumented keys")
}

// TestKeyed: the executions of a key are read one at a time, with all columns, start stamps and
// events, in the order of the data: by number, and the attempts of a slot one after the other.
func TestKeyed(t *testing.T) {
	k := key.Key{Benchmark: "b", VM: "C", Variant: "v"}
	other := key.Key{Benchmark: "a", VM: "C", Variant: "v"}
	records := []results.Record{
		record(k, 0, 1, 2, results.Error), record(k, 0, 2, 2, results.Completed),
		record(k, 1, 1, 1, results.Completed), record(other, 2, 1, 1, results.Completed),
	}
	for i, r := range records {
		records[i].Events = []results.Event{{Kind: "gc", TimeNS: int64(100*r.Slot + r.Attempt)}}
	}
	d := created(t, filepath.Join(t.TempDir(), "x.krun"), "", records...)
	in, doc, series, err := silent(t).Keyed(d.Dir(), "b:*:*")
	must.Need(t, err == nil && len(doc.Pairs) == 1 && in.Data.Pairs[0].Executions[0].Events == nil, err, doc)
	for e, want := range []int64{101, 1, 2} {
		got, err := series(0, e)
		must.Be(t, err == nil && len(got.Events) == 1 && got.Events[0].TimeNS == want &&
			len(got.Columns) == 3 && len(got.Starts) == 2 && got.Number == doc.Pairs[0].Executions[e].Number,
			"execution", e, got, err)
	}
}

const armsText = `[experiment]
negative_controls = ["b:C:v@again"]
[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
b = { parameter = 1 }
[arms.base]
revision = "1a2b"
[arms.same]
[arms.again]
null = true
`

// TestArmsOfAnExperiment: the order, the null arm and the revision come from the configuration, and
// the records of an arm are a pair of their own.
func TestArmsOfAnExperiment(t *testing.T) {
	d := created(t, filepath.Join(t.TempDir(), "ab.krun"), armsText,
		keyed("again", 0, 1), keyed("base", 1, 1), keyed("base", 2, 2), keyed("again", 3, 2))
	in, err := Reader{FS: durable.OS()}.Read(d.Dir(), Selection{Column: dataset.Wall, Key: "*:*:*@base"})
	must.Do(t, err)
	want := []dataset.Arm{{Name: "base", Revision: "1a2b"}, {Name: "same", Twins: []string{"base"}},
		{Name: "again", Null: true}}
	must.Be(t, in.Data.Blocked && reflect.DeepEqual(in.Data.Arms, want) && len(in.Data.Problems) == 1,
		in.Data.Info, in.Data.Problems)
	got := in.Data.NegativeControls
	must.Be(t, len(got) == 1 && got[0] == "b:C:v@again", "negative controls", got)
	all, err := Reader{FS: durable.OS()}.Read(d.Dir(), Selection{Column: dataset.Wall})
	must.Be(t, err == nil && len(all.Data.Pairs) == 2 && all.Data.Pairs[0].Key.Arm == "base", err,
		all.Data.Pairs)
	if p := in.Data.Pairs; len(p) != 1 || p[0].Key.Arm != "base" || len(p[0].Executions) != 2 ||
		p[0].Executions[1].Number != 2 {
		t.Errorf("%+v", p)
	}
}

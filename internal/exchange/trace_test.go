package exchange

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// eventful is a record of two iterations with events before, in, between and after them.
func eventful() results.Record {
	r := exported(4, "V", 2_000_000, 1_000_001)
	exec, init, first, freed := int64(1_000_000_000), int64(1_010_000_000), int64(1_020_000_000), int64(4096)
	r.Startup = results.Startup{ExecNS: &exec, InitNS: &init, FirstNS: &first}
	r.StartNS = []int64{1_020_000_000, 1_022_500_000}
	r.Instrument, r.EventsLost = "events", 2
	r.Columns = []results.Column{{Name: "gc_time", Unit: "ns", Kind: results.KindUser,
		Values: []int64{300_001, results.Missing}}}
	r.Events = []results.Event{
		{Kind: "load", TimeNS: 1_005_000_000, Name: `A"</script>\`},
		{Kind: "compile", TimeNS: 1_020_100_000, DurationNS: 900_000, Name: "f"},
		{Kind: "compile", TimeNS: 1_020_200_000, DurationNS: 100_000, Name: "g"}, // in another thread
		{Kind: "gc", TimeNS: 1_021_999_999, DurationNS: 300_001, Argument: &freed},
		{Kind: "compile", TimeNS: 1_022_000_000, DurationNS: 0, Name: "h,\ni"}, // between the iterations
	}
	return r
}

func TestEventsExport(t *testing.T) {
	records := slices.Values([]results.Record{exported(0, "C", 5), eventful()})
	for _, test := range []struct {
		options ExportOptions
		want    string
	}{
		{ExportOptions{}, "benchmark,vm,variant,pexec,slot,attempt,iteration,kind,name,time_ns,duration_ns," +
			"argument\n" +
			`b,V,v,5,4,1,,load,"A""</script>\",1005000000,0,` + "\n" +
			"b,V,v,5,4,1,0,compile,f,1020100000,900000,\n" +
			"b,V,v,5,4,1,0,compile,g,1020200000,100000,\n" +
			"b,V,v,5,4,1,0,gc,,1021999999,300001,4096\n" +
			"b,V,v,5,4,1,,compile,\"h,\uFFFDi\",1022000000,0,\n"},
		{ExportOptions{JSON: true, Outcome: true},
			`{"benchmark":"b","vm":"V","variant":"v","pexec":5,"slot":4,"attempt":1,"outcome":"completed",` +
				`"iteration":null,"kind":"load","name":"A\"\u003c/script\u003e\\","time_ns":1005000000,` +
				`"duration_ns":0,"argument":null}` + "\n"},
	} {
		var b bytes.Buffer
		err := NewEventsExport(records, test.options).Write(&b)
		must.Be(t, err == nil && strings.HasPrefix(b.String(), test.want), test.options, err, b.String(),
			"want", test.want)
	}
}

// TestTraceSwitches: the summary is at the beginning of the trace, and the end of the record where
// it was; a stamp before the beginning is not written.
func TestTraceSwitches(t *testing.T) {
	r := eventful()
	full, early := int64(1_021_000_000), int64(1)
	r.Switches = &results.Switches{CPUs: []int{2}, Tasks: []results.SwitchTask{{Name: "kworker", PID: 7}},
		FullNS: &full}
	const summary = `{"name":"switches","cat":"switch","ph":"i","s":"p","ts":0.000,"pid":1,"tid":1,"args":` +
		`{"cpus":[2],"reason":"","tasks":[{"name":"kworker","pid":7,"cpu_ns":0,"runs":0}]}}`
	const end = `{"name":"no switches from here on","cat":"switch","ph":"i","s":"p","ts":21000.000,"pid":1,` +
		`"tid":1}`
	trace := func() string {
		var b bytes.Buffer
		err := WriteTrace(&b, slices.Values([]results.Record{r}))
		must.Need(t, err == nil && json.Valid(b.Bytes()), err, b.String())
		return b.String()
	}
	must.Contain(t, trace(), summary+",\n"+end+",\n")
	r.Switches.FullNS = &early
	got := trace()
	must.Be(t, strings.Contains(got, summary) && !strings.Contains(got, "no switches"), got)
}

// TestTrace compares the whole trace of a record.
func TestTrace(t *testing.T) {
	var b bytes.Buffer
	must.Do(t, WriteTrace(&b, slices.Values([]results.Record{eventful()})))
	must.Equal(t, b.String(), string(must.Get(os.ReadFile("testdata/trace.json"))(t)))
	b.Reset()
	err := WriteTrace(&b, slices.Values([]results.Record(nil)))
	must.Be(t, err == nil && json.Valid(b.Bytes()), "without records", err, b.String())
}

// checkTrace checks a trace as strictly as its readers do. Besides the fields that "Trace Event
// Format" demands of each phase:
//
//   - Perfetto (src/trace_processor/importers/json, json_trace_tokenizer.cc) refuses a trace in
//     which a field of an event is a list, counts an event without a time that is no metadata as an
//     error, and takes process and thread as 32-bit numbers;
//   - json_trace_parser_impl.cc there names a thread by the metadata of its number, which must
//     therefore come before anything else of another process with that thread;
//   - viewers draw what overlaps on a track as a part of the earlier event, and expect the times of
//     a track in order.
func checkTrace(text []byte) error {
	var trace struct {
		Unit   string                       `json:"displayTimeUnit"`
		Events []map[string]json.RawMessage `json:"traceEvents"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&trace); err != nil || trace.Unit != "ns" || d.More() {
		return fmt.Errorf("no trace: %w", err)
	}
	tracks := map[traceTrack]*trackState{}
	for i, fields := range trace.Events {
		if err := checkTraceEvent(tracks, fields); err != nil {
			return fmt.Errorf("event %d: %w: %s", i, err, fields)
		}
	}
	return nil
}

type traceTrack struct{ process, thread uint32 }

// trackState is what a track has so far: the last time, and the end of the last complete event.
type trackState struct{ last, end *big.Rat }

func checkTraceEvent(tracks map[traceTrack]*trackState, fields map[string]json.RawMessage) error {
	var name, phase, scope string
	var at traceTrack
	var args map[string]any
	for key, to := range map[string]any{"name": &name, "ph": &phase, "pid": &at.process, "tid": &at.thread} {
		if err := json.Unmarshal(fields[key], to); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if fields["args"] != nil && json.Unmarshal(fields["args"], &args) != nil || name == "" {
		return errors.New("name or args")
	}
	if at.process == 0 { // the idle task's
		return errors.New("no process")
	}
	if phase == phaseMetadata {
		return checkMetadata(tracks, at, name, args)
	}
	track := tracks[at]
	begin, ok := new(big.Rat).SetString(string(fields["ts"]))
	if !ok || begin.Sign() < 0 || track == nil || track.last.Cmp(begin) > 0 {
		return errors.New("time")
	}
	track.last = begin
	if phase == phaseInstant {
		if json.Unmarshal(fields["s"], &scope) != nil || scope != "t" && scope != "p" ||
			fields["dur"] != nil {
			return errors.New("scope or duration")
		}
		return nil
	}
	duration, ok := new(big.Rat).SetString(string(fields["dur"]))
	if phase != phaseComplete || !ok || duration.Sign() < 0 || begin.Cmp(track.end) < 0 {
		return errors.New("phase, duration, or overlap")
	}
	track.end = new(big.Rat).Add(begin, duration)
	return nil
}

// checkMetadata: a track is named once, and before its events.
func checkMetadata(tracks map[traceTrack]*trackState, at traceTrack, name string,
	args map[string]any) error {
	want := map[string]string{"process_name": "name", "process_labels": "labels", "thread_name": "name",
		"process_sort_index": "sort_index", "thread_sort_index": "sort_index"}[name]
	if want == "" || len(args) != 1 || args[want] == nil {
		return errors.New("metadata")
	}
	if name == "thread_name" {
		if tracks[at] != nil {
			return errors.New("named twice")
		}
		tracks[at] = &trackState{new(big.Rat), new(big.Rat)}
	}
	return nil
}

// TestCheckTrace: each mistake is found.
func TestCheckTrace(t *testing.T) {
	const named = `{"name":"thread_name","ph":"M","pid":1,"tid":1,"args":{"name":"a"}},`
	for name, events := range map[string]string{
		"no name":      `{"ph":"i","s":"t","ts":1,"pid":1,"tid":1}`,
		"no time":      `{"name":"a","ph":"i","s":"t","pid":1,"tid":1}`,
		"negative":     `{"name":"a","ph":"i","s":"t","ts":-1,"pid":1,"tid":1}`,
		"no track":     `{"name":"a","ph":"i","s":"t","ts":1,"pid":1,"tid":2}`,
		"process 0":    `{"name":"a","ph":"i","s":"t","ts":1,"pid":0,"tid":1}`,
		"large thread": `{"name":"a","ph":"i","s":"t","ts":1,"pid":1,"tid":4294967297}`,
		"phase":        `{"name":"a","ph":"B","ts":1,"dur":1,"pid":1,"tid":1}`,
		"scope":        `{"name":"a","ph":"i","s":"x","ts":1,"pid":1,"tid":1}`,
		"list":         `{"name":"a","ph":"i","s":"t","ts":1,"pid":1,"tid":1,"args":[1]}`,
		"no duration":  `{"name":"a","ph":"X","ts":1,"pid":1,"tid":1}`,
		"overlap": `{"name":"a","ph":"X","ts":1,"dur":1,"pid":1,"tid":1},` +
			`{"name":"b","ph":"X","ts":1.999,"dur":1,"pid":1,"tid":1}`,
		"order": `{"name":"a","ph":"i","s":"t","ts":2,"pid":1,"tid":1},` +
			`{"name":"a","ph":"i","s":"t","ts":1,"pid":1,"tid":1}`,
		"metadata": `{"name":"thread_color","ph":"M","pid":1,"tid":1,"args":{"name":"a"}}`,
		"twice":    `{"name":"thread_name","ph":"M","pid":1,"tid":1,"args":{"name":"a"}}`,
	} {
		must.Be(t, checkTrace([]byte(`{"displayTimeUnit":"ns","traceEvents":[`+named+events+`]}`)) != nil,
			name, "not found")
	}
}

// TestTraceLanes: events that overlap more others than there are tracks are instants.
func TestTraceLanes(t *testing.T) {
	r := eventful()
	for i := range int64(2 * traceLanes) {
		r.Events = append(r.Events, results.Event{Kind: "pause", TimeNS: 1_021_000_000 + i, DurationNS: 100})
	}
	var b bytes.Buffer
	must.Do(t, WriteTrace(&b, slices.Values([]results.Record{r, r})))
	must.Do(t, checkTrace(b.Bytes()))
	must.Equal(t, strings.Count(b.String(), `"args":{"duration_ns":100}`), 2*traceLanes, "instants")
}

// FuzzTrace: whatever the events of a record are, the trace is one.
func FuzzTrace(f *testing.F) {
	f.Add([]byte{}, "a\x00\xff", "gc")
	f.Add(bytes.Repeat([]byte{0, 0, 200, 3, 9, 0}, 40), "\"}]", "compile")
	f.Fuzz(func(t *testing.T, data []byte, name, kind string) {
		r := eventful()
		for ; len(data) >= 6; data = data[6:] {
			e := results.Event{Kind: kind, Name: name, DurationNS: int64(data[4]) << data[5],
				TimeNS: 1_000_000_000 + int64(binary.NativeEndian.Uint32(data))}
			r.Events = append(r.Events, e)
		}
		var b bytes.Buffer
		must.Do(t, WriteTrace(&b, slices.Values([]results.Record{r, r})))
		err := checkTrace(b.Bytes())
		must.Need(t, err == nil || kind == "", err, b.String())
	})
}

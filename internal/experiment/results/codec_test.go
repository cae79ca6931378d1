package results_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

func TestCodecLaws(t *testing.T) {
	arm := full()
	arm.Key.Arm, arm.Layout = "new", &results.Layout{Mode: "random", PaddingBytes: 15000, OffsetBytes: 48,
		Relink: &results.Relink{Seed: 7, SHA256: "ab12"}}
	for name, want := range map[string]results.Record{"full": full(), "crashed": crashed(),
		"arm": arm, "sized": sized(50, 4)} {
		packed := must.Get(results.Encode(want))(t)
		got, err := results.Decode(packed)
		must.Be(t, err == nil && reflect.DeepEqual(got, want), name, got, err, want)
		again, err := results.Encode(got)
		must.Be(t, err == nil && bytes.Equal(again, packed), name, "encoded again it differs", err)
	}
}

// TestEveryFieldIsKept: no field of full has its zero value, so that TestCodecLaws covers all
// fields.
func TestEveryFieldIsKept(t *testing.T) {
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type() != reflect.TypeFor[time.Time]() && v.Type() != reflect.TypeFor[results.Column]() {
					walk(path+"."+v.Type().Field(i).Name, v.Field(i))
				}
			}
		case reflect.Pointer:
			if v.IsNil() && path != ".Layout" {
				t.Errorf("%s is nil", path)
			} else if v.Elem().Kind() == reflect.Struct {
				walk(path, v.Elem())
			}
		default:
			must.Be(t, !v.IsZero() || path == ".Process.Stderr.Truncated" || path == ".Key.Arm", path,
				"is zero")
		}
	}
	walk("", reflect.ValueOf(full()))
}

// TestNormalized: values that JSON cannot represent are replaced.
func TestNormalized(t *testing.T) {
	r := crashed()
	r.Process.Stdout.Text = "\xff\xfegarbage\xc3"
	r.Started = r.Started.In(time.FixedZone("", 3600))
	packed := must.Get(results.Encode(r))(t)
	got := must.Get(results.Decode(packed))(t)
	must.Be(t, got.Process.Stdout.Text == "\ufffd\ufffdgarbage\ufffd" && got.Started == crashed().Started,
		got.Process.Stdout.Text, got.Started)
	elsewhere, err := results.Decode(edited(t, "2026-11-21T09:30:01.123456789Z",
		"2026-11-21T10:30:01.123456789+01:00"))
	must.Be(t, err == nil && reflect.DeepEqual(elsewhere, full()), "with another time zone",
		elsewhere.Started, err)
}

// TestGolden: the records of all versions remain readable, and this version writes exactly these
// bytes of JSON.
func TestGolden(t *testing.T) {
	for name, want := range map[string]results.Record{"full": full(), "crashed": crashed()} {
		golden := filepath.Join("testdata", fmt.Sprintf("v%d", results.Format), name+".json.gz")
		packed := must.Get(results.Encode(want))(t)
		if *update {
			must.Do(t, os.WriteFile(golden, packed, 0o644))
		}
		stored := must.Get(os.ReadFile(golden))(t)
		must.Equal(t, unpack(t, packed), unpack(t, stored), "this version writes", "and the golden file is")
	}
	old := must.Get(filepath.Glob("testdata/v*/*.json.gz"))(t)
	for _, name := range old {
		packed := must.Get(os.ReadFile(name))(t)
		got := must.Get(results.Decode(packed))(t)
		want := full()
		if strings.HasPrefix(filepath.Base(name), "crashed") {
			want = crashed()
		}
		must.Be(t, reflect.DeepEqual(got, want), name, got, want)
	}
}

// TestDocNamesEveryField: doc.go is the specification.
func TestDocNamesEveryField(t *testing.T) {
	doc := must.Get(os.ReadFile("doc.go"))(t)
	var object any
	must.Do(t, json.Unmarshal([]byte(unpack(t, pack(t, full()))), &object))
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, field := range v {
				if name == "cpu" || name == "kernel" {
					continue // these are keys of the fingerprint
				}
				must.Contain(t, string(doc), name, "doc.go does not mention")
				walk(field)
			}
		case []any:
			for _, field := range v {
				walk(field)
			}
		}
	}
	walk(object)
}

func pack(t testing.TB, r results.Record) []byte {
	t.Helper()
	packed := must.Get(results.Encode(r))(t)
	return packed
}

func unpack(t testing.TB, packed []byte) string {
	t.Helper()
	zip := must.Get(gzip.NewReader(bytes.NewReader(packed)))(t)
	text := must.Get(io.ReadAll(zip))(t)
	return string(text)
}

func repack(t testing.TB, text string) []byte {
	t.Helper()
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.NoCompression) // so that the fuzzer can mutate it
	must.Do(t, err)
	must.Get(io.WriteString(zip, text))(t)
	must.Do(t, zip.Close())
	return packed.Bytes()
}

// edited returns the full record with a change in its JSON.
func edited(t testing.TB, from, to string) []byte {
	t.Helper()
	text := unpack(t, pack(t, full()))
	must.Need(t, strings.Count(text, from) == 1, from, "is", strings.Count(text, from), "times in the record")
	return repack(t, strings.Replace(text, from, to, 1))
}

func TestDecodeDamage(t *testing.T) {
	good := pack(t, full())
	flipped := bytes.Clone(good)
	flipped[len(flipped)-6] ^= 1 // a bit of the checksum
	tests := []struct {
		name   string
		packed []byte
		want   string
	}{
		{"empty", nil, "damaged: the file is empty"},
		{"not gzip", []byte("{\"format\":1}\n and more"), "damaged: not a gzip file"},
		{"zeros", make([]byte, 512), "damaged: not a gzip file"},
		{"cut in the header", good[:7], "damaged: the file is truncated"},
		{"cut in the middle", good[:len(good)/2], "damaged: the file is truncated"},
		{"cut in the checksum", good[:len(good)-5], "damaged: the file is truncated"},
		{"checksum", flipped, "damaged: the checksum is wrong"},
		{"more at the end", append(bytes.Clone(good), 0), "damaged: there are bytes after the end"},
		{"twice", append(bytes.Clone(good), good...), "damaged: there are bytes after the end"},
		{"nothing in it", repack(t, ""), "damaged: not JSON at byte 0"},
		{"half in it", repack(t, unpack(t, good)[:100]), "damaged: not JSON at byte"},
		{"two in it", repack(t, unpack(t, good)+"{}"), "damaged: not JSON at byte"},
		{"a list", repack(t, "[]"), "damaged: json: cannot unmarshal array"},
		{"no format", repack(t, "{}"), "damaged: not a record: it has no format number"},
		{"null", repack(t, "null"), "damaged: not a record: it has no format number"},
		{"negative format", edited(t, `"format":1`, `"format":-1`), "damaged: not a record"},
		{"fraction", edited(t, `"slot":17`, `"slot":17.5`), "damaged: json: cannot unmarshal number 17.5"},
		{"other key", edited(t, `"vm":"CPython"`, `"vm":"PyPy"`),
			`key "nbody:CPython:default-python" does not match benchmark, vm, variant and arm "nbody:PyPy:default-python"`},
		{"bad key", edited(t, `"vm":"CPython"`, `"vm":"C Python"`), `contains ' '`},
		{"negative counter", edited(t, `[0,9007199254740993,`, `[0,-9007199254740993,`), "column aperf"},
		{"user value", edited(t, `[-7,null,`, `[-7,"x",`), "column gc_time"},
		{"kind", edited(t, `"gc_time","unit":"ns","kind":"user"`, `"gc_time","unit":"ns","kind":"gauge"`),
			`kind "gauge" is neither counter nor user`},
		{"year", edited(t, "2026-11-21T09:30:01.123456789Z", "9999-12-31T23:59:59-01:00"),
			"started in the year 10000"},
		{"no values",
			repack(t,
				`{"format":1,"key":"a:b:c","benchmark":"a","vm":"b","variant":"c","columns":[{"name":"x","kind":"user"}]}`), "column x"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := results.Decode(test.packed)
			must.Be(t, err != nil && strings.Contains(err.Error(), test.want) &&
				!errors.Is(err, results.ErrVersion), err, test.want)
			must.Be(t, reflect.DeepEqual(r, results.Record{}), "the record is not zero")
		})
	}
}

// TestDecodeNewer: a later format is reported as such even if its fields have other types. Unknown
// fields alone are not an error.
func TestDecodeNewer(t *testing.T) {
	for _, packed := range [][]byte{
		edited(t, `"format":1`, `"format":2`),
		repack(t, `{"format":7,"slot":"seventeen","wall_ns":{}}`),
	} {
		_, err := results.Decode(packed)
		must.Fail(t, err, results.ErrVersion)
	}
	got, err := results.Decode(edited(t, `"slot":17`, `"weather":{"rain":[1,2.5]},"slot":17`))
	must.Be(t, err == nil && reflect.DeepEqual(got, full()), "with an unknown field", got, err)
}

func TestColumn(t *testing.T) {
	columns := full().Columns
	got := columns[0].Float(1)
	must.Be(t, got == 1<<53 && columns[0].Len() == 3, "counter", got, columns[0].Len(), "values")
	got = columns[2].Float(0)
	must.Be(t, got == -7 && columns[2].Len() == 3, "user column", got, columns[2].Len(), "values")
	got = columns[2].Float(1)
	must.Be(t, math.IsNaN(got), "missing", got)
}

func TestEncodeRefused(t *testing.T) {
	tests := map[string]results.Column{
		"a counter has Counts, not Values":        {Kind: results.KindCounter, Values: []int64{1}},
		"a user column has Values, not Counts":    {Kind: results.KindUser, Counts: []uint64{1}},
		`kind "" is neither counter nor user`:     {},
		`kind "gauge" is neither counter nor use`: {Kind: "gauge"},
	}
	for want, column := range tests {
		r := full()
		r.Columns = []results.Column{column}
		must.Refused(results.Encode(r))(t, want)
	}
}

func TestCheck(t *testing.T) {
	must.Do(t, full().Check())
	must.Do(t, crashed().Check())
	tests := map[string]func(*results.Record){
		"2 start stamps for 3 iterations": func(r *results.Record) { r.StartNS = r.StartNS[:2] },
		"3 of 2 planned iterations done":  func(r *results.Record) { r.Iterations = 2 },
		"iteration 1 took -5 ns":          func(r *results.Record) { r.WallNS[1] = -5 },
		"column gc_time has 1 values": func(
			r *results.Record) {
			r.Columns[2].Values = r.Columns[2].Values[:1]
		},
		"process execution 0":                      func(r *results.Record) { r.Pexec = 0 },
		`outcome "lost"`:                           func(r *results.Record) { r.Outcome = "lost" },
		"slot -1, attempt 2: a slot counts from 0": func(r *results.Record) { r.Slot = -1 },
		"slot 17, attempt 0: a slot counts from 0": func(r *results.Record) { r.Attempt = 0 },
		"-1 events lost":                           func(r *results.Record) { r.EventsLost = -1 },
		`event 1 is of kind "GC\n"`: func(r *results.Record) {
			r.Events = []results.Event{{Kind: "gc"}, {Kind: "GC\n"}}
		},
		`event 0 is of kind ""`: func(r *results.Record) { r.Events = []results.Event{{}} },
		"event 0 (gc) took -2 ns": func(r *results.Record) {
			r.Events = []results.Event{{Kind: "gc", DurationNS: -2}}
		},
		`event 0 (gc) has the name "\x1b[2J"`: func(r *results.Record) {
			r.Events = []results.Event{{Kind: "gc", Name: "\x1b[2J"}}
		},
		"benchmark: the name is empty": func(r *results.Record) { r.Key = key.Key{} },
	}
	for want, change := range tests {
		r := full()
		change(&r)
		must.Refuse(t, r.Check(), want)
	}
	durations := full()
	durations.StartNS = nil
	must.Do(t, durations.Check())
	forged := full()
	forged.Outcome, forged.WallNS[1] = results.Error, -5
	forged.Events = []results.Event{{Kind: "gc", DurationNS: -2}}
	must.Do(t, forged.Check())
}

func FuzzDecode(f *testing.F) {
	f.Add(pack(f, full()), false)
	f.Add([]byte(unpack(f, pack(f, full()))), true)
	f.Add([]byte(unpack(f, pack(f, crashed()))), true)
	f.Add([]byte(`{"format":1,"key":"a:b:c@d","benchmark":"a","vm":"b","variant":"c","arm":"d"}`), true)
	f.Add([]byte(`{"format":1,"key":"a:b:c","benchmark":"a","vm":"b","variant":"c","columns":[{"kind":"user","values":null}]}`), true)
	f.Fuzz(func(t *testing.T, data []byte, isText bool) {
		if isText { // repair the checksum to reach the checks after it
			data = repack(t, string(data))
		}
		r, err := results.Decode(data)
		if err != nil {
			must.Be(t, strings.Contains(err.Error(), "damaged") || errors.Is(err, results.ErrVersion),
				"the error does not explain the damage", err)
			return
		}
		_ = r.Check() // must not panic
		packed := must.Get(results.Encode(r))(t, r, "cannot be encoded")
		again, err := results.Decode(packed)
		must.Be(t, err == nil && reflect.DeepEqual(again, r), r, "is decoded as", again, err)
	})
}

func TestMissingValuesAreNull(t *testing.T) {
	r := full()
	core := 0
	r.Columns = []results.Column{{Name: "aperf", Kind: results.KindCounter, Core: &core,
		Counts: []uint64{3, results.MissingCount, 1<<64 - 1}}}
	packed := must.Get(results.Encode(r))(t)
	again := must.Get(results.Decode(packed))(t)
	got := again.Columns[0].Counts
	must.Be(t, slices.Equal(got, r.Columns[0].Counts) && math.IsNaN(again.Columns[0].Float(1)), "counts", got,
		"want", r.Columns[0].Counts, "with the second missing")
}

// crowd is the record of a benchmark that left thousands of processes behind.
func crowd() results.Record {
	r := of(0, 1, "crowd")
	many := make([]string, 4096)
	for i := range many {
		many[i] = fmt.Sprintf("process %d (sh) of the benchmark cannot be killed: state D", 4_000_000+i)
	}
	long := strings.Repeat("x", 1<<20)
	r.Reasons, r.Process.Findings, r.Machine.KernelLog.Lines = append([]string{long},
		many...), many, slices.Repeat(many, 10)
	r.Library = &results.Library{State: "done", Error: long, Findings: many}
	r.CounterReason, r.Process.CgroupReason = long, long
	r.Process.NotStarted = &results.StartFailure{Step: "exec", Text: long}
	return r
}

// TestTextsAreBounded: a record keeps the first elements of a long list and says how many are
// missing.
func TestTextsAreBounded(t *testing.T) {
	r := crowd()
	fsys := crashfs.New("/r")
	add := results.NewAppender(fsys, "/r")
	for range 2 { // appending the same record again changes nothing
		must.Do(t, add.Append(r))
	}
	got := must.Get(results.NewReader(fsys, "/r").Load(results.Name{Slot: 0, Attempt: 1}))(t)
	for name, list := range map[string][]string{
		"reasons": got.Reasons, "findings": got.Process.Findings, "library": got.Library.Findings,
		"kernel log": got.Machine.KernelLog.Lines,
	} {
		last := list[len(list)-1]
		must.Be(t, len(list) <= 1000 && len(strings.Join(list, "")) <= 256<<10 &&
			strings.HasSuffix(last, " more of these were left out"), name, len(list), "lines, the last", last)
	}
	text, err := got.MarshalJSON()
	must.Be(t, err == nil && len(text) <= 600<<10, "the record", len(text), "bytes", err)
	bounded := r.Bounded()
	must.Be(t, reflect.DeepEqual(bounded, bounded.Bounded()),
		"bounding a record twice is not bounding it once")
	must.Be(t, len(r.Process.Findings) == 4096 && len(r.Library.Findings) == 4096,
		"the caller's record has changed")
	small := of(0, 2, "small")
	must.Be(t, reflect.DeepEqual(small, small.Bounded()), small, "became", small.Bounded())
}

// TestSeriesAreBounded: what readers would reject is not written.
func TestSeriesAreBounded(t *testing.T) {
	must.Long(t)
	r := of(0, 1, "series")
	values := slices.Repeat([]int64{math.MinInt64 + 1}, 1<<20) // 21 bytes each
	for range 50 {
		r.Columns = append(r.Columns, results.Column{Name: "c", Kind: results.KindUser, Values: values})
	}
	fsys := crashfs.New("/r")
	err := results.NewAppender(fsys, "/r").Append(r)
	must.Be(t, errors.Is(err, results.ErrTooLarge) && len(fsys.Files()) == 0, err, "and", len(fsys.Files()),
		"files")
	b := r.Bounded()
	must.Be(t, b.Outcome == results.Error && b.Columns == nil && b.WallNS == nil &&
		strings.Contains(b.Reasons[0], "too large to be read"), "outcome", b.Outcome, len(b.Columns),
		"columns", b.Reasons)
	must.Do(t, results.NewAppender(fsys, "/r").Append(b))
}

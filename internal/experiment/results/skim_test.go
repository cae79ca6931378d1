package results_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// skim applies Skim to the bytes of a file.
func skim(t testing.TB, packed []byte, columns bool) (results.Skimmed, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "record.json.gz")
	must.Do(t, os.WriteFile(path, packed, 0o644))
	return results.Skim(durable.OS(), path, columns)
}

// whole returns the skimmed record with its series.
func whole(s results.Skimmed) results.Record {
	r := s.Record
	r.StartNS, r.WallNS = unpacked[int64](s.Start), unpacked[int64](s.Wall)
	for i, p := range s.Series {
		if c := &r.Columns[i]; c.Kind == results.KindCounter {
			c.Counts = unpacked[uint64](p)
		} else {
			c.Values = unpacked[int64](p)
		}
	}
	return r
}

func unpacked[T int64 | uint64](p *results.Packed) []T {
	if p == nil {
		return nil
	}
	list := make([]T, 0, p.Len())
	for v := range p.All() {
		list = append(list, T(v))
	}
	return list
}

// sameAsDecode checks that Skim accepts and rejects the same input as Decode, with the same errors.
func sameAsDecode(t *testing.T, packed []byte) {
	t.Helper()
	want, wantErr := results.Decode(packed)
	for _, columns := range []bool{false, true} {
		got, err := skim(t, packed, columns)
		if wantErr != nil {
			must.Be(t, err != nil && err.Error() == wantErr.Error(), "error", err, wantErr)
			continue
		}
		must.Do(t, err)
		if g, w := got.Check(), want.Check(); (g == nil) != (w == nil) || g != nil && g.Error() != w.Error() {
			t.Errorf("Check: %v, want %v", g, w)
		}
		if columns && !reflect.DeepEqual(whole(got), want) {
			t.Errorf("got %+v\nwant %+v", whole(got), want)
		}
		for i, c := range want.Columns {
			must.Equal(t, got.ColumnLengths[i], c.Len(), "column", i, "has", "values")
		}
	}
}

func TestSkimIsDecode(t *testing.T) {
	good, text := pack(t, full()), unpack(t, pack(t, full()))
	odd := full()
	odd.WallNS[1], odd.StartNS, odd.Columns[2].Values = -4, odd.StartNS[:1], []int64{}
	cases := map[string][]byte{
		"full": good, "crashed": pack(t, crashed()), "sized": pack(t, sized(50, 4)),
		"contradicts itself": pack(t, odd),
		"cut off":            good[:len(good)/2], "cut in the checksum": good[:len(good)-5],
		"more after it": append(bytes.Clone(good), 0), "empty": nil,
		"newer": edited(t, `"format":1`, `"format":99`), "two objects": repack(t, text+"{}"),
		"other": repack(t, `{"a":1}`), "list": repack(t, "[]"),
		"series in other letters": edited(t, `"wall_ns":[`, `"Wall_NS":[`),
		"series twice":            edited(t, `"columns":[`, `"start_ns":[7],"columns":[`),
		"columns twice": edited(t, `"totals":`,
			`"columns":[{"name":"x","kind":"user","values":[1]}],"totals":`),
		"values before their kind": edited(t,
			`"name":"instructions","unit":"","kind":"counter","core":null,"values":[1,2,3]`,
			`"values":[1,2,3],"kind":"counter"`),
		"values twice":      edited(t, `"values":[0,1,2]`, `"values":[4],"values":[0,1,2]`),
		"no values":         edited(t, `,"values":[0,1,2]`, ""),
		"null for values":   edited(t, `"values":[0,1,2]`, `"values":null`),
		"null for a column": edited(t, `"columns":[`, `"columns":[null,`),
		"kind unknown":      edited(t, `"kind":"user","core":null,"values":[0,1,2]`, `"kind":"odd","values":[0]`),
		"null among times":  edited(t, `"start_ns":[61000,`, `"start_ns":[null,`),
		"fraction":          edited(t, `"start_ns":[61000,`, `"start_ns":[6.5,`),
		"count below zero":  edited(t, `"values":[1,2,3]`, `"values":[1,-2,3]`),
		"no list":           edited(t, `"start_ns":[61000,1061000,2061000]`, `"start_ns":{"a":[]}`),
		"unknown field":     edited(t, `"totals":`, `"more":{"a":[1,2,{"wall_ns":[3]}]},"totals":`),
		"field twice":       edited(t, `"totals":`, `"host":"x","totals":`),
	}
	for name, packed := range cases {
		t.Run(name, func(t *testing.T) { sameAsDecode(t, packed) })
	}
}

func FuzzSkim(f *testing.F) {
	for _, r := range []results.Record{full(), crashed(), sized(3, 1)} {
		f.Add(unpack(f, pack(f, r)))
	}
	f.Fuzz(func(t *testing.T, text string) { sameAsDecode(t, repack(t, text)) })
}

func TestSkimMissingFile(t *testing.T) {
	_, err := results.Skim(durable.OS(), filepath.Join(t.TempDir(), "none"), true)
	must.Fail(t, err, os.ErrNotExist)
}

// TestSkimIsSmall: a long record, whose text and lists are megabytes, is never entirely in memory.
func TestSkimIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("repeats one thing very often")
	}
	const n = 20_000
	r := sized(n, 2)
	path := filepath.Join(t.TempDir(), "record.json.gz")
	must.Do(t, os.WriteFile(path, pack(t, r), 0o644))
	lists := 8 * n * (2 + len(r.Columns))
	r = results.Record{}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := must.Get(results.Skim(durable.OS(), path, true))(t)
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := int(after.HeapAlloc) - int(before.HeapAlloc)
	must.Be(t, held <= lists/2, held, "bytes are held for lists of", lists)
	must.Equal(t, s.Wall.Len(), n, "iterations")
	runtime.KeepAlive(s)
}

// TestPackedEndsEarly: a loop over a series may be left early.
func TestPackedEndsEarly(t *testing.T) {
	s := must.Get(skim(t, pack(t, sized(20_000, 0)), false))(t)
	n := 0
	for range s.Start.All() {
		if n++; n == 3 {
			break
		}
	}
	first := slices.Collect(s.Start.All())
	must.Be(t, n == 3 && len(first) == 20_000, n, len(first))
}

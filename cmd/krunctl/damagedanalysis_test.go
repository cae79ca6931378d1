package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// smallDirectory is an experiment of two keys, one of which warms up, with few iterations.
func smallDirectory(t *testing.T) string {
	t.Helper()
	var records []results.Record
	for slot := range 6 {
		k := key.Key{Benchmark: "fasta", VM: "C", Variant: "default-c"}
		warm := 0
		if slot%2 == 1 {
			k.Benchmark, warm = "nbody", 15
		}
		const n = 40
		wall := iterations(uint64(slot), warm, n)
		wall[5] *= 3 // an outlier
		cycles := func(core int) results.Column {
			return results.Column{Name: "cycles", Kind: results.KindCounter, Core: &core,
				Counts: make([]uint64, n)}
		}
		core, other := cycles(0), cycles(1)
		for i, ns := range wall {
			core.Counts[i], other.Counts[i] = uint64(3*ns), 1
			if i > n/2 {
				core.Counts[i], other.Counts[i] = 1, uint64(3*ns)
			}
		}
		r := completed(k, slot, slot/2+1, wall)
		r.Columns = []results.Column{core, other}
		records = append(records, r)
	}
	return storedIn(t, filepath.Join(t.TempDir(), "test.krun"), "", records)
}

// damages calls use with a copy of a JSON document for each way to damage one of its values, of
// each list only the first and the last one.
func damages(document any, use func(what string, damaged []byte)) {
	values := []any{nil, "x\x1b[31m\x00", "", true, []any{}, map[string]any{},
		[]any{json.Number("1000000")}, []any{json.Number("3"), json.Number("2")}}
	for _, n := range []string{"-1", "-5", "0", "1", "39", "41", "1048576", "1099511627776",
		"4611686018427387904", "1e308", "0.5"} {
		values = append(values, json.Number(n))
	}
	emit := func(what string) {
		text, err := json.Marshal(document)
		if err != nil {
			panic(err)
		}
		use(what, text)
	}
	var walk func(path string, at any, set func(any), remove func())
	walk = func(path string, at any, set func(any), remove func()) {
		switch v := at.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				old := v[name]
				walk(path+"."+name, old, func(new any) { v[name] = new }, func() { delete(v, name) })
				v[name] = old
			}
		case []any:
			for i, old := range v {
				if i > 0 && i < len(v)-1 {
					continue
				}
				walk(path+"["+strconv.Itoa(i)+"]", old, func(new any) { v[i] = new }, nil)
				v[i] = old
			}
		}
		for _, damage := range values {
			set(damage)
			emit(fmt.Sprintf("%s = %v", path, damage))
		}
		const notANumber = "NOT A NUMBER"
		set(notANumber)
		text, _ := json.Marshal(document)
		use(path+" = NaN", bytes.Replace(text, []byte(strconv.Quote(notANumber)), []byte("NaN"), 1))
		if remove != nil {
			remove()
			emit(path + " is missing")
		}
		if list, ok := at.([]any); ok {
			set(slices.Concat(list, list))
			emit(path + " twice")
			if len(list) > 0 {
				set(list[1:])
				emit(path + " without its first")
			}
		}
		set(at)
	}
	root := document.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(root)) {
		old := root[name]
		walk(name, old, func(new any) { root[name] = new }, func() { delete(root, name) })
		root[name] = old
	}
}

// TestDamagedAnalysis: whatever is in analysis.json, the commands that read it neither panic nor
// hang, and need no more memory than the data.
func TestDamagedAnalysis(t *testing.T) {
	dir := smallDirectory(t)
	krunctl(t, "analyze", "--rule", "resamples=50", dir).works(t)
	file, out := filepath.Join(dir, "analysis.json"), filepath.Join(t.TempDir(), "out")
	text := must.Get(os.ReadFile(file))(t)
	var document any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	must.Do(t, d.Decode(&document))
	commands := [][]string{{"analyze", "--rule", "resamples=50", dir}, {"compare", dir, dir},
		{"report", dir, "-o", out}, {"history", dir}, {"explain", dir}}
	n, every := 0, must.Often(293, 29) // primes, so that all kinds of damage occur
	if testing.Short() {
		every = 397
	}
	damages(document, func(what string, damaged []byte) {
		if n++; n%every != 0 {
			return
		}
		for _, args := range commands {
			must.Do(t, os.WriteFile(file, damaged, 0o644))
			withoutPanic(t, what, args)
		}
	})
	t.Logf("%d damaged files, each with %d commands", n/every, len(commands))
}

func withoutPanic(t *testing.T, what string, args []string) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: %s: panic: %v\n%.3000s", what, args[0], p, debug.Stack())
		}
	}()
	if r := krunctl(t, args...); r.code == exitUsage || strings.ContainsAny(r.stdout+r.stderr, "\x1b\x00") {
		t.Errorf("%s: %s: %.1000s", what, args[0], r.text())
	}
}

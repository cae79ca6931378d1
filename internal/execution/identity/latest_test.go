package identity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// measured returns the record of an execution that ran a benchmark with this hash; "": no
// fingerprint was taken.
func measured(k key.Key, slot, edition int, hash string) *results.Record {
	r := &results.Record{Key: k, Slot: slot, Attempt: 1, Pexec: slot + 1, Edition: edition,
		Started: time.Unix(int64(1000+slot), 0)}
	if hash != "" {
		r.Machine.Fingerprint = map[string]string{"program.vm.C": "vm", "os": fmt.Sprint("kernel", slot),
			"program.benchmark.b.v": hash}
	}
	return r
}

// TestLatest: which executions were measured with other programs than the latest of their key.
func TestLatest(t *testing.T) {
	b := key.Key{Benchmark: "b", VM: "C", Variant: "v"}
	file := func(hash string) Program { return Program{hash, map[string]string{"/lab/b.so": hash}} }
	edited := []Edition{
		{
			Number:   1,
			Programs: map[string]Program{"program.vm.C": {"vm", nil}, "program.benchmark.b.v": file("A")},
		},
		{
			Number:   2,
			Programs: map[string]Program{"program.vm.C": {"vm", nil}, "program.benchmark.b.v": file("B")},
		},
	}
	other := slices.Clone(edited)
	other[1].Programs = edited[0].Programs // it began for another key
	varies := slices.Clone(edited)
	varies[1].Varies = []string{"program.benchmark.b.v"}
	for _, test := range []struct {
		name     string
		editions []Edition
		runs     string // of each: edition and hash
		want     string // x: other programs
		remark   string // a part
	}{
		{"one edition", edited[:1], "1A 1A 1A", "...", ""},
		{"two editions", edited, "1A 1A 2B 2B", "xx..",
			"1 of 1 key was measured with different programs: /lab/b.so changed after execution 2 of b:C:v " +
				"(SHA-256 A, then B). Only the executions with the latest programs of a key count; 2 " +
				"others are kept"},
		{"the slots of the first edition ran again", edited, "2B 2B", "..", ""},
		{"an edition for another key", other, "1A 2A 2A", "...", ""},
		{"without fingerprints", edited, "1 1 2", "xx.", "/lab/b.so changed after execution 2"},
		{"the file of editions is lost", nil, "1A 2B", "x.", "benchmark.b.v changed after execution 1"},
		{"it is lost, and the programs are the same", nil, "1A 2A", "..", ""},
		{"it is lost, without fingerprints", nil, "1 2", "x.",
			"one of its programs changed after execution 1 of b:C:v. "},
		{"each its own", varies, "1A 2B", "..", ""},
		{"an earlier version, the same", nil, "0A 0A 0A", "...", ""},
		{"an earlier version, edited", nil, "0A 0A 0B", "xx.", "benchmark.b.v changed after execution 2"},
		{"an earlier version, edited and restored", nil, "0A 0B 0A 0A", ".x..", "after execution 2"},
		{"an earlier version, without fingerprints", nil, "0 0 0", "...", ""},
		{"an earlier version, with some", nil, "0A 0 0B 0", "x...", "after execution 1"},
		{"an earlier version, built each time", nil, "0A 0B 0C 0D 0E", ".....", ""},
		{"begun by an earlier version", edited, "0A 0A 1A 2B", "xxx.", "/lab/b.so changed after execution 3"},
		{"continued by this one", edited[:1], "0A 0A 1A 1A", "....", ""},
		{"a wrong clock", edited, "2B 1A 2B", ".x.", "after execution 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := Latest{Editions: test.editions}
			for i, r := range strings.Fields(test.runs) {
				l.Add(measured(b, i, int(r[0]-'0'), r[1:]))
			}
			others, remark := l.Others()
			got := ""
			for i := range strings.Fields(test.runs) {
				if others[results.Name{Slot: i, Attempt: 1}] {
					got += "x"
				} else {
					got += "."
				}
			}
			must.Be(t, got == test.want && strings.Contains(remark, test.remark) &&
				(remark == "") == (test.remark == ""), got, "want", test.want, remark)
		})
	}
}

// TestLatestKeys: a program changes for the keys that run it, and is named once.
func TestLatestKeys(t *testing.T) {
	var l Latest
	for slot, name := range []string{"b", "c", "b", "c"} {
		r := measured(key.Key{Benchmark: name, VM: "C", Variant: "v"}, slot, 0, "A")
		r.Machine.Fingerprint["program.vm.C"] = fmt.Sprint("vm", slot/2)
		l.Add(r)
	}
	l.Add(measured(key.Key{Benchmark: "d", VM: "D", Variant: "v"}, 4, 0, "A"))
	others, remark := l.Others()
	if len(others) != 2 ||
		!strings.HasPrefix(remark, "2 of 3 keys were measured with different programs: vm.C "+
			"changed after execution 1 of b:C:v (SHA-256 vm0, then vm1). ") {
		t.Errorf("%v, %s", others, remark)
	}
}

// TestLatestBounded: the remark of records of a stranger has a few lines.
func TestLatestBounded(t *testing.T) {
	long := strings.Repeat("x\x1b", 1e5)
	var programs [2]map[string]Program
	for i := range programs {
		files := map[string]string{}
		for n := range 100 {
			files[fmt.Sprint(n, long)] = fmt.Sprint(i, long)
		}
		programs[i] = map[string]Program{"program.benchmark.b.v.files": {fmt.Sprint(i), files},
			"program.benchmark.b.v": {"A", nil}}
	}
	l := Latest{Editions: []Edition{{Number: 1, Programs: programs[0]}, {Number: 2, Programs: programs[1]}}}
	for i := range 2 {
		l.Add(measured(key.Key{Benchmark: "b", VM: "C", Variant: "v"}, i, i+1, "A"))
	}
	others, remark := l.Others()
	must.Be(t, len(others) == 1 && len(remark) <= 2000 && !strings.Contains(remark, "\x1b") &&
		strings.Contains(remark, "and 97 other changes"), len(remark), "bytes", remark)
}

package experiment

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestRecordsThatCount: of each slot the first completed record counts, also when it is read again;
// a record that contradicts itself is left out in each pass.
func TestRecordsThatCount(t *testing.T) {
	a := key.Key{Benchmark: "fasta", VM: "C", Variant: "default-c"}
	b := key.Key{Benchmark: "nbody", VM: "C", Variant: "default-c"}
	doubtful := record(b, 3, 1, 2, results.Completed)
	doubtful.Iterations = 1 // it has two
	d := created(t, filepath.Join(t.TempDir(), "test.krun"), "",
		record(a, 0, 1, 1, results.Rerun), record(a, 0, 2, 1, results.Completed),
		record(a, 0, 3, 1, results.Completed),
		record(b, 1, 1, 1, results.Error), record(a, 2, 1, 2, results.Completed), doubtful)
	for _, test := range []struct {
		pattern string
		all     []results.Name
		count   []results.Name
		damaged int
	}{
		{"", []results.Name{{Slot: 0, Attempt: 1}, {Slot: 0, Attempt: 2}, {Slot: 0, Attempt: 3},
			{Slot: 1, Attempt: 1},
			{Slot: 2, Attempt: 1}}, []results.Name{{Slot: 0, Attempt: 2}, {Slot: 2, Attempt: 1}}, 1},
		{"nbody:*:*", []results.Name{{Slot: 1, Attempt: 1}}, nil, 1},
	} {
		pattern := must.Get(ParsePattern(test.pattern))(t)
		left := 0
		records := must.Get(Experiment{d}.Records(pattern, "bencher5", func(error) { left++ }))(t)
		for pass := 1; pass <= 2; pass++ {
			var all, count []results.Name
			for r := range records.Whole() {
				all = append(all, results.Name{Slot: r.Slot, Attempt: r.Attempt})
			}
			for r := range records.Counting() {
				count = append(count, results.Name{Slot: r.Slot, Attempt: r.Attempt})
			}
			must.Be(t, slices.Equal(all, test.all) && slices.Equal(count, test.count) &&
				records.Damaged == test.damaged && left == 2*pass*test.damaged, test.pattern, count, all,
				records.Damaged, left, pass)
		}
	}
}

// TestDecide: what is decided depends on the records that count, and names them; a key that is kept
// is not finished.
func TestDecide(t *testing.T) {
	k := key.Key{Benchmark: "b", VM: "C", Variant: "v"}
	failed := record(k, 0, 1, 1, results.Error)
	list := []results.Record{failed, record(k, 0, 2, 1, results.Completed)}
	for slot := 1; slot < 20; slot++ {
		list = append(list, record(k, slot, 1, slot+1, results.Completed))
		list[slot+1].WallNS[1] += int64(slot % 7 * slot) // equal executions tell nothing
	}
	const stop = instrumentText + "[stop]\nrules = [\"halfwidth\"]\nminimum = 10\n"
	for keep, want := range map[string]string{"": "", "keep = [\"*:*:*\"]\n": "the configuration keeps it"} {
		d := created(t, filepath.Join(t.TempDir(), "x.krun"), strings.Replace(stop+keep, "[arms.plain]\n"+
			"[arms.events]\ninstrument = \"events\"\n", "", 1), list...)
		r := silent(t)
		answer := must.Get(r.Decide(d.Dir(), "b:*:*", "host"))(t)
		g := answer.Groups[0]
		must.Be(t, len(answer.Groups) == 1 && g.Executions == 20 && len(g.Records) == 20 &&
			g.Records[0] == "0000000-002.json.gz" && g.Finish == (keep == ""), keep, g)
		must.Contain(t, g.Reason, want)
		must.Refused(r.Decide(d.Dir(), "c:*:*", "host"))(t, "matches no key")
	}
}

func FuzzParseRecord(f *testing.F) {
	for _, s := range []string{"17", "17-2", "0000017-001.json.gz", "-1", "1-", "1-0", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		slot, attempt, err := ParseRecord(s)
		must.Be(t, err != nil || slot >= 0 && attempt >= 0, s, slot, "-", attempt)
	})
}

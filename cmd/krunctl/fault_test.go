package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/internal/reading/integrity"
	"krund/internal/schedule"
	"krund/rig/must"
)

// Helpers that damage an experiment.

func (b *builder) path(name string) string { return filepath.Join(b.dir(), name) }

func (b *builder) recordPath(slot, attempt int) string {
	return b.path("results/" + results.Name{Slot: slot, Attempt: attempt}.String())
}

// flip changes one byte of a file.
func (b *builder) flip(file string, offset int64) {
	b.t.Helper()
	data, err := os.ReadFile(file)
	b.must(err)
	data[offset] ^= 0x15
	b.must(os.WriteFile(file, data, 0o644))
}

func (b *builder) flipSlot(index int) {
	h := b.sched.Header()
	b.flip(b.path("schedule"), int64(1024*h.Sectors+h.Width*index+20))
}

func (b *builder) flipHeaders() {
	b.flip(b.path("schedule"), 40)
	b.flip(b.path("schedule"), 512+40)
}

func (b *builder) finish(index int, f schedule.Flag) {
	slot, err := b.sched.Slot(index)
	b.must(err)
	b.must(b.sched.Finish(slot, f))
}

type fault struct {
	name   string
	make   func(*testing.T) *builder
	damage func(*builder)
	codes  []integrity.Code // that check-data finds
	mended bool             // repair leaves nothing to do
	rows   int              // iterations exported afterwards; 0: not checked
}

// mixed has 4+4+3 completed iterations, complete 28.
var faults = []fault{
	{name: "a sound one", make: mixed, damage: func(*builder) {}, mended: true, rows: 11},
	{name: "a finished one", make: complete, damage: func(*builder) {}, mended: true, rows: 28},
	{name: "a new one", make: newExperiment, damage: func(*builder) {}, mended: true},
	{
		name: "a copy of the header", make: complete, damage: func(b *builder) {
			b.flip(b.path("schedule"), 40)
		},
		codes: []integrity.Code{integrity.HeaderDamaged}, mended: true, rows: 28,
	},
	{
		name: "both headers", make: complete, damage: (*builder).flipHeaders,
		codes: []integrity.Code{integrity.HeadersDamaged}, mended: true, rows: 28,
	},
	{
		name: "slots", make: mixed, damage: func(b *builder) {
			b.flipSlot(0)
			b.flipSlot(2)
			b.flipSlot(3)
			b.flipSlot(7)
		},
		codes: []integrity.Code{integrity.SlotDamaged, integrity.SlotDamaged, integrity.SlotDamaged,
			integrity.SlotDamaged}, mended: true, rows: 11,
	},
	{
		name: "truncated schedule", make: complete,
		damage: func(b *builder) { b.must(os.Truncate(b.path("schedule"), 1024+300)) },
		codes:  []integrity.Code{integrity.ScheduleSize}, mended: true, rows: 28,
	},
	{
		name: "empty schedule", make: complete,
		damage: func(b *builder) { b.must(os.Truncate(b.path("schedule"), 0)) },
		codes:  []integrity.Code{integrity.HeadersDamaged}, mended: true, rows: 28,
	},
	{
		name: "no schedule", make: complete,
		damage: func(b *builder) { b.must(os.Remove(b.path("schedule"))) },
		codes:  []integrity.Code{integrity.ScheduleMissing}, mended: true, rows: 28,
	},
	{
		name: "a damaged record", make: complete, damage: func(b *builder) { b.flip(b.recordPath(0, 1), 60) },
		codes: []integrity.Code{integrity.RecordDamaged}, mended: true, rows: 24,
	},
	{
		name: "a truncated record", make: complete,
		damage: func(b *builder) { b.must(os.Truncate(b.recordPath(1, 1), 100)) },
		codes:  []integrity.Code{integrity.RecordDamaged}, mended: true, rows: 24,
	},
	{
		name: "a lost record", make: complete,
		damage: func(b *builder) { b.must(os.Remove(b.recordPath(7, 1))) },
		codes:  []integrity.Code{integrity.RecordLost}, mended: true, rows: 25,
	},
	{
		name: "a lost record of an error", make: mixed,
		damage: func(b *builder) { b.must(os.Remove(b.recordPath(2, 1))) },
		codes:  []integrity.Code{integrity.RecordLost}, mended: true, rows: 11,
	},
	{
		name: "a lost record of a timeout", make: mixed,
		damage: func(b *builder) { b.must(os.Remove(b.recordPath(4, 1))) },
		codes:  []integrity.Code{integrity.RecordLost}, mended: true, rows: 11,
	},
	{ // nothing can bring it back, and nothing is to be run again
		name: "a lost record of a rerun", make: mixed,
		damage: func(b *builder) { b.must(os.Remove(b.recordPath(3, 1))) },
		codes:  []integrity.Code{integrity.RecordLost}, rows: 11,
	},
	{name: "lost records of both attempts", make: mixed, damage: func(b *builder) {
		b.must(os.Remove(b.recordPath(3, 1)))
		b.must(os.Remove(b.recordPath(3, 2)))
	}, codes: []integrity.Code{integrity.RecordLost, integrity.RecordLost}, mended: true, rows: 8},
	{name: "all records lost", make: mixed, damage: func(b *builder) {
		for slot, attempts := range []int{1, 1, 1, 2, 1} {
			for attempt := range attempts {
				b.must(os.Remove(b.recordPath(slot, attempt+1)))
			}
		}
	}, codes: slices.Repeat([]integrity.Code{integrity.RecordLost}, 6), mended: true},
	{
		name: "a slot behind its record", make: complete,
		damage: func(b *builder) { b.finish(3, schedule.Outstanding) },
		codes:  []integrity.Code{integrity.SlotBehind}, mended: true, rows: 28,
	},
	{
		name: "another outcome", make: mixed,
		damage: func(b *builder) { b.finish(0, schedule.Error); b.finish(2, schedule.Completed) },
		codes:  []integrity.Code{integrity.OutcomeDiffers, integrity.OutcomeDiffers}, mended: true, rows: 11,
	},
	{name: "a crash between record and slot", make: mixed, damage: func(b *builder) {
		slot, err := b.sched.Current()
		b.must(err)
		b.append(b.record(slot, results.Completed))
	}, mended: true, rows: 15},
	{name: "leftovers", make: complete, damage: func(b *builder) {
		b.must(os.WriteFile(b.path("results/0000007-001.json.gz.tmp"), nil, 0o644))
		b.must(os.WriteFile(b.path("config.toml.tmp"), nil, 0o644))
	}, codes: []integrity.Code{integrity.Leftover, integrity.Leftover}, mended: true, rows: 28},
	{
		name: "lost configuration", make: complete,
		damage: func(b *builder) { b.must(os.Remove(b.path("config.toml"))) },
		codes:  []integrity.Code{integrity.ConfigMissing}, mended: true, rows: 28,
	},
	{name: "changed configuration and a damaged slot", make: complete, damage: func(b *builder) {
		b.must(os.WriteFile(b.path("config.toml"), []byte(strings.ReplaceAll(b.cfg.Text, "executions = 2",
			"executions = 3")), 0o644))
		b.flipSlot(4)
	}, codes: []integrity.Code{integrity.SlotDamaged, integrity.ConfigDiffers}, mended: true, rows: 28},
	{name: "everything at once", make: mixed, damage: func(b *builder) {
		b.must(os.Remove(b.path("config.toml")))
		b.flipHeaders()
		b.flipSlot(1)
		b.flip(b.recordPath(0, 1), 60)
	}, codes: []integrity.Code{integrity.RecordDamaged, integrity.ConfigMissing,
		integrity.HeadersDamaged}, mended: true, rows: 7},
	{name: "foreign files", make: complete, damage: func(b *builder) {
		b.must(os.WriteFile(b.path("results/notes.txt"), nil, 0o644))
		b.must(os.WriteFile(b.path("draft"), nil, 0o644))
	}, codes: []integrity.Code{integrity.Foreign, integrity.Foreign}, rows: 28},
	{name: "completed twice", make: complete, damage: func(b *builder) {
		slot, err := b.sched.Slot(0)
		b.must(err)
		slot.Attempts = 2
		b.append(b.record(slot, results.Completed))
	}, codes: []integrity.Code{integrity.CompletedTwice, integrity.RecordAhead}, rows: 28},
	{name: "records of another experiment", make: mixed, damage: func(b *builder) {
		slot, err := b.sched.Slot(6)
		b.must(err)
		slot.Index, slot.Attempts = 99, 1
		rec := b.record(slot, results.Error)
		rec.ConfigHash = strings.Repeat("ab", 32)
		b.append(rec)
		slot.Index, slot.Key = 7, b.cfg.Keys()[0]
		b.append(b.record(slot, results.Error))
	}, codes: []integrity.Code{integrity.RecordDiffers, integrity.SlotBehind, integrity.RecordStray,
		integrity.RecordConfig}},
}

func codes(t *testing.T, b *builder) []integrity.Code {
	t.Helper()
	r := krunctl(t, "check", "--format", "json", b.dir())
	var doc integrity.Document
	must.Do(t, json.Unmarshal([]byte(r.stdout), &doc), "in", r.text())
	var list []integrity.Code
	for _, p := range doc.Problems {
		must.Be(t, p.What != "" && p.Fix != "", "problem", p)
		list = append(list, p.Code)
	}
	if want := exitOK; len(list) > 0 {
		want = exitError
		must.Be(t, r.code == want && !doc.OK, "exit", r.code, "ok", doc.OK, "with problems")
	} else if r.code != want || !doc.OK {
		t.Errorf("exit %d, ok %v without problems", r.code, doc.OK)
	}
	return list
}

func TestFaults(t *testing.T) {
	must.Long(t)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			b := f.make(t)
			before := b.sched.Header()
			f.damage(b)
			must.EqualList(t, codes(t, b), f.codes, "check-data finds")
			damaged := contents(t, b.dir())
			krunctl(t, "repair", "--dry-run", b.dir())
			after := contents(t, b.dir())
			must.Be(t, maps.Equal(damaged, after), "a dry run has changed something")
			first := krunctl(t, "repair", b.toml)
			must.Equal(t, (first.code == exitOK), f.mended, "repair", first.text())
			got := codes(t, b)
			must.Equal(t, (len(got) == 0), f.mended, "after repair check-data finds", got)
			again := contents(t, b.dir())
			second := krunctl(t, "repair", b.toml)
			must.Be(t, strings.HasPrefix(second.stdout, "nothing to repair\n") &&
				maps.Equal(again, contents(t, b.dir())), "a second repair", second.text())
			checkRepaired(t, b, f, before)
		})
	}
}

// checkRepaired looks at what a repair has left: nothing was lost, the schedule
// has its size and its plan.
func checkRepaired(t *testing.T, b *builder, f fault, before schedule.Header) {
	t.Helper()
	r := krunctl(t, "convert", "--to", "csv", b.dir())
	got := strings.Count(r.stdout, "\n") - 1
	must.Be(t, f.rows <= 0 || got == f.rows, got, "iterations are exported, want", f.rows, r.text())
	s := must.Get(schedule.Open(lax(), b.directory.Schedule(), false))(t)
	defer s.Close()
	h := s.Header()
	must.Be(t, h.Slots == before.Slots && h.Width == before.Width && h.ConfigHash == before.ConfigHash &&
		h.Order == before.Order, "header", h, "was", before)
	sum, err := s.Summarize()
	must.Be(t, err == nil && sum.Damaged == 0, "summary", sum, err)
}

// contents are the contents of all regular files of a directory but the lock.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	must.Do(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "lock" {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	}))
	return all
}

func TestRepairIsRefusedWhileKrundRuns(t *testing.T) {
	b := mixed(t)
	lock, err := b.directory.Lock(os.Getpid(), "bencher7")
	b.must(err)
	defer lock.Release()
	b.flipSlot(0)
	before := contents(t, b.dir())
	r := krunctl(t, "repair", b.dir())
	must.Be(t, r.code == exitError && strings.Contains(r.stderr, strconv.Itoa(os.Getpid())) &&
		maps.Equal(before, contents(t, b.dir())), r.text())
}

// newer is a record of a format that does not exist yet.
func newer(b *builder) []byte {
	b.t.Helper()
	slot, err := b.sched.Slot(0)
	b.must(err)
	rec := b.record(slot, results.Completed)
	packed, err := results.Encode(rec)
	b.must(err)
	return repack(b.t, packed, `{"format":1,`, `{"format":2,`)
}

package results_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

const dir = "/x/results"

// of returns a small record of a slot and attempt; mark makes it unique.
func of(slot, attempt int, mark string) results.Record {
	r := crashed()
	r.Slot, r.Attempt, r.Host = slot, attempt, mark
	return r
}

func TestNames(t *testing.T) {
	tests := []struct {
		file string
		want results.Name
		ok   bool
	}{
		{"0000000-001.json.gz", results.Name{Slot: 0, Attempt: 1}, true},
		{"0000017-002.json.gz", results.Name{Slot: 17, Attempt: 2}, true},
		{"12345678-1000.json.gz", results.Name{Slot: 12345678, Attempt: 1000}, true},
		{"0000000-000.json.gz", results.Name{}, false},
		{"17-2.json.gz", results.Name{}, false},
		{"00000017-002.json.gz", results.Name{}, false},
		{"0000017-002.json", results.Name{}, false},
		{"0000017.json.gz", results.Name{}, false},
		{"0000017-002.json.gz.tmp", results.Name{}, false},
		{"+000017-002.json.gz", results.Name{}, false},
		{"-000017-002.json.gz", results.Name{}, false},
		{"0000017--02.json.gz", results.Name{}, false},
		{"99999999999999999999-001.json.gz", results.Name{}, false},
		{"", results.Name{}, false},
	}
	for _, test := range tests {
		got, ok := results.ParseName(test.file)
		must.Be(t, got == test.want && ok == test.ok, test.file, got, ok)
		must.Be(t, !ok || got.String() == test.file, test.file, "is written as", got)
	}
}

func FuzzName(f *testing.F) {
	f.Add("0000017-002.json.gz")
	f.Fuzz(func(t *testing.T, file string) {
		n, ok := results.ParseName(file)
		must.Be(t, !ok || n.String() == file, file, "is written as", n)
	})
}

// TestAppendAndRead on the real file system.
func TestAppendAndRead(t *testing.T) {
	dir := t.TempDir()
	a, r := results.NewAppender(durable.OS(), dir), results.NewReader(durable.OS(), dir)
	want := []results.Record{of(2, 1, ""), of(2, 2, ""), full(), of(100, 1, "")}
	for _, i := range []int{3, 1, 2, 0} { // order does not matter
		must.Do(t, a.Append(want[i]))
	}
	var got []results.Record
	for rec, err := range r.All() {
		must.Do(t, err)
		got = append(got, rec)
	}
	must.Be(t, reflect.DeepEqual(got, want), got)
	for range r.All() {
		break // leaving early is allowed
	}
	l, err := r.List()
	wantNames := []results.Name{{Slot: 2, Attempt: 1}, {Slot: 2, Attempt: 2}, {Slot: 17, Attempt: 2},
		{Slot: 100, Attempt: 1}}
	must.Be(t, err == nil && reflect.DeepEqual(l, results.Listing{Records: wantNames}), l, err)
	info, err := os.Stat(filepath.Join(dir, "0000002-001.json.gz"))
	must.Be(t, err == nil && info.Mode().Perm() == 0o644, "mode", info.Mode(), err)
}

func TestAppendTwice(t *testing.T) {
	fsys := crashfs.New(dir)
	a := results.NewAppender(fsys, dir)
	must.Do(t, a.Append(of(1, 1, "this")))
	before := fsys.Files()
	must.Do(t, a.Append(of(1, 1, "this")))
	err := a.Append(of(1, 1, "other"))
	must.Be(t, errors.Is(err, results.ErrExists) && strings.Contains(err.Error(), "0000001-001.json.gz"),
		"another record", err)
	must.Be(t, reflect.DeepEqual(fsys.Files(), before), "the record was changed")
	fsys.Put(dir+"/0000001-001.json.gz", []byte("rubbish"))
	must.Fail(t, a.Append(of(1, 1, "this")), results.ErrExists, "over a damaged record")
}

// TestAppendSameAfterOtherCompression: another compressor, the same record.
func TestAppendSameAfterOtherCompression(t *testing.T) {
	fsys := crashfs.New(dir)
	fsys.Put(dir+"/0000017-002.json.gz", repack(t, unpack(t, pack(t, full()))))
	must.Do(t, results.NewAppender(fsys, dir).Append(full()))
}

func TestAppendRefused(t *testing.T) {
	fsys := crashfs.New(dir)
	a := results.NewAppender(fsys, dir)
	tests := map[string]results.Record{
		"slot -1, attempt 1":           of(-1, 1, ""),
		"slot 1, attempt 0":            of(1, 0, ""),
		"slot 4294967296, attempt 1":   of(1<<32, 1, ""),
		`outcome "" is not completed`:  {Key: full().Key, Slot: 1, Attempt: 1},
		"benchmark: the name is empty": {Outcome: results.Completed, Slot: 1, Attempt: 1},
	}
	for want, r := range tests {
		must.Refuse(t, a.Append(r), want)
	}
	odd := of(1, 1, "")
	odd.WallNS, odd.Columns = []int64{-1, -2}, []results.Column{{Kind: results.KindUser, Values: []int64{5}}}
	must.Do(t, a.Append(odd)) // implausible measurements are accepted
	must.Equal(t, len(fsys.Files()), 1, "files")
	must.Fail(t, results.NewAppender(fsys, "/none").Append(full()), fs.ErrNotExist, "without a directory")
}

// TestAppendDoesNotList: no directory is read, whatever it contains.
func TestAppendDoesNotList(t *testing.T) {
	fsys := crashfs.New(dir)
	a := results.NewAppender(noReadDir{fsys}, dir)
	for slot := range 20 {
		before := fsys.Ops()
		must.Do(t, a.Append(of(slot, 1, "")))
		must.Equal(t, fsys.Ops()-before, 5, "slot", slot, "operations")
	}
}

type noReadDir struct{ durable.FS }

func (noReadDir) ReadDir(string) ([]fs.DirEntry, error) {
	return nil, errors.New("the directory was listed")
}

// TestAppendFaults: if any operation fails, the error is returned, the record exists completely or
// not at all, and appending it again succeeds.
func TestAppendFaults(t *testing.T) {
	for op := 1; op <= 5; op++ {
		for _, reason := range []error{syscall.EIO, syscall.ENOSPC} {
			fsys := crashfs.New(dir)
			fsys.Inject(crashfs.Fault{Op: op, Err: reason, Permanent: true, Short: 100})
			a, r := results.NewAppender(fsys, dir), results.NewReader(fsys, dir)
			err := a.Append(full())
			reached := reason == syscall.EIO || op <= 2
			must.Be(t, reached == errors.Is(err, reason) && (reached || err == nil), reason, "from operation",
				op, "on", err)
			fsys.Heal()
			for _, err := range r.All() {
				must.Do(t, err)
			}
			must.Do(t, a.Append(full()))
			got, err := results.NewReader(fsys.Reboot(crashfs.Nothing),
				dir).Load(results.Name{Slot: 17, Attempt: 2})
			must.Be(t, err == nil && reflect.DeepEqual(got, full()), reason, "from operation", op,
				"on: afterwards", err)
		}
	}
}

// TestReaderContinuesAfterErrors: an invalid file is an error with its name and does not hide other
// files.
func TestReaderContinuesAfterErrors(t *testing.T) {
	fsys := crashfs.New(dir)
	a := results.NewAppender(fsys, dir)
	for _, slot := range []int{0, 2, 4} {
		must.Do(t, a.Append(of(slot, 1, "")))
	}
	good := fsys.Files()[dir+"/0000000-001.json.gz"]
	bad := map[string]struct {
		data []byte
		want string
	}{
		"0000001-001.json.gz": {good[:len(good)/2], "truncated"},
		"0000003-001.json.gz": {good, "it contains the record of slot 0, attempt 1"},
		"0000005-001.json.gz": {nil, "empty"},
		"0000006-001.json.gz": {edited(t, `"format":1`, `"format":2`), "newer format"},
		"0000007-001.json.gz": {edited(t, `"outcome":"completed"`, `"outcome":"done"`), `outcome "done"`},
	}
	for name, b := range bad {
		fsys.Put(dir+"/"+name, b.data)
	}
	fsys.Put(dir+"/0000008-001.json.gz.tmp", good[:50])
	fsys.Put(dir+"/README", []byte("notes"))
	must.Do(t, fsys.Mkdir(dir+"/0000009-001.json.gz", 0o755))
	before := fsys.Ops()

	r := results.NewReader(fsys, dir)
	var slots []int
	failed := make(map[string]bool)
	for rec, err := range r.All() {
		var file *results.FileError
		switch {
		case err == nil:
			slots = append(slots, rec.Slot)
		case !errors.As(err, &file) || !strings.Contains(err.Error(), bad[file.File].want) ||
			!strings.Contains(err.Error(), file.File):
			t.Errorf("got %v", err)
		default:
			failed[file.File] = true
		}
	}
	must.Be(t, slices.Equal(slots, []int{0, 2, 4}) && len(failed) == len(bad), "read", slots, "failed",
		failed)
	_, err := r.Load(results.Name{Slot: 6, Attempt: 1})
	must.Fail(t, err, results.ErrVersion)
	l, err := r.List()
	must.Be(t, err == nil && len(l.Records) == 8 &&
		slices.Equal(l.Temps, []string{"0000008-001.json.gz.tmp"}) &&
		slices.Equal(l.Foreign, []string{"0000009-001.json.gz", "README"}), l, err)
	must.Equal(t, fsys.Ops(), before, "reading has changed something")
}

func TestReaderErrors(t *testing.T) {
	fsys := crashfs.New(dir)
	r := results.NewReader(fsys, dir)
	_, err := r.Load(results.Name{Slot: 1, Attempt: 1})
	var file *results.FileError
	must.Be(t, errors.Is(err, fs.ErrNotExist) && errors.As(err, &file), "no record", err)
	must.Do(t, results.NewAppender(fsys, dir).Append(of(1, 1, "")))
	fsys.FailReads(dir+"/0000001-001.json.gz", syscall.EIO)
	_, err = r.Load(results.Name{Slot: 1, Attempt: 1})
	must.Fail(t, err, syscall.EIO, "unreadable")
	fsys.FailReads(dir, syscall.EIO)
	n := 0
	for _, err := range r.All() {
		if n++; !errors.Is(err, syscall.EIO) || errors.As(err, &file) {
			t.Errorf("unreadable directory: %v", err)
		}
	}
	must.Equal(t, n, 1, "answers about an unreadable directory")
}

func TestLatest(t *testing.T) {
	fsys := crashfs.New(dir)
	a, r := results.NewAppender(fsys, dir), results.NewReader(noReadDir{fsys}, dir)
	_, ok, err := r.Latest(5, 3)
	must.Be(t, !ok && err == nil, "no record", ok, err)
	must.Do(t, a.Append(of(5, 1, "first")))
	must.Do(t, a.Append(of(5, 3, "third")))
	for attempts, want := range map[int]string{1: "first", 2: "first", 3: "third", 9: "third"} {
		rec, ok, err := r.Latest(5, attempts)
		must.Be(t, err == nil && ok && rec.Host == want, attempts, "attempts", rec.Host, ok, err)
	}
	fsys.Put(dir+"/0000005-003.json.gz", []byte("rubbish"))
	_, ok, err = r.Latest(5, 3)
	must.Be(t, !ok && err != nil, "damaged", ok, err)
}

func TestClean(t *testing.T) {
	fsys := crashfs.New(dir)
	must.Do(t, results.NewAppender(fsys, dir).Append(full()))
	fsys.Put(dir+"/0000018-001.json.gz.tmp", []byte("half"))
	fsys.Put(dir+"/notes", nil)
	removed, err := results.Clean(fsys, dir)
	must.Be(t, err == nil && slices.Equal(removed, []string{"0000018-001.json.gz.tmp"}) &&
		len(fsys.Reboot(crashfs.Nothing).Files()) == 2, removed, err)
}

// TestModel appends records in random order, some of them twice, and cuts the power in every
// operation: what was acknowledged exists unchanged, what was being written exists completely or
// not at all, and there is nothing else.
func TestModel(t *testing.T) {
	t.Logf("-seed %d", *seed)
	var stored map[results.Name]results.Record
	var pending results.Record
	program := func(fsys *crashfs.FS) error {
		stored = make(map[results.Name]results.Record)
		chance := rand.New(rand.NewPCG(*seed, 3))
		a := results.NewAppender(fsys, dir)
		for range 15 {
			pending = of(chance.IntN(4), 1+chance.IntN(3), fmt.Sprint(chance.IntN(2)))
			name := results.Name{Slot: pending.Slot, Attempt: pending.Attempt}
			old, exists := stored[name]
			err := a.Append(pending)
			switch {
			case exists && old.Host != pending.Host:
				must.Be(t, errors.Is(err, results.ErrExists) || errors.Is(err, crashfs.ErrPowerCut),
					"a second record of", name, err)
			case err != nil:
				return err
			default:
				stored[name] = pending
			}
		}
		return nil
	}
	build := func() *crashfs.FS { return crashfs.New(dir) }
	policies := append(crashfs.Policies(*seed), crashfs.Torn(*seed))
	for cut, after := range crashfs.EveryCut(build, program, policies...) {
		checkStored(t, cut, after, stored, pending)
		must.Do(t, results.NewAppender(after, dir).Append(of(99, 1, "after")))
		must.Get(results.Clean(after, dir))(t)
		l, err := results.NewReader(after, dir).List()
		must.Need(t, err == nil && len(l.Temps)+len(l.Foreign) <= 0, cut, "left over", l, err)
	}
}

func checkStored(t *testing.T, cut crashfs.Cut, fsys *crashfs.FS, stored map[results.Name]results.Record,
	pending results.Record) {
	t.Helper()
	found := make(map[results.Name]bool)
	for got, err := range results.NewReader(fsys, dir).All() {
		must.Do(t, err, cut)
		name := results.Name{Slot: got.Slot, Attempt: got.Attempt}
		found[name] = true
		want, acknowledged := stored[name]
		if !acknowledged {
			want = pending
		}
		must.Need(t, reflect.DeepEqual(got, want), cut, name, got)
	}
	for name := range stored {
		must.Need(t, found[name], cut, name, "is lost")
	}
}

// TestUsableLeavesOut: a record that contradicts itself, one that cannot be read and one that is
// gone are reported, and the others follow in order.
func TestUsableLeavesOut(t *testing.T) {
	dir := t.TempDir()
	a := results.NewAppender(durable.OS(), dir)
	var names []results.Name
	for slot := range 5 {
		r := full()
		r.Slot, r.Attempt = slot, 1
		if slot == 1 {
			r.Iterations = 1 // it has more
		}
		names = append(names, results.Name{Slot: slot, Attempt: 1})
		if slot == 4 {
			break
		}
		must.Do(t, a.Append(r))
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, names[2].String()), []byte("no record"), 0o644))
	var out []string
	var slots []int
	leaveOut := func(err error) { out = append(out, err.Error()) }
	for r := range results.NewReader(durable.OS(), dir).Usable(names, leaveOut) {
		slots = append(slots, r.Slot)
	}
	must.Be(t, slices.Equal(slots, []int{0, 3}) && len(out) == 3 && strings.Contains(out[0], "0000001-001") &&
		strings.Contains(out[1], "0000002-001") && strings.Contains(out[2], "0000004-001"), "slots", slots,
		"left out", out)
}

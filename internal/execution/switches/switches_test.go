package switches

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// bytesOf writes a record as the kernel does.
func bytesOf(r record) []byte {
	order := binary.NativeEndian
	b := order.AppendUint32(nil, r.kind)
	misc := uint16(0)
	if r.out {
		misc = switchOut
	}
	if r.ready {
		misc |= switchPreempt
	}
	b = order.AppendUint16(b, misc)
	b = order.AppendUint16(b, 0) // the size
	words := func(list ...int32) {
		for _, n := range list {
			b = order.AppendUint32(b, uint32(n))
		}
	}
	switch r.kind {
	case recordSwitch:
		words(5, 5)
	case recordComm:
		words(r.pid, r.tid)
		name := append([]byte(r.name), 0)
		for len(name)%8 != 0 {
			name = append(name, 0)
		}
		b = append(b, name...)
	case recordFork:
		words(r.pid, 1, r.tid, r.parent)
		b = order.AppendUint64(b, uint64(r.time))
	default:
		words(0, 0, 7, 0) // PERF_RECORD_LOST
	}
	words(r.pid, r.tid)
	b = order.AppendUint64(b, uint64(r.time))
	order.PutUint16(b[6:], uint16(len(b)))
	return b
}

func in(tid int32, time int64) record {
	return record{kind: recordSwitch, pid: tid, tid: tid, time: time}
}
func out(tid int32, time int64) record {
	return record{kind: recordSwitch, out: true, pid: tid, tid: tid, time: time}
}

// lost is out of a task that could go on.
func lost(tid int32, time int64) record {
	r := out(tid, time)
	r.ready = true
	return r
}

// story is what a processor notes: the benchmark (100) waits while a process (400) runs,
// is preempted by a process that it made (200) and a kernel thread (17), and at the end by 300.
var story = []record{
	{kind: recordComm, pid: 100, tid: 100, time: 5, name: "bench"}, in(100, 10), out(100, 20),
	in(400, 20), out(400, 30), in(100, 30),
	{kind: recordFork, pid: 200, tid: 200, parent: 100, time: 35}, lost(100, 40), in(200, 40),
	out(gone, 45), in(17, 45), out(17, 47), in(100, 47), lost(100, 60), in(300, 60),
}

func TestParse(t *testing.T) {
	var raw []byte
	for _, r := range story {
		raw = append(raw, bytesOf(r)...)
	}
	got, ok := parse(raw)
	must.Be(t, ok && slices.Equal(got, story), got, ok)
	lost := append(bytesOf(record{kind: 2, time: 50}), bytesOf(in(7, 60))...)
	got, ok = parse(lost)
	must.Be(t, ok && slices.Equal(got, []record{in(7, 60)}), "a record that is of no use", got, ok)
	long := bytesOf(in(7, 60))
	binary.NativeEndian.PutUint16(long[6:], 40)
	for name, bad := range map[string][]byte{
		"cut off": raw[:len(raw)-8], "longer than what is left": long, "a few bytes": {1, 2, 3},
		"no size":                make([]byte, 64),
		"switch of 40 bytes":     append(slices.Clone(long), make([]byte, 8)...),
		"before the clock began": bytesOf(in(7, -1)),
	} {
		got, ok := parse(bad)
		must.Be(t, !ok, name, got)
	}
	must.Equal(t, plain([]byte("a\x1b[b\xff\x00junk")), "a?[b?", "name")
}

// FuzzParse: whatever is in the memory, the runs are in order and not negative.
func FuzzParse(f *testing.F) {
	var raw []byte
	for _, r := range story {
		raw = append(raw, bytesOf(r)...)
	}
	f.Add(raw, int64(99))
	f.Add(raw[:70], int64(0))
	f.Fuzz(func(t *testing.T, raw []byte, stopped int64) {
		list, ok := parse(raw)
		runs, _ := newLog([]int{0}, []ring{{list, !ok}}, map[int32]string{}, stopped).Others([]int{100}, 0,
			math.MaxInt64, 1000)
		for i, r := range runs {
			must.Need(t,
				r.Duration >= 0 && r.PID > 0 && r.PID != 100 && (i <= 0 || r.Start >= runs[i-1].Start), runs)
		}
	})
}

func TestOthers(t *testing.T) {
	names := map[int32]string{17: "ksoftirqd/0", 300: "cc1"}
	// The benchmark's second thread (101) loses CPU 1 to a thread (301) of process 300, and goes on
	// on CPU 2, so 500 takes nothing from it on CPU 1. On CPU 2 it does: until when is unknown.
	thread := record{kind: recordSwitch, pid: 300, tid: 301, time: 3}
	mine := func(r record) record { r.pid = 100; return r }
	second := ring{[]record{mine(in(101, 1)), mine(lost(101, 3)), thread, out(301, 8), in(500, 8),
		out(500, 9)}, false}
	third := ring{[]record{in(300, 1), out(300, 4), mine(in(101, 5)), mine(lost(101, 50)), in(500, 50)}, true}
	l := newLog([]int{0, 1, 2}, []ring{{story, false}, second, third}, names, 70)
	want := []Run{{300, 1, "cc1", 3, 5}, {200, 0, "bench", 40, 5}, {17, 0, "ksoftirqd/0", 45, 2},
		{500, 2, "", 50, 0}, {300, 0, "cc1", 60, 10}}
	got, more := l.Others([]int{100}, 0, 99, 5)
	must.Be(t, slices.Equal(got, want) && more == 0, got, more, "more")
	got, more = l.Others([]int{100}, 9, 50, 1)
	must.Be(t, slices.Equal(got, want[1:2]) && more == 2, "from 9 to 50", got, more, "more")
	must.Equal(t, l.Full, 50, "full at", "want 50, the last record of CPU 2")
	tasks := []Task{{300, "cc1", 15, 2}, {200, "bench", 5, 1}, {17, "ksoftirqd/0", 2, 1}, {500, "", 0, 1}}
	must.EqualList(t, Sum(want), tasks, "sum")
}

// TestRefused: a recording that is not possible has a reason, and leaves nothing open.
func TestRefused(t *testing.T) {
	must.Refused(Open(sysroot.New(t.TempDir()), nil))(t, "", "the processors of a machine without files")
	must.Refused(Open(sysroot.New("/"), []int{8000}))(t, "", "processor 8000")
}

package libkrun

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"krund/rig/must"
)

var testSpec = Spec{Iterations: 4, Columns: []Column{{"aperf", "", 0}, {"aperf", "", 1}}, UserColumns: 2,
	made: 800}

// image is a buffer in memory, with setters for what libkrun and the stage write.
type image []byte

func (m image) u32(at int64, v uint32) image {
	binary.NativeEndian.PutUint32(m[at:], v)
	return m
}

func (m image) i64(at int64, v int64) image {
	binary.NativeEndian.PutUint64(m[at:], uint64(v))
	return m
}

// blank is a buffer as Create leaves it.
func blank(spec Spec) image {
	m := make(image, spec.place().bytes)
	copy(m, spec.encode())
	return m
}

// sound is a buffer of testSpec after a process that did three iterations, of
// 10 ns from 1010, 1020 and 1030, began a fourth and named one user column.
func sound() image {
	m := blank(testSpec)
	at := testSpec.place()
	m.u32(progressState, uint32(StateReady)).i64(progressPid, 77)
	m.i64(controlExec, 900).i64(progressInit, 1000).i64(hotBegunNanos, 1040).i64(hotDone, 3)
	for i := range int64(3) {
		m.i64(at.start+8*i, 1010+10*i).i64(at.wall+8*i, 10)
		m.i64(at.column+8*i, 500+i).i64(at.column+at.stride+8*i, 600+i)
		m.i64(at.column+2*at.stride+8*i, Missing)
	}
	m.i64(at.column+2*at.stride+8, -5)
	entry := entryAt(2)
	m.u32(entry+entryKind, kindUser)
	copy(m[entry+entryName:], "jit")
	copy(m[entry+entryUnit:], "ns")
	return m
}

// at is a clock that stands still.
func at(ns int64) func() int64 { return func() int64 { return ns } }

func entryAt(i int) int64 { return headerBytes + int64(i)*entryBytes }

func TestReadSound(t *testing.T) {
	got := must.Get(read(bytes.NewReader(sound()), testSpec, at(2000)))(t)
	want := Series{
		State: StateReady, Pid: 77, Done: 3,
		ExecNS: 900, InitNS: 1000, FirstNS: 1010, BegunNS: 1040,
		StartNS: []int64{1010, 1020, 1030}, WallNS: []int64{10, 10, 10},
		Columns: []ColumnData{
			{KindCounter, Column{"aperf", "", 0}, []int64{500, 501, 502}, nil},
			{KindCounter, Column{"aperf", "", 1}, []int64{600, 601, 602}, nil},
			{KindUser, Column{"jit", "ns", NoCore}, []int64{Missing, -5, Missing}, nil},
		},
	}
	must.Be(t, reflect.DeepEqual(got, want), got, want)
}

// TestReadScribbled overwrites one thing at a time and expects one finding.
func TestReadScribbled(t *testing.T) {
	off := testSpec.place()
	tests := []struct {
		name    string
		change  func(image) image
		finding string
		done    int
	}{
		{"magic", func(m image) image { m[0] = 'x'; return m }, "plan in the header was overwritten", 3},
		{"offset", func(m image) image { return m.i64(planWallOffset, 8) },
			"plan in the header was overwritten", 3},
		{"iterations", func(m image) image { return m.u32(planIterations, 1<<30) },
			"plan in the header was overwritten", 3},
		{"state", func(m image) image { return m.u32(progressState, 9) }, "the state is 9", 3},
		{"new with iterations", func(m image) image { return m.u32(progressState, 0) },
			"krun_init was never called", 3},
		{"error", func(m image) image { return m.u32(progressError, 5) }, "error code is 5", 3},
		{"low error", func(m image) image { return m.u32(progressError, ^uint32(99)) },
			"error code is -100", 3},
		{"pid", func(m image) image { return m.i64(progressPid, -1) }, "process id is -1", 3},
		{"huge pid", func(m image) image { return m.i64(progressPid, 1<<40) },
			"process id is 1099511627776", 3},
		{"done", func(m image) image { return m.i64(hotDone, 5) }, "5 iterations are done of 4", 0},
		{"negative done", func(m image) image { return m.i64(hotDone, -1) },
			"18446744073709551615 iterations are done of 4", 0},
		{"begun seconds", func(m image) image { return m.i64(hotBegunSeconds, 1<<62) },
			"latest begin is at", 3},
		{"begun nanos", func(m image) image { return m.i64(hotBegunNanos, -1) }, "latest begin is at", 3},
		{"exec later", func(m image) image { return m.i64(controlExec, 1005) },
			"krun_init is 5 ns before exec", 3},
		{"exec in the future", func(m image) image { return m.i64(controlExec, 3000).i64(progressInit, 0) },
			"exec stamp is 3000 ns", 3},
		{"init negative", func(m image) image { return m.i64(progressInit, -3) }, "init stamp is -3 ns", 3},
		{"done stamp", func(m image) image { return m.u32(progressState, 2).i64(progressDone, 1039) },
			"krun_done is 1 ns before", 3},
		{"start before init", func(m image) image { return m.i64(off.start, 999) }, "iteration 0", 3},
		{"start before end", func(m image) image { return m.i64(off.start+8, 1019) }, "iteration 1", 3},
		{"start in the future", func(m image) image { return m.i64(off.start+16, 1<<62) }, "iteration 2", 3},
		{"negative wall", func(m image) image { return m.i64(off.wall+8, -10) },
			"wall times below zero, or beyond now: iteration 1", 3},
		{"overflowing wall", func(m image) image { return m.i64(off.wall+16, 1<<63-1) },
			"wall times below zero, or beyond now: iteration 2", 3},
		{"all walls", func(m image) image {
			return m.i64(off.wall, -1).i64(off.wall+8, -1).i64(off.wall+16, -1)
		}, "3 of 3 iterations, the first is 0", 3},
		{"counter", func(m image) image { return m.i64(off.column+off.stride+16, -1) },
			"counter aperf on core 1 ran backwards: iteration 2", 3},
		{"counter's name", func(m image) image { m[entryAt(1)+entryName] = 'b'; return m },
			"counters' entries were overwritten", 3},
		{"user column's kind", func(m image) image { return m.u32(entryAt(2), 7) },
			"user column 0 was overwritten", 3},
		{"user column's offset", func(m image) image { return m.i64(entryAt(2)+entryOffset, 0) },
			"user column 0 was overwritten", 3},
		{"user column's name", func(m image) image { m[entryAt(2)+entryName] = '\n'; return m },
			"user column 0 was overwritten", 3},
		{"behind the name", func(m image) image { m[entryAt(2)+entryName+9] = 'x'; return m },
			"user column 0 was overwritten", 3},
		{"unit without end", func(m image) image {
			copy(m[entryAt(2)+entryUnit:], strings.Repeat("u", unitBytes))
			return m
		}, "user column 0 was overwritten", 3},
		{"gap before user column", func(m image) image {
			copy(m[entryAt(3):entryAt(4)], m[entryAt(2):entryAt(3)])
			m.i64(entryAt(3)+entryOffset, off.column+3*off.stride)
			return m.u32(entryAt(2), kindFree)
		}, "user column 1 was overwritten", 3},
		{"user column twice", func(m image) image {
			copy(m[entryAt(3):entryAt(4)], m[entryAt(2):entryAt(3)])
			return m.i64(entryAt(3)+entryOffset, off.column+3*off.stride)
		}, "user column 1 was overwritten", 3},
		{"exec before the buffer was made", func(m image) image { return m.i64(controlExec, 799) },
			"exec stamp is 799 ns, the buffer was made at 800", 3},
		{"init before the buffer was made",
			func(m image) image {
				return m.i64(controlExec, 0).i64(progressInit, 799)
			}, "init stamp is 799 ns, the buffer was made at 800", 3},
		{"start before the buffer was made", func(m image) image {
			return m.i64(controlExec, 0).i64(progressInit, 0).i64(off.start, 799)
		}, "iteration 0", 3},
		{"short table", func(m image) image { return m[:700] }, "the buffer was truncated", 0},
		{"short arrays", func(m image) image { return m[:off.wall+20] }, "its 3 iterations are lost", 0},
		{"nothing", func(m image) image { return m[:0] }, "the buffer was truncated", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := must.Get(read(bytes.NewReader(test.change(sound())), testSpec, at(2000)))(t)
			must.Be(t, len(s.Findings) == 1 && strings.Contains(s.Findings[0], test.finding), "findings",
				s.Findings, "want one with", test.finding)
			must.Equal(t, s.Done, test.done, "done")
		})
	}
}

// failing is a file that cannot be read.
type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

func TestReadFailure(t *testing.T) {
	broken := errors.New("broken")
	_, err := read(failing{broken}, testSpec, at(2000))
	must.Be(t, errors.Is(err, broken), err, "want", broken)
	arrays := io.NewSectionReader(failing{broken}, 0, 1<<20)
	_, err = read(afterTable{sound(), arrays}, testSpec, at(2000))
	must.Be(t, errors.Is(err, broken), "arrays: error", err, "want", broken)
}

// afterTable reads the header and the table well, the arrays through rest.
type afterTable struct {
	head image
	rest io.ReaderAt
}

func (a afterTable) ReadAt(p []byte, at int64) (int, error) {
	if at < dataAlign {
		return copy(p, a.head[at:]), nil
	}
	return a.rest.ReadAt(p, at)
}

// FuzzRead scribbles over a sound buffer: edits are groups of ten bytes, where
// to write (two) and what (eight). Then the file is cut off. What comes back has
// the shapes the documentation promises.
func FuzzRead(f *testing.F) {
	edit := func(at, v int64) []byte {
		return binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint16(nil, uint16(at)), uint64(v))
	}
	off := testSpec.place()
	f.Add([]byte{}, uint16(off.bytes), int64(2000))
	f.Add(edit(hotDone, 4), uint16(off.bytes), int64(0))
	f.Add(edit(off.wall, -4), uint16(off.bytes), int64(1<<62))
	f.Add(edit(entryAt(2), 0), uint16(700), int64(-1))
	f.Fuzz(func(t *testing.T, edits []byte, size uint16, now int64) {
		m := sound()
		for ; len(edits) >= 10; edits = edits[10:] {
			copy(m[int(binary.NativeEndian.Uint16(edits))%len(m):], edits[2:10])
		}
		data := m[:min(int(size), len(m))]
		s := must.Get(read(bytes.NewReader(data), testSpec, at(now)))(t, "reading memory failed")
		must.Need(t, s.Done >= 0 && s.Done <= testSpec.Iterations && len(s.StartNS) == s.Done &&
			len(s.WallNS) == s.Done, s.Done, "done", len(s.StartNS), "starts", len(s.WallNS), "walls")
		for _, c := range s.Columns {
			must.Need(t, len(c.Values) == s.Done && validText(c.Name, 1, nameBytes-1, ""), "column", c.Name,
				len(c.Values), "values of", s.Done)
		}
		if len(s.Findings) > 0 {
			return
		}
		end := s.InitNS
		for i := range s.Done {
			must.Need(t, s.StartNS[i] >= end && s.WallNS[i] >= 0, "iteration", i, "start", s.StartNS[i],
				"wall", s.WallNS[i], "after", end, "without a finding")
			end = s.StartNS[i] + s.WallNS[i]
		}
		must.Need(t, end <= now || s.Done <= 0, "the last iteration ends at", end, "now is", now,
			"without a finding")
	})
}

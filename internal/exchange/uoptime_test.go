package exchange

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"krund/internal/analysis/optimize"
	"krund/rig/must"
)

const uoptimeText = `b_name,ir_pos,sr_pos,it_pos,bed_pos,ns_per_op
BenchmarkB/x,1,1,1,1,22.5
BenchmarkA,1,1,1,1,0.0000229
BenchmarkB/x,1,2,1,1,23
BenchmarkB/x,2,1,3,2,24
`

func TestReadUOpTime(t *testing.T) {
	s := must.Get(ReadUOpTime(strings.NewReader(uoptimeText)))(t)
	b := s.Benchmarks[0]
	full := optimize.Position{2, 3, 2}
	if len(s.Benchmarks) != 2 || b.Name != "BenchmarkB/x" || len(b.Rows) != 3 || b.Full != full ||
		s.Benchmarks[1].Full != full || b.Seconds != 1 || s.Unit != "ns" {
		t.Errorf("%+v", s)
	}
	must.Equal(t, b.Rows[2], (optimize.Row{Instance: 2, At: optimize.Position{1, 3, 2}, Value: 24}))
	if !IsUOpTime([]byte(uoptimeText)) || IsUOpTime([]byte("process_exec_num,bench_name,0,1\n")) ||
		IsUOpTime(nil) {
		t.Error("the head is not told from others")
	}
	moved := "note,ns_per_op,bed_pos,it_pos,sr_pos,ir_pos,b_name\r\n\"a,\nb\",22.5,1,1,1,1,B\r\n"
	s, err := ReadUOpTime(strings.NewReader(moved))
	must.Be(t, err == nil && s.Benchmarks[0].Rows[0].Value == 22.5, "other columns and line ends", err)
	marked := byteOrderMark + uoptimeText
	s, err = ReadUOpTime(strings.NewReader(marked))
	must.Be(t, err == nil && len(s.Benchmarks) == 2 && IsUOpTime([]byte(marked)), "a byte order mark", err)
	must.Be(t, IsUOpTime([]byte("b_name,ir_pos\n")) && !IsUOpTime([]byte("{\"b_name\": 1}")),
		"a head without all columns is not told from others")
	twice := uoptimeText + "BenchmarkA,1,1,1,1,5\n"
	s, err = ReadUOpTime(strings.NewReader(twice))
	must.Be(t, err == nil && len(s.Benchmarks[1].Warnings) == 1, "a position measured twice", err)
}

func TestReadUOpTimeRefuses(t *testing.T) {
	head := "b_name,ir_pos,sr_pos,it_pos,bed_pos,ns_per_op\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "the file is empty"},
		{"only a head", head, "no rows"},
		{"another table", "a,b\n1,2\n", "no column b_name"},
		{"a column is missing", "b_name,ir_pos,sr_pos,it_pos,bed_pos\nB,1,1,1,1\n", "no column ns_per_op"},
		{"position 0", head + "B,1,0,1,1,5\n", `line 2: sr_pos "0"`},
		{"position too large", head + "B,1,1,1,1000001,5\n", "bed_pos"},
		{"no position", head + "B,,1,1,1,5\n", "ir_pos"},
		{"NaN", head + "B,1,1,1,1,NaN\n", "ns_per_op"},
		{"negative", head + "B,1,1,1,1,5\nB,1,1,2,1,-5\n", "line 3"},
		{"infinite", head + "B,1,1,1,1,1e999\n", "ns_per_op"},
		{"no name", head + ",1,1,1,1,5\n", "b_name"},
		{"short row", head + "B,1\n", "wrong number of fields"},
		{"quotes", head + "\"B,1,1,1,1,5\n", "quote"},
	} {
		_, err := ReadUOpTime(strings.NewReader(c.text))
		must.Be(t, errors.Is(err, ErrFormat) && strings.Contains(err.Error(), c.want), c.name, err)
	}
	failing := errors.New("disk on fire")
	_, err := ReadUOpTime(iotest.ErrReader(failing))
	must.Be(t, errors.Is(err, failing) && !errors.Is(err, ErrFormat), "an error of the reader", err)
}

// FuzzReadUOpTime: what is read can be used.
func FuzzReadUOpTime(f *testing.F) {
	f.Add([]byte(uoptimeText))
	f.Add([]byte("b_name,ir_pos,sr_pos,it_pos,bed_pos,ns_per_op\n\"a\nb\",1,1,1,9,0x1p-3\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ReadUOpTime(strings.NewReader(string(text)))
		if err != nil {
			must.Fail(t, err, ErrFormat, "is not ErrFormat")
			return
		}
		must.Do(t, s.Check())
	})
}

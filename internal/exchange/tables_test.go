package exchange

import (
	"encoding/json"
	"errors"
	"reflect"
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

const annotationsHead = "benchmark,fork,classification,steady_state_starts,technique,timewaste,interval\n"

func TestReadSteadyStates(t *testing.T) {
	got, err := ReadSteadyStates(strings.NewReader(annotationsHead +
		"b#x,0,steady state,1323,Dev,-82.4,\"(0.93, 0.957)\"\n" +
		"b#x,1,no steady state,,Dev,1,\"(1, 1.5)\"\n"))
	want := []SteadyState{
		{Benchmark: "b#x", Number: 1, Steady: true, Start: 1323, Technique: "Dev", Seconds: -82.4, Low: 0.93,
			High: 0.957},
		{Benchmark: "b#x", Number: 2, Technique: "Dev", Seconds: 1, Low: 1, High: 1.5},
	}
	must.Be(t, err == nil && reflect.DeepEqual(got, want), got, err)
	got, err = ReadSteadyStates(strings.NewReader(
		"fork,benchmark,steady_state_starts,classification\n3,a,7,steady state\n"))
	want = []SteadyState{{Benchmark: "a", Number: 4, Steady: true, Start: 7}}
	must.Be(t, err == nil && reflect.DeepEqual(got, want), "without techniques", got, err)
}

// row is a table with a row of a technique.
func row(benchmark, fork, start, seconds, interval string) string {
	return annotationsHead + benchmark + "," + fork + ",steady state," + start + ",Dev," + seconds + ",\"" +
		interval + "\"\n"
}

func TestReadSteadyStatesRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                                     "no table",
		"benchmark,fork\na,1\n":                                "no column classification",
		annotationsHead + "a,x\n":                              "wrong number of fields",
		row("a", "-1", "0", "0", "(1,1)"):                      "line 2: fork \"-1\"",
		row("a", "0", "-1", "0", "(1,1)"):                      "steady_state_starts \"-1\"",
		row("a", "0", "1e9", "0", "(1,1)"):                     "steady_state_starts \"1e9\"",
		row("a", "0", "1", "NaN", "(1,1)"):                     "timewaste \"NaN\"",
		row("a", "0", "1", "0", "1"):                           "interval \"1\"",
		row("a", "0", "1", "0", "(1, Inf)"):                    "interval \"Inf\"",
		row(strings.Repeat("a", 5000), "0", "1", "0", "(1,1)"): "has 5000 bytes",
	} {
		_, err := ReadSteadyStates(strings.NewReader(text))
		must.Be(t, errors.Is(err, ErrFormat) && strings.Contains(err.Error(), want), text, err, "want", want)
	}
}

func FuzzReadSteadyStates(f *testing.F) {
	f.Add(annotationsHead + "b#x,0,steady state,1323,Dev,-82.4,\"(0.93, 0.957)\"\n")
	f.Add("fork,benchmark,steady_state_starts,classification\n3,a,7,steady state\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ReadSteadyStates(strings.NewReader(text))
		must.Be(t, err == nil || errors.Is(err, ErrFormat), err)
		for _, s := range list {
			must.Be(t, s.Number >= 1 && s.Start >= 0, s)
		}
	})
}

// TestReadHistory: a table of nights is read into versions in its order, with a key on each
// machine; what is wrong in it is named with its line.
func TestReadHistory(t *testing.T) {
	v, is, err := ReadHistory([]byte(nightHeader + "\nn1,r,m,a,2,ms\nn1,r,m,a,4,ms\nn2,r,o,a,3,ms\n" +
		"n2,r,m,b:C:x,1,s\n"))
	must.Do(t, err)
	must.Equal(t, is, true)
	must.Equal(t, string(must.Get(json.Marshal(v))(t)), `{"unit":"s","versions":[`+
		`{"label":"n1","source":"revision","revision":"r"},{"label":"n2","source":"revision","revision":"r"}],`+
		`"keys":[{"key":"a:default:default","machine":"m","values":[[0.002,0.004],null]},`+
		`{"key":"a:default:default","machine":"o","values":[null,[0.003]]},`+
		`{"key":"b:C:x","machine":"m","values":[null,[1]]}]}`)
	for text, want := range map[string]string{
		"":                                  "no values",
		"n1,r,m,a,fast,s\n":                 "line 2: \"fast\" is not a value",
		"n1,r,m,a,1,MB\n":                   "no unit of time",
		"n1,r,m,,1,s\n":                     "no key",
		"n1,r,m,a,1,s\nn1,q,m,a,1,s\n":      "line 3: version \"n1\" is of revision",
		"n1,r,m,a,1,s\nn1,r,m,a,1,s,more\n": "wrong number of fields",
	} {
		_, is, err := ReadHistory([]byte(nightHeader + "\n" + text))
		must.Be(t, !is && err != nil && strings.Contains(err.Error(), want), text, is, err)
	}
}

func FuzzReadHistory(f *testing.F) {
	f.Add([]byte(nightHeader + "\nn1,r,m,a,2,ms\nn2,,,b,2,s\n"))
	f.Add([]byte(`{"unit":"s","versions":[{"label":"a"}],"keys":[{"key":"b","values":[[1]]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, is, err := ReadHistory(text)
		must.Be(t, !is || err == nil, err)
		for _, k := range v.Keys {
			must.Be(t, !is || len(k.Values) == len(v.Versions), k)
		}
	})
}

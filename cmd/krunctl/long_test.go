package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestLongTexts: whatever a file has for a name, a message about it can be read.
func TestLongTexts(t *testing.T) {
	must.Long(t)
	const most = 70_000 // of all that a command says
	long := strings.Repeat("x", 1<<20)
	dir := t.TempDir()
	b := complete(t)
	packed, err := os.ReadFile(b.recordPath(0, 1))
	b.must(err)
	b.must(
		os.WriteFile(b.recordPath(0, 1), repack(t, packed, `"key":"nbody:C:default-c"`, `"key":"`+long+`"`),
			0o644),
	)
	packed, err = os.ReadFile(b.recordPath(1, 1))
	b.must(err)
	b.must(
		os.WriteFile(b.recordPath(1, 1),
			repack(t, packed, `"attempt":1`, `"attempt":`+strings.Repeat("1", 1<<20)), 0o644),
	)
	const header = "process_exec_num,bench_name,0\n"
	file := func(name, text string) string { return writeText(t, filepath.Join(dir, name), text) }
	mistakes := strings.Builder{}
	mistakes.WriteString("[experiment]\n")
	for i := range 20_000 {
		fmt.Fprintf(&mistakes, "wrong%d = 1\n", i)
	}
	name := strings.Repeat("y", 200_000)
	for _, c := range []struct {
		name string
		args []string
		say  string
	}{
		{"a key without parts", []string{"analyze", file("a.json", `{"wallclock_times":{"`+long+`":[[1]]}}`)},
			"1048576 bytes"},
		{"a key twice", []string{"analyze", file("b.json",
			`{"wallclock_times":{"`+long[:4000]+`":[[1]],"`+long[:4000]+`":[[1]]}}`)}, "occurs twice"},
		{"a key of three parts", []string{"analyze", "--table", file("c.json",
			`{"wallclock_times":{"a:b:`+long+`":[[1,2,3,4]]}}`)}, "bytes"},
		{"no number", []string{"analyze", file("d.csv", header+"0,x,"+long+"\n")}, "is not a number"},
		{"a benchmark's name", []string{"analyze", file("e.csv", header+"0,"+long+",1\n")}, "bytes"},
		{"a benchmark of JMH", []string{"analyze", "--table", file("f.json",
			`[{"benchmark":"`+long+`","primaryMetric":{"scoreUnit":"ms/op","rawData":[[1,2,3]]}}]`)}, ""},
		{"a unit of JMH", []string{"analyze", "--table", file("g.json",
			`[{"benchmark":"x","primaryMetric":{"scoreUnit":"`+long+`","rawData":[[1,2,3]]}}]`)}, ""},
		{"a unit of Go", []string{"analyze", file("h.txt",
			"goos: linux\nBenchmarkX 1 1 ns/op 1 "+long[:1_000_000]+"\n")}, "bytes"},
		{"a benchmark of µOpTime", []string{"enough", "optimize", file("i.csv",
			"b_name,ir_pos,sr_pos,it_pos,bed_pos,ns_per_op\n"+long+",1,1,1,1,1\n")}, "bytes"},
		{"a value of µOpTime", []string{"enough", "optimize", file("j.csv",
			"b_name,ir_pos,sr_pos,it_pos,bed_pos,ns_per_op\nx,1,1,1,1,"+long+"\n")}, "is not a time"},
		{"a key of a configuration", []string{"check", "--plan", file("k.toml",
			"["+name+"]\na = 1\n[experiment]\n"+name+" = 1\n[vms."+name+"]\n"+name+" = 1\n")}, "k.toml:"},
		{"many mistakes", []string{"check", "--plan", file("l.toml", mistakes.String())}, "more mistakes"},
		{"records", []string{"show", b.dir()}, "0000000-001"},
		{"records to check", []string{"check", b.dir()}, ""},
		{"records to analyze", []string{"analyze", b.dir()}, "0000000-001"},
		{"a record", []string{"show", b.dir(), "0"}, "does not match"},
		{"a column", []string{"convert", "--to", "csv", "--column", name, b.dir()}, "no record has a column"},
		{"a pattern", []string{"convert", "--to", "csv", "--key", name, b.dir()}, "has 1 parts"},
	} {
		r := krunctl(t, c.args...)
		if n := len(r.stdout) + len(r.stderr); n > most || !strings.Contains(r.stderr, c.say) {
			t.Errorf("%s: exit %d, %d bytes, want %q in %.500s", c.name, r.code, n, c.say, r.stderr)
		}
	}
}

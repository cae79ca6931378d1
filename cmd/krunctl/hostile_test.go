package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/dsnet/compress/bzip2"
	"golang.org/x/sys/unix"

	"krund/internal/durable"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

func fifo(t *testing.T, name string) string {
	t.Helper()
	must.Do(t, unix.Mkfifo(name, 0o600))
	return name
}

// TestFIFOInTheDirectory: no command blocks on a FIFO in the place of one of an experiment's files.
func TestFIFOInTheDirectory(t *testing.T) {
	must.Long(t)
	all := []string{"status DIR", "show DIR", "convert --to csv DIR", "show --startup DIR",
		"show --counters DIR", "check DIR", "analyze DIR", "analyze --table DIR",
		"convert --to csv --key nbody:C:* DIR", "compare DIR DIR", "show --key nbody:C:* DIR",
		"enough stability DIR", "analyze --similarity DIR", "enough optimize DIR", "explain DIR",
		"check --plan TOML", "repair --dry-run DIR", "repair DIR", "hold DIR", "resume DIR"}
	for n, file := range []string{"schedule", "config.toml", "analysis.json", "fingerprint.json",
		"journal", "lock", "hold", "results/0000000-001.json.gz"} {
		t.Run(file, func(t *testing.T) {
			b := complete(t)
			_ = os.Remove(b.path(file))
			fifo(t, b.path(file))
			for i, args := range all {
				if (i+n)%must.Often(3, 1) != 0 {
					continue
				}
				words := strings.NewReplacer("DIR", b.dir(), "TOML", b.toml).Replace(args)
				r := krunctl(t, strings.Fields(words)...)
				must.Be(t, r.code <= 3 && (r.code == exitOK || r.stdout+r.stderr != ""), args, r.text())
			}
		})
	}
}

// bzipped compresses head followed by n MiB of blanks.
func bzipped(t *testing.T, head string, times int) []byte {
	t.Helper()
	stream := func(text []byte) []byte {
		var out bytes.Buffer
		z := must.Get(bzip2.NewWriter(&out, nil))(t)
		must.Get(z.Write(text))(t)
		must.Do(t, z.Close())
		return out.Bytes()
	}
	return append(stream([]byte(head)), bytes.Repeat(stream(bytes.Repeat([]byte(" "), 1<<20)), times)...)
}

// gzipped compresses head followed by n MiB of blanks.
func gzipped(t *testing.T, head string, times int) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	must.Do(t, err)
	blanks := bytes.Repeat([]byte(" "), 1<<20)
	_, err = z.Write([]byte(head))
	for range times {
		if err == nil {
			_, err = z.Write(blanks)
		}
	}
	must.Do(t, err)
	must.Do(t, z.Close())
	return out.Bytes()
}

// TestBombs: a small file that unpacks to a large one is refused with its name, the limit and what
// to do, long before all of it was unpacked.
func TestBombs(t *testing.T) {
	must.Long(t)
	b := complete(t)
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		t.Helper()
		file := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(file, content, 0o644))
		return file
	}
	// 40 MiB of blanks in 2 kB.
	krun := write("x.json.bz2", bzipped(t, `{"wallclock_times":`, 40))
	uoptime := write("x.csv.gz", gzipped(t, "b_name,ir_pos,sr_pos,it_pos,bed_pos,ns_per_op\n", 64))
	record := write("0000000-001.json.gz", gzipped(t, `{"format":1,"key":`, 64))
	limit := fmt.Sprintf("decompresses to more than %d", durable.SmallUnpacked)
	for _, args := range [][]string{
		{"convert", "--to", "csv", krun}, // and all that read the same way
		{"enough", "optimize", uoptime}, {"show", record}, {"show", "--format", "json", record},
	} {
		r := krunctl(t, args...)
		advice := "; if you trust it, unpack it ("
		if args[0] == "show" {
			advice = "damaged"
		}
		must.Be(t, r.code == exitError && r.stdout == "" && strings.Contains(r.stderr, limit) &&
			strings.Contains(r.stderr, dir) && strings.Contains(r.stderr, advice) && len(r.stderr) <= 1000,
			args, r.text())
	}
	// And in an experiment's directory.
	content, err := os.ReadFile(record)
	b.must(err)
	b.must(os.WriteFile(b.recordPath(0, 1), content, 0o644))
	for _, args := range [][]string{{"show"}, {"convert", "--to", "csv"}, {"check"}} {
		r := krunctl(t, append(args, b.dir())...)
		must.Be(t, r.code != exitOK && strings.Contains(r.stdout+r.stderr, "0000000-001.json.gz") &&
			strings.Contains(r.stdout+r.stderr, limit), args, r.text())
	}
}

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

// TestHostileOutput: nothing that a benchmark says reaches the terminal as it
// is; the JSON has it all.
func TestHostileOutput(t *testing.T) {
	const hostile = "\x1b]0;owned\x07\x1b[2J\nsecond\u202eline"
	b := newExperiment(t)
	slot, err := b.sched.Begin()
	b.must(err)
	rec := b.record(slot, results.Error, "exit status 1: "+hostile)
	rec.Process.Stdout = results.Output{Text: hostile, Bytes: int64(len(hostile))}
	rec.Process.Argv = append(rec.Process.Argv, hostile)
	rec.Host, rec.BootID = hostile, hostile
	rec.Machine.KernelLog.Lines = []string{hostile}
	rec.Machine.Controls = []results.Control{{Name: hostile, Detail: hostile}}
	rec.Machine.Fingerprint = map[string]string{hostile: hostile}
	rec.Machine.Temperatures.After = []results.Temperature{{Sensor: hostile}}
	rec.Columns[0].Name, rec.Columns[1].Name = hostile, hostile
	rec.Instrument, rec.Reboot = hostile, hostile
	rec.Events = []results.Event{{Kind: hostile, Name: hostile}}
	rec.Switches = &results.Switches{Reason: hostile, Tasks: []results.SwitchTask{{Name: hostile}}}
	rec.Watcher = &results.Watcher{Problem: hostile, Stop: &results.WatcherStop{Criterion: hostile}}
	rec.Machine.Load = &results.Load{Interrupts: []results.Interrupt{{Kind: hostile, Name: hostile}}}
	b.append(rec)
	b.must(b.sched.Finish(slot, 'E'))
	for _, args := range [][]string{{"status", "--by", "key"}, {"show"}, {"show", "--series"}, {"check"},
		{"explain"}} {
		args = append(args, b.dir())
		if args[0] == "show" {
			args = append(args, "0")
		}
		r := krunctl(t, args...)
		for line := range strings.Lines(r.stdout + r.stderr) {
			if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool {
				return r != ' ' &&
					!unicode.IsPrint(r)
			}) {
				t.Errorf("%v prints %q", args, line)
			}
		}
	}
	r := krunctl(t, "show", "--format", "json", b.dir(), "0")
	must.Contain(t, r.stdout, `\u001b]0;owned\u0007`, "the JSON has not the text", r.text())
}

package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/analysis/dataset"
	"krund/internal/durable"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// machine writes the part of an experiment that a machine has run.
func machine(t *testing.T, dir, host, name, config string, numbers ...int) {
	t.Helper()
	var records []results.Record
	for _, number := range numbers {
		for _, arm := range []string{"base", "same"} {
			r := keyed(arm, len(records), number)
			r.Host, r.Experiment = "localhost", name // as cloned machines may all be called
			r.ConfigHash = hash(config)
			records = append(records, r)
		}
	}
	created(t, filepath.Join(dir, host, name+".krun"), config, records...)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TestMachines: the parts of an experiment are one data set, in which executions with the same
// number are of one machine.
func TestMachines(t *testing.T) {
	read := func(dir string) (string, error) {
		in, err := Reader{FS: durable.OS()}.Read(dir, Selection{Column: dataset.Wall})
		if err != nil {
			return "", err
		}
		d := in.Data
		text := fmt.Sprintf("%s %v:", d.Machine, d.Blocked)
		for _, p := range d.Pairs {
			text += " " + p.Key.Arm
			for _, e := range p.Executions {
				text += fmt.Sprintf(" %d%s", e.Number, e.Machine)
			}
		}
		return text, nil
	}
	for _, c := range []struct {
		name  string
		write func(dir string)
		want  string
	}{
		{"shards", func(dir string) {
			machine(t, dir, "x", "ab", armsText, 1, 3)
			machine(t, dir, "y", "ab", armsText, 2, 4)
		}, "x, y true: base 1x 2y 3x 4y same 1x 2y 3x 4y"},
		{"each machine has run all of it", func(dir string) {
			machine(t, dir, "x", "ab", armsText, 1, 2)
			machine(t, dir, "y", "ab", armsText, 1, 2)
		}, "x, y true: base 1x 2x 3y 4y same 1x 2x 3y 4y"},
		{"one machine", func(dir string) { machine(t, dir, "x", "ab", armsText, 1) },
			"x true: base 1 same 1"},
		{"other iterations", func(dir string) {
			machine(t, dir, "x", "ab", armsText, 1)
			machine(t, dir, "y", "ab", strings.Replace(armsText, "[vms.C]", "[vms.C]\niterations = 7", 1), 2)
		}, "the configurations differ in the number of iterations"},
		{"another experiment", func(dir string) {
			machine(t, dir, "x", "ab", armsText, 1)
			machine(t, dir, "y", "cd", armsText, 2)
		}, "the experiments ab and cd"},
		{"no experiment", func(string) {}, "no experiment"},
	} {
		dir := t.TempDir()
		c.write(dir)
		got, err := read(dir)
		if err != nil {
			got = err.Error()
		}
		must.Contain(t, got, c.want, c.name)
	}
}

// TestOneOfTheMachines: what reads one directory reads that of the only machine, and names one that
// it can read if there are several.
func TestOneOfTheMachines(t *testing.T) {
	dir := t.TempDir()
	machine(t, dir, "x", "ab", armsText, 1)
	if e, err := Open(durable.OS(), dir); err != nil || e.Dir() != dir+"/x/ab.krun" {
		t.Errorf("%s, %v", e.Dir(), err)
	}
	machine(t, dir, "y", "ab", armsText, 2)
	_, read := Open(durable.OS(), dir)
	_, change := OpenToChange(durable.OS(), dir, 0)
	for _, err := range []error{read, change} {
		must.Be(t, err != nil && strings.Contains(err.Error(), "2 machines") && strings.HasSuffix(err.Error(),
			"give it "+dir+"/x/ab.krun"), err)
	}
}

// TestCopiedPart: the same process executions in two directories are not those of two machines.
func TestCopiedPart(t *testing.T) {
	dir := t.TempDir()
	for i, host := range []string{"x", "y", "z"} {
		machine(t, dir, host, "ab", armsText)
		r := keyed("base", 0, 1)
		r.Experiment, r.BootID, r.Started = "ab", "boot", time.Unix(1e9+int64(i/2), 5)
		appendRecords(t, filepath.Join(dir, host, "ab.krun", "results"), []results.Record{r})
	}
	read := func() error {
		_, err := Reader{FS: durable.OS()}.Read(dir, Selection{Column: dataset.Wall})
		return err
	}
	err := read()
	must.Refuse(t, err, "y/ab.krun: it has records of "+filepath.Join(dir, "x", "ab.krun"))
	must.Do(t, os.RemoveAll(filepath.Join(dir, "y")))
	must.Do(t, read())
}

// TestKeyedMachines: the executions of several machines are found in their directories, with the
// numbers that they have in all of them.
func TestKeyedMachines(t *testing.T) {
	for _, numbers := range [][2][]int{{{1, 3}, {2, 4}}, {{1, 2}, {1, 2}}} {
		dir := t.TempDir()
		machine(t, dir, "x", "ab", armsText, numbers[0]...)
		machine(t, dir, "y", "ab", armsText, numbers[1]...)
		machine(t, dir, "z", "ab", armsText)
		in, doc, series, err := silent(t).Keyed(dir, "")
		must.Need(t, err == nil && len(doc.Pairs) == 2, err, doc)
		for i, p := range in.Data.Pairs {
			var got []int
			for e := range p.Executions {
				one, err := series(i, e)
				must.Need(t, err == nil && len(one.Columns) == 3, one, err)
				got = append(got, one.Number)
			}
			must.Equal(t, fmt.Sprint(got), "[1 2 3 4]", numbers, got)
		}
	}
}

// TestMachinesConfig: the part of each machine makes no other configuration; another difference
// does. The hash is the first part's.
func TestMachinesConfig(t *testing.T) {
	part := func(n int) string {
		return armsText + fmt.Sprintf("\n[machines.x.experiment]\nshard = \"%d/3\"\n", n)
	}
	other := part(3) + "[limits]\ntimeout = \"9s\"\n"
	dir := t.TempDir()
	for i, text := range []string{part(1), part(2), other} {
		machine(t, dir, fmt.Sprint("m", i), "ab", text, i+1)
	}
	got := map[string]int{}
	add := func(r *results.Record) { got[r.ConfigHash]++ }
	if _, err := (Reader{FS: durable.OS(), Visit: add}).Read(dir,
		Selection{Column: dataset.Wall}); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{hash(part(1)): 4, hash(other): 2}
	must.Be(t, maps.Equal(got, want), got, "want", want)
}

// TestConfigOfEarlierVersion: the directory of an experiment whose configuration is refused at a
// start now can be read, and so can the configuration as long as it means the same.
func TestConfigOfEarlierVersion(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lab1", "ab.toml")
	text := armsText + "\n[machines.x.experiment]\nreboot = \"none\"\nhardware_every = 5\n"
	machine(t, dir, "lab1", "ab", text, 1)
	e := must.Get(Open(durable.OS(), filepath.Join(dir, "lab1", "ab.krun")))(t)
	must.Get(e.Config("x"))(t)
	for change, want := range map[string]bool{"": true, "# a comment\n": true, "attempts = 9\n": false} {
		must.Do(t, os.WriteFile(path, []byte(text+change), 0o644))
		_, err := ParseConfig(durable.OS(), path, "x")
		must.Equal(t, (err == nil), want, "with", change, err)
	}
}

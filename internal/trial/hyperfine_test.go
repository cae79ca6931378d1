package trial

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/exchange"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestHyperfineFiles: the files are those of hyperfine, with the name that --command-name gives,
// and every run with its exit status.
func TestHyperfineFiles(t *testing.T) {
	list := must.Get(Subjects([]string{"ref", "a {n}", "b {n}"}, SubjectOptions{Names: []string{"first {n}"},
		Referred: true, Parameters: []Parameter{{"n", []string{"1", "2"}}}}))(t)
	p := Plan{Subjects: list, Referred: true}
	must.Need(t, len(list) == 5 && list[1].Text == "first 1" && list[2].Text == "b 1", list)
	d := measured(p, map[string]float64{list[0].Name: 0.1, list[1].Name: 0.2, list[2].Name: 0.08,
		list[3].Name: 0.3, list[4].Name: 0.08})
	for i := range d.Pairs[1].Executions {
		e := &d.Pairs[1].Executions[i]
		e.Columns = append(e.Columns, dataset.Column{Name: "exit", Core: dataset.NoCore,
			Ints: append(make([]int64, 39), 3)})
	}
	a := must.Get(AnswerOf(p, d))(t)
	must.Be(t, a.Base == "ref" && a.Fastest != "ref" && len(a.Compared) == 4 && a.Compared[0].Ratio > 1.9 &&
		a.Compared[1].Ratio < 0.81 && a.Compared[1].Told, a.Base, a.Compared)
	var json, table bytes.Buffer
	must.Do(t, a.HyperfineJSON(&json))
	must.Do(t, a.HyperfineCSV(&table))
	back := must.Get(exchange.Read(exchange.FormatHyperfine, &json, exchange.FileOptions{}))(t)
	must.Need(t, len(back.Pairs) == 5 && len(back.Pairs[1].Executions) == 400, len(back.Pairs), "pairs")
	failed := slices.IndexFunc(back.Pairs[1].Executions, func(e dataset.Execution) bool {
		return e.Outcome == results.Error
	})
	must.Be(t, failed == 39 && back.Pairs[1].Executions[39].Reasons[0] == "exit status 3", failed)
	csv := strings.Split(table.String(), "\n")
	must.Equal(t, csv[0], "command,mean,stddev,median,user,system,min,max,parameter_n")
	must.Be(t, strings.HasPrefix(csv[2], "first 1,0.") && strings.HasSuffix(csv[2], ",1") &&
		strings.HasSuffix(csv[1], ","), csv)
	a.Sort(true)
	must.Be(t, a.Subjects[4].Text == "first 2" && a.Compared[3].Ratio > 2.9, a.Compared)
	_, err := Subjects([]string{"a"}, SubjectOptions{Names: []string{"x", "y"}})
	must.Be(t, err != nil, "more names than commands")
}

// TestPlanFiles: what the commands read and where they print.
func TestPlanFiles(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in")
	for _, test := range []struct{ input, output, in, out string }{
		{"null", "null", "", ""}, {"null", "pipe", "", "pipe"}, {"null", "/x", "", "/x"},
		{"null", "inherit", "", "/proc/"},
	} {
		var p Plan
		must.Do(t, p.SetFiles(test.input, test.output))
		must.Be(t, p.Input == test.in && strings.HasPrefix(p.Output, test.out), test, p)
		must.Equal(t, strings.Contains(strings.Join(p.common(), " "), "--output "), test.out != "")
	}
	must.Be(t, new(Plan).SetFiles(in, "null") != nil, "no such file")
	must.Be(t, new(Plan).SetFiles("pipe", "null") != nil, "input from a pipe")
}

// TestPlanEnvironment: which variables are passed on besides those of the caller.
func TestPlanEnvironment(t *testing.T) {
	environ := []string{"PATH=/bin", "TIME_TEST=x"}
	for _, test := range []struct {
		clean bool
		want  []string
	}{{false, []string{"A=b=c"}}, {true, []string{"PATH=/bin", "A=b=c", "TIME_TEST=x"}}} {
		p := Plan{Clean: test.clean}
		p.SetEnvironment(environ, []string{"A=b=c", "TIME_TEST", "TIME_TEST_UNSET"})
		must.EqualList(t, p.Env, test.want, "clean", test.clean)
		must.EqualList(t, p.Inherited, []string{"PATH", "TIME_TEST"})
	}
}

// TestWorkspace: a name that krund refuses is refused before anything is written: a second attempt
// found the files of the first.
func TestWorkspace(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"we ird", "..", "quote\"", strings.Repeat("x", 300)} {
		p := Plan{Subjects: []Subject{{Name: "b", File: filepath.Join(dir, "b.py")}}}
		w, err := NewWorkspace(p, dir+"/"+name+".toml")
		if err == nil {
			w.Remove()
			t.Errorf("--save %q is accepted", name)
		}
	}
	left, err := os.ReadDir(dir)
	must.Be(t, err == nil && len(left) == 0, "left", left, err)
}

// TestFindPrograms: a VM is the one that the caller's PATH leads to.
func TestFindPrograms(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin")
	own := filepath.Join(dir, "python3")
	must.Do(t, os.WriteFile(own, []byte("#!/bin/sh\n"), 0o755))
	list := []Subject{{Program: "python3"}, {Program: "nosuchvm"}, {}}
	FindPrograms(list)
	must.Be(t, list[0].Program == own && list[1].Program == "nosuchvm" && list[2].Program == "", list)
}

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"krund/internal/analysis/history"
	"krund/rig/must"
)

// jmhVersions writes a JMH result for each of 40 versions, of five forks of one benchmark, which
// gets 10 % slower with version v25.
func jmhVersions(t *testing.T) []string {
	t.Helper()
	r := rand.New(rand.NewPCG(4, 4))
	dir := t.TempDir()
	var files []string
	for v := range 40 {
		level := 1e-3
		if v >= 25 {
			level *= 1.1
		}
		var forks []string
		for range 5 {
			x := level * math.Exp(0.01*r.NormFloat64())
			forks = append(forks, fmt.Sprintf("[%g,%g,%g,%g,%g,%g]", x, x*1.001, x, x*1.002, x, x*0.999))
		}
		files = append(files, filepath.Join(dir, fmt.Sprintf("v%02d.json", v)))
		text := fmt.Sprintf(`[{"jmhVersion":"1.37","benchmark":"a.B.c","mode":"avgt","forks":5,`+
			`"warmupIterations":0,"measurementIterations":6,"primaryMetric":{"score":%g,"scoreUnit":"s/op",`+
			`"rawData":[%s]}}]`, level, strings.Join(forks, ","))
		must.Write(t, files[v], text)
	}
	return files
}

func TestHistory(t *testing.T) {
	files := jmhVersions(t)
	dir := filepath.Dir(files[0])
	mutes, order := filepath.Join(dir, "mutes.toml"), filepath.Join(dir, "order")
	must.Write(t, mutes, "[[mute]]\nkey = \"\"\nversion = \"v25\"\nreason = \"known\"\n")
	must.Write(t, order, "v00\nv00b\n"+strings.Join(names(files[1:39]), " a commit\n"))
	run := func(args ...string) *history.History {
		t.Helper()
		got := krunctl(t, append(append([]string{"history", "--format", "json"}, args...), files...)...)
		var h history.History
		err := json.Unmarshal([]byte(got.stdout), &h)
		must.Need(t, err == nil && got.code == 0, got.code, err, got.stderr)
		return &h
	}
	h := run("--mutes", mutes)
	must.Need(t, len(h.Versions) == 40 && len(h.Keys) == 1 && len(h.Keys[0].Changes) == 1 && h.Alerts() == 0,
		h)
	c := h.Keys[0].Changes[0]
	must.Be(t, c.Version == 25 && c.Found <= 29 && c.Low <= 1.1 && c.High >= 1.1 && c.MuteReason == "known" &&
		h.Keys[0].Points[0].Executions == 5, c)
	h = run("--versions", order)
	c = h.Keys[0].Changes[0]
	must.Be(t, len(h.Versions) == 40 && c.Version == 26 && h.Versions[26].Source == "list", c,
		len(h.Versions), "versions")
	for format, want := range map[string]string{
		"text": "v25", "csv": "change_ratio", "html": "<figure", "svg": "<svg", "markdown": "| ",
	} {
		krunctl(t, append([]string{"history", "-f", format}, files...)...).says(t, 0, want, "", format)
	}
}

func names(files []string) []string {
	list := make([]string, len(files))
	for i, f := range files {
		list[i] = strings.TrimSuffix(filepath.Base(f), ".json")
	}
	return list
}

// TestHistoryNights: tables of nights and values are one history, in any order of machines; --key
// and --versions apply to them, and nothing is there twice.
func TestHistoryNights(t *testing.T) {
	t.Chdir(t.TempDir())
	r := rand.New(rand.NewPCG(1, 1))
	for _, machine := range []string{"m1", "m2"} {
		text := "version,revision,machine,key,value,unit\n"
		for night := range 30 {
			for _, key := range []string{"bdd.26", "fib"} {
				text += fmt.Sprintf("n%d,r%d,%s,%s,%g,s\n", night, night/2, machine, key,
					math.Exp(0.01*r.NormFloat64()))
			}
		}
		must.Write(t, machine+".csv", text)
	}
	plain := "key,execution,iteration,value,unit\na,1,1,1,s\n"
	for _, name := range []string{"m1/a.csv", "m2/a.csv", "m1/b.csv"} {
		must.Write(t, name, plain)
	}
	order := ""
	for revision := range 12 {
		order += fmt.Sprintf("r%d\n", revision)
	}
	must.Write(t, "order", order)
	run := func(args ...string) (v history.Values) {
		t.Helper()
		got := krunctl(t, append([]string{"history", "-f", "values"}, args...)...)
		must.Need(t, got.code == 0, got.stderr)
		must.Do(t, json.Unmarshal([]byte(got.stdout), &v))
		return v
	}
	v := run("m1.csv", "m2.csv")
	must.Be(t, len(v.Versions) == 30 && len(v.Keys) == 4 && v.Keys[3].Machine == "m2", v.Versions)
	must.Write(t, "v.json", string(must.Get(json.Marshal(v))(t)))
	again := run("v.json")
	must.Be(t, reflect.DeepEqual(again, v), again.Versions, v.Versions)
	v.Unit, v.Keys = "", v.Keys[:1]
	v.Keys[0].Name = "other:default:default"
	must.Write(t, "none.json", string(must.Get(json.Marshal(v))(t)))
	v = run("--key", "bdd.26:*:*", "--versions", "order", "v.json")
	must.Be(t, len(v.Versions) == 24 && len(v.Keys) == 2 && v.Versions[1].Label == "n1" &&
		v.Versions[1].Revision == "r0", v.Versions)
	for args, want := range map[string]string{
		"--key nosuch:*:* v.json":    "nosuch:*:* matches no key; there are",
		"m1.csv v.json":              "v.json: key bdd.26:default:default of version n0 is there twice",
		"m2.csv none.json":           "none.json: its values have no unit, those of m2.csv are in ",
		"m1/a.csv m2/a.csv m1/b.csv": "m1/a.csv and m2/a.csv have one name, and name no machine",
	} {
		got := krunctl(t, append([]string{"history"}, strings.Fields(args)...)...)
		must.Be(t, got.code != exitOK && strings.Contains(got.stderr, want), args, got.code, got.stderr)
	}
}

// TestHistoryConfirm: an event that nothing tells apart is measured again, in an experiment that
// --confirm writes and then reads.
func TestHistoryConfirm(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(7, 7))
	v := history.Values{Unit: "s", Keys: []history.Key{{Name: "nbody:C:v"}}}
	for i := range 31 {
		name := fmt.Sprint("r", i)
		v.Versions = append(v.Versions, history.Version{Label: name, Source: "revision", Revision: name})
		level := 1 + 0.04*float64(min(i/11, 1))
		v.Keys[0].Values = append(v.Keys[0].Values, []float64{level * math.Exp(0.002*r.NormFloat64())})
		must.Write(t, filepath.Join(dir, "builds", name, "revision"), name)
	}
	values := filepath.Join(dir, "v.json")
	must.Write(t, values, string(must.Get(json.Marshal(v))(t)))
	text := strings.NewReplacer("executions = 5", "executions = 12\nskip = [\"@OTHER_KEYS@\"]",
		"@GOOD_BUILD@", "builds/@GOOD@", "@CANDIDATE_BUILD@", "builds/@CANDIDATE@",
		"parameter = 10 }", "parameter = 10 }\nfasta = { parameter = 1 }").Replace(stepText)
	ask := func(template string) ran {
		must.Write(t, filepath.Join(dir, "again.toml"), template)
		return krunctl(t, "history", "--format", "json", "--confirm", filepath.Join(dir, "again.toml"),
			values)
	}
	got := ask(text)
	must.Be(t, got.code == exitUsage && strings.Contains(got.stderr, "null = true"), got.code, got.stderr)
	text += "[arms.again]\nnull = true\n"
	event := func() history.Event {
		t.Helper()
		got := ask(text)
		var h history.History
		err := json.Unmarshal([]byte(got.stdout), &h)
		must.Need(t, err == nil && got.code == exitOK && len(h.Events) == 1, err, got.code, got.stderr)
		return h.Events[0]
	}
	file := filepath.Join(dir, "confirm-r10-r11.toml")
	got = ask(text)
	must.Contain(t, got.stderr, "confirm-r10-r11.toml: 36 executions on the machine of the event, whose "+
		"iterations take 24m")
	e := event()
	must.Be(t, e.Verdict == history.Undecided && strings.HasSuffix(e.Evidence, file) && e.Again == nil, e)
	measure(t, r, file)
	e = event()
	must.Be(t, e.Verdict == history.ByProgram && e.Again.Low > 1.02 && e.Again.High < 1.06, e, e.Again)

	must.Be(t, fileName("release-2026-10", "release-2026-11") !=
		fileName("release-2026-27", "release-2026-28"), "two pairs have one file")
	v.Versions[11].Revision = "r11\"\n[hooks]\nbefore = [[\"/bin/true\", ''']]#"
	must.Write(t, values, string(must.Get(json.Marshal(v))(t)))
	got = ask(text)
	must.Be(t, got.code == exitUsage && strings.Contains(got.stderr, "cannot be written"), got.stderr)
}

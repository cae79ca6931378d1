package stop

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

func keyOf(t testing.TB, name string) key.Key {
	t.Helper()
	k := must.Get(key.Parse(name))(t)
	return k
}

// sample is an answer with everything in it.
func sample() Answer {
	return Answer{Format: Format, Experiment: "x", ConfigHash: "abc", Groups: []Group{
		{Keys: []string{"b:v:x@base", "b:v:x@new"}, Executions: 5, Finish: true, Reason: "new: better",
			Questions: []Question{{Rule: Verdict, Key: "b:v:x@new", Answered: true, Text: "new: better",
				Alpha: Number(0.05), Estimate: Number(0.9), Low: Number(0.8), High: Number(0.95),
				LogE: Number(4)}},
			Records: []string{"0000000-001.json.gz"}},
		{Keys: []string{"c:v:x@base", "c:v:x@new"}, Executions: 2, Reason: "2 of at least 5 executions",
			Questions: []Question{}, Records: []string{}},
	}}
}

func TestParse(t *testing.T) {
	text := must.Get(json.Marshal(sample()))(t)
	got, err := Parse(text)
	must.Be(t, err == nil && reflect.DeepEqual(got, sample()), got, err)
	for _, bad := range []string{"", "null", "[]", `{"format":1,"groups":[{}]}`,
		string(text) + "x", strings.Replace(string(text), `"verdict"`, `"other"`, 1),
		strings.Replace(string(text), `"executions":5`, `"executions":-5`, 1),
		strings.Replace(string(text), "new: better", "new:\\nbetter", 1)} {
		_, err := Parse([]byte(bad))
		must.Fail(t, err, ErrAnswer, bad)
	}
}

// TestFinished: arms are finished together, and only as the schedule has them.
func TestFinished(t *testing.T) {
	base, arm := keyOf(t, "b:v:x@base"), keyOf(t, "b:v:x@new")
	other := []key.Key{keyOf(t, "c:v:x@base"), keyOf(t, "c:v:x@new")}
	facts := Facts{Experiment: "x", ConfigHash: "abc", Groups: [][]key.Key{{base, arm}, other},
		Completed: map[key.Key]int{base: 6, arm: 5}, Minimum: 5, Keep: func(key.Key) bool { return false }}
	finished, err := sample().Finished(facts)
	must.Be(t, err == nil && len(finished) == 1 && finished[0].Keys[1] == "b:v:x@new", finished, err)
	for name, change := range map[string]func(*Answer, *Facts){
		"one arm alone":  func(a *Answer, _ *Facts) { a.Groups[0].Keys = a.Groups[0].Keys[:1] },
		"other order":    func(a *Answer, _ *Facts) { slices.Reverse(a.Groups[0].Keys) },
		"too few blocks": func(_ *Answer, f *Facts) { f.Completed[arm] = 4 },
		"kept arm":       func(_ *Answer, f *Facts) { f.Keep = func(k key.Key) bool { return k == arm } },
		"too many":       func(a *Answer, _ *Facts) { a.Groups[0].Executions = 6 },
		"too few":        func(a *Answer, _ *Facts) { a.Groups[0].Executions = 4 },
		"other hash":     func(a *Answer, _ *Facts) { a.ConfigHash = "abd" },
	} {
		a, f := sample(), facts
		f.Completed = map[key.Key]int{base: 6, arm: 5}
		change(&a, &f)
		got, err := a.Finished(f)
		must.Be(t, err != nil, name, got)
	}
}

func TestDecisions(t *testing.T) {
	fsys := crashfs.New("/lab")
	d, err := Load(fsys, "/lab/decisions.json")
	must.Be(t, err == nil && len(d.Groups) == 0, "without a file", d, err)
	d.Seen = SeenOf([]key.Key{keyOf(t, "b:v:x")})
	d.Replace(func(Group) bool { return true }, sample().Groups)
	must.Do(t, d.Store(fsys, "/lab/decisions.json"))
	got, err := Load(fsys, "/lab/decisions.json")
	must.Be(t, err == nil && reflect.DeepEqual(got, d), got, err)
}

// FuzzParse: whatever the text is, an answer that is accepted survives being written again.
func FuzzParse(f *testing.F) {
	text := must.Get(json.Marshal(sample()))(f)
	f.Add(text)
	f.Add([]byte(`{"format":1,"groups":[{"keys":["\u0000"]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := Parse(text)
		if err != nil {
			return
		}
		again := must.Get(json.Marshal(a))(t)
		b, err := Parse(again)
		must.Be(t, err == nil && reflect.DeepEqual(a, b), a, "became", b, err)
	})
}

package watcher

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

func TestParseOrder(t *testing.T) {
	want := Order{Number: 3, Stop: &results.WatcherStop{Criterion: "cv", Step: "1s", Seed: 1<<63 - 1},
		Line: &Line{Before: "a", After: "b", Width: 80}}
	text := must.Get(json.Marshal(want))(t)
	got, err := ParseOrder(string(text))
	must.Be(t, err == nil && reflect.DeepEqual(got, want), got, err)
	for _, bad := range []string{"", "x", string(text) + "{}", `{"number": "1"}`, `{"more": 1}`,
		strings.Repeat(" ", maxOrder+1)} {
		must.Refused(ParseOrder(bad))(t, "", "accepted", bad)
	}
}

func FuzzParseOrder(f *testing.F) {
	f.Add(`{"stop": {"criterion": "cv"}, "number": 1, "line": {"before": "x"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if o, err := ParseOrder(text); err == nil {
			must.Get(json.Marshal(o))(t)
		}
	})
}

// TestLastReport: krund takes the last whole report that can be true of the execution.
func TestLastReport(t *testing.T) {
	const whole = `{"threshold":0.01,"warmup":20,"stable":true,"value":0.5,"stop_at":40,"asked_at":44}` + "\n"
	for name, test := range map[string]struct {
		text    string
		ok      bool
		askedAt int // 0: none
	}{
		"none":              {"", false, 0},
		"begun":             {`{"threshold":0.01}` + "\n", true, 0},
		"whole":             {`{"threshold":0.01}` + "\n" + whole, true, 44},
		"the last is cut":   {whole + `{"asked_at":`, true, 44},
		"no line end":       {strings.TrimSuffix(whole, "\n"), false, 0},
		"damaged":           {whole + "x\n", true, 44},
		"beyond the end":    {strings.Replace(whole, "44", "101", 1), false, 0},
		"asked too early":   {strings.Replace(whole, "44", "39", 1), false, 0},
		"negative":          {strings.Replace(whole, ":20", ":-20", 1), false, 0},
		"stop, no warm-up":  {strings.Replace(whole, ":20", ":null", 1), false, 0},
		"asked, no stop":    {strings.Replace(whole, ":40", ":null", 1), false, 0},
		"negative limit":    {strings.Replace(whole, "0.01", "-1", 1), false, 0},
		"another type":      {strings.Replace(whole, "0.5", `"0.5"`, 1), false, 0},
		"an infinite value": {strings.Replace(whole, "0.5", "1e999", 1), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, ok := lastReport([]byte(test.text), 100)
			must.Be(t, ok == test.ok && (r.AskedAt != nil) == (test.askedAt > 0) && (r.AskedAt == nil ||
				*r.AskedAt == test.askedAt), r, ok)
		})
	}
}

func FuzzLastReport(f *testing.F) {
	f.Add([]byte("{\"warmup\":1}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if r, ok := lastReport(text, 100); ok {
			order := Order{Stop: &results.WatcherStop{}}
			w := r.Record(order, 0, 0, 100)
			must.Be(t, w.Stop.Measured >= 0 && w.Stop.Measured <= 100, w.Stop)
		}
	})
}

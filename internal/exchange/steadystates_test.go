package exchange

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"krund/rig/must"
)

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

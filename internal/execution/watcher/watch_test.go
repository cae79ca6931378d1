package watcher

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// series is a buffer in which a number of iterations is complete at each look.
type series struct {
	walls   []int64
	looks   []int // complete iterations at each call of Done; then the last number
	stopped func()
}

func (s *series) Iterations() int  { return len(s.walls) }
func (s *series) Wall(i int) int64 { return s.walls[i] }
func (s *series) Stop()            { s.stopped() }
func (s *series) Done() int {
	done := s.looks[0]
	if len(s.looks) > 1 {
		s.looks = s.looks[1:]
	}
	return done
}

// sleeps is a clock that lets a number of sleeps pass, and then ends the context.
type sleeps struct {
	now  time.Time
	left int
}

func (c *sleeps) Now() time.Time { return c.now }
func (c *sleeps) Sleep(_ context.Context, d time.Duration) error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	c.now = c.now.Add(d)
	return nil
}

// after decides that warm-up ends with iteration 3, and the measurement with iteration 5.
func after() func(float64) (Decision, error) {
	n := 0
	var d Decision
	return func(seconds float64) (Decision, error) {
		if seconds < 0 {
			return d, errors.New("it took a negative time")
		}
		switch n++; n {
		case 3:
			d = Decision{Warmup: 3, Stable: true, Value: 0.25}
		case 5:
			d.StopAt = 5
		}
		return d, nil
	}
}

// TestRun: the decision follows from the iterations alone; when the process is asked to stop
// depends on the looks, and the report of it precedes the flag.
func TestRun(t *testing.T) {
	warm := Report{Threshold: 0.5, Warmup: ptr(3), Stable: true, Value: ptr(0.25)}
	decided := func(asked *int) Report {
		r := warm
		r.StopAt, r.AskedAt = ptr(5), asked
		return r
	}
	for _, test := range []struct {
		name   string
		looks  []int
		sleeps int
		dry    bool
		walls  []int64
		want   Report // the last one, without Final
		flag   bool
	}{
		{"at once", []int{1, 2, 3, 4, 5, 5}, 5, false, nil, decided(ptr(5)), true},
		{"late", []int{2, 7, 8}, 2, false, nil, decided(ptr(8)), true},
		{"the number goes back", []int{8, 2, 8}, 2, false, nil, decided(ptr(5)), true},
		{"all in one look", []int{8, 9}, 1, false, nil, decided(ptr(9)), true},
		{"the last look is after the end", []int{2, 8}, 1, false, nil, decided(nil), false},
		{"no look before the end", []int{10}, 0, false, nil, decided(nil), false},
		{"all iterations are done meanwhile", []int{8, 10}, 1, false, nil, decided(nil), false},
		{"dry run", []int{1, 6, 10}, 3, true, nil, decided(nil), false},
		{"too few for a measurement", []int{2, 4}, 2, false, nil, warm, false},
		{"no end of warm-up", []int{2}, 2, false, nil, Report{Threshold: 0.5}, false},
		{"a time no clock measures", []int{4, 9}, 2, false, []int64{1, 1, -1},
			Report{Threshold: 0.5, Problem: "it took a negative time"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var said []Report
			flag := false
			b := &series{walls: append(slices.Clone(test.walls), make([]int64, 10-len(test.walls))...),
				looks: test.looks}
			b.stopped = func() {
				flag = true
				must.Be(t, len(said) != 0 && said[len(said)-1].AskedAt != nil,
					"the flag was set before the report")
			}
			w := &Watch{Buffer: b, Clock: &sleeps{left: test.sleeps}, Decide: after(), Threshold: 0.5,
				DryRun: test.dry, Say: func(r Report) error { said = append(said, r); return nil }}
			must.Do(t, w.Run(t.Context()))
			test.want.Final = true
			if got := said[len(said)-1]; !reflect.DeepEqual(got, test.want) || flag != test.flag {
				t.Errorf("%+v, flag %v; want %+v, %v", got, flag, test.want, test.flag)
			}
			must.Be(t, reflect.DeepEqual(said[0], Report{Threshold: 0.5}), "the first report is", said[0])
		})
	}
}

// TestUndefinedValue: JSON has no NaN.
func TestUndefinedValue(t *testing.T) {
	w := &Watch{Buffer: &series{walls: make([]int64, 9), looks: []int{4}}, Clock: &sleeps{},
		Say: func(Report) error { return nil },
		Decide: func(float64) (Decision, error) {
			return Decision{Warmup: 1, Value: math.NaN()}, nil
		}}
	err := w.Run(t.Context())
	must.Be(t, err == nil && w.report.Value == nil && *w.report.Warmup == 1, w.report, err)
}

// TestShow: the line changes at most twice a second, and only with the number.
func TestShow(t *testing.T) {
	var lines []string
	w := &Watch{Buffer: &series{walls: make([]int64, 2000), looks: []int{0, 310, 310, 1999}},
		Clock: &sleeps{left: 4}, Say: func(Report) error { return nil },
		Show: func(text string) { lines = append(lines, text) },
		Line: Line{Before: "[1/2] x  running", After: ", left 5s", Width: 80, Dim: true}}
	must.Do(t, w.Run(t.Context()))
	want := []string{
		"\r\x1b[K\x1b[2m[1/2] x  running 0 of 2,000, left 5s\x1b[0m",
		"\r\x1b[K\x1b[2m[1/2] x  running 310 of 2,000, left 5s\x1b[0m",
		"\r\x1b[K\x1b[2m[1/2] x  running 1,999 of 2,000, left 5s\x1b[0m",
	}
	must.EqualList(t, lines, want)
	narrow := Line{Before: "[1/2] x  running", Width: 20}
	must.Equal(t, narrow.text(1234567, 16777216), "[1/2] x  running 1,")
}

func ptr[T any](v T) *T { return &v }

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

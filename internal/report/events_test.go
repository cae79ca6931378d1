package report

import (
	"encoding/xml"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/explain"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// hotRun is a record of 4 iterations, from 10 s to 14.4 s on the clock with a pause of 0.1 s after
// each, with all kinds of events.
func hotRun() *results.Record {
	r := &results.Record{
		Key: key.Key{Benchmark: "b", VM: "v",
			Variant: "x"}, Slot: 0, Attempt: 1, Pexec: 1, Outcome: results.Completed,
		Clock:   "CLOCK_MONOTONIC_RAW",
		StartNS: []int64{10e9, 11.1e9, 12.2e9, 13.3e9}, WallNS: []int64{1e9, 1e9, 1e9, 1e9},
	}
	m := &r.Machine
	m.Temperatures.Before = []results.Temperature{{Sensor: "a", MilliC: 41000}, {Sensor: "b", MilliC: 42400}}
	m.Temperatures.After = []results.Temperature{{Sensor: "a", MilliC: 58100}}
	m.Throttle.Before, m.Throttle.After = []results.Count{{Name: "cpu0", Count: 2},
		{Name: "cpu1", Count: 1}}, []results.Count{{Name: "cpu0", Count: 5}, {Name: "cpu1", Count: 1}}
	m.KernelLog = results.KernelLog{Lost: 3, Lines: []string{"[   12.500000] mce: hot",
		"[    9.000000] early", "[   14.300000] late", "no stamp"}}
	r.Process.Findings = []string{"odd"}
	return r
}

func TestEvents(t *testing.T) {
	r := hotRun()
	var got []string
	for _, e := range eventsOf(r) {
		got = append(got, e.Where(len(r.WallNS))+" | "+e.Text)
	}
	want := []string{
		"before the first iteration | before the run: a 41.0 °C, b 42.4 °C",
		"before the first iteration | kernel: [    9.000000] early",
		"at some time during the run | throttled: cpu0 rose by 3",
		"iteration 3 | kernel: [   12.500000] mce: hot",
		"after the last iteration | after the run: a 58.1 °C",
		"after the last iteration | kernel: [   14.300000] late",
		" | kernel: no stamp",
		" | 3 kernel messages were lost",
		" | odd",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestIterationOf: a message belongs to the last iteration that began before.
func TestIterationOf(t *testing.T) {
	external := hotRun()
	external.Clock = "external"
	durations := hotRun()
	durations.StartNS = nil
	for _, c := range []struct {
		name string
		r    *results.Record
		line string
		want float64
	}{
		{"at the very begin", hotRun(), "[   10.000000] x", 0},
		{"just before it", hotRun(), "[    9.999999] x", -0.5},
		{"between two", hotRun(), "[   11.050000] x", 0},
		{"in the last", hotRun(), "[   14.299999] x", 3},
		{"at its end", hotRun(), "[   14.300000] x", 3.5},
		{"the suite's own clock", external, "[   12.000000] x", math.NaN()},
		{"durations only", durations, "[   12.000000] x", math.NaN()},
		{"no stamp", hotRun(), "x", math.NaN()},
		{"nothing", &results.Record{Clock: "CLOCK_MONOTONIC_RAW"}, "[   12.000000] x", math.NaN()},
	} {
		got := iterationOf(c.r, c.line)
		must.Be(t, got == c.want || math.IsNaN(got) && math.IsNaN(c.want), c.name, got, "want", c.want)
	}
}

// TestWatcherOnThePage: the end of warm-up is a mark between two iterations; the page has what was
// restarted before each execution, and why others were skipped.
func TestWatcherOnThePage(t *testing.T) {
	two, three := 2, 3
	for _, c := range []struct {
		name string
		stop *results.WatcherStop
		want string
	}{
		{"stable", &results.WatcherStop{Criterion: "cv", Warmup: &two, Stable: true, StopAt: &three},
			"1.5 the watcher saw the end of warm-up (cv), 2.5 the watcher stopped the run: " +
				"the measurement was complete"},
		{"not stable", &results.WatcherStop{Warmup: &two},
			"1.5 the longest warm-up that the watcher permits ended"},
		{"dry run", &results.WatcherStop{StopAt: &three, DryRun: true},
			"2.5 the watcher would have stopped the run: the measurement was complete"},
		{"not found", &results.WatcherStop{}, ""},
	} {
		var got []string
		for _, e := range watcherEvents(&results.Watcher{Stop: c.stop}) {
			got = append(got, fmt.Sprintf("%g %s", e.At, e.Text))
		}
		must.Equal(t, strings.Join(got, ", "), c.want, c.name)
	}

	d, facts := sample(), &Facts{}
	for i := range d.Pairs[1].Executions {
		r := throttledRun(d.Pairs[1].Key, i+1)
		r.Watcher = &results.Watcher{Stop: &results.WatcherStop{Criterion: "cv", Warmup: &two, Stable: true}}
		r.Reboot = []string{results.RebootHardware, results.RebootKexec, results.RebootSoft}[i]
		facts.Add(r)
	}
	d.Stopped = []dataset.Stopped{{Keys: []string{d.Pairs[1].Key.String()}, Executions: 3,
		Reason: "<b>equal</b>"}}
	out := write(t, Material{Document: analysed(t, d), Data: d, Facts: facts})
	page := string(out["keys/k0001.html"])
	for _, want := range []string{"after a restart of the hardware", "after a restart of the kernel (kexec)",
		"after a soft reboot", "iteration 2: the watcher saw the end of warm-up (cv)",
		"Finished after 3 executions; the rest was skipped as not needed: &lt;b&gt;equal&lt;/b&gt;."} {
		must.Contain(t, page, want, "the page lacks")
	}
	must.Contain(t, string(out["plots/k0001-0.svg"]), ">end of warm-up</text>", "the plot has no mark")
}

func FuzzKernelStamp(f *testing.F) {
	for _, s := range []string{"[   12.345678] mce", "[4294967295.999999]", "[]", "[.]", "[ 1.5] x",
		"[-1.000000]", "[1.+00001]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		ns, ok := kernelStamp(line)
		must.Need(t, (ok || ns == 0) && ns >= 0, line, ns, ok)
		if ok {
			again, _ := kernelStamp(fmt.Sprintf("[%5d.%06d] x", ns/1e9, ns%1e9/1e3))
			must.Equal(t, again, ns, line, "then")
		}
	})
}

// TestEventsInPictures: signs, texts and a legend are in the static plot.
func TestEventsInPictures(t *testing.T) {
	f := Figure{Title: "t", Column: "wall", Run: NewRun([]float64{1, 1, 1, 1}, nil)}
	plain := f.height()
	f.Run.Events = placed(eventsOf(hotRun()))
	svg := string(pageSVG(t, &f))
	for _, want := range []string{`class="kernel"`, `class="throttle"`, `class="temperature"`,
		"<title>iteration 3: kernel: [   12.500000] mce: hot</title>", ">42.4 °C<", ">58.1 °C<",
		">kernel message<"} {
		must.Contain(t, svg, want, "the plot lacks")
	}
	err := xml.Unmarshal([]byte(svg), new(struct{}))
	must.Be(t, err == nil && !strings.Contains(svg, "NaN"), err, svg)
	must.Be(t, f.height() > plain, "events have no room")
}

// TestPanels: columns are chosen by name, cores by how busy they are.
func TestPanels(t *testing.T) {
	count := func(core int, values ...uint64) dataset.Column {
		return dataset.Column{Name: "cycles", Core: core, Counts: values}
	}
	columns := []dataset.Column{
		count(3, 5, 5), count(0, 1, 90), count(1, 0, 0), count(2, 40, 40),
		{Name: "gc", Unit: "ns", Core: dataset.NoCore, Ints: []int64{5e8, dataset.MissingInt}},
		{Name: "faults", Core: dataset.NoCore, Counts: []uint64{1, 2}},
		{Name: "empty", Core: dataset.NoCore, Ints: []int64{}},
	}
	titles := func(list []Panel) (all []string) {
		for _, p := range list {
			all = append(all, p.title())
		}
		return all
	}
	for _, c := range []struct {
		names []string
		most  int
		want  []string
	}{
		{[]string{"user", "cycles"}, 8, []string{"gc (ms)", "cycles, core 0", "cycles, core 1",
			"cycles, core 2", "cycles, core 3"}},
		{[]string{"cycles"}, 2, []string{"cycles, core 0 (of the busiest 2 of 4)", "cycles, core 2"}},
		{[]string{"faults", "faults", "other"}, 8, []string{"faults"}},
		{nil, 8, nil},
	} {
		list := Panels(columns, c.names, c.most, nil)
		must.EqualList(t, titles(list), c.want, c.names)
		for _, p := range list {
			if p.Span.Low != 0 || !(p.Span.High > 0) || p.Core != dataset.NoCore &&
				p.Span != list[len(list)-1].Span {
				t.Errorf("%s: span %v", p.Title, p.Span)
			}
		}
	}
}

// TestInsetHidesLittle: where values are in the place of the inset, the axis is extended.
func TestInsetHidesLittle(t *testing.T) {
	for name, values := range map[string][]float64{
		"a slowdown": append(levels(1, 300, 0.2), levels(2, 200, 1)...),
		"warmup":     append(levels(1, 250, 1), levels(2, 250, 0.2)...), "flat": levels(3, 400, 0.5),
	} {
		r := NewRun(values, nil)
		must.Be(t, r.hidden() <= 8, name, "hides", r.hidden(), "values")
	}
}

// lanesOf returns the lanes of an execution of 400 iterations of 0.3 s. The named kinds have an
// event in every step-th one.
func lanesOf(step int, kinds ...string) []explain.Lane {
	wall := dataset.Column{Name: dataset.Wall, Unit: dataset.Nanoseconds, Core: dataset.NoCore}
	e := dataset.Execution{}
	for i := range int64(400) {
		e.Starts, wall.Ints = append(e.Starts, i*3e8), append(wall.Ints, 3e8)
	}
	e.Columns = []dataset.Column{wall}
	for i := 0; i < 400; i += step {
		for _, kind := range kinds {
			e.Events = append(e.Events, results.Event{Kind: kind, TimeNS: e.Starts[i], DurationNS: 6e8,
				Name: hostile})
		}
	}
	return explain.NewTimeline(&e).Lanes
}

// TestLanes: every kind has a lane with its name below the run, bars last as long as their events,
// and columns stand for crowded ones.
func TestLanes(t *testing.T) {
	f := Figure{Title: "t", Column: "wall", Run: NewRun(levels(1, 400, 0.3), nil)}
	plain := f.height()
	f.Run.Lanes = lanesOf(200, explain.Kinds...)
	if got, want := f.height()-plain, lanesHeight(f.Run.Lanes); got != want || want < 11*laneRow {
		t.Errorf("the lanes take %g of %g", got, want)
	}
	svg := string(pageSVG(t, &f))
	for _, kind := range explain.Kinds {
		must.Contain(t, svg, ">"+kind+"</text>", "there is no lane")
		must.Be(t, slices.ContainsFunc(laneStyles, func(s laneStyle) bool { return s.kind == kind }), kind,
			"has no sign")
	}
	// the first event lasts two iterations: to 2.5 on an axis from 1 to 400 that is 786 units long
	bars := regexp.MustCompile(`class="compile" d="M92 ([0-9.]+)L95 `).FindAllString(svg, -1)
	if len(bars) != 1 || xml.Unmarshal([]byte(svg), new(struct{})) != nil || strings.Contains(svg, "NaN") {
		t.Errorf("bars %q", bars)
	}
	f.Run.Lanes = lanesOf(1, "gc")
	crowded := regexp.MustCompile(`class="gc" d="([^"]*)"`).FindStringSubmatch(string(pageSVG(t, &f)))
	n := strings.Count(crowded[1], "M")
	must.Be(t, n >= 200 && n <= 786/laneColumn+1, n, "columns for 400 events")
}

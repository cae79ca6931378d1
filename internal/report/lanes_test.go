package report

import (
	"encoding/xml"
	"regexp"
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/explain"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

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

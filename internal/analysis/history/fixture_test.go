package history

import (
	"compress/gzip"
	"encoding/csv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"krund/internal/experiment/fixtures"
	"krund/rig/must"
)

func studentTail(t, freedom float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: freedom}.Survival(t)
}

type otavaCases struct {
	Series []float64
	Cases  []struct {
		Window    int     `json:"window_len"`
		Level     float64 `json:"max_pvalue"`
		Magnitude float64 `json:"min_magnitude"`
		Indexes   []int
	}
}

// TestRival: the implementation of otava's method finds what otava finds.
func TestRival(t *testing.T) {
	var o otavaCases
	fixtures.JSON(t, fixtures.Path(t, "history/otava/tigerbeetle.json"), &o)
	for _, c := range o.Cases {
		must.EqualList(t, otava(o.Series, c.Window, c.Level, c.Magnitude), c.Indexes, "p", c.Level,
			"magnitude", c.Magnitude)
	}
	t.Logf("%d cases", len(o.Cases))
}

// TestTigerBeetle: of the history with which otava is tested, which has one value per version, each
// change of 5 % that otava finds is found.
func TestTigerBeetle(t *testing.T) {
	var o otavaCases
	fixtures.JSON(t, fixtures.Path(t, "history/otava/tigerbeetle.json"), &o)
	values := make([][]float64, len(o.Series))
	for i, v := range o.Series {
		values[i] = []float64{v}
	}
	h := Of(labels(len(values)), []Key{{Name: "tigerbeetle", Values: values}}, Options{}).Keys[0]
	for _, c := range h.Changes {
		t.Logf("%d (%d to %d), found with %d: %+.1f %% (%.1f, %.1f)", c.Version, c.First, c.Last, c.Found,
			100*(c.Ratio-1), 100*(c.Low-1), 100*(c.High-1))
	}
	for _, want := range o.Cases[0].Indexes {
		must.Be(t, slices.ContainsFunc(h.Changes, func(c Change) bool {
			return c.First <= want &&
				c.Last >= want
		}), "no change at", want)
	}
}

// night is what a machine measured at a time.
type night struct{ date, machine, revision string }

// sandmark reads the nights of OCaml's benchmarks on machines (KRUND_FIXTURES) with their seconds,
// one value per key. Versions are nights in the order of their dates.
func sandmark(t *testing.T, files ...string) ([]Version, []Key) {
	t.Helper()
	type row struct {
		night
		key     string
		seconds float64
	}
	var rows []row
	for _, file := range files {
		machine, _, _ := strings.Cut(filepath.Base(file), "-")
		f := must.Get(os.Open(file))(t)
		records := must.Get(csv.NewReader(must.Get(gzip.NewReader(f))(t)).ReadAll())(t)
		must.Do(t, f.Close())
		for _, r := range records[1:] {
			seconds := must.Get(strconv.ParseFloat(r[3], 64))(t)
			rows = append(rows, row{night{r[0], machine, r[1]}, r[2], seconds})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return strings.Compare(a.date, b.date) })
	c := NewCollector(nil)
	at := map[night]string{}
	for _, r := range rows {
		label, ok := at[r.night]
		if !ok {
			v, _ := c.find(r.revision, "revision")
			label = c.versions[c.night(v, r.machine)].Label
			at[r.night] = label
		}
		if r.seconds > 0 {
			k := c.key(r.key, r.machine)
			k.Values[c.at[label]] = append(k.Values[c.at[label]], r.seconds)
		}
	}
	versions, keys, _ := c.Collected()
	return versions, keys
}

// TestSandmark: of two machines that measured the same revisions night after night, the two events
// of a machine that are known are one line each, and the machine's; no line blames the program
// where it did not change (4.12-stock).
func TestSandmark(t *testing.T) {
	lines := map[string][]string{}
	for _, file := range fixtures.Glob(t, "history", "sandmark", "*.gz") {
		_, line, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".csv.gz"), "-")
		lines[line] = append(lines[line], file)
	}
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		versions, keys := sandmark(t, lines[line]...)
		h := Of(versions, keys, Options{})
		verdicts := map[Verdict]int{}
		for _, e := range h.Events {
			verdicts[e.Verdict]++
		}
		t.Logf("%s: %d versions, %d keys, %d alerts, %d events: %v", line, len(versions), len(keys),
			h.Alerts(), len(h.Events), verdicts)
		if line != "4.12-stock" {
			continue
		}
		must.Equal(t, verdicts[ByProgram], 0)
		must.Be(t, len(h.Events) <= 20, len(h.Events), "events")
		// 2021-08-19 and 2021-10-07
		for _, label := range []string{"14856602", "98449194, night 12"} {
			at := slices.IndexFunc(versions, func(v Version) bool { return v.Label == label })
			var of []Event
			for _, e := range h.Events {
				if e.Machine == "turing" && e.First-beside <= at && at <= e.Last+beside {
					of = append(of, e)
				}
			}
			must.Need(t, len(of) == 1, label, of)
			must.Be(t, of[0].Verdict == ByMachine && len(of[0].Keys) >= 10, label, of[0])
		}
	}
}

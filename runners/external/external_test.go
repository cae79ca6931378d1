package external

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"krund/rig/must"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name       string
		stdout     string
		iterations int
		want       Result
	}{
		{
			"all counts",
			`{"wallclock_times": [0.25, 1.5], "core_cycle_counts": [[1, 2], [3, 18446744073709551615]], "aperf_counts": [[5, 6], [7, 8]], "mperf_counts": [[0, 9], [10, 11]]}`,
			2,
			Result{
				WallNS:     []int64{250_000_000, 1_500_000_000},
				CoreCycles: [][]uint64{{1, 2}, {3, 1<<64 - 1}},
				APERF:      [][]uint64{{5, 6}, {7, 8}},
				MPERF:      [][]uint64{{0, 9}, {10, 11}},
			},
		},
		{
			"no counts, white space, another order",
			"\n {\"mperf_counts\": [],\r\n\"aperf_counts\":[], \"core_cycle_counts\": [] , " +
				"\"wallclock_times\":[1e-9,0,-0.0,0.0000000006, 3E+1]}\n\n",
			5,
			Result{WallNS: []int64{1, 0, 0, 1, 30_000_000_000}},
		},
		{
			"only some counts",
			`{"wallclock_times": [2], "core_cycle_counts": [], "aperf_counts": [[5], [7]], "mperf_counts": [[0], [10]]}`,
			1,
			Result{WallNS: []int64{2_000_000_000}, APERF: [][]uint64{{5}, {7}}, MPERF: [][]uint64{{0}, {10}}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := must.Get(result([]byte(test.stdout), test.iterations))(t)
			must.Be(t, reflect.DeepEqual(got, test.want), got, test.want)
		})
	}
}

// The keys by shorter names.
const (
	keyWall   = "wallclock_times"
	keyCycles = "core_cycle_counts"
	keyAPERF  = "aperf_counts"
	keyMPERF  = "mperf_counts"
)

// with returns an object for two iterations on one core, with one value replaced.
func with(key, value string) string {
	fields := map[string]string{
		keyWall: "[1, 2]", keyCycles: "[[1, 2]]", keyAPERF: "[[1, 2]]", keyMPERF: "[[1, 2]]",
	}
	fields[key] = value
	return fmt.Sprintf(
		`{"wallclock_times": %s, "core_cycle_counts": %s, "aperf_counts": %s, "mperf_counts": %s}`,
		fields[keyWall], fields[keyCycles], fields[keyAPERF], fields[keyMPERF])
}

func TestParseRefuses(t *testing.T) {
	sound := with(keyWall, "[1, 2]")
	must.Get(result([]byte(sound), 2))(t, "the sound one")
	tests := []struct{ name, stdout, want string }{
		{"nothing", "", "nothing on stdout"},
		{"blank", " \n\t\n", "nothing on stdout"},
		{"before", "starting up\r\n" + sound,
			`stdout begins with "starting up"; want one JSON object and nothing before it`},
		{"after", sound + "\nbye\nbye", `stdout continues with "bye" after the JSON object`},
		{"two objects", sound + sound, "stdout continues with"},
		{"a list", "[" + sound + "]", "stdout begins with"},
		{"cut off", sound[:len(sound)-5], "incomplete"},
		{"only a brace", "{", "incomplete"},
		{"no colon", `{"wallclock_times" [1]}`, "at byte"},
		{"no key", `{ `, "incomplete"}, {"part of a key", `{"wall`, "incomplete"},
		{"key without quotes", `{wallclock_times: [1]}`, "at byte"},
		{"lacks all", "{}", "lacks wallclock_times, core_cycle_counts, aperf_counts, mperf_counts"},
		{"lacks one", strings.Replace(sound, `, "mperf_counts": [[1, 2]]`, "", 1), "lacks mperf_counts"},
		{"fifth key", strings.Replace(sound, "{", `{"extra": 1, `, 1), `unknown key "extra"; want exactly`},
		{"case", strings.Replace(sound, "aperf", "APERF", 1), `unknown key "APERF_counts"`},
		{"long key", `{"` + strings.Repeat("k", 1000) + `": 1}`, `"... has more than 64 characters`},
		{"twice", strings.Replace(sound, "{", `{"aperf_counts": [], `, 1), "key aperf_counts occurs twice"},
		{"too few", with(keyWall, "[1]"), "wallclock_times has 1 numbers for 2 iterations"},
		{"too many", with(keyWall, "[1,2,3]"), "wallclock_times has 3 numbers for 2 iterations"},
		{"none", with(keyWall, "[]"), "wallclock_times has 0 numbers for 2 iterations"},
		{"not a list", with(keyWall, "7"), "wallclock_times must contain a list"},
		{"nested", with(keyWall, "[[1, 2]]"), `wallclock_times[0] is "[1"; want seconds`},
		{"string", with(keyWall, `["1", "2"]`), "want seconds"},
		{"truth", with(keyWall, "[true, 2]"), `wallclock_times[0] is "true"`},
		{"null", with(keyWall, "[null, 2]"), `wallclock_times[0] is "null"`},
		{"null counts", with(keyAPERF, "null"), "aperf_counts must contain a list"},
		{"null core", with(keyAPERF, "[null]"), "aperf_counts[0] must contain a list"},
		{"negative", with(keyWall, "[1, -0.5]"), `wallclock_times[1] is "-0.5"; want seconds, 0 or more`},
		{"huge", with(keyWall, "[1, 1e300]"), `wallclock_times[1] is "1e300"`},
		{"infinite", with(keyWall, "[1, 1e999]"), `wallclock_times[1] is "1e999"`},
		{"NaN", with(keyWall, "[1, NaN]"), `wallclock_times[1] is "NaN"; want seconds`},
		{"Infinity", with(keyWall, "[1, Infinity]"), `wallclock_times[1] is "Infinity"`},
		{"counts too short", with(keyCycles, "[[1]]"), "core_cycle_counts[0] has 1 numbers for 2 iterations"},
		{"second core too short", with(keyCycles, "[[1, 2], [1]]"), "core_cycle_counts[1] has 1 numbers"},
		{"flat counts", with(keyCycles, "[1, 2]"), "core_cycle_counts[0] must contain a list"},
		{"fraction", with(keyMPERF, "[[1, 2.0]]"), `mperf_counts[0][1] is "2.0"; want a whole number`},
		{"negative count", with(keyMPERF, "[[-1, 2]]"), `mperf_counts[0][0] is "-1"`},
		{"65 bits", with(keyMPERF, "[[1, 18446744073709551616]]"), "mperf_counts[0][1]"},
		{"fewer cores", strings.ReplaceAll(with(keyCycles, "[[1, 2], [3, 4]]"), `[[1, 2]]`, `[[5, 6]]`),
			"aperf_counts has 1 cores, another count has 2"},
		{"other cores", with(keyMPERF, "[[1, 2], [3, 4]]"),
			"core_cycle_counts has 1 cores, another count has 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := result([]byte(test.stdout), 2)
			must.Need(t, err != nil, "accepted as", got)
			must.Contain(t, err.Error(), test.want, "error", "in it")
		})
	}
}

// FuzzParse checks that accepted output has the documented shape and that encoding/json agrees with
// its numbers.
func FuzzParse(f *testing.F) {
	f.Add([]byte(with(keyWall, "[0.25, 1e-3]")), 2)
	f.Add([]byte(with(keyMPERF, "[]")), 2)
	f.Add([]byte(with(keyAPERF, `[[1, 2], [3, "4"]]`)), 2)
	f.Add([]byte(`{"wallclock_times": [NaN]}`), 1)
	f.Add([]byte("junk {"), 0)
	f.Fuzz(func(t *testing.T, stdout []byte, iterations int) {
		r, err := result(stdout, iterations)
		if err != nil {
			return
		}
		var plain struct {
			Wall   []float64  `json:"wallclock_times"`
			Cycles [][]uint64 `json:"core_cycle_counts"`
			APERF  [][]uint64 `json:"aperf_counts"`
			MPERF  [][]uint64 `json:"mperf_counts"`
		}
		must.Do(t, json.Unmarshal(stdout, &plain), "accepted what encoding/json refuses")
		must.Need(t, len(r.WallNS) == iterations && len(plain.Wall) == iterations, len(r.WallNS), "times for",
			iterations, "iterations")
		for i, ns := range r.WallNS {
			d := float64(ns) - plain.Wall[i]*1e9
			must.Need(t, ns >= 0 && d >= -0.5 && d <= 0.5, plain.Wall[i], "s became", ns, "ns")
		}
		for _, c := range []struct{ got, plain [][]uint64 }{{r.CoreCycles, plain.Cycles},
			{r.APERF, plain.APERF}, {r.MPERF, plain.MPERF}} {
			must.Need(t, len(c.got) == len(c.plain) && (len(c.got) == 0 || len(c.got) == r.Cores()),
				len(c.got), "cores of", r.Cores())
			for core := range c.got {
				must.Need(t, len(c.got[core]) == iterations &&
					(reflect.DeepEqual(c.got[core], c.plain[core]) || iterations <= 0), "core", core,
					c.plain[core], "became", c.got[core])
			}
		}
	})
}

// result reads a complete text twice, in one piece and byte by byte, with the same result.
func result(stdout []byte, iterations int) (Result, error) {
	whole, pieces := NewReader(iterations), NewReader(iterations)
	if n, err := whole.Write(stdout); n != len(stdout) || err != nil {
		panic("a Reader is a writer that never fails")
	}
	for i := range stdout {
		_, _ = pieces.Write(stdout[i : i+1]) // never fails
	}
	r, err := whole.Result()
	if again, errAgain := pieces.Result(); !reflect.DeepEqual(r, again) ||
		fmt.Sprint(err) != fmt.Sprint(errAgain) {
		panic(fmt.Sprintf("in one piece %+v, %v; in many %+v, %v", r, err, again, errAgain))
	}
	return r, err
}

// TestBounds: output beyond the limits is rejected at once, and what follows it is skipped.
func TestBounds(t *testing.T) {
	many := func(head, text string, n int) string { return head + strings.Repeat(text, n) }
	for _, test := range []struct {
		name, stdout string
		iterations   int
		want         string
	}{
		{"number", many(`{"wallclock_times": [`, "7", 1<<20), 2, "more than 64 characters"},
		{"key", many(`{"`, "k", 1<<20), 2, "more than 64 characters"},
		{"cores", many(`{"aperf_counts": [`, "[1],", 9000), 1, "aperf_counts has more than 8192 cores"},
		{"cores without iterations", many(`{"aperf_counts": [`, "[],", 9000), 0,
			"aperf_counts has more than 8192 cores"},
		{"counts", many(`{"aperf_counts": [`, "["+strings.Repeat("1,", 1<<17-1)+"1],", 20), 1 << 17,
			"more than 2097152 counts in total"},
		{"list beyond the iterations", many(`{"mperf_counts": [[1`, ",1", 100_000) + "]", 2,
			"mperf_counts[0] has 100001 numbers for 2 iterations"},
		{"white space before the object", many(" ", "   ", MaxBytes/3), 2, "more than 256 MB on stdout"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := NewReader(test.iterations)
			_, _ = r.Write([]byte(test.stdout))
			_, _ = r.Write([]byte(test.stdout[:1]))
			must.Refused(r.Result())(t, test.want)
		})
	}
}

// TestNothingIsAllocated: krund must not collect garbage while it reads.
func TestNothingIsAllocated(t *testing.T) {
	text := `{"wallclock_times": [0` + strings.Repeat(", 1e-3", 1<<16-1) + `]`
	n := testing.AllocsPerRun(1, func() { _, _ = parse(strings.NewReader(text), 1<<16) })
	must.Be(t, n < 100, n, "allocations")
}

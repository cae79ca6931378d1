package schedule

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

func manyKeys(n int) []key.Key {
	keys := make([]key.Key, n)
	for i := range keys {
		keys[i] = key.Key{Benchmark: fmt.Sprintf("b%d", i), VM: "C", Variant: "v"}
	}
	return keys
}

// TestPlanGolden pins the order, because schedules may be rebuilt from it years later.
// testdata/orders.py computes it from the definition in doc.go.
func TestPlanGolden(t *testing.T) {
	want := must.Get(os.ReadFile(filepath.Join("testdata", "interleaved.golden")))(t)
	var got strings.Builder
	for _, seed := range []uint64{1, 2, 18446744073709551615} {
		fmt.Fprintf(&got, "seed %d\n", seed)
		for s := range Plan(manyKeys(9), Each(4), Interleaved, seed) {
			end := " "
			if s.Index%9 == 8 {
				end = "\n"
			}
			fmt.Fprint(&got, s.Key.Benchmark[1:], end)
		}
	}
	must.Equal(t, got.String(), string(want), "want", want)
}

// TestBlockedGolden pins the order of blocks in the same way. The keys of the three groups have
// three, two and four arms, and are mixed in the list.
func TestBlockedGolden(t *testing.T) {
	want := must.Get(os.ReadFile(filepath.Join("testdata", "blocked.golden")))(t)
	var keys []key.Key
	for _, name := range []string{"0a", "1a", "0b", "2a", "2b", "0c", "2c", "1b", "2d"} {
		keys = append(keys, key.Key{Benchmark: name[:1], VM: "C", Variant: "v", Arm: name[1:]})
	}
	var got strings.Builder
	for _, seed := range []uint64{1, 2, 18446744073709551615} {
		fmt.Fprintf(&got, "seed %d\n", seed)
		for s := range Plan(keys, Each(4), Blocked, seed) {
			end := " "
			if s.Index%9 == 8 {
				end = "\n"
			}
			fmt.Fprint(&got, s.Key.Benchmark, s.Key.Arm, end)
			must.Equal(t, s.Pexec, s.Index/9+1, "slot", s.Index, "is in block")
		}
	}
	must.Equal(t, got.String(), string(want), "want", want)
}

// TestPlanIsUniform: over many rounds, every key occurs at every position equally often. With 12
// keys and 6000 rounds, each count is binomial with mean 500 and standard deviation 21.4. The sum
// of squares is chi-squared with 121 degrees of freedom, whose 0.9998 quantile is 181 (R:
// qchisq(0.9998, 121)). The seed is fixed, so the test is deterministic.
func TestPlanIsUniform(t *testing.T) {
	const n, rounds = 12, 6000
	var counts [n][n]float64
	keys := manyKeys(n)
	for s := range Plan(keys, Each(rounds), Interleaved, 1) {
		counts[slices.Index(keys, s.Key)][s.Index%n]++
	}
	chi := 0.0
	for _, row := range counts {
		for _, c := range row {
			const mean = float64(rounds) / n
			chi += (c - mean) * (c - mean) / mean
		}
	}
	must.Be(t, chi <= 181, "chi-squared is", chi)
}

func TestPlanUnknownOrder(t *testing.T) {
	defer func() {
		must.Be(t, recover() != nil, "an unknown order is taken")
	}()
	Plan(manyKeys(1), Each(1), "shuffled", 1)
}

// TestOffset pins layouts, because records may be compared with them years later: the first values
// are those of orders.py. All 256 occur about equally often.
func TestOffset(t *testing.T) {
	var first []int
	var links []uint32
	for number := 1; number <= 5; number++ {
		first = append(first, Offset(2026, number))
		links = append(links, LinkSeed(2026, number))
	}
	wantLinks := []uint32{1641434292, 1051126720, 505911670, 1741578193, 1555940808}
	must.EqualList(t, links, wantLinks)
	must.EqualList(t, first, []int{3280, 240, 1824, 1664, 48})
	seen := map[int]int{}
	for number := range 25600 {
		offset := Offset(1, number)
		must.Need(t, offset%16 == 0 && offset >= 0 && offset < LayoutBytes, offset)
		seen[offset]++
	}
	for offset, n := range seen {
		// binomial with mean 100 and standard deviation 10; 256 values, so 6 deviations
		must.Be(t, len(seen) == 256 && n >= 40 && n <= 160, offset, "occurs", n, "times, of", len(seen),
			"values")
	}
}

// TestBelow: with n = 3/4 of 2^64, one draw in four is repeated, because 2^64 = 4 * 2^62 numbers
// cannot be divided evenly among 3 * 2^62.
func TestBelow(t *testing.T) {
	const n, quarter = 3 << 62, 1 << 62
	got, raw := rand.NewPCG(1, 1), rand.NewPCG(1, 1)
	repeated := 0
	for range 1000 {
		x := raw.Uint64()
		for 3*(x%4) == 0 { // the low 64 bits of x * 3 * 2^62, in units of 2^62
			x = raw.Uint64()
			repeated++
		}
		// x * 3/4, without overflow
		want := x/4*3 + x%4*3/4
		have := below(got, n)
		must.Need(t, have == want, "got", have, "want", want, "of", quarter)
	}
	must.Be(t, repeated >= 200, "only", repeated, "draws were repeated")
}

// TestShards: the parts of an experiment together have each slot of the whole once, in its order,
// and each part has whole blocks.
func TestShards(t *testing.T) {
	const text = `[experiment]
executions = 7
seed = 5
%s
[arms.a]
[arms.b]
args = ["-x"]
[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
x = { parameter = 1 }
y = { parameter = 1, executions = 2 }
`
	plan := func(shard string) []Slot {
		c := must.Get(config.Parse("/x.toml", []byte(fmt.Sprintf(text, shard)), "host", nil))(t)
		slots := slices.Collect(PlanOf(StagesOf(c)))
		must.Equal(t, len(slots), c.Slots(), shard, "slots, Slots says")
		for i := range slots {
			must.Need(t, slots[i].Index == i, shard, "slot", i, "has index", slots[i].Index)
			slots[i].Index = 0
		}
		return slots
	}
	whole := plan("")
	rounds := map[string][]int{} // by part
	var union []Slot
	for _, part := range []string{"1/3", "2/3", "3/3"} {
		slots := plan(fmt.Sprintf("shard = %q", part))
		union = append(union, slots...)
		for _, s := range slots {
			if n := len(rounds[part]); n == 0 || rounds[part][n-1] != s.Pexec {
				rounds[part] = append(rounds[part], s.Pexec)
			}
		}
	}
	slices.SortStableFunc(union, func(a, b Slot) int { return a.Pexec - b.Pexec })
	must.Be(t, len(whole) == 7*2+2*2 && slices.Equal(union, whole), "the union differs", union, whole)
	want := map[string][]int{"1/3": {1, 4, 7}, "2/3": {2, 5}, "3/3": {3, 6}}
	must.Be(t, reflect.DeepEqual(rounds, want), rounds, want)
}

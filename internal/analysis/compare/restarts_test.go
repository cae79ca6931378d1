package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"krund/internal/analysis/classify"
	"krund/rig/must"
)

// ladder makes the table of `krunctl compare --by restart` of an experiment: before are the
// executions that follow a restart of the hardware, one in every, after those that follow a faster
// one. All in one boot of the hardware share that boot's deviation from the level, another one for
// each key. The executions of each kind have a standard deviation of their own, and the faster ones
// a shift. The order is round-robin, or with random a permutation of the keys in each round.
type ladder struct {
	name                    string
	keys, executions, every int
	boots, hardware, faster float64 // standard deviations
	random                  bool
}

func (l ladder) table(r *rand.Rand, shift float64) []row {
	rows, boot := make([]row, l.keys), make([]float64, l.keys)
	slot := 0
	for range l.executions {
		order := make([]int, l.keys)
		for i := range order {
			order[i] = i
		}
		if l.random {
			order = r.Perm(l.keys)
		}
		for _, k := range order {
			side, v := &rows[k].after, shift+l.faster*r.NormFloat64()
			if slot%l.every == 0 {
				for i := range boot {
					boot[i] = l.boots * r.NormFloat64()
				}
				side, v = &rows[k].before, l.hardware*r.NormFloat64()
			}
			slot++
			v = math.Exp(v + boot[k])
			*side = append(*side, reduced{Execution: Execution{Number: len(*side) + 1, Value: v,
				Class: classify.Flat}, mean: v})
		}
	}
	return rows
}

// same returns the share of tables with a key that is the same, and the share of such keys.
func (l ladder) same(tables int, shift float64) (ofTables, ofKeys float64) {
	r, o := rand.New(rand.NewPCG(4, 5)), Options{}.withDefaults()
	wrong := 0
	for range tables {
		f, n := decide(l.table(r, shift), false, o), 0
		for i := range f.rows {
			n += number(f.rows[i].change(0, o) == Same)
		}
		wrong += number(n > 0)
		ofKeys += float64(n) / float64(tables*l.keys)
	}
	return float64(wrong) / float64(tables), ofKeys
}

// TestRestarts: when executions after a faster restart differ by the margin, at most 5 % of the
// tables of `krunctl compare --by restart` have a key that is called the same, however few boots
// there are and however much varies between them.
func TestRestarts(t *testing.T) {
	const sd = 0.003
	for _, l := range []ladder{
		{"1 key, 15 executions, 3 boots", 1, 15, 5, 0, sd, sd, false},
		{"1 key, 3 boots, variation between them", 1, 15, 5, sd, sd, sd, false},
		{"1 key, 3 boots, only between them", 1, 15, 5, sd, sd / 10, sd / 10, false},
		{"1 key, 10 executions, 2 boots", 1, 10, 5, 0, sd, sd, false},
		{"4 keys of 20, 16 boots", 4, 20, 5, 0, sd, sd, false},
		{"4 keys of 20, variation between boots", 4, 20, 5, sd, sd, sd, false},
		{"4 keys of 20, only between boots", 4, 20, 5, sd, sd / 10, sd / 10, false},
		{"4 keys of 30, 5 boots, random", 4, 30, 24, sd, sd, sd, true},
		{"4 keys of 60, 10 boots, random, only between", 4, 60, 24, sd, sd / 10, sd / 10, true},
		{"2 keys of 40, 5 boots, only between", 2, 40, 16, sd, sd / 10, sd / 10, false},
		{"20 keys of 30, random", 20, 30, 5, sd, sd, sd, true},
		{"4 keys of 20, hardware varies 4 times as much", 4, 20, 5, 0, 4 * sd, sd, false},
		{"4 keys of 20, hardware varies a quarter", 4, 20, 5, 0, sd / 4, sd, false},
		{"1 key of 15, hardware varies 4 times as much", 1, 15, 5, 0, 4 * sd, sd, false},
	} {
		tables := must.Often(300, 1000)
		margin := math.Log1p(DefaultMargin)
		_, found := l.same(tables, 0)
		for _, shift := range []float64{margin, -margin} {
			rate, _ := l.same(tables, shift)
			t.Logf("%-48s %.3f of the tables at the margin; no difference: %.3f of the keys", l.name, rate,
				found)
			low, _ := Binomial(int(math.Round(rate*float64(tables))), tables, 0.99)
			must.Be(t, low <= 0.05, l.name, rate, "of the tables")
		}
	}
}

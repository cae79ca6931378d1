package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"krund/rig/must"
)

// family of groups: benchmarks whose levels share the executions of one base.
type sharedBase struct {
	benchmarks, levels, executions int
	rounds                         float64 // standard deviation of what the keys of a round have in common
}

// table makes the rows of a table of groups, as OfGroups does: the base of a benchmark is before
// each of its levels. Executions have the spread of JMH keys, the same for all levels.
func (s sharedBase) table(r *rand.Rand) []row {
	var rows []row
	common := make([]float64, s.executions)
	for i := range common {
		common[i] = s.rounds * r.NormFloat64()
	}
	for range s.benchmarks {
		sd := 0.016 * math.Exp(1.286*r.NormFloat64())
		one := func() []reduced {
			list := make([]reduced, s.executions)
			for i := range list {
				v := math.Exp(common[i] + sd*r.NormFloat64())
				list[i] = reduced{Execution: Execution{Number: i + 1, Value: v}, mean: v}
			}
			return list
		}
		base := one()
		for range s.levels {
			rows = append(rows, row{base, one()})
		}
	}
	return rows
}

// TestGroupsSimulated: tables of groups without a change have a verdict in at most 5 %, although
// their rows share the base, and a change of 5 % is found at least as often as by Welch's test with
// Holm's correction. With so many tables the error of a rate of 5 % is 0.7 % (standard error; slow:
// 0.3 %).
func TestGroupsSimulated(t *testing.T) {
	tables := must.Often(1000, 6000)
	for _, s := range []sharedBase{{4, 3, 5, 0}, {1, 4, 10, 0}, {5, 4, 10, 0}, {10, 2, 5, 0},
		{4, 3, 10, 0.02}, {2, 4, 2, 0}} {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			t.Parallel()
			c := scenario{paired: s.rounds > 0, table: s.table}.run(tables, 33)
			wrong := float64(c.falseTables) / float64(c.tables)
			most := 0.05 + 3*math.Sqrt(0.05*0.95/float64(tables))
			found, welch := float64(c.found[2])/float64(c.keys), float64(c.foundWelch[2])/float64(c.keys)
			t.Logf("%+v: %.1f %% of tables wrong (Welch %.1f), +5 %% found in %.1f %% (Welch %.1f)", s,
				100*wrong,
				100*float64(c.falseWelch)/float64(c.tables), 100*found, 100*welch)
			must.Be(t, wrong <= most, wrong, "of the tables without a change have a verdict")
			slack := 2 * math.Sqrt(0.25/float64(tables*s.benchmarks))
			must.Be(t, found >= welch-slack, found, "found, by Welch", welch)
		})
	}
}

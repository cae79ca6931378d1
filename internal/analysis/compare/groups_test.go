package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// levelled makes an experiment with 8 executions of each key, whose levels differ by 0.2 %, in
// rounds that drift by 2 %.
func levelled(t *testing.T, levels map[string]float64, order ...string) Side {
	t.Helper()
	d := &dataset.Dataset{Info: dataset.Info{Source: "x.krun", Machine: "lab1"}}
	r := rand.New(rand.NewPCG(4, 5))
	for _, name := range order {
		k := must.Get(key.Parse(name))(t)
		for n := range 8 {
			level := levels[name] * math.Exp(0.02*float64(n)+0.002*r.NormFloat64())
			d.Add(k, execution(n+1, steadily(r, 60, level)))
		}
	}
	s := analyzed(t, d)
	s.Doc.Source.Name = "x.krun"
	return s
}

func compared(t *testing.T, c Choice, of ...Side) *Result {
	t.Helper()
	g := must.Get(c.Groups(of...))(t)
	return must.Get(OfGroups(g, Options{}))(t)
}

// cells are the verdicts of a table: "row level: verdict, ratio".
func cells(r *Result) []string {
	var list []string
	for _, c := range r.Changes {
		text := fmt.Sprintf("%s %s: %s", c.Row, c.Level, c.Verdict)
		if c.Steady != nil {
			text += fmt.Sprintf(" %.1f", float64(c.Steady.Ratio.Estimate))
		} else {
			text += ": " + c.Reason
		}
		list = append(list, text)
	}
	return list
}

// TestGroupsByVM: variants belong to their VMs, the base is the first VM of the configuration, and
// a key without counterpart is named.
func TestGroupsByVM(t *testing.T) {
	levels := map[string]float64{"fasta:Py:py": 3, "nbody:Py:py": 1, "fasta:C:c": 1, "nbody:C:c": 1,
		"fasta:JS:js": 2, "heap:JS:js": 2}
	s := levelled(t, levels, "fasta:Py:py", "nbody:Py:py", "fasta:C:c", "nbody:C:c", "fasta:JS:js",
		"heap:JS:js")
	s.Data.Planned = []key.Key{{Benchmark: "fasta", VM: "C", Variant: "c"}}
	s.Data.Rounds = true
	r := compared(t, Choice{}, s)
	must.EqualList(t, cells(r), []string{"fasta Py: worse 3.0", "nbody Py: same 1.0", "fasta JS: worse 2.0",
		"nbody JS: cannot tell: JS has nothing to compare with nbody:C:c",
		"heap JS: cannot tell: C has nothing to compare with it"})
	must.Equal(t, r.Changes[0].Base, "fasta:C:c")
	must.Equal(t, r.Changes[0].Key, "fasta:Py:py")
	must.Equal(t, r.Groups.Chosen, "compared by vm, --by chooses something else; the base is C, the first "+
		"VM of the configuration; --base NAME chooses another one")
	must.Be(t, r.Paired, "8 rounds are blocks")
	must.Equal(t, r.FailOn(), "", "VMs only differ")
	s.Data.Rounds = false
	r = compared(t, Choice{By: ByVM, Base: "Py"}, s)
	must.Be(t, !r.Paired && r.Groups.Chosen == "" && r.Groups.Base == "Py", r.Groups)
	must.EqualList(t, r.Groups.Levels, []string{"C", "JS"})
	must.EqualList(t, r.Groups.Rows, []string{"fasta", "nbody", "heap"})
}

// TestGroupsSameEngine: a table of one VM against another has the numbers of two experiments.
func TestGroupsSameEngine(t *testing.T) {
	both := levelled(t, map[string]float64{"a:C:x": 1, "b:C:x": 2, "a:D:x": 1.02, "b:D:x": 1.99}, "a:C:x",
		"b:C:x", "a:D:x", "b:D:x")
	got := compared(t, Choice{By: ByVM}, both)
	one := func(pairs ...int) Side {
		s := Side{Data: &dataset.Dataset{}}
		doc := *both.Doc
		s.Doc, doc.Pairs = &doc, nil
		for _, i := range pairs {
			p, a := both.Data.Pairs[i], both.Doc.Pairs[i]
			p.Key.VM = "C"
			a.VM, a.Key = "C", p.Key.String()
			s.Data.Pairs, doc.Pairs = append(s.Data.Pairs, p), append(doc.Pairs, a)
		}
		return s
	}
	want := mustCompare(t, one(0, 1), one(2, 3), Options{})
	for i := range want.Changes {
		must.Be(t, reflect.DeepEqual(got.Changes[i].Steady, want.Changes[i].Steady), got.Changes[i].Steady,
			want.Changes[i].Steady)
	}
	must.Equal(t, got.Level, want.Level, "one level for the table")
}

// TestGroupsOfExecutions: machines and kinds of restart split the executions of a key.
func TestGroupsOfExecutions(t *testing.T) {
	s := levelled(t, map[string]float64{"a:C:x": 1}, "a:C:x")
	e := s.Data.Pairs[0].Executions
	for i := range e {
		e[i].Machine, e[i].Restart = "lab1", "hardware"
		if i%2 == 1 {
			e[i].Machine, e[i].Restart = "lab2", "kexec"
		}
		if i == 7 {
			e[i].Restart = "soft"
		}
	}
	r := compared(t, Choice{By: ByMachine}, s)
	must.Be(t, len(r.Changes) == 1 && r.Before.Arm == "lab1" && r.After.Arm == "lab2", r.Before, r.After)
	effect := r.Changes[0].Steady
	must.Be(t, effect.BeforeExecutions == 4 && effect.AfterExecutions == 4 && r.Changes[0].Machines == nil,
		effect)
	must.Equal(t, r.Changes[0].CountsBefore.Total(), 4)
	r = compared(t, Choice{By: ByRestart}, s)
	must.Be(t, len(r.Changes) == 2 && r.Changes[0].Key == "a:C:x@kexec" && r.Changes[1].Level == "soft",
		r.Changes)
	must.Equal(t, r.FailOn(), "changed")
	for i := range e {
		e[i].Restart = "kexec"
	}
	must.Refused(Choice{By: ByRestart}.Groups(s))(t, "no execution after a restart of kind hardware")
}

// TestGroupsOfArms: several arms are one table, with the null arm beside; one arm is what it was.
func TestGroupsOfArms(t *testing.T) {
	of := analyzed(t, armsOf(t, 12, 1.03, 1))
	of.Data.Blocked = true
	of.Data.Arms = []dataset.Arm{{Name: "base"}, {Name: "new"}, {Name: "null", Null: true}}
	r := compared(t, Choice{}, of)
	must.Equal(t, r.FailOn(), "worse")
	must.Be(t, r.Paired && r.Counts[Worse] == 3 && r.NullArm != nil && r.After.Arm == "new" &&
		r.Changes[0].Key == "a:v:x" && r.Changes[0].Base == "a:v:x@base", r.Counts, r.Changes[0].Base)
	of.Data.Arms[2].Null = false
	r = compared(t, Choice{By: ByArm}, of)
	must.Be(t, r.Paired && r.Counts[Worse] == 3 && r.Counts[Same] == 3 && r.NullArm == nil &&
		r.Changes[5].Key == "c:v:x@null", r.Counts)
	r = compared(t, Choice{By: ByArm, Base: "null", Only: []string{"new"}}, of)
	must.Be(t, r.Counts[Worse] == 3 && r.Before.Arm == "null", r.Counts)
	of.Data.Arms = append(of.Data.Arms[:2:2], dataset.Arm{Name: "other"}, of.Data.Arms[2])
	of.Data.Arms[3].Null = true
	for i := range of.Data.Pairs {
		if k := &of.Data.Pairs[i].Key; k.Arm == "null" { // a second copy, under another name
			p := of.Data.Pairs[i]
			p.Key.Arm = "other"
			d := of.Doc.Pairs[i]
			d.Arm, d.Key = "other", p.Key.String()
			of.Data.Pairs, of.Doc.Pairs = append(of.Data.Pairs, p), append(of.Doc.Pairs, d)
		}
	}
	r = compared(t, Choice{By: ByArm}, of)
	must.Be(t, len(r.Changes) == 6 && r.NullArm != nil && r.Changes[0].Null != nil &&
		r.Changes[3].Null != nil, r.NullArm)
}

// TestInjectedArm: an arm with a known slowdown has no part in the table, and is said to have been
// seen in the keys where it is found; the null arm is beside it.
func TestInjectedArm(t *testing.T) {
	of := analyzed(t, armsOf(t, 12, 1.03, 1))
	of.Data.Blocked = true
	for inject, null := range map[string]string{"new": "null", "null": "new"} {
		of.Data.Arms = []dataset.Arm{{Name: "base"}, {Name: null, Null: inject == "new"},
			{Name: inject, Null: true, Inject: 0.03}}
		r := compared(t, Choice{}, of)
		must.Be(t, len(r.Changes) == 3 && r.After.Arm == null, r.Changes)
		found := map[string]int{"new": 3, "null": 0}[inject]
		must.EqualList(t, r.Seen, []Seen{{inject, 0.03, found, 3}})
	}
	r := compared(t, Choice{By: ByArm, Only: []string{"null"}}, of)
	must.Be(t, len(r.Changes) == 3, r.Changes)
}

// TestGroupsRefused: what does not exist is an error that lists what does.
func TestGroupsRefused(t *testing.T) {
	s := levelled(t, map[string]float64{"a:C:x": 1, "b:C:x": 2}, "a:C:x", "b:C:x")
	for _, c := range []struct {
		choice Choice
		of     []Side
		want   string
	}{
		{Choice{By: ByVM}, []Side{s}, "there is no second VM to compare; there is C"},
		{Choice{By: ByBenchmark, Base: "z"}, []Side{s}, `no execution of benchmark "z"; there are a, b`},
		{Choice{By: ByArm, Base: "z"}, []Side{s}, `there is no arm "z"; the experiment has no arms`},
		{Choice{By: ByBenchmark, Base: "a", Only: []string{"a"}}, []Side{s}, "compared with itself"},
		{Choice{By: ByBenchmark}, []Side{s, s}, "two measurements are not pooled"},
		{Choice{Between: []string{"a:C:x", "c"}}, []Side{s}, `"c" is no key; there are a:C:x, b:C:x`},
		{Choice{Between: []string{"a", "C"}}, []Side{s}, `"C" is a part of several keys`},
		{Choice{Between: []string{"a", "a"}}, []Side{s}, "compared with itself"},
		{Choice{By: ByRestart}, []Side{s}, "there is no execution after a restart of kind hardware"},
	} {
		must.Refused(c.choice.Groups(c.of...))(t, c.want)
	}
	r := compared(t, Choice{Between: []string{"b", "a:C:x"}}, s)
	must.EqualList(t, cells(r), []string{"a:C:x a:C:x: better 0.5"})
	must.Equal(t, r.Changes[0].Base, "b:C:x")
	r = compared(t, Choice{}, s)
	must.EqualList(t, cells(r), []string{"C b: worse 2.0"})
}

// sharedBase is a family of groups: benchmarks whose levels share the executions of one base.
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

// armsOf makes an experiment with the arms base, new and null, of which each block drifts by 2 %.
// The factors are those of new and null.
func armsOf(t *testing.T, blocks int, changed, null float64) *dataset.Dataset {
	t.Helper()
	r := rand.New(rand.NewPCG(9, 9))
	d := &dataset.Dataset{}
	for _, benchmark := range []string{"a", "b", "c"} {
		for b := range blocks {
			drift := math.Exp(0.02 * float64(b))
			for i, arm := range []string{"base", "new", "null"} {
				level := drift * [...]float64{1, changed, null}[i] * (1 + 0.002*r.NormFloat64())
				d.Add(key.Key{Benchmark: benchmark, VM: "v", Variant: "x", Arm: arm},
					execution(b+1, steadily(r, 100, level)))
			}
		}
	}
	return d
}

// TestArms: the arms of an experiment are compared by block, and what a null arm shows is not
// reported as a change.
func TestArms(t *testing.T) {
	for _, c := range []struct {
		name          string
		changed, null float64
		want          Verdict
		differs       int
		unfit         bool
	}{
		{"nothing changed", 1, 1, Same, 0, false},
		{"3 % slower", 1.03, 1, Worse, 0, false},
		{"the null arm differs as much", 1.03, 1.03, CannotTell, 3, true},
		{"the null arm differs in the other direction", 1.03, 0.97, CannotTell, 3, true},
		{"a change beyond the null arm", 1.2, 1.03, Worse, 3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			of := analyzed(t, armsOf(t, 12, c.changed, c.null))
			null := armOf(of, "null")
			r := mustCompare(t, armOf(of, "base"), armOf(of, "new"),
				Options{Paired: true, Null: &null, Splits: 200})
			must.Need(t, len(r.Changes) == 3 && r.Counts[c.want] == 3 && r.Before.Arm == "base", r.Counts,
				r.Changes[0])
			n := r.NullArm
			must.Be(t, len(n.Differs) == c.differs && n.Unfit == c.unfit && n.Arm == "null", n)
			e := r.Changes[0]
			if e.Key != "a:v:x" || e.Steady.BeforeExecutions != 12 || e.Null == nil ||
				e.Steady.Freedom != 11 {
				t.Errorf("%+v", e.Steady)
			}
			must.Be(t, c.want != CannotTell || strings.Contains(e.Reason, "the null arm"), e.Reason)
			low := r.Calibration.Low
			must.Be(t, low <= 0.05, "calibration", r.Calibration)
		})
	}
}

// TestBlocksOfArms: a block counts when both arms have one completed execution in it.
func TestBlocksOfArms(t *testing.T) {
	d := armsOf(t, 12, 1.03, 1)
	for i := range d.Pairs {
		p := &d.Pairs[i]
		for k := range p.Executions {
			e := &p.Executions[k]
			switch {
			case p.Key.Arm == "base" && e.Number == 3:
				e.Outcome = results.Error
			case p.Key.Arm == "new" && (e.Number == 3 || e.Number == 5):
				e.Outcome = results.Timeout
			case p.Key.Arm == "new" && e.Number == 12:
				e.Outcome = results.Rerun
			}
		}
	}
	of := analyzed(t, d)
	r := mustCompare(t, armOf(of, "base"), armOf(of, "new"), Options{Paired: true})
	// block 3 has no value at all, 5 and 12 have one
	e := r.Changes[0].Steady
	must.Be(t, e.BeforeExecutions == 9 && e.AfterExecutions == 9 && e.IncompleteBlocks == 2, e)
	for i := range d.Pairs {
		d.Pairs[i].Executions = d.Pairs[i].Executions[:2]
		if d.Pairs[i].Key.Arm == "new" {
			d.Pairs[i].Executions = d.Pairs[i].Executions[:1]
			d.Pairs[i].Executions[0].Number = 4
		}
	}
	of = analyzed(t, d)
	r = mustCompare(t, armOf(of, "base"), armOf(of, "new"), Options{Paired: true, Splits: 5})
	c := r.Changes[0]
	must.Be(t, c.Steady == nil && c.Reason == "0 blocks are complete; measure at least 2, better 10",
		fmt.Sprint(c.Steady, c.Reason))
}

// TestNeeds: as many executions as are needed find the change with a power of 0.8. With a standard
// deviation of 0.02, a change of 2 % and a level of 0.0375, R's power.t.test(delta = log(1.02),
// sd = 0.02, sig.level = 0.0375, power = 0.8) has n = 18.55; of pairs 11.03.
func TestNeeds(t *testing.T) {
	need := Need{SD: 0.02}
	must.Equal(t, need.executions(math.Log1p(0.02), 0.0375, 2, MostExecutions), 19, "executions")
	need.Paired = true
	must.Equal(t, need.executions(math.Log1p(0.02), 0.0375, 2, MostExecutions), 12, "pairs")
	must.Equal(t, need.executions(1e-6, 0.0375, 2, MostExecutions), 0, "executions for nothing")
}

// TestInject: of the data of 12 blocks that vary by 0.2 %, a slowdown of 3 % is always found, and
// one below the margin never.
func TestInject(t *testing.T) {
	of := analyzed(t, armsOf(t, 12, 1.03, 1))
	for size, want := range map[float64]float64{0.03: 1, 0.005: 0} {
		r := mustCompare(t, armOf(of, "base"), armOf(of, "new"),
			Options{Paired: true, Splits: 50, Inject: size})
		must.Be(t, r.Calibration == nil && r.Injected.Tables == 50 && r.Injected.Rate == want, size,
			r.Injected)
	}
}

package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// randomComparison compares tables of five kinds of keys: normal ones, those in two states, of a
// coarse clock, of unequal spread, and constant; in blocks or not, with a null arm or not, extended
// or not.
func randomComparison(t *testing.T, random *rand.Rand) *compare.Result {
	t.Helper()
	n, m, o := 2+random.IntN(9), 2+random.IntN(9), compare.Options{Paired: random.IntN(3) == 0}
	if o.Paired {
		m = n
	}
	stages := 1 + random.IntN(4)/3
	add := func(d *dataset.Dataset, k key.Key, executions, kind int, factor, spread float64) {
		for i := range executions {
			v := factor * math.Exp(spread*0.01*random.NormFloat64())
			switch {
			case kind == 1:
				v = factor * math.Exp(0.002*random.NormFloat64()+0.03*float64(random.IntN(2)))
			case kind == 2:
				v = math.Round(100*v) / 100
			case kind == 4:
				v = 1
			}
			d.Add(k, dataset.Execution{Number: i + 1, Outcome: results.Completed,
				Stage: i * stages / executions, Columns: []dataset.Column{{Name: dataset.Wall,
					Unit: dataset.Seconds, Core: dataset.NoCore, Reals: []float64{v, v, v, v}}}})
		}
	}
	var data [3]dataset.Dataset
	keys, changed := 1+random.IntN(4), random.Float64()
	if random.IntN(10) == 0 {
		keys = 12
	}
	for i := range keys {
		k, kind := key.Key{Benchmark: fmt.Sprint("b", i), VM: "v", Variant: "x"}, random.IntN(6)
		factor, spread := 1.0, math.Exp(random.NormFloat64()-1)
		if random.Float64() < changed {
			factor += 0.03 * random.NormFloat64()
		}
		more := spread
		if kind == 3 {
			more *= 4
		}
		add(&data[0], k, n, kind, 1, spread)
		add(&data[1], k, m, kind, factor, more)
		add(&data[2], k, n, kind, 1+0.01*random.NormFloat64(), spread)
	}
	var sides [3]compare.Side
	p := warmup.Default(classify.Relative)
	p.Resamples = 10
	for i := range sides {
		doc := must.Get(warmup.Analyze(&data[i], p, warmup.Options{}))(t)
		sides[i] = compare.Side{Doc: doc, Data: &data[i]}
	}
	if random.IntN(4) == 0 {
		o.Null = &sides[2]
	}
	return must.Get(compare.Of(sides[0], sides[1], o))(t)
}

// TestPrintedVerdictsAgree: neither the table nor JUnit prints an interval that contradicts its
// verdict, as far as its digits go.
func TestPrintedVerdictsAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 5))
	verdicts := map[compare.Verdict]int{}
	for range must.Often(100, 10_000) {
		r := randomComparison(t, random)
		var junit bytes.Buffer
		must.Do(t, CompareJUnit(&junit, r, []compare.Verdict{compare.Worse}))
		var suite junitSuite
		must.Do(t, xml.Unmarshal(junit.Bytes(), &suite))
		rows := CompareTable(r).Rows
		for i := range r.Changes {
			c, test := &r.Changes[i], &suite.Cases[i]
			verdicts[c.Verdict]++
			must.Need(t, plainText(rows[i][1]) == string(c.Verdict) &&
				(test.Failure != nil) == (c.Verdict == compare.Worse) &&
				(test.Skipped != nil) == (c.Verdict == compare.CannotTell), c.Verdict, *test)
			change := plainText(rows[i][2])
			problem := contradicts(change, c)
			must.Need(t, problem == "" && strings.Contains(test.Output, change), c.Verdict, problem, c.Reason,
				*c.Steady)
		}
	}
	t.Log(verdicts)
	for _, v := range []compare.Verdict{compare.Better, compare.Worse, compare.Same, compare.CannotTell} {
		must.Be(t, verdicts[v] > 10, "only", verdicts[v], "keys are", v)
	}
}

// contradicts says what in "ESTIMATE (LOW, HIGH)" contradicts the verdict; "" if nothing.
func contradicts(text string, c *compare.Change) string {
	const digit = 0.5e-3
	estimate, ends, ok := strings.Cut(strings.TrimSuffix(text, ")"), " (")
	low, high, is := strings.Cut(ends, ", ")
	if !ok || !is {
		return "not an interval: " + text
	}
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(strings.NewReplacer("−", "-", "+", "", "<", "", ">", "", " %", "").
			Replace(text), 64)
		if err != nil {
			return math.NaN()
		}
		return 1 + v/100
	}
	from, value, to := number(low), number(estimate), number(high)
	above := from > 1 || from == 1 && low[0] == '>'
	below := to < 1 || to == 1 && high[0] == '<'
	least, most := 1/1.01-digit, 1.01+digit
	switch {
	case !(from <= value && value <= to):
		return "the estimate is outside of " + text
	case above && below, (above || below) && c.Steady.Ratio.Estimate == 1:
		return "its estimate is not inside of " + text
	case c.Verdict == compare.Worse && !above, c.Verdict == compare.Better && !below,
		c.Verdict == compare.Same && (from < least || to > most):
		return text
	case c.Verdict == compare.CannotTell && (above || below) &&
		!strings.Contains(c.Reason, "below the margin") && !strings.Contains(c.Reason, "null arm"):
		return text + " without a reason"
	}
	return ""
}

// TestMachinesText: the page of a comparison says how much the machines differ, also if they do not
// differ significantly.
func TestMachinesText(t *testing.T) {
	of := func(spread, share float64) *compare.MachineEffect {
		return &compare.MachineEffect{Machines: 3, Spread: warmup.Real(spread), Share: warmup.Real(share),
			Corrected: 0.25}
	}
	const one = "2% in a:C:v, 30% of the variance between executions, p 0.25"
	for _, c := range []struct {
		name    string
		effects []*compare.MachineEffect
		want    string
	}{
		{"one machine", []*compare.MachineEffect{nil}, ""},
		{"one key", []*compare.MachineEffect{of(0.02, 0.3), nil}, "3 machines, which cancels, because " +
			"the comparison is within machines: " + one},
		{"two keys", []*compare.MachineEffect{of(0.02, 0.3), of(0.01, 0)},
			"within machines: 1.5% in the median of 2 keys, at most " + one},
		{"one that is not known", []*compare.MachineEffect{of(0.02, 0.3), of(math.NaN(), math.NaN())},
			"within machines: " + one},
	} {
		r := &compare.Result{}
		for i, effect := range c.effects {
			r.Changes = append(r.Changes, compare.Change{Key: "ab"[i:i+1] + ":C:v", Machines: effect})
		}
		var page bytes.Buffer
		must.Do(t, ComparePage(&page, r, "test"))
		got := strings.ReplaceAll(machinesText(r), "\u202f", "")
		got = strings.ReplaceAll(got, " %", "%")
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") ||
			!strings.Contains(page.String(), machinesText(r)) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestMachineEffect: the front page and the text of an analysis have the machine effect, with the
// machines' names as text; with one machine they have nothing of it.
func TestMachineEffect(t *testing.T) {
	for _, machines := range []int{1, 2} {
		d := &dataset.Dataset{}
		for i := range 10 {
			e := execution(levels(uint64(i), 400, 0.2*(1+0.5*float64(i%machines)+0.01*float64(i/2))))
			e.Machine = "<lab\x1b" + string(rune('1'+i%machines))
			d.Add(key.Key{Benchmark: "b", VM: "v", Variant: "x"}, e)
		}
		doc := analysed(t, d)
		index := string(write(t, Material{Document: doc, Data: d})["index.html"])
		var text bytes.Buffer
		MachineText(&text, compare.LevelsOf(d, doc, MachineConfidence, MachineKeys))
		if machines == 1 {
			must.Be(t, !strings.Contains(index, "Machine effect") && text.Len() <= 0, "one machine",
				text.String())
			continue
		}
		const want = "in b:v:x; 1 of 1 key differs"
		must.Be(t, strings.Contains(text.String(), want) && strings.Contains(text.String(), "2 +2"),
			text.String())
		if !strings.Contains(index, "Machine effect: the machines differ by up to") ||
			!strings.Contains(index, want) || !strings.Contains(index, "&lt;lab") {
			t.Errorf("%s", index)
		}
		must.Be(t, !strings.Contains(index+text.String(), "\x1b"),
			"the name of a machine is not shown as text")
	}
}

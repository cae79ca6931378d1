// Package pilot reads what an experiment shows of how much its executions vary and what they cost,
// and writes the configuration of the experiment that is enough. Start reading at [Read].
package pilot

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/enough"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/exchange"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
)

// Experiment is what was read of one.
type Experiment struct {
	Source string
	Unit   string // of levels
	Pilots []enough.Pilot
	Notes  []string // sentences about what the numbers do not say
}

// ByKey returns the pilots by their keys.
func (x *Experiment) ByKey() map[string]enough.Pilot {
	all := map[string]enough.Pilot{}
	for _, p := range x.Pilots {
		all[p.Key] = p
	}
	return all
}

// After adds the keys of the first stage that this second one does not measure.
func (x *Experiment) After(first *Experiment) {
	own := x.ByKey()
	for _, p := range first.Pilots {
		if _, ok := own[p.Key]; !ok {
			p.Executions = nil
			x.Pilots = append(x.Pilots, p)
		}
	}
}

// identity names an execution that counts.
type identity struct {
	key    key.Key
	number int
}

// measured is the timing of an execution, from its record.
type measured struct {
	summary.Sample
	host, reboot, boot string
}

// Read reads an experiment or a file of results. boot is the time of a restart if the results do
// not tell it; 0: unknown. keys is the text of --key.
func Read(r experiment.Reader, arg, keys string, boot time.Duration) (*Experiment, error) {
	took := map[identity]*measured{}
	var order []*measured
	r.NoPerformance = true
	r.Visit = func(rec *results.Record) {
		if rec.Outcome != results.Completed {
			return
		}
		m := &measured{summary.SampleOf(rec), rec.Host, rec.Reboot, rec.BootID}
		order = append(order, m)
		if id := (identity{rec.Key, rec.Pexec}); took[id] == nil { // the first attempt counts
			took[id] = m
		}
	}
	in, err := r.Read(arg, experiment.Selection{Column: dataset.Wall, Key: keys, Clean: true})
	if err != nil {
		return nil, err
	}
	// the rules of krunctl decide, whatever those of the stored analysis are
	doc, err := r.Analyze(in, warmup.Default(classify.Relative), r.Stored(in.Analysis))
	if err != nil {
		return nil, err
	}
	x := &Experiment{Source: in.Data.Source, Unit: doc.Unit}
	times := timesOf(order, boot)
	machines := map[string]bool{}
	for i := range in.Data.Pairs {
		p, analyzed := &in.Data.Pairs[i], &doc.Pairs[i]
		k := enough.Pilot{Key: p.Key.String(), Judged: judged(in.Data, p.Key)}
		values := map[int]compare.Execution{}
		for _, e := range compare.Executions(p, analyzed, dataset.Wall) {
			values[e.Number] = e
			machines[e.Machine] = true
		}
		var costs []enough.Costs
		for j := range p.Executions {
			e, result := &p.Executions[j], &analyzed.Executions[j]
			value, counts := values[e.Number]
			if _, _, status, _ := warmup.Series(e, dataset.Wall); !counts || status != warmup.Analysed {
				continue
			}
			m := took[identity{p.Key, e.Number}]
			own := executionOf(e, result, value.Value)
			if operations(in.Data.Format) {
				own.Seconds = math.NaN()
			}
			if m != nil {
				if e.Machine == "" { // else executions are numbered anew
					own.Boot = m.boot
				}
				costs = append(costs, m.costs(own))
			}
			k.Executions = append(k.Executions, own)
		}
		k.Differences = differences(in.Data, doc, p.Key)
		k.Costs = times.of(costs, len(k.Executions))
		x.Pilots = append(x.Pilots, k)
		for _, w := range analyzed.Warnings {
			if w.Code == warmup.WarnGroups {
				x.Notes = append(x.Notes, k.Key+": "+w.Text)
			}
		}
	}
	x.Notes = append(x.Notes, times.notes(in.Data)...)
	if n := len(in.Data.Stopped); n > 0 {
		x.Notes = append(x.Notes, fmt.Sprintf("%s finished by [stop], whose executions tend to vary a "+
			"little less than usual", display.Count(n, "key")))
	}
	if len(machines) > 1 {
		x.Notes = append(x.Notes, fmt.Sprintf("the executions are of %d machines: how these differ is in "+
			"the numbers", len(machines)))
	}
	return x, nil
}

// operations reports whether the values of a format are times of an operation, not of an iteration.
func operations(format string) bool {
	return slices.Contains([]string{exchange.FormatJMH, exchange.FormatGo, exchange.FormatPyperf}, format)
}

// judged reports whether a comparison judges the key by itself: not as an arm beside the base.
func judged(d *dataset.Dataset, k key.Key) bool {
	return len(d.Arms) == 0 || k.Arm == d.Arms[0].Name
}

func executionOf(e *dataset.Execution, analyzed *warmup.Execution, level float64) enough.Execution {
	own := enough.Execution{Level: level, Seconds: math.NaN()}
	tenths, _ := compare.Tenths(e, analyzed, dataset.Wall)
	own.Tenths, own.Iterations = tenths, max(1, analyzed.Iterations-analyzed.Iterations/2)
	if s := analyzed.Steady; s != nil {
		own.Steady, own.WarmUp, own.Seconds = true, max(0, s.Iteration-1), float64(s.Seconds)
		own.Iterations = max(1, analyzed.Iterations-own.WarmUp)
	}
	return own
}

// differences returns those of the logarithms between the base and the next arm within blocks.
func differences(d *dataset.Dataset, doc *warmup.Document, k key.Key) []float64 {
	if !d.Blocked || len(d.Arms) < 2 || k.Arm != d.Arms[0].Name {
		return nil
	}
	values := map[int]float64{}
	var list []float64
	for _, arm := range []string{d.Arms[0].Name, d.Arms[1].Name} {
		k.Arm = arm
		i := slices.IndexFunc(d.Pairs, func(p dataset.Pair) bool { return p.Key == k })
		if i < 0 {
			return nil
		}
		for _, e := range compare.Executions(&d.Pairs[i], &doc.Pairs[i], dataset.Wall) {
			if before, ok := values[e.Number]; ok && arm != d.Arms[0].Name && before > 0 && e.Value > 0 {
				list = append(list, math.Log(e.Value/before))
			} else if arm == d.Arms[0].Name {
				values[e.Number] = e.Value
			}
		}
	}
	return list
}

// costs are those of one execution, without its boot.
func (m *measured) costs(e enough.Execution) enough.Costs {
	inside, n, before := m.Inside.Seconds(), float64(m.Done), 0.0
	if e.Steady && !math.IsNaN(e.Seconds) && e.Seconds < inside && e.WarmUp < m.Done {
		before, n = e.Seconds, n-float64(e.WarmUp)
	}
	return enough.Costs{Start: warmup.Real(max(0, m.Wall.Seconds()-inside) + before),
		Iteration: warmup.Real((inside - before) / max(1, n))}
}

// times are the seconds between executions.
type times struct {
	each       bool    // execution has a boot of its own
	boots      int     // with different names
	boot       float64 // seconds of a restart, more than between; NaN if unknown
	between    float64 // seconds between executions of a boot
	executions int
}

// timesOf reads them from the gaps between adjacent slots. If restarts of the hardware are followed
// by faster ones, it names the boots by the former.
func timesOf(order []*measured, boot time.Duration) times {
	t := times{boot: math.NaN(), executions: len(order)}
	slices.SortStableFunc(order, func(a, b *measured) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.Slot, b.Slot))
	})
	kinds := map[string]int{}
	for _, m := range order {
		kinds[m.reboot]++
	}
	hardware := kinds[results.RebootHardware]
	faster := kinds[results.RebootKexec] + kinds[results.RebootSoft]
	t.each = 2*(hardware+faster) > len(order) && min(hardware, faster) == 0
	names := map[string]bool{}
	var same, other []float64
	for i, m := range order {
		first := i == 0 || order[i-1].host != m.host
		if hardware > 0 && faster > 0 && m.reboot != results.RebootHardware {
			m.boot = "before the first restart of the hardware of " + m.host
			if !first {
				m.boot = order[i-1].boot
			}
		}
		names[m.boot] = true
		if first || m.Slot != order[i-1].Slot+1 {
			continue
		}
		gap := (m.Started.Sub(order[i-1].Started) - order[i-1].Wall).Seconds()
		switch {
		case gap < 0: // the clock was set
		case m.boot == order[i-1].boot:
			same = append(same, gap)
		default:
			other = append(other, gap)
		}
	}
	t.boots = len(names)
	if len(same) > 0 {
		t.between = middle(same)
	}
	switch {
	case boot > 0:
		t.boot = boot.Seconds()
	case hardware+faster > 0 && len(other) > 0:
		t.boot = max(0, middle(other)-t.between)
	}
	return t
}

// middle is the lower median, which a few wrong gaps do not move.
func middle(list []float64) float64 {
	slices.Sort(list)
	return list[(len(list)-1)/2]
}

// of returns the costs of a key with so many executions from those of its executions. A boot that
// several keys share costs each a part of it.
func (t times) of(list []enough.Costs, executions int) enough.Costs {
	nan := warmup.Real(math.NaN())
	c := enough.Costs{Boot: nan, Start: nan, Iteration: nan}
	if len(list) == 0 {
		return c
	}
	c.Start, c.Iteration, c.Boot = warmup.Real(t.between), 0, warmup.Real(t.boot)
	for _, one := range list {
		c.Start += one.Start / warmup.Real(len(list))
		c.Iteration += one.Iteration / warmup.Real(len(list))
	}
	switch {
	case t.boots < 2 && math.IsNaN(t.boot):
		c.Boot = 0
	case !t.each:
		c.Boot *= warmup.Real(float64(executions) / float64(max(1, t.executions)))
	}
	return c
}

// notes say what the costs and the variation do not include.
func (t times) notes(d *dataset.Dataset) []string {
	var notes []string
	switch {
	case d.Format != experiment.Format:
		notes = append(notes, d.Format+" does not say what executions cost: there are no times")
	case t.each:
	case t.boots < 2:
		notes = append(notes, "all executions ran in one boot: what boots add is not in these numbers")
	case math.IsNaN(t.boot):
		notes = append(notes, fmt.Sprintf("%s: what a restart takes is unknown; --boot 3m says three "+
			"minutes", display.Count(t.boots, "boot")))
	}
	return notes
}

// mark begins what Configuration has added.
const mark = "\n# What krunctl enough found in "

// Configuration returns the configuration of the experiment that is enough, at path: a copy of that
// of the pilot with other numbers of executions. For a change it is a new experiment, of one side;
// for a level the second stage, without the executions of the pilot, and without the keys of which
// these are enough. Keys without a number stay as they are. Unless anywhere, path must be beside
// the experiment.
func Configuration(fsys durable.FS, arg, path, host string, doc *enough.Document,
	change, anywhere bool) ([]byte, error) {
	dir := filepath.Dir(experiment.DirectoryOf(arg))
	own, err := filepath.Abs(dir)
	there, err2 := filepath.Abs(filepath.Dir(path))
	if !anywhere && (err != nil || err2 != nil || own != there) {
		return nil, experiment.Usage(fmt.Errorf("--write: paths in the configuration are relative to %s; "+
			"write it there", dir))
	}
	if !(experiment.Reader{FS: fsys}).IsExperiment(arg) {
		return nil, experiment.Usage(fmt.Errorf("--write: %s is no experiment of krund, which has a "+
			"configuration", arg))
	}
	e, err := experiment.Open(fsys, experiment.Parts(fsys, arg)[0])
	if err != nil {
		return nil, err
	}
	cfg, err := e.Config(host)
	if err != nil {
		return nil, err
	}
	text, err := durable.ReadFile(fsys, e.ConfigCopy())
	if err != nil {
		return nil, fmt.Errorf("read the experiment's configuration: %w", err)
	}
	text, _, _ = bytes.Cut(text, []byte(mark))
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s: docs/enough.md\n", mark, display.Terminal(arg))
	done, sizes, err := sizesOf(doc, change)
	if err != nil {
		return nil, err
	}
	if len(sizes) == 0 {
		return nil, errors.New("--write: there is nothing more to measure, or nothing is known; nothing is " +
			"written")
	}
	if len(done) > 0 {
		for i := len(cfg.Experiment.Skip) - 1; i >= 0; i-- {
			done = slices.Insert(done, 0, cfg.Experiment.Skip[i].String())
		}
		fmt.Fprint(&b, "[machines.\"*\".experiment]\nskip = [\n")
		for _, k := range done {
			fmt.Fprintf(&b, "  %q,\n", k)
		}
		fmt.Fprint(&b, "]\n")
	}
	for _, z := range sizes {
		fmt.Fprintf(&b, "[machines.\"*\".benchmarks.%q.vms.%q]\nexecutions = %d\n", z.benchmark, z.vm,
			z.executions)
	}
	text = append(text, b.String()...)
	if _, err := experiment.ParseText(path, string(text), host); err != nil {
		return nil, fmt.Errorf("--write: the configuration of %s cannot be extended: %w", arg, err)
	}
	return text, nil
}

// size is the number of executions of a benchmark in a VM: the largest of its variants and arms.
type size struct {
	benchmark, vm string
	executions    int
}

// sizesOf returns the numbers, and the keys that are measured often enough.
func sizesOf(doc *enough.Document, change bool) (done []string, sizes []size, err error) {
	for i := range doc.Keys {
		d := &doc.Keys[i]
		k, err := key.Parse(d.Key)
		if err != nil {
			return nil, nil, fmt.Errorf("--write: %w", err)
		}
		n := d.ForChange.Sure
		if !change {
			if d.ForLevel.TwoStages == 0 {
				continue
			}
			if n = d.ForLevel.TwoStages - d.Executions; n <= 0 {
				if k.Arm == "" { // arms of a block stay together
					done = append(done, d.Key)
				}
				continue
			}
		}
		if n == 0 {
			continue
		}
		at := slices.IndexFunc(sizes, func(z size) bool { return z.benchmark == k.Benchmark && z.vm == k.VM })
		if at < 0 {
			at = len(sizes)
			sizes = append(sizes, size{benchmark: k.Benchmark, vm: k.VM})
		}
		sizes[at].executions = max(sizes[at].executions, n)
	}
	return done, sizes, nil
}

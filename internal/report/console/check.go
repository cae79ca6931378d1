package console

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"krund/internal/analysis/arith"
	"krund/internal/display"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/noise"
	"krund/internal/reading/integrity"
	"krund/internal/report"
)

// Integrity prints what was found in a directory.
func (out *Console) Integrity(dir string, r integrity.CheckReport) {
	if r.Programs != "" {
		out.print("%s\n", display.Terminal(r.Programs))
	}
	out.Defects("problem", r.Problems)
	out.Defects("note", r.Notes)
	slots := display.Count(r.Slots.Total(), "slot")
	if r.Slots.Total() == 0 { // no configuration plans so few
		slots = "an unknown number of slots"
	}
	out.print("%s: %d of %s completed, %s, %s, %s\n", display.Terminal(dir), r.Completed, slots,
		display.Count(r.Records, "record"), display.Bytes(r.Bytes),
		display.Count(len(r.Problems), "problem"))
}

// Defects prints inconsistencies of a kind, each with its remedy.
func (out *Console) Defects(kind string, list []integrity.Defect) {
	for _, p := range list {
		where := p.File
		if p.Slot != nil && p.Attempt == nil {
			where += ", slot " + strconv.Itoa(*p.Slot)
		}
		out.print("%s: %s: %s\n    %s\n", kind, display.Terminal(where), display.Terminal(p.What),
			display.Terminal(p.Fix))
	}
}

// Proof prints what was measured before the settings were applied, and with them.
func (out *Console) Proof(before, proof []setting.Finding) {
	if len(before) == 0 {
		return
	}
	t := report.Table{Columns: []report.Head{"measured", "before", "with the settings", "wanted", "status"}}
	for _, b := range before {
		row := []report.Cell{b.Name, b.Found, nil, b.Wanted, nil}
		if i := slices.IndexFunc(proof, func(f setting.Finding) bool { return f.Name == b.Name }); i >= 0 {
			row = []report.Cell{b.Name, b.Found, proof[i].Found, proof[i].Wanted, proof[i].Status}
		}
		t.Add(row...)
	}
	out.print("\nMeasured while the processors were busy:\n\n")
	out.table(t)
	for _, f := range proof {
		if f.Status != setting.StatusOK {
			out.print("%s: %s; %s\n", display.Terminal(f.Name), display.Terminal(f.Why),
				display.Terminal(f.Fix))
		}
	}
}

// Certificate prints the tables of a certificate.
func (out *Console) Certificate(c noise.Certificate) {
	out.print("%s\n\n", display.Wrap(certificateAnswer(c), out.width, ""))
	out.print("%s, %s, krund %s\n", c.Host, c.Date.Format("2006-01-02 15:04 MST"), c.Krund)
	if c.Virtual != "" {
		out.print("This machine is virtual (%s): its host may disturb it at any time, and what the host "+
			"does\nis not seen from here. The certificate holds for the minutes in which it was measured.\n",
			c.Virtual)
	}
	out.print("\nGaps of at least %s in a loop at nice %d that only reads the clock, for %s\n",
		display.Nanoseconds(float64(c.Plain.Census.ThresholdNS)), c.Plain.Census.Nice,
		display.Seconds(c.Plain.Census.Seconds))
	t := report.Table{Columns: []report.Head{"settings", ">CPU", ">lost", ">gaps/s", ">longest", ">every",
		"what ran there meanwhile"}}
	for _, half := range halves(c) {
		for _, cpu := range half.Census.CPUs {
			t.Add(slices.Insert(censusRow(cpu), 0, report.Cell(half.name))...)
		}
	}
	out.settingsTable(c, t)
	out.printFloor(c)
}

// half is one measurement and the name of its settings.
type half struct {
	name string
	noise.Measurement
}

func halves(c noise.Certificate) []half {
	list := []half{{"as found", c.Plain}}
	if c.Controlled != nil {
		list = append(list, half{"applied", *c.Controlled})
	}
	return list
}

// settingsTable prints a table, without the column of the settings if there is only one half.
func (out *Console) settingsTable(c noise.Certificate, t report.Table) {
	if c.Controlled == nil {
		t.Columns = t.Columns[1:]
		for i := range t.Rows {
			t.Rows[i] = t.Rows[i][1:]
		}
	}
	out.table(t)
}

// censusSources is how many sources of a CPU the table names.
const censusSources = 4

func censusRow(c noise.CPU) []report.Cell {
	seconds := float64(c.TimeNS) / float64(time.Second)
	var every report.Cell
	if c.PeriodNS > 0 {
		every = report.Time(&c.PeriodNS)
	}
	var names []string
	others, rest := 0, int64(0)
	for i, s := range c.Sources {
		if i >= censusSources {
			others, rest = others+1, rest+s.NS
			continue
		}
		amount := fmt.Sprintf("%.4g/s", float64(s.Count)/seconds)
		if s.NS > 0 {
			amount = fmt.Sprintf("%.2g %%", 100*float64(s.NS)/float64(c.TimeNS))
		}
		names = append(names, fmt.Sprintf("%s %s %s", s.Kind, s.Name, amount))
	}
	if others > 0 {
		names = append(names, fmt.Sprintf("%d others %.2g %%", others, 100*float64(rest)/float64(c.TimeNS)))
	}
	return []report.Cell{c.CPU, fmt.Sprintf("%.3g %%", 100*float64(c.LostNS)/float64(c.TimeNS)),
		fmt.Sprintf("%.0f", float64(c.Gaps)/seconds), report.Time(&c.LongestNS), every,
		strings.Join(names, "; ")}
}

// bootsText says what reboots add to the floor.
func bootsText(b *noise.Boots) string {
	if b == nil {
		return "Reboots add to it: certificates of 3 boots tell how much"
	}
	return fmt.Sprintf("Boots differ, too: from %d of them since %s, sd of executions in a boot each is\n"+
		"%.2f %% (%.2f-%.2f), sd of boots alone %.2f %%; then n = %d finds %.2g %% (%.2g)", b.Boots, b.Since,
		100*b.Total, 100*b.SDLow, 100*b.SDHigh, 100*b.SDLog, noise.SummaryAt, b.Percent, b.High)
}

// straysText says how many executions are far from the others, which share of all may be, and the
// farthest one.
func straysText(f *noise.Floor) string {
	share := fmt.Sprintf("%d of %d (%.0f-%.0f %%)", len(f.Strays), f.Executions, 100*f.StraysLow,
		100*f.StraysHigh)
	if len(f.Strays) == 0 {
		return share
	}
	middle, far := arith.Median(slices.Sorted(slices.Values(f.LevelsNS))), 0.0
	for _, i := range f.Strays {
		if off := f.LevelsNS[i]/middle - 1; math.Abs(off) > math.Abs(far) {
			far = off
		}
	}
	return fmt.Sprintf("%s, to %+.2g %%", share, 100*far)
}

func (out *Console) printFloor(c noise.Certificate) {
	f := c.Plain.Floor
	if f == nil {
		return
	}
	out.print("\nNoise floor: %d executions of %s in one boot, %d iterations each. Half of the pairs of "+
		"executions\ndiffer by more than `differ` (95 %% interval); strays are far from the others. The rest "+
		"is the smallest\nchange found with n executions on each side, strays included; in brackets at the "+
		"upper ends.\n%s.\n", f.Executions, f.Benchmark, f.Iterations, bootsText(c.Boots))
	t := report.Table{Columns: []report.Head{"settings", ">mean", ">differ", "strays"}}
	for _, d := range f.Detectable {
		t.Columns = append(t.Columns, report.Head(fmt.Sprintf(">n = %d", d.Executions)))
	}
	for _, half := range halves(c) {
		if half.Floor == nil {
			continue
		}
		row := []report.Cell{half.name, report.Time(&half.Floor.MeanNS),
			fmt.Sprintf("%.2g %% (%.2g-%.2g)", 100*half.Floor.Differ, 100*half.Floor.DifferLow,
				100*half.Floor.DifferHigh), straysText(half.Floor)}
		for _, d := range half.Floor.Detectable {
			row = append(row, fmt.Sprintf("%.2g %% (%.2g)", d.Percent, d.High))
		}
		t.Add(row...)
	}
	out.settingsTable(c, t)
	if e := c.Effect; e != nil {
		out.print("\nWith the settings applied %s takes %.4f of the time, 95 %% interval %.4f to %.4f (%d "+
			"pairs of blocks).\n", f.Benchmark, e.Ratio, e.Low, e.High, e.Pairs)
	}
}

// certificateAnswer says which change the machine can show and what took the time; of a proof what
// the settings did.
func certificateAnswer(c noise.Certificate) string {
	m := c.Plain
	if c.Controlled != nil {
		m = *c.Controlled
	}
	var cpus host.CPUs
	var worst noise.Source
	share := 0.0 // of its processor
	for _, cpu := range m.Census.CPUs {
		cpus = append(cpus, cpu.CPU)
		for _, s := range cpu.Sources {
			if s.NS > worst.NS {
				worst, share = s, float64(s.NS)/float64(cpu.TimeNS)
			}
		}
	}
	text := fmt.Sprintf("%.2g %% of the time of CPU %s was lost", 100*m.Lost(), cpus)
	if worst.NS > 0 {
		text += fmt.Sprintf(", the largest part, %.2g %%, to %s %s", 100*share, worst.Kind, worst.Name)
	}
	if m.Floor != nil && len(m.Floor.Detectable) > 0 {
		d := m.Floor.Detectable[len(m.Floor.Detectable)-1]
		for _, other := range m.Floor.Detectable {
			if other.Executions == noise.SummaryAt {
				d = other
			}
		}
		text = fmt.Sprintf("%s can show a change of %.2g %% (perhaps only %.2g %%) with %d executions on "+
			"each side, four times out of five; %s", c.Host, d.Percent, max(d.Percent, d.High), d.Executions,
			text)
	}
	if c.Controlled == nil {
		return text + "."
	}
	text += ", with the settings applied"
	if len(c.Applied)+len(c.NotApplied) > 0 {
		text += fmt.Sprintf(" (set: %s; not as wanted: %s)", cmp.Or(strings.Join(c.Applied, ", "), "nothing"),
			cmp.Or(strings.Join(c.NotApplied, ", "), "nothing"))
	}
	text += fmt.Sprintf(". Without them %.2g %% was lost", 100*c.Plain.Lost())
	if e := c.Effect; e != nil {
		does := "the program may be faster or slower with them"
		if e.High < 1 || e.Low > 1 {
			does = fmt.Sprintf("the program takes %.4f of the time with them", e.Ratio)
		}
		text += "; " + does
	}
	return text + "."
}

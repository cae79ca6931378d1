package report

import (
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestEveryWarningOfRecords: each circumstance that weakens results is reported with its remedy,
// and nothing is reported for a clean experiment.
func TestEveryWarningOfRecords(t *testing.T) {
	clean := func() results.Record {
		r := *hotRun()
		r.Reboot, r.Host, r.Krund, r.ConfigHash = results.RebootHardware, "a", "1", "c"
		r.Machine.Fingerprint = map[string]string{"kernel.release": "6.1", "cpu.model": "X",
			"virtualisation": "none"}
		r.Machine.Controls = []results.Control{{Name: "turbo", Status: "ok"}, {Name: "aslr", Status: "set"},
			{Name: "smt", Status: "off"}}
		return r
	}
	for _, c := range []struct {
		name   string
		change func(*results.Record)
		code   string
		says   []string
	}{
		{"clean", func(*results.Record) {}, "", nil},
		{"no reboot", func(r *results.Record) { r.Reboot = results.RebootNone }, "no_reboot",
			[]string{"1 of 2", `set reboot = "hardware"`}},
		{"two machines", func(r *results.Record) { r.Host = "b" }, "mixed",
			[]string{"2 machines (a 1, b 1)", "do not compare"}},
		{"two versions", func(r *results.Record) { r.Krund = "2" }, "mixed", []string{"krund 2"}},
		{"two configurations", func(r *results.Record) { r.ConfigHash = "d" }, "mixed",
			[]string{"configuration d"}},
		{"two kernels", func(r *results.Record) { r.Machine.Fingerprint["kernel.release"] = "6.2" }, "mixed",
			[]string{"kernel.release 6.2", "on one kernel and machine"}},
		{"two processors", func(r *results.Record) { r.Machine.Fingerprint["cpu.model"] = "Y" }, "mixed",
			[]string{"cpu.model Y"}},
		{"a virtual machine", func(r *results.Record) { r.Machine.Fingerprint["virtualisation"] = "kvm" },
			"virtual_machine", []string{"measure on hardware"}},
		{"a control", func(r *results.Record) {
			r.Machine.Controls[0].Status, r.Machine.Controls[0].Policy = "cannot", "warn"
		}, "controls", []string{"turbo", `policy "require"`}},
		{"a rerun", func(r *results.Record) { r.Outcome = results.Rerun }, "reruns",
			[]string{"1 of 2", "pages of their keys"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f Facts
			first, second := clean(), clean()
			c.change(&second)
			f.Add(&first)
			f.Add(&second)
			list := f.Warnings()
			if c.code == "" {
				must.Equal(t, len(list), 0, "a clean experiment is weakened by")
				return
			}
			if !slices.ContainsFunc(list, func(w warmup.Warning) bool {
				return w.Code == c.code && !slices.ContainsFunc(c.says,
					func(s string) bool { return !strings.Contains(w.Text, s) })
			}) {
				t.Errorf("no warning %s with %q in %v", c.code, c.says, list)
			}
		})
	}
}

// TestCompareWarnings: what weakens one side, and what differs between them; exchanging the sides
// says the same things.
func TestCompareWarnings(t *testing.T) {
	facts := func(kernel, status, thp, sysctl string) *Facts {
		r := hotRun()
		r.Reboot = results.RebootHardware
		r.Machine.Fingerprint = map[string]string{"kernel.release": kernel,
			"state.control.thp": thp, "state.thp.enabled": thp, "state.kernel.sysctl": sysctl,
			"state.mm.page_size": "4096", "program.libkrun": sysctl}
		r.Machine.Controls = []results.Control{{Name: "turbo", Status: status, Found: "on"},
			{Name: "thp", Policy: "off", Status: "off", Found: thp},
			{Name: "perf_rate", Status: "set", Found: "100000 Hz", After: kernel + " Hz"}}
		f := &Facts{}
		f.Add(r)
		return f
	}
	old, now := facts("6.1", "ok", "madvise", "6113e70177599dd1"),
		facts("6.8", "cannot", "never", "72dbdee165e2ff9a")
	var texts []string
	for _, w := range CompareWarnings(old, now) {
		texts = append(texts, w.Code+" "+w.Text)
	}
	all := strings.Join(texts, "\n")
	for _, want := range []string{"controls after: controls",
		"differs kernel.release is 6.1 before and 6.8 after",
		"differs the sides differ in perf_rate (6.1 Hz → 6.8 Hz), thp (madvise → never), " +
			"thp.enabled (madvise → never), kernel.sysctl; measure"} {
		must.Contain(t, all, want)
	}
	if a, b := len(CompareWarnings(old, now)), len(CompareWarnings(now, old)); a != b || a != 3 {
		t.Errorf("%d and %d warnings", a, b)
	}
	for _, pair := range [][2]*Facts{{old, old}, {nil, nil}, {old, nil}, {nil, old}} {
		list := CompareWarnings(pair[0], pair[1])
		must.Equal(t, len(list), 0, "the same has", list)
	}
}

// TestWeaken: what the analysis says against a side's key stands with the comparison of that key,
// in words and as a code.
func TestWeaken(t *testing.T) {
	side := func(warnings ...warmup.Warning) compare.Side {
		s := compare.Side{Doc: &warmup.Document{}, Data: &dataset.Dataset{}}
		for _, name := range []string{"fasta", "nbody"} {
			s.Doc.Pairs = append(s.Doc.Pairs, warmup.Pair{Key: name + ":PyPy:x", Warnings: warnings})
			s.Data.Pairs = append(s.Data.Pairs,
				dataset.Pair{Key: key.Key{Benchmark: name, VM: "PyPy", Variant: "x"}})
		}
		return s
	}
	few := warmup.Warning{Code: "few_executions",
		Text: "fewer than 10 executions (3) hardly tell; measure more"}
	r := comparison()
	r.Changes[1].Warnings = nil
	Weaken(r, side(few), side(), nil, nil)
	text := func(f Format) string {
		var b strings.Builder
		table := CompareTable(r)
		must.Do(t, table.Write(&b, f))
		return b.String()
	}
	for _, f := range []Format{Text, Markdown, HTML, LaTeX} {
		if got := text(f); strings.Count(got, "measure more") != 1 ||
			!strings.Contains(got, "fasta:PyPy:x and 1 more: before: fewer than 10") {
			t.Errorf("%s: %s", f, got)
		}
	}
	var b strings.Builder
	err := CompareCSV(&b, r)
	must.Be(t, err == nil && strings.Count(b.String(), "few_executions") == 2, err, b.String())
}

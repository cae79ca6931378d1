package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

func write(t *testing.T, in Material) pages {
	t.Helper()
	out := pages{}
	size := must.Get(Site(out.put, in))(t)
	var bytes int64
	for _, p := range out {
		bytes += int64(len(p))
	}
	must.Be(t, size.Files == len(out) && size.Bytes == bytes, "size", size, len(out), "files", bytes, "bytes")
	return out
}

// TestSite: every page is there, links lead to pages, and hostile text stays text.
func TestSite(t *testing.T) {
	d := sample()
	out := write(t, Material{Document: analysed(t, d), Data: d})
	for i := range d.Pairs {
		for _, name := range []string{"keys/%s.html", "data/%s.js"} {
			if _, ok := out[fmt.Sprintf(name, pageName(i))]; !ok {
				t.Errorf("there is no %s", fmt.Sprintf(name, pageName(i)))
			}
		}
	}
	for name, p := range out {
		text := string(p)
		if strings.HasPrefix(name, "assets/") {
			continue
		}
		for _, bad := range []string{"<script>alert", "\x1b", "ZgotmplZ", "http://cdn", "https://"} {
			must.Be(t, !strings.Contains(text, bad), name, "contains", bad)
		}
		if strings.HasSuffix(name, ".svg") {
			must.Do(t, xml.Unmarshal(p, new(struct{})), name)
		}
	}
	index := string(out["index.html"])
	for _, want := range []string{"&lt;script&gt;alert", "keys/k0000.html", "bencher5", "no steady state",
		"role=\"region\"", "0.20"} {
		must.Contain(t, index, want, "the front page lacks")
	}
}

// TestData: scripts hold the values exactly, as JSON.
func TestData(t *testing.T) {
	d := sample()
	d.Pairs[0].Executions[1].Columns = append(d.Pairs[0].Executions[1].Columns,
		dataset.Column{Name: "cycles", Core: 3, Counts: slices.Repeat([]uint64{1<<64 - 1}, 400)},
		dataset.Column{Name: "gc", Unit: "ns", Core: dataset.NoCore,
			Ints: slices.Repeat([]int64{dataset.MissingInt}, 400)})
	doc := analysed(t, d)
	out := write(t, Material{Document: doc, Data: d})
	var got struct {
		Unit       string
		Executions []struct {
			Number   int
			More     bool
			Values   []float64
			Outliers []int
			Means    [][4]float64
		}
	}
	call(t, out["data/k0000.js"], "krund.pair(0,", &got)
	for i, e := range got.Executions {
		if !slices.Equal(e.Values, d.Pairs[0].Executions[i].Columns[0].Reals) || e.More != (i == 1) ||
			e.Number != i+1 {
			t.Errorf("execution %d differs", i)
		}
		if !slices.Equal(e.Outliers, doc.Pairs[0].Executions[i].Outliers) ||
			len(e.Means) != len(doc.Pairs[0].Executions[i].Segments) {
			t.Errorf("marks of execution %d: %v, %v", i, e.Outliers, e.Means)
		}
	}
	var columns []struct {
		Name   string
		Core   int
		Values []json.RawMessage
	}
	first, _, _ := bytes.Cut(out["data/k0000-1.js"], []byte("\nkrund.events("))
	call(t, first, "krund.columns(0,1,", &columns)
	if len(columns) != 2 || string(columns[0].Values[0]) != "18446744073709551615" ||
		string(columns[1].Values[399]) != "null" || columns[0].Core != 3 {
		t.Errorf("columns %.200v", columns)
	}
}

func call(t *testing.T, text []byte, function string, into any) {
	t.Helper()
	argument, ok := bytes.CutPrefix(text, []byte(function))
	must.Need(t, ok, text, "is no call of", function)
	must.Do(t, json.Unmarshal(bytes.TrimSuffix(bytes.TrimSpace(argument), []byte(");")), into))
}

// TestSmallAndLargeSites: no pairs, one execution, errors only, 100 cores.
func TestSmallAndLargeSites(t *testing.T) {
	k := key.Key{Benchmark: "b", VM: "v", Variant: "x"}
	one := &dataset.Dataset{}
	one.Add(k, execution(levels(1, 300, 0.5)))
	failed := &dataset.Dataset{}
	failed.Add(k, dataset.Execution{Outcome: results.Timeout})
	cores := &dataset.Dataset{}
	e := execution(levels(1, 300, 0.5))
	for core := range 100 {
		e.Columns = append(e.Columns, dataset.Column{Name: dataset.CoreCycles, Core: core,
			Counts: make([]uint64, 300)})
	}
	cores.Add(k, e)
	for _, c := range []struct {
		name  string
		data  *dataset.Dataset
		index string // text on the front page
		files int
	}{
		{"no pairs", &dataset.Dataset{}, "Nothing was measured.", 9},
		{"one execution", one, "1 analyzed execution of", 13},
		{"errors only", failed, "0 of 1", 11},
		{"100 cores", cores, "1 analyzed execution of", 14},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := write(t, Material{Document: analysed(t, c.data), Data: c.data})
			must.Be(t, strings.Contains(string(out["index.html"]), c.index) && len(out) == c.files,
				len(out), "files; the front page lacks", c.index, out["index.html"])
		})
	}
}

// TestSitesOfManyKeys: the size of a report grows like the number of keys, each page offers keys of
// the same benchmark first, and more keys than a report has pages for are refused.
func TestSitesOfManyKeys(t *testing.T) {
	many := func(benchmarks int) *dataset.Dataset {
		d := &dataset.Dataset{}
		for _, vm := range []string{"A", "B"} {
			for i := range benchmarks {
				d.Pairs = append(d.Pairs, dataset.Pair{Key: key.Key{Benchmark: fmt.Sprint("b", i), VM: vm,
					Variant: "x"}, Executions: []dataset.Execution{execution([]float64{1})}})
			}
		}
		return d
	}
	size := func(d *dataset.Dataset) int64 {
		size := must.Get(Site(pages{}.put, Material{Document: analysed(t, d), Data: d}))(t)
		return size.Bytes
	}
	const few = 150
	if a, b := size(many(few)), size(many(4*few)); b > 4*a+a/10 {
		t.Errorf("%d keys have %d bytes, %d have %d", 2*few, a, 8*few, b)
	}
	d := many(few)
	s := site{in: Material{Document: analysed(t, d), Data: d}}
	if list, more := s.others(3); list[0].Index != few+3 || list[1].Index != 0 || list[4].Index != 4 ||
		len(list) != mostOthers || more != 2*few-1-mostOthers {
		t.Errorf("%d others, %d more: %+v", len(list), more, list[:5])
	}
	d.Pairs = make([]dataset.Pair, mostPages+1)
	doc := &warmup.Document{Pairs: make([]warmup.Pair, mostPages+1)}
	_, err := Site(pages{}.put, Material{Document: doc, Data: d})
	must.Be(t, err != nil && strings.Contains(err.Error(), "10001 keys"), err)
}

func TestSiteRefusesOtherData(t *testing.T) {
	d := sample()
	doc := analysed(t, d)
	other := sample()
	other.Pairs[2].Executions = other.Pairs[2].Executions[1:]
	for _, data := range []*dataset.Dataset{other, {}} {
		_, err := Site(pages{}.put, Material{Document: doc, Data: data})
		must.Fail(t, err, ErrMismatch)
	}
}

func TestSiteReportsFailedWrites(t *testing.T) {
	d := sample()
	in := Material{Document: analysed(t, d), Data: d}
	errFull := errors.New("no space left")
	for k := range write(t, in) {
		_, err := Site(func(name string, _ []byte) error {
			if name == k {
				return errFull
			}
			return nil
		}, in)
		must.Need(t, errors.Is(err, errFull), "without room for", k)
	}
}

// TestFacts: the records of a key are in the order of datasets, whatever their order.
func TestFacts(t *testing.T) {
	var f Facts
	k := key.Key{Benchmark: "b", VM: "v", Variant: "x"}
	began := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for i := range 4 {
		r := results.Record{Key: k, Slot: i, Attempt: 1, Pexec: 4 - i, Outcome: results.Completed,
			Started: began.Add(time.Duration(i) * time.Hour)}
		r.Machine.Temperatures.Before = []results.Temperature{{Sensor: "cpu", MilliC: 45000}}
		f.Add(&r)
	}
	must.Equal(t, f.of(k)[0].Temperatures, "45.0 °C before")
	must.Equal(t, f.Names(k)[0], results.Name{Slot: 3, Attempt: 1})
	must.Be(t, f.First.Equal(began) && f.Last.Equal(began.Add(3*time.Hour)) && f.Records == 4, f.Records,
		"records from", f.First, f.Last)
	must.Equal(t, len((*Facts)(nil).Warnings()), 0, "no facts warn")
}

// TestRun: the ranges hold what they are for.
func TestRun(t *testing.T) {
	values := levels(1, 50, 5, 350, 0.2)
	values[399] = 9
	r := NewRun(values, nil)
	must.Be(t, r.Full.Low <= 0.19 && r.Full.High >= 9 && r.Inset == 50, r.Full)
	must.Be(t, r.Zoom.High <= 0.3 && r.Zoom.Low >= 0.1, "the strip is", r.Zoom)
	for _, few := range [][]float64{nil, {0}, {1, 1, 1}} {
		r := NewRun(few, &warmup.Execution{})
		must.Be(t, r.Full.Low < r.Full.High && r.Zoom.Low < r.Zoom.High && r.Inset == 0, few, r)
		svg := pageSVG(t, &Figure{Title: "<", Run: r})
		must.Be(t, xml.Unmarshal(svg, new(struct{})) == nil && !bytes.Contains(svg, []byte("NaN")), few, svg)
	}
}

// TestTicks: they are round, inside and neither few nor many.
func TestTicks(t *testing.T) {
	for _, s := range []Span{{0, 1}, {0.0123, 0.0131}, {-5, 1e9}, {1e-9, 3e-9}, {0, 1999}} {
		ticks := s.Ticks(5)
		must.Be(t, len(ticks) >= 2 && len(ticks) <= 6 && ticks[0] >= s.Low && ticks[len(ticks)-1] <= s.High,
			s, ticks)
	}
	got := (Span{1, 1}).Ticks(5)
	must.Be(t, got == nil, "an empty span has ticks", got)
}

// TestShortNames: packages are shortened if a name is long, and if names remain different.
func TestShortNames(t *testing.T) {
	for _, c := range []struct{ names, want []string }{
		{[]string{"fasta", "org.example.Short.run"}, []string{"fasta", "org.example.Short.run"}},
		{[]string{"org.apache.commons.math3.FastMathBenchmark.sin", "org.example.Short.run", "fasta"},
			[]string{"o.a.c.m.FastMathBenchmark.sin", "o.e.Short.run", "fasta"}},
		{[]string{"Outer.inner.AVeryLongClassThatIsNotAPackage.run"},
			[]string{"Outer.inner.AVeryLongClassThatIsNotAPackage.run"}},
		{[]string{"org.apache.commons.VeryLongBenchmark.sin", "org.aspect.commons.VeryLongBenchmark.sin"},
			[]string{"org.apache.commons.VeryLongBenchmark.sin", "org.aspect.commons.VeryLongBenchmark.sin"}},
	} {
		short := shortNames(c.names)
		for i, name := range c.names {
			must.Equal(t, short[name], c.want[i])
		}
	}
}

// TestFailures: reasons are counted over all keys, the most frequent first; reruns and executions
// that are only too short are not failures.
func TestFailures(t *testing.T) {
	d := sample()
	in := Material{Document: analysed(t, d), Data: d}
	list, total := in.failures()
	if total != 1 || len(list) != 1 ||
		list[0].Reason != "error: signal SIGSEGV" || list[0].Keys[0] != 8 {
		t.Errorf("%d: %+v", total, list)
	}
}

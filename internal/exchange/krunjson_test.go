package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dsnet/compress/bzip2"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// krunSample is a results file as Krun writes it: indented by 1, sorted keys.
const krunSample = `{
 "aperf_counts": {
  "fasta:PyPy:default-python": [[[1, 2], [3, 4]], []]
 },
 "audit": {
  "cli_args": ["../krun.py", "warmup.krun"],
  "uname": "Linux bencher5 3.16.0-4-amd64 #1 SMP Debian \u00b5 x86_64 GNU/Linux"
 },
 "config": "BENCHMARKS = {\n \"fasta\": 5 }\n",
 "core_cycle_counts": {
  "fasta:PyPy:default-python": [[[18446744073709551615, 9007199254740993], [0, 5.0]], []],
  "nbody:C:default-c": []
 },
 "error_flag": true,
 "eta_estimates": {"fasta:PyPy:default-python": [12.5, -1e3]},
 "mperf_counts": {
  "fasta:PyPy:default-python": [[[1, 2], [3, 4]], []]
 },
 "pexec_flags": {
  "fasta:PyPy:default-python": ["C", "T"]
 },
 "wallclock_times": {
  "fasta:PyPy:default-python": [[0.712345, 0.7], []],
  "nbody:C:default-c": []
 }
}`

func packed(t *testing.T, text string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := must.Get(bzip2.NewWriter(&b, nil))(t)
	must.Get(w.Write([]byte(text)))(t)
	must.Do(t, w.Close())
	return &b
}

func TestReadKrunJSON(t *testing.T) {
	for _, packing := range []string{"plain", "bzip2"} {
		text := bytes.NewBufferString(krunSample)
		if packing == "bzip2" {
			text = packed(t, krunSample)
		}
		d := must.Get(ReadKrunJSON(iotest.OneByteReader(text), FileOptions{}))(t, packing)
		must.Be(t, d.Machine == "bencher5" && d.Format == FormatKrun && len(d.Pairs) == 2, packing, d)
		fasta := d.Find(key.Key{Benchmark: "fasta", VM: "PyPy", Variant: "default-python"}).Executions
		wall, _ := fasta[0].Column(dataset.Wall, dataset.NoCore)
		must.Be(t, slices.Equal(wall.Reals, []float64{0.712345, 0.7}) && wall.Unit == dataset.Seconds,
			packing, "wall times", wall)
		cores := fasta[0].Cores(dataset.CoreCycles)
		if len(cores) != 2 || !slices.Equal(cores[0].Counts, []uint64{1<<64 - 1, 1<<53 + 1}) ||
			!slices.Equal(cores[1].Counts, []uint64{0, 5}) {
			t.Errorf("%s: cycles %+v", packing, cores)
		}
		must.Be(t, fasta[0].Cores(dataset.APERF) == nil, packing, "APERF was read unasked")
		if fasta[0].Outcome != results.Completed || fasta[1].Outcome != results.Timeout ||
			fasta[1].Number != 2 {
			t.Errorf("%s: outcomes %v, %v", packing, fasta[0].Outcome, fasta[1].Outcome)
		}
		if nbody := d.Pairs[1]; nbody.Key.Benchmark != "nbody" || len(nbody.Executions) != 0 {
			t.Errorf("%s: a key without executions: %+v", packing, nbody)
		}
	}
	d, err := ReadKrunJSON(strings.NewReader(krunSample), FileOptions{Counters: true})
	if err != nil || len(d.Pairs[0].Executions[0].Cores(dataset.APERF)) != 2 ||
		len(d.Pairs[0].Executions[0].Cores(dataset.MPERF)) != 2 {
		t.Errorf("with counters: %v, %v", d, err)
	}
}

// TestReadKrunBadData: bad values are data, for the analysis to report.
func TestReadKrunBadData(t *testing.T) {
	d := must.Get(ReadKrunJSON(strings.NewReader(
		`{"wallclock_times": {"a:b:c": [[NaN, Infinity, -Infinity, -1, 1e999, null, 2], [], null]},`+
			` "core_cycle_counts": {"a:b:c": [null, null, null]}}`), FileOptions{}))(t)
	e := d.Pairs[0].Executions
	x := e[0].Columns[0].Reals
	if !math.IsNaN(x[0]) || !math.IsInf(x[1], 1) || !math.IsInf(x[2], -1) || x[3] != -1 ||
		!math.IsInf(x[4], 1) || !math.IsNaN(x[5]) || x[6] != 2 {
		t.Errorf("values %v", x)
	}
	for _, crashed := range e[1:] {
		must.Be(t, crashed.Outcome == results.Error && len(crashed.Reasons) == 1,
			"an execution without times", crashed)
	}
}

func TestReadKrunRefuses(t *testing.T) {
	times := func(text string) string { return `{"wallclock_times": {"a:b:c": ` + text + `}}` }
	for _, c := range []struct{ name, text, want string }{
		{"nothing", ``, "byte 0: unexpected EOF"},
		{"not an object", `[1]`, "byte 1: [ instead of {"},
		{"another JSON file", `{"benchmarks": []}`, `no "wallclock_times"`},
		{"cut off", `{"wallclock_times": {"a:b:c": [[1, 2`, "unexpected EOF"},
		{"something behind", times("[]") + "x", "text after the end"},
		{"a key of two parts", `{"wallclock_times": {"a:b": []}}`, `key "a:b" has 2 parts`},
		{"a key twice", `{"wallclock_times": {"a:b:c": [], "a:b:c": []}}`, "occurs twice"},
		{"almost a null", times(`[[nul]]`), "invalid character ']' in literal null"},
		{"a word for a time", times(`[["1"]]`), `"1" is not a number`},
		{"hexadecimal", times(`[[0x10]]`), "invalid character 'x' after array element"},
		{"a time too few lists deep", times(`[1]`), "cannot unmarshal number"},
		{"negative count", `{"wallclock_times": {"a:b:c": [[1]]}, "core_cycle_counts": {"a:b:c": [[[-1]]]}}`,
			"-1 is not a count"},
		{"count of 65 bits",
			`{"wallclock_times": {"a:b:c": [[1]]}, "core_cycle_counts": {"a:b:c": [[[18446744073709551616]]]}}`, "is not a count"},
		{"broken count", `{"wallclock_times": {"a:b:c": [[1]]}, "core_cycle_counts": {"a:b:c": [[[1.5]]]}}`,
			"is not a count"},
		{"flags of another number", `{"wallclock_times": {"a:b:c": [[1]]}, "pexec_flags": {"a:b:c": []}}`,
			"1 executions have 0 flags"},
		{"unknown flag", `{"wallclock_times": {"a:b:c": [[1]]}, "pexec_flags": {"a:b:c": ["X"]}}`,
			`flag "X"`},
		{"counts of another number",
			`{"wallclock_times": {"a:b:c": [[1]]}, "core_cycle_counts": {"a:b:c": []}}`,
			"1 executions have cycles of 0"},
		{"a string not ended", `{"config": "` + "\n", "invalid character '\\n' in string literal"},
		{"bad escape", `{"config": "\x"}`, "in string escape code"},
		{"nested without end", `{"config": ` + strings.Repeat("[", 100), "unexpected EOF"},
	} {
		_, err := ReadKrunJSON(strings.NewReader(c.text), FileOptions{})
		must.Be(t, errors.Is(err, ErrFormat) && strings.Contains(fmt.Sprint(err), c.want), c.name, err,
			c.want)
	}
	must.Refused(ReadKrunJSON(bytes.NewReader(packed(t, krunSample).Bytes()[:200]), FileOptions{}))(t, "",
		"a bzip2 file that was cut off was not refused")
	broken := errors.New("disk on fire")
	_, err := ReadKrunJSON(iotest.ErrReader(broken), FileOptions{})
	must.Fail(t, err, broken, "a reader's error became")
}

// TestKrunNullCounts: a counter with a null is missing from its execution, and is said to be; the
// times and the other counters are kept.
func TestKrunNullCounts(t *testing.T) {
	d, err := ReadKrunJSON(strings.NewReader(
		`{"wallclock_times": {"a:b:c": [[1, 2], [3, 4], [], [5, 6]], "d:e:f": [[1, 2]]},`+
			` "core_cycle_counts": {"a:b:c": [[[1, null], [3, 4]], [[5, 6], [7, 8]], [null, null], [null, [1, 2]]], "d:e:f": [[[9, 9]]]},`+
			` "aperf_counts": {"a:b:c": [[[1, 2], [3, 4]], [[1, 2], [null, null]], [], [[1, 2], [3, 4]]]}}`),
		FileOptions{Counters: true})
	must.Do(t, err)
	want := []string{
		"a:b:c: there are nulls among the aperf_counts of execution 2; that counter is left out there, the " +
			"times are kept",
		"a:b:c: there are nulls among the core_cycle_counts of execution 1, 4; that counter is left out " +
			"there, the times are kept",
	}
	must.EqualList(t, d.Problems, want, "problems")
	var have []string
	for _, p := range d.Pairs {
		for _, e := range p.Executions {
			names := ""
			for _, c := range e.Columns {
				names += fmt.Sprintf("%s%d ", c.Name, c.Core)
			}
			have = append(have, names)
			must.Do(t, e.Check(), p.Key, "execution", e.Number)
		}
	}
	if want := []string{"wall-1 aperf0 aperf1 ", "wall-1 cycles0 cycles1 ", "wall-1 ",
		"wall-1 aperf0 aperf1 ", "wall-1 cycles0 "}; !slices.Equal(have, want) {
		t.Errorf("columns %q", have)
	}
}

func FuzzReadKrunJSON(f *testing.F) {
	f.Add([]byte(krunSample))
	f.Add([]byte(`{"wallclock_times": {"a:b:c": [[1, 2]]}, "core_cycle_counts": {"a:b:c": [[[1, null], null]]}}`))
	f.Add([]byte(`{"wallclock_times": {"a:b:c": [[NaN, 1e-7], null]}, "pexec_flags": {"a:b:c": ["C", "E"]}}`))
	f.Add([]byte(`{"audit": {"uname": "\ud83d\ude00 x"}, "wallclock_times": {}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := ReadKrunJSON(bytes.NewReader(text), FileOptions{Counters: true})
		if err != nil {
			must.Be(t, d == nil, "data and the error", err)
			return
		}
		for _, p := range d.Pairs {
			for i, e := range p.Executions {
				wall, ok := e.Column(dataset.Wall, dataset.NoCore)
				must.Be(t, ok && e.Number == i+1 && wall.Reals != nil, "execution", i+1, "of", p.Key, e)
			}
		}
	})
}

func BenchmarkReadKrunJSON(b *testing.B) {
	var text bytes.Buffer
	text.WriteString(`{"wallclock_times": {"a:b:c": [`)
	for e := range 30 {
		if e > 0 {
			text.WriteString(", ")
		}
		text.WriteByte('[')
		for i := range 2000 {
			if i > 0 {
				text.WriteString(", ")
			}
			fmt.Fprintf(&text, "%.6f", 0.1+float64(i)/1e4)
		}
		text.WriteByte(']')
	}
	text.WriteString("]}}")
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		must.Get(ReadKrunJSON(bytes.NewReader(text.Bytes()), FileOptions{}))(b)
	}
}

// TestKrunData: the first versions of Krun wrote data in place of wallclock_times.
func TestKrunData(t *testing.T) {
	d, err := ReadKrunJSON(strings.NewReader(`{"data": {"nbody:C:default-c": [[0.5, 0.25], []]}}`),
		FileOptions{})
	if err != nil || len(d.Pairs) != 1 || len(d.Pairs[0].Executions) != 2 ||
		d.Pairs[0].Executions[0].Columns[0].Reals[1] != 0.25 || d.Pairs[0].Executions[1].Outcome != "error" {
		t.Errorf("%+v, %v", d, err)
	}
	_, err = ReadKrunJSON(strings.NewReader(`{"data": {}, "wallclock_times": {}}`), FileOptions{})
	must.Refuse(t, err, "occurs twice", "both")
}

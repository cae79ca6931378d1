package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"krund/internal/analysis/dataset"
	"krund/rig/must"
)

// formatFile is a line of testdata/formats/want.txt.
type formatFile struct{ file, format, want string }

func formatFiles(t testing.TB) (list []formatFile) {
	const dir = "testdata/formats/"
	for line := range strings.Lines(string(must.Get(os.ReadFile(dir + "want.txt"))(t))) {
		if cells := strings.Split(strings.TrimSuffix(line, "\n"), " | "); len(cells) == 3 {
			list = append(list, formatFile{dir + cells[0], cells[1], cells[2]})
		}
	}
	return list
}

// shown writes a data set as the wants above are written.
func shown(d *dataset.Dataset) string {
	var keys []string
	for _, p := range d.Pairs {
		text := p.Key.String()
		for _, e := range p.Executions {
			for i, c := range e.Columns {
				if i > 0 {
					text += " " + c.Name
				}
				values := make([]float64, len(c.Reals))
				for i, v := range c.Reals {
					values[i] = math.Round(v*1e12) / 1e12
				}
				text += fmt.Sprintf(" %v", values)
				if i == 0 && c.Unit != dataset.Seconds {
					text += " " + c.Unit
				}
			}
			if e.Calls != nil {
				text += fmt.Sprintf(" %v", *e.Calls)
			}
			text += strings.Join(append([]string{""}, e.Reasons...), " ")
		}
		keys = append(keys, text)
	}
	return strings.Join(keys, "; ")
}

func TestFormats(t *testing.T) {
	for _, c := range formatFiles(t) {
		must.Equal(t, Sniff(must.Get(os.ReadFile(c.file))(t)), c.format, c.file)
		d, err := ReadFile(c.file, FileOptions{AnyUnit: true})
		must.Need(t, err == nil && d.Format == c.format, c.file, err)
		must.Equal(t, shown(d), c.want, c.file)
		if slices.Contains([]string{FormatJMH, FormatHyperfine, FormatGo}, c.format) {
			continue // failures, or more columns
		}
		// the plain CSV has the same values
		var b bytes.Buffer
		must.Do(t, WritePlain(&b, d))
		again, err := Read(FormatPlain, &b, FileOptions{})
		must.Do(t, err, c.file)
		must.Equal(t, shown(again), c.want, c.file)
	}
	_, err := ReadFile("testdata/formats/jmh.json", FileOptions{})
	must.Refuse(t, err, "measured in ops/ms, and only times can be analyzed")
	d := must.Get(ReadFile("testdata/formats/pyperf.json", FileOptions{VM: "v w", AnyUnit: true}))(t)
	must.Be(t, d.Machine == "apollo" && d.Pairs[0].Key.VM == "v_w" && len(d.Problems) == 1, d)
}

// TestMistakes: what is wrong in a file of a known format is said; it is no file of another.
func TestMistakes(t *testing.T) {
	mistakes := map[string]string{
		`{"sampling_mode":"Flat","iters":[1,2],"times":[1]}`:                       "iters has 2 values",
		`{"sampling_mode":"Flat","iters":[0],"times":[1]}`:                         "sample 1 has 0 iterations",
		`{"benchmarks": [{"fullname": "t", "stats": {"min": 1}}]}`:                 "--benchmark-save-data",
		`{"benchmarks": [{"name": "a", "real_time": 1, "run_type": "aggregate"}]}`: "it has no values",
		"# Execution Start: x\nx\t1\t1\tms\ttotal\tb\tv\n":                         `"x" is not an invocation`,
		"key,execution,iteration,value,unit\na:v:x,1,1,5,ns\na:v:x,1,1,5,ns\n":     "follows iteration 1",
		"key,execution,iteration,value,unit\na:v:x,1,0,5,ns\na:v:x,1,1,5,s\n":      "",
		"key,execution,iteration,value,unit\na:v:x,1,0,5,ns\na:v:x,1,1,5,bytes\n":  "in s and in bytes",
		"key,execution,iteration,value,unit\nb c,1,0,1,ns\n" +
			"b_c:default:default,1,1,9,ns\n": "the same name here",
		"# Execution Start: x\n1\t1\t1\ts\ttotal\tf\tp 3\ts\n" +
			"1\t1\t9\ts\ttotal\tf\tp_3\ts\n": "the same name here",
		"key,execution,iteration,value,unit\na:v:x,one,1,5,ns\n":           `execution "one"`,
		"command,mean,stddev,median,user,system,min,max\nx,,1,1,1,1,1,1\n": `"" is not a time`,
		`{"HostEnvironmentInfo": {}, "Benchmarks": [{"FullName": 3}]}`:     "is of type number",
		"BenchmarkX 1 5 ns/op 6 ns/op":                                     "unit ns/op occurs twice",
		"pexec: 1\nBenchmarkX 1 five ns/op":                                `"five" is not a number`,
		"pexec: 1\nBenchmarkX 1 5 " + strings.Repeat("x", 1<<21):           "token too long",
		`[{"jmhVersion": 1}]`:                                              "entry 0 has no benchmark",
		`{"benchmarks": [{"runs": []}]}`:                                   "there is no version",
		`{"results": [{"command": null}]}`:                                 "result 1 has no command",
		`{"results": [{"command": "a"}]} x`:                                "invalid character 'x'",
		`[{"jmhVersion": `:                                                 "unexpected end",
	}
	for histogram, want := range map[string]string{
		"[[[[1]]]]":          "fork 1, iteration 1",
		"[[[[1,2]],[]]]":     "fork 1, iteration 2: it has no calls",
		"[[[[-1,2]]]]":       "is not a time",
		"[[[[1,0.5]]]]":      "is not a time",
		"[[[[1,1e300]]]]":    "is not a time",
		"[[[[1e308,9e15]]]]": "too large",
		`[[[["a",1]]]]`:      "is of type string",
		"[[[[1e400,1]]]]":    "is 1e400, which is out of range",
		"[[[{\"1\":2}]]]":    "is of type object",
	} {
		mistakes[`[{"benchmark":"b","mode":"sample","primaryMetric":{"scoreUnit":"s/op","rawDataHistogram":`+
			histogram+`}}]`] = want
	}
	mistakes[`[{"benchmark":"b","mode":"sample","primaryMetric":{"scoreUnit":"ops/s","rawDataHistogram":`+
		`[[[[1,1]]]]}}]`] = "not one of time"
	for text, want := range mistakes {
		format := Sniff([]byte(text))
		_, err := Read(format, strings.NewReader(text), FileOptions{})
		must.Be(t, want == "" && err == nil || want != "" && errors.Is(err, ErrFormat) &&
			strings.Contains(err.Error(), want), format, text, err, want)
	}
	for _, f := range formats {
		_, err := Read(f.name, iotest.ErrReader(errFull), FileOptions{})
		must.Be(t, errors.Is(err, errFull) && !errors.Is(err, ErrFormat), f.name, "a failing disk", err)
	}
}

func TestPlanned(t *testing.T) {
	for text, want := range map[string]float64{"10 s": 10, "100 ms": 0.1, "": 1, "1 day": 86400, "-1 s": 1,
		"NaN s": 1, "1 parsec": 1} {
		must.Equal(t, planned(text), want)
	}
}

// FuzzRead: what is read of a file of any format can be used, and written.
func FuzzRead(f *testing.F) {
	for _, c := range formatFiles(f) {
		i := slices.IndexFunc(formats, func(f format) bool { return f.name == c.format })
		f.Add(i, string(must.Get(os.ReadFile(c.file))(f)))
	}
	f.Fuzz(func(t *testing.T, i int, text string) {
		if i < 0 || i >= len(formats) {
			return
		}
		d, err := Read(formats[i].name, strings.NewReader(text), FileOptions{})
		if err != nil {
			must.Fail(t, err, ErrFormat)
			return
		}
		for _, p := range d.Pairs {
			must.Equal(t, strings.Count(p.Key.String(), ":"), 2, "key", p.Key)
			for _, e := range p.Executions {
				must.Do(t, e.Check())
			}
		}
		must.Do(t, WriteGo(io.Discard, d))
		for i := range d.Pairs {
			must.Do(t, WriteParquet(io.Discard, d, &d.Pairs[i]))
		}
	})
}

// TestManyKeys: a small file with very many keys is refused before they are analyzed, in every way
// of reading keys: each of its own, and one after the other.
func TestManyKeys(t *testing.T) {
	for name, text := range map[string]func(keys int) string{
		"krun.json": func(keys int) string {
			var list []string
			for i := range keys {
				list = append(list, fmt.Sprintf(`"b%d:C:default": [[1.5]]`, i))
			}
			return `{"wallclock_times": {` + strings.Join(list, ", ") + `}}`
		},
		"bench.txt": func(keys int) string {
			var b strings.Builder
			b.WriteString("goos: linux\ngoarch: amd64\npkg: x\n")
			for i := range keys {
				fmt.Fprintf(&b, "BenchmarkB%d-2 \t 1\t 1000 ns/op\n", i)
			}
			return b.String() + "PASS\n"
		},
		"plain.csv": func(keys int) string { // all look alike: what a name costs does not grow
			var b strings.Builder
			b.WriteString(plainHeader + "\n")
			for i := range keys {
				fmt.Fprintf(&b, "%c%c,1,0,1,ns\n", 0x4e00+i%100, 0x4e00+i/100)
			}
			return b.String()
		},
	} {
		path := filepath.Join(t.TempDir(), name)
		for keys, want := range map[int]string{3: "", dataset.MaxKeys + 1: "more than 10000 keys",
			5 * dataset.MaxKeys: "more than 10000 keys"} {
			must.Do(t, os.WriteFile(path, []byte(text(keys)), 0o600))
			_, err := ReadFile(path, FileOptions{})
			must.Be(t, (err == nil) == (want == "") && (err == nil || strings.Contains(err.Error(), want)),
				name, "of", keys, "keys", err)
		}
	}
}

package runners

import (
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"krund/rig/must"
)

// inputCases are benchmarks whose run_iter takes an input and returns something, and old ones.
var inputCases = []struct {
	name, language, source string
	inputs                 bool
}{
	{"Python", "python", "def run_iter(n, i):\n    return i % n\n", true},
	{"Python, a list", "python", "def run_iter(n, i):\n    return [i % n, str(i % n), 1.5, None]\n", true},
	{"old Python", "python", "def run_iter(n):\n    return n\n", false},
	{"old Python with a default", "python", "def run_iter(n, debug=False):\n    return n\n", false},
	{"JavaScript", "javascript", "function run_iter(n, i) { return i % n; }\n", true},
	{"JavaScript, an object", "javascript", "const run_iter = (n, i) => ({ sum: i % n });\n", true},
	{"old JavaScript", "javascript", "function run_iter(n) { return n; }\n", false},
	{"C", "c", "#include <stdint.h>\nconst int krun_inputs = 1;\n" +
		"int64_t run_iter(int n, int i) { return i % n; }\n", true},
	{"old C", "c", "int run_iter(int n) { return n; }\n", false},
}

// TestInputs: inputs differ by iteration and follow from the seed, and equal results have equal
// checksums in each process.
func TestInputs(t *testing.T) {
	needBuilt(t)
	for _, c := range inputCases {
		t.Run(c.name, func(t *testing.T) {
			vm := []string{}
			programs := map[string]string{"python": "python3", "javascript": "node"}
			if program := programs[c.language]; program != "" {
				path, err := exec.LookPath(program)
				if err != nil {
					t.Skip(err)
				}
				vm = []string{path}
			}
			file := ""
			if c.language == "c" {
				file = compile(t, c.source)
			} else {
				file = write(t, "bench", c.source)
			}
			runner := map[string]string{"c": "runner", "python": "runner.py", "javascript": "runner.js"}
			r := run{iterations: 8, argv: append(vm, filepath.Join(built, "runners", c.language,
				runner[c.language]), file, "4")}
			measure := func(seed string) ended {
				r.env = []string{"KRUN_SEED=" + seed}
				got := r.do(t)
				must.Be(t, got.status == 0 && got.series.Done == 8, got)
				return got
			}
			first, again, other := measure("0000000001"), measure("0000000001"), measure("0000000002")
			if !c.inputs {
				must.Equal(t, len(first.series.Columns), 0, first.series.Columns)
				return
			}
			inputs, sums := first.column(t, "input"), first.column(t, "checksum")
			must.EqualList(t, again.column(t, "input"), inputs)
			must.EqualList(t, again.column(t, "checksum"), sums)
			must.Be(t, other.column(t, "input")[0] != inputs[0], "the inputs of another seed", inputs)
			seen := map[int64]int64{}
			for i, input := range inputs {
				must.Be(t, input >= 0 && input < 1<<31, input)
				sum, known := seen[input%4]
				must.Be(t, !known || sum == sums[i], "one result has two checksums", sums)
				seen[input%4] = sums[i]
			}
			distinct := slices.Compact(slices.Sorted(maps.Values(seen)))
			must.Be(t, len(seen) > 1 && len(distinct) == len(seen), inputs, sums)
		})
	}
}

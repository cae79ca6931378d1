package verdict

import (
	"strings"
	"testing"
)

// TestLimitIsNamed: the reason of a failure names the limit that caused it. The output of the
// programs was copied from runs under `prlimit --data=2097152` and `prlimit --nproc`.
func TestLimitIsNamed(t *testing.T) {
	one, loader := 1, 127
	heap := Bounds{Heap: "2MiB", HeapBytes: 2 << 20, Stack: "8MiB"}
	large := Bounds{Heap: "2GiB", HeapBytes: 2 << 30, Stack: "8MiB"}
	tests := map[string]struct {
		run  Evidence
		want string // "" for no limit
	}{
		"a JVM without a word": {Evidence{Signal: "SIGSEGV", Bounds: heap},
			`limits.heap = "2MiB" is probably too small for the program to start`},
		"the loader": {Evidence{Exit: &loader, Bounds: heap}, `limits.heap = "2MiB" is probably too small`},
		"PHP": {Evidence{Signal: "SIGSEGV", Said: "Can't initialize heap\n", Bounds: heap},
			`the limit limits.heap = "2MiB" was probably reached`},
		"Ruby": {Evidence{Exit: &one, Said: "[FATAL] failed to allocate memory", Bounds: heap},
			`limits.heap = "2MiB"`},
		"CPython": {Evidence{Exit: &one, Said: "Traceback ...\nMemoryError", Bounds: large},
			`limits.heap = "2GiB"`},
		"no limit of the heap": {Evidence{Exit: &one, Said: "MemoryError"}, ""},
		"threads": {Evidence{Exit: &one, Said: "java.lang.OutOfMemoryError: unable to create native thread",
			Bounds: Bounds{Processes: "16", Heap: "2GiB"}}, `limits.processes = "16"`},
		"a home that is full": {Evidence{Exit: &one, Said: "write: No space left on device",
			Bounds: Bounds{Home: "1MiB"}}, `limits.home = "1MiB"`},
		"a full disk": {Evidence{Exit: &one, Said: "write: No space left on device", Bounds: large}, ""},
		"almost all memory": {Evidence{Signal: "SIGABRT", Done: 3,
			Bounds: Bounds{Heap: "100MiB", HeapBytes: 100 << 20, MaxRSSBytes: 95 << 20}},
			`it used almost all of limits.heap = "100MiB"`},
		"a deep recursion, or a bug": {Evidence{Signal: "SIGSEGV", Planned: 5, Done: 2, Bounds: large},
			`if it recurses deeply, limits.stack = "8MiB" may be too small`},
		"a wrong checksum": {Evidence{Exit: &one, Done: 2, Bounds: heap, Said: "bad checksum"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(Judge(test.run, Limits{}).Reasons, "\n")
			if !strings.Contains(got, test.want) || test.want == "" && strings.Contains(got, "limits.") {
				t.Errorf("the reasons are %q, want %q", got, test.want)
			}
		})
	}
}

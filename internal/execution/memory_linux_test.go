//go:build !race

package execution

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"krund/internal/execution/child"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// memoryCase is set in the copy of this program that runs a hostile suite, so that its memory use
// is only that of reading.
const memoryCase = "KRUND_TEST_MEMORY"

// TestSuiteMemory: krund is the last process that the kernel's OOM killer selects, so a suite's
// output must not cost it memory.
func TestSuiteMemory(t *testing.T) {
	const head = `printf '{"wallclock_times": [0,0,0,0,0,0], "core_cycle_counts": ['; `
	tests := []struct {
		name, script string
		want         string // part of the reason
		most         int64  // bytes more than an ordinary run uses
	}{
		{"one long line", `printf '{"'; head -c 4M /dev/zero | tr '\0' x`, "more than 64 characters", 32 << 20},
		{"a long number", `printf '{"wallclock_times": ['; head -c 4M /dev/zero | tr '\0' 7`,
			"more than 64 characters", 32 << 20},
		{"a large sparse file", `truncate -s 200M sparse; dd if=sparse bs=1M`, "stdout begins with",
			32 << 20},
		{"too many iterations", `printf '{"wallclock_times": ['; yes 1, | tr -d '\n' | head -c 4M`,
			"it is incomplete", 32 << 20},
		{"lists within lists", `yes '[' | tr -d '\n' | head -c 4M`, "stdout begins with", 32 << 20},
		{"too many cores", head + `yes '[1,1,1,1,1,1],' | head -c 4M`, "more than 8192 cores", 32 << 20},
		{"stderr as well", `head -c 4M /dev/zero >&2; head -c 4M /dev/zero`, "stdout begins with", 32 << 20},
		{"all the output that can be asked for",
			`truncate -s 200M sparse; dd if=sparse bs=1M >&2; dd if=sparse bs=1M`,
			"stdout begins with", 448 << 20},
		{"as much as is accepted", `yes 0, | head -n 262142 >zeros; yes 18446744073709551615, | head -n 262142 >ones
			echo '{"wallclock_times": ['; cat zeros; echo '0],"core_cycle_counts":[],"aperf_counts":[],"mperf_counts":['
			echo '['; cat ones; echo '1],['; cat ones; echo '1],['; cat ones; echo '1],['; cat ones; echo '1],['; cat ones; echo '1],['
			cat ones; echo '1],['; cat ones; echo '1],['; cat ones; echo 1; echo ']]}'`, "", 256 << 20},
	}
	if name := os.Getenv(memoryCase); name != "" {
		for _, test := range tests {
			if test.name == name {
				readHostile(t, test.script, test.want)
				return
			}
		}
		readHostile(t, "", "")
		return
	}
	plain := peak(t, "none")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if testing.Short() && test.most > 32<<20 {
				t.Skip("takes some seconds")
			}
			if got := peak(t, test.name); got-plain > test.most {
				t.Errorf("krund grew to %d MB, without a suite it has %d MB; want at most %d MB more",
					got>>20, plain>>20, test.most>>20)
			} else {
				t.Logf("krund grew to %d MB, without a suite it has %d MB", got>>20, plain>>20)
			}
		})
	}
}

// peak returns the peak memory use of a copy of this program for a case, in bytes.
func peak(t *testing.T, name string) int64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestSuiteMemory$", "-test.v")
	cmd.Env = append(os.Environ(), memoryCase+"="+name)
	out, err := cmd.CombinedOutput()
	must.Do(t, err, out)
	_, text, _ := bytes.Cut(out, []byte("peak: "))
	kb, _, _ := bytes.Cut(text, []byte(" kB"))
	n, err := strconv.ParseInt(strings.TrimSpace(string(kb)), 10, 64)
	must.Need(t, err == nil, "no peak", out)
	return n << 10
}

// readHostile is that copy: it runs the suite, builds the record and reports its peak. Without a
// script it does nothing.
func readHostile(t *testing.T, script, want string) {
	t.Helper()
	if script != "" {
		suite := filepath.Join(t.TempDir(), "suite.sh")
		must.Do(t, os.WriteFile(suite, []byte(script+"\n"), 0o600))
		e := Executor{Runner: child.Runner{}, Installed: Installed{CallerName: "ann", CallerHome: "/"}}
		j := Job{
			Key:     key.Key{Benchmark: "b", VM: "v", Variant: "x"},
			VM:      config.VM{Name: "v", Runner: config.RunnerExternal},
			Program: "/bin/sh", Entry: suite, Benchmark: "b", Iterations: 6,
			Limits: config.Limits{Output: 1 << 16, Timeout: 5 * time.Minute},
		}
		if want == "" {
			j.Iterations = 1<<18 - 1
		}
		if strings.HasPrefix(os.Getenv(memoryCase), "all the output") {
			j.Limits.Output = 64 << 20
		}
		m := mustExecute(t, e, j)
		got := strings.Join(m.Execution.Series, "; ")
		must.Be(t, (want != "" || got == "") && strings.Contains(got, want), "the reason is", got, "want",
			want)
		r := results.Record{
			Attempt: 1, Pexec: 1, Key: key.Key{Benchmark: "b", VM: "v", Variant: "x"},
			Iterations: j.Iterations, Outcome: results.Error,
			WallNS: m.WallNS, Columns: m.Columns, Process: m.Process,
		}
		must.Get(results.Encode(r))(t)
	}
	status := must.Get(os.ReadFile("/proc/self/status"))(t)
	_, peak, _ := bytes.Cut(status, []byte("VmHWM:"))
	fmt.Printf("peak: %s\n", bytes.SplitN(peak, []byte("\n"), 2)[0])
}

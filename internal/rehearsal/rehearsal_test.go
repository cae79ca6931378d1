package rehearsal

import (
	"strings"
	"testing"

	"krund/internal/config"
	"krund/internal/pexec"
	"krund/internal/results"
)

// TestPrints: a first line longer than what is quoted of it made krund check --try panic.
func TestPrints(t *testing.T) {
	for _, n := range []int{1, 60, 61, 199, 200, 64 << 10} {
		var m pexec.Measured
		m.Process.Stdout = results.Output{Bytes: int64(n), Text: strings.Repeat("\u202e", n/3) + "xx"}
		got := prints(pexec.Job{VM: config.VM{Runner: "python"}}, m)
		if len(got) != 1 || !strings.HasPrefix(got[0], "it writes to stdout") || len(got[0]) > 500 {
			t.Errorf("%d bytes: %q", n, got)
		}
	}
}

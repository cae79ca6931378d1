package rehearsal

import (
	"context"
	"strings"
	"testing"

	"krund/internal/execution"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig/must"
)

// TestPrints: a first line longer than what is quoted of it made krund check --try panic.
func TestPrints(t *testing.T) {
	for _, n := range []int{1, 60, 61, 199, 200, 64 << 10} {
		var m execution.Measured
		m.Process.Stdout = results.Output{Bytes: int64(n), Text: strings.Repeat("\u202e", n/3) + "xx"}
		got := prints(execution.Job{VM: config.VM{Runner: "python"}}, m)
		must.Be(t, len(got) == 1 && strings.HasPrefix(got[0], "it writes to stdout") && len(got[0]) <= 500, n,
			"bytes", got)
	}
}

// linker is an Executor whose link command writes another file.
type linker struct{ relinked, executed *execution.Job }

func (l *linker) Relink(_ context.Context, j *execution.Job) error {
	before := *j
	l.relinked = &before
	j.Entry = "/linked/bench.so"
	return nil
}

func (l *linker) Execute(_ context.Context, j execution.Job) (execution.Measured, error) {
	l.executed = &j
	return execution.Measured{}, nil
}

// TestRunLinksAnew: a trial runs what experiment.relink has written, with the seed and variables
// of the first execution.
func TestRunLinksAnew(t *testing.T) {
	cfg, err := config.Parse("/lab/x.toml", []byte("[experiment]\nreboot = \"none\"\nlayout = \"random\"\n"+
		"relink = [\"/lab/relink\"]\nseed = 9\n[vms.C]\nrunner = \"c\"\nvariants = [\"v\"]\n[variants.v]\n"+
		"entry = \"bench.so\"\n[benchmarks]\nb = { parameter = 3 }\n"), "lab", nil)
	must.Do(t, err)
	var l linker
	s := Setting{Executor: &l, Directory: "/lab/x.krun", Scratch: "/tmp/scratch"}
	must.Do(t, Run(t.Context(), cfg, s, func(Result) {}))
	const variables = "KRUND_EXPERIMENT=x KRUND_DIRECTORY=/lab/x.krun KRUND_KEY=b:C:v KRUND_ARM= " +
		"KRUND_SLOT=0 KRUND_EXECUTION=1 KRUND_ATTEMPT=1"
	if r := l.relinked.Relink; strings.Join(r.Variables, " ") != variables || r.Scratch != s.Scratch ||
		r.Argv[0] != "/lab/relink" || l.relinked.Layout.LinkSeed != schedule.LinkSeed(9, 1) {
		t.Errorf("linked with %+v, layout %+v", r, l.relinked.Layout)
	}
	must.Equal(t, l.executed.Entry, "/linked/bench.so", "executed")
}

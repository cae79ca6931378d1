package command

import (
	"os"
	"testing"

	"krund/rig/must"
)

// TestExpendable: what a process that is exempt from the OOM killer runs is not exempt.
func TestExpendable(t *testing.T) {
	const own = "/proc/self/oom_score_adj"
	before := must.Get(os.ReadFile(own))(t)
	if err := os.WriteFile(own, []byte("-500"), 0); err != nil {
		t.Skip("only root can exempt a process: ", err)
	}
	defer func() { must.Do(t, os.WriteFile(own, before, 0)) }()
	const untilChanged = `until read n <` + own + ` && [ "$n" = 0 ]; do :; done; echo done`
	out, err := Run(t.Context(), Cmd{Argv: []string{"sh", "-c", untilChanged}})
	must.Equal(t, out, "done\n", err)
}

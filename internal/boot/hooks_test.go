package boot

import (
	"errors"
	"strings"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/rig/must"
)

// TestHooksKnowTheExecution: the hooks get the key, the attempt, and afterwards outcome and record.
func TestHooksKnowTheExecution(t *testing.T) {
	cfg := parse(t, experimentText("executions = 1\nreboot = \"none\""))
	s := newSimulated(t)
	must.Get(Run(t.Context(), cfg, dir, "none", s.system(crashfs.New("/lab"))))(t)
	before := "KRUND_EXPERIMENT=x KRUND_DIRECTORY=/lab/x.krun KRUND_KEY=nbody:C:default-c KRUND_ARM= " +
		"KRUND_SLOT=0 KRUND_EXECUTION=1 KRUND_ATTEMPT=1"
	after := before + " KRUND_OUTCOME=completed KRUND_RECORD=/lab/x.krun/results/0000000-001.json.gz"
	if len(s.hooks) != 4 || s.hooks[0] != before || s.hooks[1] != after {
		t.Errorf("the hooks got\n%s\nwant\n%s\n%s", strings.Join(s.hooks, "\n"), before, after)
	}
}

// TestFailingAfterHook: a hook that fails after an execution is reported, and stops the experiment
// only if the configuration says so. The record is kept in any case.
func TestFailingAfterHook(t *testing.T) {
	for policy, want := range map[string]string{"report": "CC", "stop": "CO"} {
		t.Run(policy, func(t *testing.T) {
			text := experimentText("executions = 1\nreboot = \"none\"") + "[hooks]\nafter_failure = \"" +
				policy + "\"\n"
			s, fsys := newSimulated(t), crashfs.New("/lab")
			s.afterFails = errors.New("no network")
			_, err := Run(t.Context(), parse(t, text), dir, "none", s.system(fsys))
			stopped := errors.Is(err, ErrUnfit) && strings.Contains(err.Error(), "hooks: no network")
			must.Be(t, (policy == "stop") == stopped && (policy != "report" || err == nil), "error", err)
			must.Equal(t, flags(t, fsys), want, "slots")
			must.Be(t, s.applied == 0 && strings.Contains(s.log.String(), "no network"), "settings left",
				s.applied, "log", s.log.String())
		})
	}
}

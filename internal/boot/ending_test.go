package boot

import (
	"context"
	"errors"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/rig/must"
)

// TestInterruptionAtTheEnd: an interruption that arrives when nothing runs any more does not keep
// the next boots from being made ordinary.
func TestInterruptionAtTheEnd(t *testing.T) {
	cfg := parse(t, experimentText("executions = 1\nreboot = \"none\""))
	for name, want := range map[string]Ending{"finished": Finished, "asked to stop": Stopped} {
		t.Run(name, func(t *testing.T) {
			s, fsys := newSimulated(t), crashfs.New("/lab")
			if want == Finished {
				s.oneBoot(cfg, fsys)
			} else {
				s.during = func(context.Context) { ask(t, fsys, directory.Stop) }
				s.oneBoot(cfg, fsys)
				ask(t, fsys, directory.Stop)
			}
			s.retired = false
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			ending, err := Run(ctx, cfg, dir, config.RebootNone, s.system(fsys))
			must.Be(t, ending == want && err == nil && s.retired, "ending", ending, err, "retired", s.retired,
				"want", want, "true")
		})
	}
}

// TestInterruptedRestart: an interruption that prevents the restart is no failure, unless the
// machine could not be restored.
func TestInterruptedRestart(t *testing.T) {
	cfg := parse(t, hardware(""))
	for _, stuck := range []error{nil, errors.New("eth0 stays down")} {
		s, fsys := newSimulated(t), crashfs.New("/lab")
		s.oneBoot(cfg, fsys)
		s.boot++
		ctx, cancel := context.WithCancel(t.Context())
		s.refuses = func() error { cancel(); return ctx.Err() }
		s.stuck = stuck
		ending, err := Run(ctx, cfg, dir, config.RebootHardware, s.system(fsys))
		if !errors.Is(err, stuck) || stuck == nil && ending != Interrupted || s.applied != 0 ||
			s.retired != (stuck != nil) {
			t.Errorf("stuck %v: ending %d, %v, %d settings left, retired %t", stuck, ending, err,
				s.applied, s.retired)
		}
	}
}

package boot

import (
	"strings"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// quickConfig is what `krund run --quick` makes of a configuration.
func quickConfig(t *testing.T, parameter string) *config.Config {
	t.Helper()
	text := strings.Replace(experimentText("executions = 9\nreboot = \"none\""), "parameter = 1",
		"parameter = "+parameter, 1)
	return parse(t, text+"\n\n# krund run --quick\n[machines.\"?*\".experiment]\nname = \"x-quick\"\n"+
		"executions = 1\n")
}

// TestQuickIsReplaced: a quick run that has ended, or that another configuration started, is
// replaced by the next one; one that was interrupted continues. The power may fail in each
// operation meanwhile.
func TestQuickIsReplaced(t *testing.T) {
	first := crashfs.New("/lab")
	run := func(cfg *config.Config, fsys *crashfs.FS, boot int) (*simulated, error) {
		s := newSimulated(t)
		s.boot = boot
		_, err := s.start(cfg, fsys)
		return s, err
	}
	must.Get(run(quickConfig(t, "1"), first, 1))(t)
	for name, cfg := range map[string]*config.Config{
		"the same": quickConfig(t, "1"), "another": quickConfig(t, "3"),
	} {
		for op := 1; ; op++ {
			fsys := first.Survivor(crashfs.Nothing)
			fsys.CrashAt(op)
			s, err := run(cfg, fsys, 2)
			cut := fsys.IsCut()
			fsys = fsys.Reboot(crashfs.Everything)
			if cut {
				s, err = run(cfg, fsys, 3)
			}
			must.Need(t, err == nil && audit(fsys, cfg, nil) == nil, name, "cut in operation", op, err,
				audit(fsys, cfg, nil))
			for r, err := range results.NewReader(fsys, dir+"/results").All() {
				must.Need(t, err == nil && r.BootID != "boot-1", name, "cut in operation", op, "a record of",
					r.BootID, err)
			}
			if !cut {
				must.Contain(t, s.log.String(), "the results of the earlier quick run are removed", name,
					"the log does not say it")
				break
			}
		}
	}
}

// TestOnlyQuickIsReplaced: the directory of a real experiment is refused as ever.
func TestOnlyQuickIsReplaced(t *testing.T) {
	fsys := crashfs.New("/lab")
	s := newSimulated(t)
	real := parse(t, experimentText("executions = 1\nreboot = \"none\""))
	must.Get(s.start(real, fsys))(t)
	before := fsys.State()
	must.Refused(newSimulated(t).start(quickConfig(t, "1"), fsys))(t,
		"was started with another configuration", "error")
	must.Equal(t, before, fsys.State(), "something was changed")
}

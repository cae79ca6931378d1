package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"krund/internal/boot/doctor"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config"
	"krund/internal/machine/sysroot"
	"krund/internal/schedule"
)

// Wider is a configuration with more executions of each key than an experiment has measured.
type Wider struct {
	Said string // what changes, where, and how it is measured if the machine restarts for it

	path, text string
}

// MoreExecutions returns the configuration at path, of an experiment that was measured, with more
// executions of each key: more is such as "+15". Nothing is changed yet.
//
// It is an error if executions are outstanding: given once more after an interruption, the same
// request would not add them once more.
func MoreExecutions(fsys durable.FS, path, host, more string) (*Wider, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(more, "+"))
	if !strings.HasPrefix(more, "+") || err != nil || n < 1 || n > schedule.MaxPexec {
		return nil, Usage(fmt.Errorf("--executions %s: write how many more, such as +15; the number itself "+
			"is in %s", display.Clip(more, mostUnknown), display.ShellPath(path)))
	}
	cfg, err := config.Open(path, host, doctor.Settings())
	if err != nil {
		return nil, err
	}
	shown := display.ShellPath(path)
	e, err := Open(fsys, DirectoryOf(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has not begun, and measures %d executions as it is: write another number "+
			"there", shown, cfg.Experiment.Executions)
	}
	if err != nil {
		return nil, err
	}
	s, err := e.OpenSchedule()
	if err != nil {
		return nil, err
	}
	defer s.Close() //nolint:errcheck // it was only read
	same, other := e.AsBegun(cfg, s.Header().ConfigHash)
	switch left, err := s.Left(); {
	case err != nil:
		return nil, err
	case other != nil && other.Was != nil:
		return nil, fmt.Errorf("%s plans more already, which was not measured yet: %s; `krunctl run` without "+
			"--executions measures that", shown, other.Growth(cfg.Slots()))
	case other != nil:
		return nil, other
	case left > 0:
		return nil, fmt.Errorf("%s of %s are outstanding: `krunctl run` without --executions measures them; "+
			"to measure more than that now, change executions in the file", display.Count(left, "execution"),
			shown)
	}
	text, line, err := cfg.MoreExecutions(n)
	if err == nil {
		err = e.canGrow(s, cfg, same.Text, text)
	}
	if err != nil {
		return nil, err
	}
	said := fmt.Sprintf("%d more executions of each of %s: in %s (line %d)", n,
		display.Count(len(cfg.Keys()), "key"), shown, line)
	if config.Restarts(cfg.Experiment.Reboot) {
		said += fmt.Sprintf("; `krunctl enable %s` measures them", shown)
	}
	return &Wider{path: cfg.Path, text: text, Said: said}, nil
}

// canGrow returns why krund would not measure the executions that the text adds to the
// configuration cfg, which the experiment was begun with as the text was.
func (e Experiment) canGrow(s *schedule.Schedule, cfg *config.Config, was, text string) error {
	err := identity.Unchanged(context.Background(), e.FS(), e.Editions(), cfg)
	if err != nil {
		return err
	}
	editions, err := identity.LoadEditions(e.FS(), e.Editions())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	from, err := s.Growth()
	if err == nil {
		editions, err = identity.Grow(editions, was, text, from, sysroot.RealClock{}.Now())
	}
	var stages []schedule.Stage
	if err == nil {
		stages, err = identity.Stages(editions, cfg.Earlier)
	}
	if err == nil {
		err = schedule.CanExtend(s, stages)
	}
	if err != nil {
		return fmt.Errorf("%s cannot get more executions; nothing was changed: %w", e.Dir(), err)
	}
	return nil
}

// Store writes the configuration to its file, which keeps its owner and permissions.
func (w *Wider) Store() error {
	return durable.WriteUserFile(w.path, func(to io.Writer) error {
		_, err := io.WriteString(to, w.text)
		return err
	})
}

// MoreCommand returns the command that adds executions to the one experiment that arguments name;
// "" if there are none to add, or the experiment has no file here.
func MoreCommand(args []string, more int) string {
	if len(args) != 1 || more < 1 {
		return ""
	}
	file := ConfigOf(DirectoryOf(args[0]))
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return display.ShellJoin([]string{"krunctl", "run", file, "--executions", fmt.Sprintf("+%d", more)})
}

package boot

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/rig/must"
)

// ways are methods that refuse with an error or accept with nil, and record their calls.
func ways(asked *[]string, answers ...error) []RebootMethod {
	var list []RebootMethod
	for i, answer := range answers {
		name := string(rune('a' + i))
		list = append(list, RebootMethod{name, func(context.Context) error {
			*asked = append(*asked, name)
			return answer
		}})
	}
	return list
}

func TestTheFirstWayThatWorksIsTaken(t *testing.T) {
	refused := errors.New("refused")
	for _, c := range []struct {
		name    string
		answers []error
		asked   []string
		fails   bool
	}{
		{"the first", []error{nil, nil}, []string{"a"}, false},
		{"the second", []error{refused, nil, nil}, []string{"a", "b"}, false},
		{"none", []error{refused, refused}, []string{"a", "b"}, true},
	} {
		var asked []string
		err := Rebooter{Methods: ways(&asked, c.answers...),
			Log: slog.New(slog.DiscardHandler)}.Reboot(t.Context(), config.RebootHardware)
		must.Be(t, slices.Equal(asked, c.asked) && (err != nil) == c.fails, c.name, "asked", asked, "error",
			err, c.asked)
		must.Be(t, !c.fails || errors.Is(err, refused) && strings.Contains(err.Error(), "by hand"), c.name,
			"error", err, "lacks the reason or the next step")
	}
}

// The last method forces the restart, which must not happen if krund is stopped while it waits for
// the first.
func TestNoFurtherMethodAfterAStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var asked []string
	all := append([]RebootMethod{{"slow", func(ctx context.Context) error {
		cancel()
		return ctx.Err()
	}}}, ways(&asked, nil)...)
	err := Rebooter{Methods: all, Log: slog.New(slog.DiscardHandler)}.Reboot(ctx, config.RebootHardware)
	must.Be(t, errors.Is(err, context.Canceled) && asked == nil, "error", err, "asked", asked,
		"want no further method")
}

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
		must.Be(t, errors.Is(err, stuck) && (stuck != nil || ending == Interrupted) && s.applied == 0 &&
			s.retired == (stuck != nil), "stuck", stuck, "ending", ending, err, s.applied,
			"settings left, retired", s.retired)
	}
}

// TestStopTime: the init systems give krund the time that it may need to end in order.
func TestStopTime(t *testing.T) {
	const kill = 10 * time.Second // of the benchmark, in internal/execution/child
	for file, pattern := range map[string]string{
		"../../systemd/krund@.service": `(?m)^TimeoutStopSec=(\d+)$`,
		"../../openbsd/krund.rc":       `(?m)^daemon_timeout=(\d+)$`,
	} {
		text := must.Get(os.ReadFile(file))(t)
		found := regexp.MustCompile(pattern).FindSubmatch(text)
		if found == nil {
			t.Errorf("%s: no %s", file, pattern)
			continue
		}
		seconds, err := strconv.Atoi(string(found[1]))
		if allowed := time.Duration(seconds) * time.Second; err != nil || allowed < kill+cleanupTime {
			t.Errorf("%s: %v, and krund may need %v", file, allowed, kill+cleanupTime)
		}
	}
}

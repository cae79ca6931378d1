package boot

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestLadder: the kinds of restart that are asked for, and what the records say. The simulated
// machine starts the way it was asked to, except once.
func TestLadder(t *testing.T) {
	for _, c := range []struct {
		name, text string
		fails      int // the restart that ends as one of the hardware
		asked      []string
		recorded   []string
	}{
		{"kexec", "executions = 2\nreboot = \"kexec\"", 0, []string{"kexec", "kexec", "kexec", "kexec"},
			[]string{"kexec", "kexec", "kexec", "kexec"}},
		{"every second one", "executions = 2\nreboot = \"kexec\"\nhardware_every = 2", 0,
			[]string{"kexec", "hardware", "kexec", "hardware"},
			[]string{"kexec", "hardware", "kexec", "hardware"}},
		{"a power cut meanwhile", "executions = 2\nreboot = \"soft\"", 2,
			[]string{"soft", "soft", "soft", "soft"}, []string{"soft", "hardware", "soft", "soft"}},
		{"hardware", "executions = 2\nreboot = \"hardware\"", 0,
			[]string{"hardware", "hardware", "hardware", "hardware"},
			[]string{"hardware", "hardware", "hardware", "hardware"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, fsys := newSimulated(t), crashfs.New("/lab")
			s.fails = c.fails
			cfg := parse(t, experimentText(c.text))
			fsys = must.Get(s.lifetime(cfg, fsys, 20, func(f *crashfs.FS) *crashfs.FS { return f }))(t)
			must.EqualList(t, s.kinds, c.asked, "asked for")
			reader := results.NewReader(fsys, dir+"/results")
			listing := must.Get(reader.List())(t)
			var recorded []string
			for loaded := range results.Scan(reader, listing.Records) {
				must.Need(t, loaded.Err == nil, loaded.Err)
				recorded = append(recorded, loaded.Record.Reboot)
			}
			must.EqualList(t, recorded, c.recorded, "records")
		})
	}
}

// TestFasterRestartsFallBack: when the faster kind is refused, the hardware restarts.
func TestFasterRestartsFallBack(t *testing.T) {
	var asked []string
	r := Rebooter{Methods: ways(&asked, nil), Log: slog.New(slog.DiscardHandler),
		Faster: map[string]RebootMethod{config.RebootKexec: {"kexec", func(context.Context) error {
			asked = append(asked, "kexec")
			return errors.New("locked down")
		}}}}
	for _, c := range []struct {
		kind string
		want []string
	}{
		{config.RebootKexec, []string{"kexec", "a"}},
		{config.RebootSoft, []string{"a"}},
		{config.RebootHardware, []string{"a"}},
	} {
		asked = nil
		err := r.Reboot(t.Context(), c.kind)
		must.Be(t, err == nil && slices.Equal(asked, c.want), c.kind, "asked", asked, err, "want", c.want)
	}
}

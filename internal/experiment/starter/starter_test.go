package starter_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/config"
	"krund/internal/experiment/starter"
	"krund/rig/must"
)

// TestNew: each configuration is right, short, and names its benchmark's file.
func TestNew(t *testing.T) {
	for _, language := range append(starter.Languages(), "") {
		var command []string
		if language == "" {
			command = []string{"sort", "a b", `quote"\`}
		}
		e := must.Get(starter.New("first", language, command, "/opt/run ners"))(t)
		must.Be(t, strings.Count(e.Config, "\n") <= 25, e.Config)
		cfg := must.Get(config.Parse("/x/first.toml", []byte(e.Config), "lab", nil))(t)
		must.Equal(t, len(cfg.Keys()), 1)
		must.Equal(t, cfg.Experiment.Reboot, config.RebootNone)
		if language == "" {
			must.EqualList(t, cfg.VMs[0].Args, append([]string{"--"}, command...))
			continue
		}
		must.Be(t, strings.Contains(e.Text, "run_iter") || strings.Contains(e.Text, "runIter"), e.Text)
		must.Equal(t, path.Dir(path.Join("/x", e.File)), path.Dir(cfg.EntryPath(cfg.Keys()[0])))
		must.Equal(t, e.Build != "", slices.Contains([]string{"c", "rust", "java", "go"}, language))
	}
	for _, c := range []struct{ name, language, want string }{
		{"../x", "c", "the name of the experiment"}, {"", "c", "the name"}, {"a b", "c", "the name"},
		{"x", "pyhton", "did you mean python?"}, {"x", strings.Repeat("y", 1e5), "choose one of"},
	} {
		_, err := starter.New(c.name, c.language, nil, "")
		must.Be(t, err != nil && strings.Contains(err.Error(), c.want) && len(err.Error()) < 1000, err)
	}
}

package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"krund/internal/control"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/probe"
	"krund/rig/must"
)

// known returns all settings of [controls].
func known() []setting.Descriptor { return append(control.Descriptors(), probe.Descriptors()...) }

// schemaKeys returns every key there is with its default, in the order of the
// schema. Names that users give are NAME.
func schemaKeys(t *testing.T) []askedKey {
	t.Helper()
	root, problem := decode("[vms.NAME]\nrunner = \"c\"\nvariants = " +
		"[\"NAME\"]\n[variants.NAME]\n[benchmarks.NAME]\n[arms.NAME]\n[suites.NAME]\n[anchor]\n")
	must.Need(t, problem == nil, problem)
	r := newReader(&problems{}, known(), true)
	r.config(root)
	return slices.DeleteFunc(r.asked, func(k askedKey) bool { return k.section == "" })
}

func repoFile(t *testing.T, name string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("../../..", name)))(t)
	return string(text)
}

// TestExampleShowsEveryKey looks for each key of the schema in the example, with its default if it
// has one and is not about names.
func TestExampleShowsEveryKey(t *testing.T) {
	root, problem := decode(repoFile(t, "configs/example.toml"))
	must.Need(t, problem == nil, problem)
	own := regexp.MustCompile(`^(experiment\.(name|description|benchmarks|skip)|(vms|variants)\..*)$`)
	for _, k := range schemaKeys(t) {
		path := k.section + "." + k.name
		if slices.Contains([]string{"arms.NAME", "anchor", "suites.NAME"}, k.section) {
			continue // in comments: with arms, the default of order would be a mistake, and no suite is here
		}
		found := lookIn(root, strings.Split(path, "."))
		if len(found) == 0 {
			t.Errorf("%s is not in the example", path)
			continue
		}
		if own.MatchString(path) || k.normal == "" {
			continue
		}
		must.Equal(t, written(found[0]), k.normal, path, "in the example, by default")
	}
}

// lookIn returns the nodes at path, where NAME matches any name.
func lookIn(n *node, path []string) []*node {
	if len(path) == 0 {
		return []*node{n}
	}
	if path[0] != "NAME" {
		if n.child(path[0]) == nil {
			return nil
		}
		return lookIn(n.child(path[0]), path[1:])
	}
	var found []*node
	for _, name := range n.names() {
		found = append(found, lookIn(n.table[name], path[1:])...)
	}
	return found
}

// written returns a value as written in TOML; for a control with options, its policy.
func written(n *node) string {
	switch {
	case n.child("policy") != nil:
		return written(n.child("policy"))
	case n.table != nil:
		return "{}"
	case n.list != nil:
		var items []string
		for _, item := range n.list {
			items = append(items, written(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	if s, ok := n.value.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(n.value)
}

func TestShippedConfigsAreValid(t *testing.T) {
	paths, err := filepath.Glob("../../../configs/*.toml")
	must.Need(t, err == nil && len(paths) >= 3, paths, err)
	for _, path := range paths {
		text := must.Get(os.ReadFile(path))(t)
		for _, host := range []string{"lab1", "laptop3"} {
			must.Get(Parse(path, text, host, known()))(t)
		}
	}
}

// TestDemoNeedsNoRootAndNoTime checks what `make demo` relies on.
func TestDemoNeedsNoRootAndNoTime(t *testing.T) {
	c := must.Get(Parse("demo.toml", []byte(repoFile(t, "configs/demo.toml")), "lab1", known()))(t)
	e := c.Experiment
	must.Be(t, e.Reboot == RebootNone && e.Account == AccountCaller && c.Wait == (Wait{}) &&
		c.Temperature.BaseWait == 0, e, c.Wait, c.Temperature)
	for _, demand := range c.Controls {
		p := demand.Relaxed().Policy
		must.Be(t, p == setting.Warn || p == setting.Off, demand.Name, "has policy", p)
	}
	must.Be(t, len(c.Keys()) == 4 && c.Slots() == 8, len(c.Keys()), "keys", c.Slots(), "slots")
}

// TestStudyIsTheStudys compares warmup-study.toml with Barrett et al. 2017,
// sections 3 and 3.5: what it does not say must be so by default.
func TestStudyIsTheStudys(t *testing.T) {
	c := must.Get(
		Parse("warmup-study.toml", []byte(repoFile(t, "configs/warmup-study.toml")), "lab1", known()))(t)
	e := c.Experiment
	must.Be(t, len(c.Benchmarks) == 6 && e.Iterations == 2000 && e.Executions == 30 &&
		e.Reboot == RebootHardware && e.Account == AccountFresh, len(c.Benchmarks), "benchmarks", e)
	must.Be(t, c.Limits.Heap == 2<<30 && c.Limits.Stack == 8<<20 && c.Limits.Processes == 4096 &&
		c.Temperature.Tolerance == 3, c.Limits, c.Temperature)
	for _, name := range []string{"frequency", "turbo", "tickless", "perf_rate", "temperature"} {
		must.Equal(t, c.Control(name).Policy, setting.Require, "has policy")
	}
}

// TestDocsHaveEveryKeyAndDefault reads the tables of docs/config.md: a heading names the section, a
// row starts with the key and has the default in its third column.
func TestDocsHaveEveryKeyAndDefault(t *testing.T) {
	documented := docsDefaults(repoFile(t, "docs/config.md"))
	for _, k := range schemaKeys(t) {
		path := k.section + "." + k.name
		normal, ok := documented[path]
		if !ok {
			t.Errorf("%s is not documented", path)
			continue
		}
		delete(documented, path)
		want := k.normal
		switch path {
		case "experiment.name":
			want = "the file's name without `.toml`"
		case "vms.NAME.iterations":
			want = "the experiment's"
		case "vms.NAME.path", "vms.NAME.runner", "vms.NAME.variants", "variants.NAME.entry",
			"benchmarks.NAME.parameter", "suites.NAME.path", "suites.NAME.found":
			want = "none"
		case "suites.NAME.kind":
			want = "the section's name"
		}
		must.Be(t, strings.Trim(normal, "`") == want || normal == want, path, "documented default", normal,
			"in fact", want)
	}
	for path := range documented {
		t.Errorf("%s is documented, but is no key", path)
	}
}

var (
	docsHeading = regexp.MustCompile("^##+ `\\[(.*)\\]`")
	docsRow     = regexp.MustCompile("^\\| `([^`]+)` \\| ([^|]+) \\| ([^|]+) \\|")
)

// docsDefaults returns the default in each row, keyed by the path of the key.
func docsDefaults(text string) map[string]string {
	defaults := map[string]string{}
	section := ""
	for line := range strings.Lines(text) {
		if m := docsHeading.FindStringSubmatch(line); m != nil {
			section = m[1]
		} else if strings.HasPrefix(line, "## ") {
			section = ""
		}
		if m := docsRow.FindStringSubmatch(line); m != nil && section != "" {
			defaults[section+"."+m[1]] = strings.TrimSpace(m[3])
		}
	}
	return defaults
}

func TestDocsHaveEveryKrunKey(t *testing.T) {
	text := repoFile(t, "docs/from-krun.md")
	// The variables that Krun's configuration files set, according to its config.py, README and
	// examples.
	for _, name := range []string{
		"N_EXECUTIONS", "VMS", "vm_def", "variants", "n_iterations", "VARIANTS", "EntryPoint", "subdir",
		"BENCHMARKS", "SKIP", "HEAP_LIMIT",
		"STACK_LIMIT", "EXECUTION_TIMEOUT", "TEMP_READ_PAUSE", "PRE_EXECUTION_CMDS", "POST_EXECUTION_CMDS",
		"MAIL_TO", "MAX_MAILS",
		"ENABLE_PINNING", "AMPERF_RATIO_BOUNDS", "AMPERF_BUSY_THRESHOLD", "custom_dmesg_whitelist",
		"ITERATIONS_ALL_VMS",
	} {
		must.Contain(t, text, name, "is not mapped")
	}
}

// TestDocsExamplesParse parses every configuration in the docs; the hub's are tested in
// cmd/krunhub. A part of a configuration must parse with one of the complete ones.
func TestDocsExamplesParse(t *testing.T) {
	pages := must.Get(filepath.Glob(filepath.FromSlash("../../../docs/*.md")))(t)
	block := regexp.MustCompile("(?s)```toml\n(.*?)```")
	parse := func(text string) error {
		_, err := Parse("docs", []byte(text), "laptop7", known())
		return err
	}
	var complete, parts []string
	for _, page := range pages {
		for _, m := range block.FindAllStringSubmatch(repoFile(t, "docs/"+filepath.Base(page)), -1) {
			switch {
			case strings.HasPrefix(filepath.Base(page), "hub"):
			case strings.Contains(m[1], "[benchmarks]"):
				complete = append(complete, m[1])
			default:
				parts = append(parts, m[1])
			}
		}
	}
	must.Be(t, len(complete) >= 2 && len(parts) >= 6, len(complete), "complete configurations and",
		len(parts), "parts")
	for _, text := range complete {
		must.Do(t, parse(text), text)
	}
	for _, part := range parts {
		var all []error
		for _, text := range complete {
			all = append(all, parse(text+part))
		}
		must.Be(t, slices.Contains(all, nil), errors.Join(all...), part)
	}
}

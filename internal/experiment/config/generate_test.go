package config_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/control"
	"krund/internal/experiment/config"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/probe"
	"krund/rig/must"
)

// TestGenerated keeps what the descriptors of controls and probes generate: parts of the example
// and of the documentation. `make generate` rewrites them (this test with -update).
func TestGenerated(t *testing.T) {
	for _, part := range []struct{ file, begin, end, want string }{
		{"configs/example.toml", "[controls]\n", "\n[counters]", example(doctor.Settings())},
		{"docs/config.md", begin("settings"), end, configTable(doctor.Settings())},
		{"docs/controls.md", begin("Linux"), end,
			controlsTable("control", "set", described(control.Linux()))},
		{"docs/controls.md", begin("OpenBSD"), end,
			controlsTable("control", "set", described(control.OpenBSD()))},
		{"docs/controls.md", begin("probes"), end, controlsTable("probe", "read", probe.Descriptors())},
	} {
		path := filepath.Join("../../..", part.file)
		data := must.Get(os.ReadFile(path))(t)
		before, rest, found := strings.Cut(string(data), part.begin)
		got, after, closed := strings.Cut(rest, part.end)
		switch {
		case !found || !closed:
			t.Errorf("%s has no part between %q and %q", part.file, part.begin, part.end)
		case got == part.want:
		case *update:
			text := before + part.begin + part.want + part.end + after
			must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		default:
			t.Errorf("%s differs from the descriptors: run `make generate`", part.file)
		}
	}
}

func begin(part string) string { return "<!-- make generate: " + part + " -->\n" }

const end = "<!-- end -->\n"

// described returns what controls declare, each name once.
func described(controls []control.Descriptor) []setting.Descriptor {
	var list []setting.Descriptor
	seen := map[string]bool{}
	for _, c := range controls {
		if !seen[c.Name] {
			list = append(list, c.Descriptor)
		}
		seen[c.Name] = true
	}
	return list
}

// example writes [controls] with every option at its default.
func example(settings []setting.Descriptor) string {
	var b strings.Builder
	for _, d := range settings {
		value := strconv.Quote(string(d.Policy))
		if len(d.Options) > 0 {
			value = "{ policy = " + value
			for _, o := range d.Options {
				value += ", " + o.Name + " = " + asTOML(o.Default)
			}
			value += " }"
		}
		line := d.Name + " = " + value
		width := 31 // comments begin in one of two columns
		if len(line) > width {
			width = 57
		}
		fmt.Fprintf(&b, "%-*s # %s\n", width, line, strings.ReplaceAll(d.Brief, "`", ""))
	}
	return b.String()
}

// configTable writes the rows of docs/config.md: one for each setting and each option.
func configTable(settings []setting.Descriptor) string {
	var b strings.Builder
	b.WriteString("| key | type | default | what it is, and why |\n|---|---|---|---|\n")
	for _, d := range settings {
		fmt.Fprintf(&b, "| `%s` | policy | `%q` | %s, because %s |\n", d.Name, d.Policy, d.Brief, d.Why)
		for _, o := range d.Options {
			fmt.Fprintf(&b, "| `%s.%s` | %s | `%s` | %s |\n", d.Name, o.Name, values(o), asTOML(o.Default),
				o.Doc)
		}
	}
	return b.String()
}

// controlsTable writes a table of docs/controls.md.
func controlsTable(kind, done string, settings []setting.Descriptor) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | what is %s | notes |\n|---|---|---|\n", kind, done)
	for _, d := range settings {
		fmt.Fprintf(&b, "| `%s` | %s | %s\n", d.Name, d.What, strings.TrimLeft(d.Notes+" |", " "))
	}
	return b.String()
}

// asTOML writes a default.
func asTOML(value any) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(v)
	case []string:
		quoted := make([]string, len(v))
		for i, s := range v {
			quoted[i] = strconv.Quote(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	return fmt.Sprint(value)
}

// values describes the values of an option.
func values(o setting.Option) string {
	switch {
	case o.Values != "":
		return o.Values
	case o.Choices != nil:
		return "`\"" + strings.Join(o.Choices, "\"`, `\"") + "\"`"
	}
	if _, isFlag := o.Default.(bool); isFlag {
		return "true or false"
	}
	return thousands(o.Min) + " to " + thousands(o.Max)
}

// thousands separates groups of three digits of numbers above 9999.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && n > 9999; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// TestDescriptorsAreWhole holds what the generated parts and the parser need of a descriptor.
func TestDescriptorsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range doctor.Settings() {
		must.Be(t, !seen[d.Name] && d.Brief != "" && d.Why != "" && d.What != "" &&
			strings.Contains("require apply warn off", string(d.Policy)), d.Name,
			"is declared twice, or not wholly", d)
		seen[d.Name] = true
		for _, o := range d.Options {
			switch v := o.Default.(type) {
			case bool:
			case int64:
				must.Be(t, v >= o.Min && v <= o.Max && o.Min < o.Max, d.Name, ".", o.Name, "default", v,
					"range", o.Min, o.Max)
			case string:
				if o.Choices == nil && (o.Values == "" || o.Shape != nil && !o.Shape.MatchString(o.Example)) {
					t.Errorf("%s.%s: neither choices nor a described shape with an example", d.Name, o.Name)
				}
			case []string:
				must.Be(t, o.Values != "", d.Name, ".", o.Name, "what are its values?")
			default:
				t.Errorf("%s.%s has a default of type %T", d.Name, o.Name, v)
			}
			must.Be(t, o.Doc != "", d.Name, ".", o.Name, "is not documented")
		}
	}
}

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGoldenMistakes keeps the whole output for a file of many mistakes. A
// line of the file that has one states it in a comment.
func TestGoldenMistakes(t *testing.T) {
	text, err := os.ReadFile("testdata/mistakes.toml")
	must.Do(t, err)
	_, err = config.Parse("mistakes.toml", text, "lab1", doctor.Settings())
	must.Need(t, err != nil, "no mistake found")
	golden := filepath.Join("testdata", "mistakes.txt")
	if *update {
		must.Do(t, os.WriteFile(golden, []byte(err.Error()+"\n"), 0o644))
	}
	want, readErr := os.ReadFile(golden)
	must.Need(t, readErr == nil, readErr)
	must.Equal(t, err.Error()+"\n", string(want))
	for i, line := range strings.Split(string(text), "\n") {
		marked := strings.Contains(line, "  # ")
		reported := strings.Contains(err.Error(), "mistakes.toml:"+strconv.Itoa(i+1)+": ")
		must.Be(t, marked == reported || strings.Contains(line, "'''"), "line", i+1, "marked", marked,
			"reported", reported, line)
	}
}

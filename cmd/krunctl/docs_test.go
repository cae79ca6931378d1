package main

import (
	"encoding/xml"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"krund/internal/analysis/enough"
	"krund/internal/analysis/explain"
	"krund/internal/analysis/optimize"
	"krund/internal/analysis/sequential"
	"krund/internal/analysis/similarity"
	"krund/internal/analysis/stability"
	"krund/internal/exchange"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/experiment/stop"
	"krund/internal/machine/noise"
	"krund/internal/reading/integrity"
	"krund/internal/reading/summary"
	"krund/rig/must"
)

// TestEveryFieldIsDocumented looks for the names of all JSON fields in
// docs/output.md.
func TestEveryFieldIsDocumented(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/output.md"))(t)
	for _, document := range []any{summary.Plan{}, summary.PlanSlot{}, summary.Status{}, summary.Document{},
		integrity.Document{}, doctorJSON{},
		noise.Certificate{}, summary.Counters{}, summary.Calibration{}, summary.Startup{},
		similarity.Document{}, stability.Document{}, optimize.Findings{}, integrity.Defect{},
		explain.Document{}, enough.Document{}, stop.Answer{}, stop.Decisions{}, sequential.Simulation{}} {
		for name := range fields(reflect.TypeOf(document)) {
			must.Contain(t, string(text), "`"+name+"`", document, "is not in docs/output.md")
		}
	}
	records := slices.Values([]results.Record{{Key: key.Key{Arm: "a"}}})
	options := exchange.ExportOptions{Outcome: true}
	long := must.Get(exchange.NewLongExport(records, options))(t)
	for _, x := range []*exchange.Export{long, exchange.NewEventsExport(records, options),
		exchange.NewExecutionsExport(records, options)} {
		var b strings.Builder
		must.Do(t, x.Write(&b))
		header, _, _ := strings.Cut(b.String(), "\n")
		for name := range strings.SplitSeq(header, ",") {
			must.Contain(t, string(text), "`"+name+"`", "column", "is not in docs/output.md")
		}
	}
}

// fields are the names of all JSON fields of a type and what is in it.
func fields(typ reflect.Type) map[string]bool {
	all := make(map[string]bool)
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice:
		return fields(typ.Elem())
	case reflect.Struct:
		if typ == reflect.TypeFor[time.Time]() {
			return all
		}
		for i := range typ.NumField() {
			f := typ.Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				all[name] = true
			}
			for name := range fields(f.Type) {
				all[name] = true
			}
		}
	default:
	}
	return all
}

// TestEveryCodeIsDocumented does the same for the codes of check-data.
func TestEveryCodeIsDocumented(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/output.md"))(t)
	source := must.Get(os.ReadFile("../../internal/reading/integrity/problem.go"))(t)
	found := 0
	for line := range strings.Lines(string(source)) {
		_, code, isCode := strings.Cut(line, `Code = "`)
		if !isCode {
			continue
		}
		found++
		code, _, _ = strings.Cut(code, `"`)
		must.Contain(t, string(text), "`"+code+"`", "is not in docs/output.md")
	}
	must.Be(t, found >= 25, "only", found, "codes were found in the source")
}

// TestTestsThatPagesName: a reader finds each test that a page names.
func TestTestsThatPagesName(t *testing.T) {
	var sources strings.Builder
	must.Do(t, filepath.WalkDir("../..", func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil: // another test may have removed it
		case entry.IsDir() && (entry.Name() == "build" || entry.Name() == "testdata"):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			text, _ := os.ReadFile(path)
			sources.Write(text)
		}
		return nil
	}))
	pages := must.Get(filepath.Glob("../../docs/*.md"))(t)
	for _, page := range pages {
		text := string(must.Get(os.ReadFile(page))(t))
		for _, name := range regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w+`).FindAllString(text, -1) {
			must.Be(t, strings.Contains(sources.String(), "func "+name+"("), page, "names", name)
		}
	}
	must.Be(t, len(pages) > 20, pages)
}

// TestTheRecordIsDocumented compares the fields of the record in docs/output.md
// with the specification in package results. -update copies it.
func TestTheRecordIsDocumented(t *testing.T) {
	const page = "../../docs/output.md"
	source := must.Get(os.ReadFile("../../internal/experiment/results/doc.go"))(t)
	_, spec, found := strings.Cut(string(source), "//\tformat ")
	spec, _, end := strings.Cut("//\tformat "+spec, "package results")
	must.Need(t, found && end, "the specification is not where it was")
	var want strings.Builder
	for line := range strings.Lines(spec) {
		want.WriteString(strings.TrimPrefix(strings.TrimPrefix(line, "//"), "\t"))
	}
	text := must.Get(os.ReadFile(page))(t)
	head, rest, _ := strings.Cut(string(text), "```text\n")
	block, tail, found := strings.Cut(rest, "```")
	must.Need(t, found, page, "has no block of text")
	if block == want.String() {
		return
	}
	if *update {
		must.Do(t, os.WriteFile(page, []byte(head+"```text\n"+want.String()+"```"+tail), 0o644))
		return
	}
	t.Errorf("%s is not what package results says (run with -update):\n%s", page, want.String())
}

// commandLine is a call of a program in the documentation.
type commandLine struct {
	text  string
	args  []string // words after the program's name
	block bool     // a line of a block, which is complete; in a sentence, arguments may be missing
}

// TestCommandsOfTheDocs: in every command line of the documentation, the command and its flags
// exist, flags have values that they take, and in blocks the number of arguments is right.
func TestCommandsOfTheDocs(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	must.Do(t, err)
	for _, dir := range []string{"", "runners", "benchmarks", "packaging"} {
		pages = append(pages, filepath.Join("..", "..", dir, "README.md"))
	}
	krund := source(t, "../../packaging/man/krund.8") // packaging compares it with the program's help
	hub := ""
	for _, file := range must.Get(filepath.Glob("../krunhub/*.go"))(t) {
		hub += source(t, file)
	}
	for program, least := range map[string]int{"krunctl": 150, "krund": 20, "krunhub": 3} {
		found := 0
		for _, page := range pages {
			for _, line := range commandLines(program, source(t, page)) {
				found++
				switch program {
				case "krunctl":
					err = parseKrunctl(line)
				case "krund":
					err = parseListed(line, krund, "\n.It Cm NAME\n", "\n.It Fl -NAME")
				case "krunhub":
					err = parseListed(line, hub, `Use: "NAME"`, `, "NAME", `)
				}
				must.Do(t, err, filepath.Base(page), program, line.text)
			}
		}
		must.Be(t, found >= least, found, "command lines of", program, "want at least", least)
	}
}

func source(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.FromSlash(path)))(t)
	return string(text)
}

// commandLines finds the calls of a program in a page: in blocks of code, and between backticks.
func commandLines(program, page string) []commandLine {
	call := regexp.MustCompile(`\b` + program + ` ([a-z].*)`)
	var all []commandLine
	add := func(text string, block bool) {
		text, _, _ = strings.Cut(text, " #") // a comment
		for m := call.FindStringSubmatch(text); m != nil; m = call.FindStringSubmatch(m[1]) {
			all = append(all, commandLine{text: m[1], args: words(m[1]), block: block})
		}
	}
	for i, part := range regexp.MustCompile("(?m)^ *```").Split(page, -1) {
		part = regexp.MustCompile(`\\\n *`).ReplaceAllString(part, "")
		language, lines, _ := strings.Cut(part, "\n")
		switch {
		case i%2 == 0:
			for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(part, -1) {
				add(strings.ReplaceAll(m[1], "\n", " "), false)
			}
			for _, line := range regexp.MustCompile(`(?m)^    `+program+` .*`).FindAllString(part, -1) {
				add(line, true)
			}
		case language != "text": // that is prose
			for _, line := range regexp.MustCompile("[\n`]").Split(lines, -1) {
				add(line, true)
			}
		}
	}
	return all
}

// words splits a line as a shell does, up to what follows the command: another one, a redirection,
// or an explanation after three spaces.
func words(line string) []string {
	var all []string
	word := regexp.MustCompile(`^ {0,2}(?:'([^']*)'|"([^"]*)"|([^\s'"#&|>()][^\s'"()]*))`)
	for m := word.FindStringSubmatch(line); m != nil; m = word.FindStringSubmatch(line) {
		all = append(all, m[1]+m[2]+m[3])
		line = line[len(m[0]):]
	}
	return all
}

// parseKrunctl parses a command line as krunctl does.
func parseKrunctl(line commandLine) error {
	root := rootCommand(&app{})
	c, rest, err := root.Find(joinValues(line.args))
	if err != nil || c == root {
		return errors.Join(err, errors.New("there is no such command"))
	}
	c.InitDefaultHelpFlag()
	err = c.ParseFlags(rest)
	var short *pflag.ValueRequiredError
	switch {
	case errors.As(err, &short) && !line.block: // a flag is mentioned
		return nil
	case err != nil || !line.block:
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}

// parseListed looks for a command and its flags where they are listed, in two forms.
func parseListed(line commandLine, list, command, flag string) error {
	if !strings.Contains(list, strings.ReplaceAll(command, "NAME", line.args[0])) {
		return errors.New("there is no such command")
	}
	for _, word := range line.args {
		name, isFlag := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && name != "help" && !strings.Contains(list, strings.ReplaceAll(flag, "NAME", name)) {
			return errors.New("there is no flag --" + name)
		}
	}
	return nil
}

// TestMain makes the test's program krunctl where a recipe calls it.
func TestMain(m *testing.M) {
	if os.Getenv(asKrunctl) != "" {
		main()
		return
	}
	if err := os.Setenv(asKrunctl, "1"); err != nil { // of the processes that tests start
		panic(err)
	}
	m.Run()
}

const asKrunctl = "KRUNCTL_TEST_AS_KRUNCTL"

// part finds the shell commands in the recipes of docs/ci.md: of GitHub, GitLab (one, or several),
// Buildkite and Jenkins.
var part = regexp.MustCompile(
	`(?m)^\s*(?:- run: |script: |- (?:command: )?|sh ')((?:krunctl|buildkite-agent) .*?)'?$`)

// TestRecipes runs the shell commands of each recipe for CI systems against a hub with a machine,
// on which HEAD is slower: the results are there, and the exit status is that of a change.
func TestRecipes(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join("..", "..", "docs", "ci.md")))(t)
	blocks := regexp.MustCompile("(?s)\n(\\w+)[^\n]*:\n\n```(?:yaml|groovy)\n(.*?)```").
		FindAllStringSubmatch(string(text), -1)
	must.Need(t, len(blocks) == 4, len(blocks), "recipes")
	for _, block := range blocks {
		t.Run(block[1], func(t *testing.T) { runRecipe(t, block[2]) })
	}
}

func runRecipe(t *testing.T, text string) {
	h := newHub(t)
	lab := filepath.Dir(repository(t))
	work, bin := filepath.Dir(lab), t.TempDir()
	config := must.Get(os.ReadFile(filepath.Join(lab, "x.toml")))(t)
	self := must.Get(os.Executable())(t)
	agent := "#!/bin/sh\ntest \"$*\" = 'artifact download id .' && test -s id\n"
	for name, text := range map[string]string{
		filepath.Join(work, "bench.toml"):     strings.Replace(string(config), "../src", "src", 1),
		filepath.Join(bin, "krunctl"):         "#!/bin/sh\n" + asKrunctl + "=1 exec " + self + " \"$@\"\n",
		filepath.Join(bin, "buildkite-agent"): agent, // all jobs have the same directory here
	} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o755))
	}
	env := append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "KRUNHUB_URL="+h.url,
		"KRUNHUB_TOKEN="+h.users["ann"], "GITHUB_STEP_SUMMARY="+filepath.Join(work, "summary"))
	shell := func(command string) (int, string) {
		c := exec.CommandContext(t.Context(), "sh", "-e", "-c", command)
		c.Dir, c.Env = work, env
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		must.Need(t, err == nil || errors.As(err, &exit), err)
		return c.ProcessState.ExitCode(), string(out)
	}
	code, out := shell("git update-ref refs/remotes/origin/main v1")
	must.Need(t, code == 0, out)
	var codes []int
	for _, match := range part.FindAllStringSubmatch(text, -1) {
		command := strings.ReplaceAll(match[1], "$$", "$") // as Buildkite does
		code, out := shell(command)
		codes = append(codes, code)
		t.Logf("%d: %s", code, command)
		if strings.Contains(command, " submit ") {
			if code, out := shell(`krunctl compare "$(cat id)"`); code != exitWaiting {
				t.Fatalf("before the machine: %d %s", code, out)
			}
			n := h.idle(t, "lab1")
			must.Need(t, n != nil, "nothing was submitted", out)
			h.run(t, "lab1", n, secondSlower)
		}
	}
	must.Be(t, len(codes) == 3 && codes[0] == exitOK && codes[1] == exitOK && codes[2] == exitError,
		"exit codes", codes, "want 0, 0, 1")
	if summary, err := os.ReadFile(filepath.Join(work, "summary")); err == nil {
		must.Contain(t, string(summary), "| b:Python:v | worse | +10.0 %", "summary")
	}
	if junit, err := os.ReadFile(filepath.Join(work, "verdict.xml")); err == nil {
		var suite struct {
			Failures int `xml:"failures,attr"`
		}
		err := xml.Unmarshal(junit, &suite)
		must.Be(t, err == nil && suite.Failures == 1, err, junit)
	}
}

package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"krund/rig/must"
)

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

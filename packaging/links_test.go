package packaging

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestLinks: what a page of the documentation links to is there, with its heading.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	must.Need(t, err == nil && len(pages) >= 20, len(pages), "pages", err)
	for _, dir := range []string{"", "runners", "benchmarks", "packaging", "rig"} {
		found, err := filepath.Glob(filepath.Join("..", dir, "*.md"))
		must.Need(t, err == nil && len(found) != 0, dir, len(found), "pages", err)
		pages = append(pages, found...)
	}
	link := regexp.MustCompile(`\]\(([^()\s]+)\)`)
	for _, page := range pages {
		for _, match := range link.FindAllStringSubmatch(prose(t, page), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			file, heading, _ := strings.Cut(match[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: there is no %s", page, match[1])
			} else if heading != "" && !headings(t, target)[heading] {
				t.Errorf("%s: %s has no heading #%s", page, target, heading)
			}
		}
	}
}

// TestMap: docs/README.md lists each page of docs once, and a page's first paragraph says whom the
// page is for.
func TestMap(t *testing.T) {
	index := string(must.Get(os.ReadFile("../docs/README.md"))(t))
	pages := must.Get(filepath.Glob("../docs/*.md"))(t)
	for _, page := range pages {
		name := filepath.Base(page)
		n := strings.Count(index, "| ["+name+"]("+name+") |")
		must.Be(t, n == 1 || name == "README.md", "docs/README.md lists", name, n, "times")
		lines := strings.SplitN(prose(t, page), "\n", 4)
		if must.Need(t, len(lines) == 4, page); !strings.HasPrefix(lines[2], "For ") {
			t.Errorf("%s: its first line is %q, and does not say whom the page is for", page, lines[2])
		}
	}
}

// prose returns a page without its blocks of code.
func prose(t *testing.T, page string) string {
	t.Helper()
	text := must.Get(os.ReadFile(page))(t)
	return regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(string(text), "")
}

// headings returns the anchors of a page's headings, as forges make them: lower case, without
// punctuation, with hyphens for spaces; and those that the page names itself.
func headings(t *testing.T, page string) map[string]bool {
	t.Helper()
	anchors := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(prose(t, page), -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(match[1]), "")
		anchors[strings.ReplaceAll(name, " ", "-")] = true
	}
	for _, match := range regexp.MustCompile(`<a id="([a-z-]+)">`).FindAllStringSubmatch(prose(t, page), -1) {
		anchors[match[1]] = true
	}
	return anchors
}

// TestManualOfKrund: krund(8) has every command, flag and exit status of `krund help`, and no flag
// that does not exist.
func TestManualOfKrund(t *testing.T) {
	built(t)
	out := must.Get(exec.CommandContext(t.Context(), "../build/bin/krund", "help").Output())(t)
	text := must.Get(os.ReadFile("man/krund.8"))(t)
	help, manual := string(out), string(text)
	compare := func(what, inHelp, inManual string) {
		t.Helper()
		found := regexp.MustCompile(inHelp).FindAllStringSubmatch(help, -1)
		must.Be(t, len(found) != 0, "krund help", what)
		for _, m := range found {
			must.Contain(t, manual, strings.ReplaceAll(inManual, "NAME", m[1]), what, m[1],
				"is not in krund(8")
		}
	}
	compare("command", `(?m)^  krund (\w+)`, "\n.It Cm NAME\n")
	compare("flag", `(?m)^  --(\w+)`, "\n.It Fl -NAME")
	compare("exit status", `(?m)^  (\d+) `, "\n.It NAME\n")
	for _, m := range regexp.MustCompile(`Fl -(\w+)`).FindAllStringSubmatch(manual, -1) {
		if m[1] != "stop" && !strings.Contains(help, "--"+m[1]) { // --stop is krunctl's
			t.Errorf("--%s of krund(8) is not in krund help", m[1])
		}
	}
}

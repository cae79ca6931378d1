// Package manual makes the manual pages of krunctl and krunhub from their commands, and
// krund.toml(5) from docs/config.md. krund(8) and libkrun(3) are written by hand. Start reading at
// Command.
package manual

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"krund/internal/display"
)

// month is how cobra writes the date of a page.
const month = "Jan 2006"

// Command returns the hidden command `manual DIR`, which writes the pages of all commands of its
// program into a directory. It is for packages, not for users.
func Command() *cobra.Command {
	var config, date string
	c := &cobra.Command{Use: "manual DIR", Short: "Write the manual pages", Hidden: true,
		Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
			day, err := time.Parse(time.DateOnly, date)
			if err != nil {
				return fmt.Errorf("--date is the day of the text, such as 2026-11-21: %w", err)
			}
			if config != "" {
				if err := configPage(config, args[0], day); err != nil {
					return err
				}
			}
			return commandPages(c.Root(), args[0], day)
		}}
	c.Flags().StringVar(&config, "config", "", "docs/config.md: also write krund.toml(5)")
	c.Flags().StringVar(&date, "date", "", "day of the text, YYYY-MM-DD")
	return c
}

// commandPages writes the page of a program and those of its commands.
func commandPages(root *cobra.Command, dir string, date time.Time) error {
	all := append([]*cobra.Command{root}, root.Commands()...)
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			all = append(all, c.Commands()...)
		}
	}
	for _, c := range all {
		if c != root && !c.IsAvailableCommand() {
			continue
		}
		c.Long, c.DisableAutoGenTag = markdown(c.Long)+commandList(c), true
		c.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = special.ReplaceAllString(f.Usage, `\$0`) })
		header := doc.GenManHeader{Section: "1", Date: &date, Source: "krund " + display.VersionNumber,
			Manual: "krund"}
		var b bytes.Buffer
		if err := doc.GenMan(c, &header, &b); err != nil {
			return err
		}
		name := filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
		if err := write(name, flag.ReplaceAll(b.Bytes(), []byte(".TP\n$1\n")), date); err != nil {
			return err
		}
	}
	return nil
}

// commandList returns the groups of commands.
func commandList(c *cobra.Command) string {
	var b strings.Builder
	for _, g := range c.Groups() {
		fmt.Fprintf(&b, "\n# %s\n", strings.ToUpper(strings.TrimSuffix(g.Title, ":")))
		for _, child := range c.Commands() {
			if child.GroupID == g.ID && child.IsAvailableCommand() {
				fmt.Fprintf(&b, "\n**%s**\n: %s\n", child.Name(), child.Short)
			}
		}
	}
	return b.String()
}

var (
	special = regexp.MustCompile("[\\\\`*_<>\\[\\]|~#]") // of Markdown
	title   = regexp.MustCompile(`^[A-Z][A-Z ]+$`)
)

// markdown converts a help text: titles are in capitals, and indented lines stay as they are.
func markdown(help string) string {
	var b strings.Builder
	before := false // the line before was indented
	for l := range strings.Lines(help) {
		l = strings.TrimRight(l, "\n")
		indented := strings.HasPrefix(l, "  ")
		if indented != before {
			b.WriteByte('\n')
		}
		switch before = indented; {
		case indented:
			b.WriteString("  ") // of four: literal
		case title.MatchString(l):
			l = "\n# " + l + "\n"
		default:
			l = special.ReplaceAllString(l, `\$0`)
		}
		b.WriteString(l + "\n")
	}
	return b.String()
}

// flag is a flag in a page of cobra, which is a paragraph with a tab instead of an item.
var flag = regexp.MustCompile(`(?m)^(?:\.PP\n)?(\\fB-.*)\n\t`)

var (
	link = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)
	rule = regexp.MustCompile(`^\|[-|]+$`)
)

// configPage writes krund.toml(5): docs/config.md without links, and with tables as lists.
func configPage(config, dir string, date time.Time) error {
	text, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%% \"KRUND.TOML\" \"5\" \"%s\" \"krund %s\" \"krund\"\n", date.Format(month),
		display.VersionNumber)
	b.WriteString("# NAME\nkrund.toml \\- the configuration of an experiment\n\n")
	var head []string
	for l := range strings.Lines(link.ReplaceAllString(string(text), "$1")) {
		l = strings.TrimRight(l, "\n ")
		switch {
		case !strings.HasPrefix(l, "|"):
			head = nil
		case head == nil:
			head = cells(l)
			continue
		case rule.MatchString(l):
			continue
		default:
			l = definition(head, cells(l))
		}
		b.WriteString(strings.Replace(l, "# The configuration", "# DESCRIPTION", 1) + "\n")
	}
	b.WriteString("\n# SEE ALSO\nkrund(8), krunctl(1)\n")
	return write(filepath.Join(dir, "krund.toml.5"), md2man.Render([]byte(b.String())), date)
}

// cells splits a line of a table.
func cells(l string) []string {
	list := strings.Split(strings.Trim(l, "|"), "|")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// definition converts a row of a table: the first cell, with type and default in parentheses, is
// explained by the others.
func definition(head, row []string) string {
	var beside, text []string
	for i, cell := range row[1:min(len(row), len(head))] {
		switch title := head[i+1]; {
		case title == "type":
			beside = append(beside, cell)
		case title == "default" && cell == "none":
			beside = append(beside, "must be given")
		case title == "default":
			beside = append(beside, "default "+cell)
		case i+2 < len(head): // not the last column
			text = append(text, title+": "+cell)
		default:
			text = append(text, cell)
		}
	}
	term := row[0]
	if len(beside) > 0 {
		term += " (" + strings.Join(beside, "; ") + ")"
	}
	return "\n" + term + "\n: " + strings.Join(text, "; ") + "\n"
}

// write writes a page with an exact date and hyphens that can be pasted. Some formatters do not
// read UTF-8; all read the numbers of characters.
func write(name string, page []byte, date time.Time) error {
	text := strings.Replace(string(page), date.Format(month), date.Format(time.DateOnly), 1)
	var b strings.Builder
	for l := range strings.Lines(text) {
		if !strings.HasPrefix(l, ".") { // a request
			l = strings.ReplaceAll(strings.ReplaceAll(l, `\-`, "-"), "-", `\-`)
		}
		for _, r := range l {
			if r < utf8.RuneSelf {
				b.WriteRune(r)
			} else {
				fmt.Fprintf(&b, `\[u%04X]`, r)
			}
		}
	}
	return os.WriteFile(name, []byte(b.String()), 0o644) //nolint:gosec // readable by all users
}

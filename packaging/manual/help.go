package main

import (
	"regexp"
	"slices"
	"strings"
)

// listed is a command as `krunctl --help` lists it.
type listed struct{ name, short string }

// parseCommands parses the lists of commands in krunctl's help.
func parseCommands(help string) []listed {
	var all []listed
	for _, s := range parseHelp(help) {
		if !s.lists {
			continue
		}
		for _, l := range s.lines {
			name, short, _ := strings.Cut(strings.TrimSpace(l), " ")
			if name != "" && name != "help" { // its page would be empty
				all = append(all, listed{name, strings.TrimSpace(short)})
			}
		}
	}
	return all
}

// section is a part of a help text. Text before the first title has no title.
type section struct {
	title string
	lines []string
	lists bool // a list of commands: all of them, or a group
}

var (
	ownTitle   = regexp.MustCompile(`^[A-Z][A-Z ]+$`)
	cobraTitle = regexp.MustCompile(`^([A-Z][A-Za-z ]+):$`)
)

// parseHelp splits a help text into sections: krunctl's own titles are in capitals, those that
// cobra adds end with a colon.
func parseHelp(help string) []section {
	all := []section{{}}
	for l := range strings.Lines(help) {
		l = strings.TrimRight(l, " \n")
		if strings.HasPrefix(l, "Use \"") { // cobra's hint about help
			continue
		}
		title, lists := "", false
		if m := cobraTitle.FindStringSubmatch(l); m != nil {
			title = m[1]
			lists = !slices.Contains([]string{"Usage", "Aliases", "Flags"}, title)
		}
		if ownTitle.MatchString(l) {
			title = l
		}
		if title != "" {
			all = append(all, section{title: title, lists: lists})
			continue
		}
		last := &all[len(all)-1]
		last.lines = append(last.lines, l)
	}
	return all
}

// commandLists is the key of the lists of commands, which have a common heading.
const commandLists = "commands"

// order is the order of the sections of a page: each title in the help and its title on the page.
var order = [][2]string{
	{"Usage", "SYNOPSIS"}, {"", "DESCRIPTION"}, {commandLists, "COMMANDS"}, {"Flags", "OPTIONS"},
	{"FILES", "FILES"}, {"EXIT STATUS", "EXIT STATUS"}, {"EXAMPLES", "EXAMPLES"},
}

// helpBlocks sets a help text. Parts that order does not know follow the
// helpBlocks converts a help text. Sections that order does not contain follow the description
// under their own titles.
func helpBlocks(help string) []block {
	parts := parseHelp(help)
	titles := slices.Clone(order)
	for _, s := range parts {
		if !s.lists && !slices.ContainsFunc(order, func(o [2]string) bool { return o[0] == s.title }) {
			titles = slices.Insert(titles, 2, [2]string{s.title, strings.ToUpper(s.title)})
		}
	}
	var all []block
	for _, t := range titles {
		headed := false
		for _, s := range parts {
			if s.lists != (t[0] == commandLists) || !s.lists && s.title != t[0] {
				continue
			}
			body := s.blocks()
			if len(body) == 0 {
				continue
			}
			if !headed {
				all, headed = append(all, block{kind: heading, text: t[1]}), true
			}
			if s.lists {
				all = append(all, block{kind: subheading, text: s.title})
			}
			all = append(all, body...)
		}
	}
	return all
}

func (s section) blocks() []block {
	switch s.title {
	case "Usage", "EXAMPLES":
		return []block{{kind: literal, text: strings.Trim(dedent(s.lines), "\n")}}
	case "Flags", "FILES", "EXIT STATUS":
		return items(s.lines)
	}
	if s.lists {
		return items(s.lines)
	}
	return prose(s.lines)
}

func dedent(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimPrefix(l, "  ") + "\n")
	}
	return b.String()
}

var twoSpaces = regexp.MustCompile(` {2,}`)

// items parses a list of two columns, separated by at least two spaces. An indented line without a
// first column continues the preceding text.
func items(lines []string) []block {
	var all []block
	indent := len("  ")
	for _, l := range lines {
		trimmed := strings.TrimSpace(l)
		if trimmed == "" {
			continue
		}
		cut := twoSpaces.FindStringIndex(trimmed)
		if cut == nil && len(all) > 0 && len(l)-len(strings.TrimLeft(l, " ")) > indent &&
			!strings.HasPrefix(trimmed, "-") {
			all[len(all)-1].text = strings.TrimSpace(all[len(all)-1].text + " " + trimmed)
			continue
		}
		tag, text := trimmed, ""
		if cut != nil {
			tag, text = trimmed[:cut[0]], trimmed[cut[1]:]
		}
		all = append(all, block{kind: item, tag: "**" + tag + "**", text: text})
	}
	return all
}

// prose parses paragraphs, and indented lines that are kept verbatim.
func prose(lines []string) []block {
	var all []block
	add := func(k kind, l string) {
		if n := len(all); n > 0 && all[n-1].kind == k && all[n-1].text != "" {
			all[n-1].text += "\n" + l
			return
		}
		all = append(all, block{kind: k, text: l})
	}
	for i, l := range lines {
		switch {
		case l == "":
			if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "  ") && len(all) > 0 &&
				all[len(all)-1].kind == literal {
				all[len(all)-1].text += "\n" // a gap in a table
				continue
			}
			all = append(all, block{kind: paragraph}) // what follows is a new paragraph
		case strings.HasPrefix(l, "  "):
			add(literal, strings.TrimPrefix(l, "  "))
		default:
			add(paragraph, l)
		}
	}
	return slices.DeleteFunc(all, func(b block) bool { return b.text == "" })
}

// seeAlso are the pages that every page of a program names.
var seeAlso = map[string]string{
	"krunctl": "krund(8), krund.toml(5)",
	"krunhub": "krunctl(1), krund(8)",
}

// overview returns krunctl(1).
func overview(program, help string, commands []listed) page {
	short, _, _ := strings.Cut(strings.TrimSpace(help), ".")
	short = strings.TrimPrefix(strings.Join(strings.Fields(short), " "), program+" ")
	p := page{name: program, section: 1, short: short, blocks: helpBlocks(help)}
	see := seeAlso[program]
	for _, c := range commands {
		see += ", " + program + "-" + c.name + "(1)"
	}
	p.blocks = append(p.blocks, block{kind: heading, text: "SEE ALSO"}, block{kind: paragraph, text: see})
	return p
}

// commandPage returns krunctl-COMMAND(1).
func commandPage(program string, c listed, help string) page {
	p := page{name: program + "-" + c.name, section: 1, short: strings.ToLower(c.short[:1]) + c.short[1:],
		blocks: helpBlocks(help)}
	p.blocks = append(p.blocks, block{kind: heading, text: "SEE ALSO"}, block{kind: paragraph,
		text: program + "(1), " + seeAlso[program]})
	return p
}

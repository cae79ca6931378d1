package main

import (
	"regexp"
	"strings"
)

var link = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)

// markdown converts the subset of Markdown that docs/config.md uses: headings, paragraphs, lists,
// tables, fenced code and inline marks. It omits the first heading, the title of the page.
func markdown(text string) []block {
	var all []block
	var head []string // header of the current table
	fenced, open := false, false
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n ")
		switch {
		case strings.HasPrefix(l, "```"):
			fenced = !fenced
			if fenced {
				all = append(all, block{kind: literal})
			}
			open, head = false, nil
			continue
		case fenced:
			all[len(all)-1].text += l + "\n"
			continue
		}
		l = link.ReplaceAllString(l, "$1")
		if !strings.HasPrefix(l, "|") {
			head = nil
		}
		switch {
		case l == "":
			open = false
		case strings.HasPrefix(l, "# "):
		case strings.HasPrefix(l, "## "), strings.HasPrefix(l, "### "):
			marks, title, _ := strings.Cut(l, " ")
			k := heading
			if len(marks) > len("##") {
				k = subheading
			}
			all, open = append(all, block{kind: k, text: strings.ReplaceAll(title, "`", "")}), false
		case strings.HasPrefix(l, "|"):
			cells := row(l)
			switch {
			case head == nil:
				head = cells
			case !strings.HasPrefix(cells[0], "---"):
				all = append(all, tableItem(head, cells))
			}
		case strings.HasPrefix(l, "- "):
			all, open = append(all, block{kind: bullet, text: l[len("- "):]}), true
		case open:
			all[len(all)-1].text += " " + strings.TrimSpace(l)
		default:
			all, open = append(all, block{kind: paragraph, text: l}), true
		}
	}
	return all
}

// row splits a line of a table into its cells.
func row(l string) []string {
	cells := strings.Split(strings.Trim(l, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// tableItem converts a row to an item: the first cell is the tag, followed by the cells of the
// columns type and default; the rest is the text.
func tableItem(head, cells []string) block {
	b := block{kind: item, tag: cells[0]}
	var beside []string
	for i := 1; i < len(cells) && i < len(head); i++ {
		switch head[i] {
		case "type":
			beside = append(beside, cells[i])
		case "default":
			if cells[i] == "none" {
				beside = append(beside, "must be given")
				continue
			}
			beside = append(beside, "default "+cells[i])
		default:
			if b.text != "" {
				b.text += "; "
			}
			if len(head) > 2 && head[len(head)-1] != head[i] {
				b.text += head[i] + ": "
			}
			b.text += cells[i]
		}
	}
	if len(beside) > 0 {
		b.tag += " (" + strings.Join(beside, "; ") + ")"
	}
	return b
}

// configPage returns krund.toml(5).
func configPage(text string) page {
	p := page{name: "krund.toml", section: 5, short: "the configuration of an experiment",
		blocks: []block{{kind: heading, text: "DESCRIPTION"}}}
	p.blocks = append(p.blocks, markdown(text)...)
	p.blocks = append(p.blocks, block{kind: heading, text: "SEE ALSO"}, block{kind: paragraph,
		text: "krund(8), krunctl(1), krunctl-plan(1), krunctl-doctor(1)"})
	return p
}

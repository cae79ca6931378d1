package main

import (
	"fmt"
	"strings"
)

// page is a manual page.
type page struct {
	name    string
	section int
	short   string // one line for NAME
	blocks  []block
}

// kind is the kind of a block.
type kind int

const (
	heading    kind = iota // text
	subheading             // text
	paragraph              // text, may have inline marks
	bullet                 // text, may have inline marks
	item                   // tag and text, may have inline marks
	literal                // verbatim text
)

// block is a part of a page. Inline marks are those of Markdown: `code` and **bold**.
type block struct {
	kind      kind
	tag, text string
}

// roff returns the page as man(7) source.
func (p page) roff(version, date string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s %d %q %s %s\n", quote(p.name), p.section, date, quote("krund "+version),
		quote("krund"))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escape(p.name), escape(p.short))
	var before kind = -1
	for _, k := range p.blocks {
		k.roff(&b, before)
		before = k.kind
	}
	return b.String()
}

func (k block) roff(b *strings.Builder, before kind) {
	switch k.kind {
	case heading:
		fmt.Fprintf(b, ".SH %s\n", quote(k.text))
	case subheading:
		fmt.Fprintf(b, ".SS %s\n", quote(k.text))
	case paragraph:
		if before != heading && before != subheading {
			b.WriteString(".PP\n")
		}
		b.WriteString(line(inline(k.text)))
	case bullet:
		b.WriteString(".IP \\(bu 2\n" + line(inline(k.text)))
	case item:
		b.WriteString(".TP\n" + line(inline(k.tag)))
		if k.text != "" {
			b.WriteString(line(inline(k.text)))
		}
	case literal:
		if before != heading && before != subheading {
			b.WriteString(".PP\n")
		}
		b.WriteString(".RS 2\n.nf\n")
		for l := range strings.Lines(k.text) {
			b.WriteString(line(escape(strings.TrimSuffix(l, "\n"))))
		}
		b.WriteString(".fi\n.RE\n")
	}
}

// escape escapes text for roff.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// inline escapes text and sets `code` and **bold** in bold type.
func inline(text string) string {
	var b strings.Builder
	for text != "" {
		i, mark := strings.IndexByte(text, '`'), "`"
		if j := strings.Index(text, "**"); j >= 0 && (i < 0 || j < i) {
			i, mark = j, "**"
		}
		if i < 0 {
			break
		}
		marked, rest, closed := strings.Cut(text[i+len(mark):], mark)
		if !closed {
			break
		}
		b.WriteString(escape(text[:i]) + `\fB` + escape(marked) + `\fR`)
		text = rest
	}
	return b.String() + escape(text)
}

// line writes a line so that it is not interpreted as a request.
func line(text string) string {
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text + "\n"
}

// quote returns a quoted argument of a request.
func quote(text string) string { return `"` + strings.ReplaceAll(escape(text), `"`, `\(dq`) + `"` }

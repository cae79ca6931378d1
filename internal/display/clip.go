package display

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxMessage is the maximum size in bytes of a text in a message for people.
const MaxMessage = 2000

// remark is an upper bound of the size of the remark about what was left out.
const remark = 60

// Clip returns s, or, if s has more than most bytes, its beginning and its end with a remark
// between them. The result has at most that many bytes, or those of the remark.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	kept := max(most-remark, 0)
	head := kept / 2
	tail := len(s) - (kept - head)
	for range utf8.UTFMax {
		if head > 0 && !utf8.RuneStart(s[head]) {
			head--
		}
		if tail < len(s) && !utf8.RuneStart(s[tail]) {
			tail++
		}
	}
	return fmt.Sprintf("%s[... %d bytes left out ...]%s", s[:head], tail-head, s[tail:])
}

// Middle returns s, or, if it has more than most characters, its beginning and its end with "…"
// between them: most characters. most is at least 3.
func Middle(s string, most int) string {
	letters := []rune(s)
	if len(letters) <= most {
		return s
	}
	tail := (most - 1) / 2
	return string(letters[:most-1-tail]) + "…" + string(letters[len(letters)-tail:])
}

// Head returns s, or when it has more than most bytes, its beginning and "...". It is for what an
// error quotes: a value of a file that should have been a number.
func Head(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// ClipLines returns list with each line clipped to MaxMessage. If the list has more than count
// lines or more than size bytes in total, it returns the first lines with a remark at the end. The
// result has at most count lines and size bytes. list is not modified; nil stays nil.
func ClipLines(list []string, count, size int) []string {
	if list == nil {
		return nil
	}
	whole := len(list) <= count
	clipped := make([]string, 0, min(len(list), count))
	bytes, fit := 0, 0 // fit: number of lines that leave room for the remark
	for _, line := range list[:min(len(list), count)] {
		line = Clip(line, MaxMessage)
		if bytes += len(line); bytes > size {
			whole = false
			break
		}
		clipped = append(clipped, line)
		if bytes <= size-remark && len(clipped) < count {
			fit = len(clipped)
		}
	}
	if whole {
		return clipped
	}
	return append(clipped[:fit], fmt.Sprintf("%d more of these were left out", len(list)-fit))
}

// Wrap breaks a line of words so that it fits a terminal of this many columns; the lines after the
// first begin with indent. Words that are longer stay whole. A width of 0 or less breaks nothing.
func Wrap(text string, width int, indent string) string {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	start := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var b strings.Builder
	b.WriteString(start)
	column, first := utf8.RuneCountInString(start), true
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case first:
		case column+1+n > width:
			b.WriteString("\n" + indent)
			column = utf8.RuneCountInString(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column, first = column+n, false
	}
	return b.String()
}

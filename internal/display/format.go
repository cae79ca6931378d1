// Package display prepares text for people: it bounds texts from outside (Clip), replaces
// characters that drive a terminal or deceive a reader (Plain), writes commands that can be pasted
// into a shell (ShellQuote), suggests the name that a user probably meant (Nearest), and holds the
// version that krund and krunctl print.
//
// Nothing here runs a command or judges a text. Start reading at Clip and Plain.
package display

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Terminal makes s fit for a terminal: what is not printable (control characters, escape sequences,
// direction marks, broken UTF-8) becomes an escape such as \x1b, and the middle of a text that is
// longer than MaxMessage is left out.
func Terminal(s string) string { return Clip(escape(s), MaxMessage) }

func escape(s string) string {
	if strings.IndexFunc(s, isHidden) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case !isHidden(r):
			b.WriteRune(r)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\n':
			b.WriteString(`\n`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[size:]
	}
	return b.String()
}

func isHidden(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }

// Duration writes a duration of minutes to weeks: "3d 4h 10m", "2m 5s", "0.4s".
func Duration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Round(time.Second).Seconds()))
	}
	d = d.Round(time.Second)
	if d >= time.Hour {
		d = d.Round(time.Minute)
	}
	days, hours := d/(24*time.Hour), d%(24*time.Hour)/time.Hour
	minutes, seconds := d%time.Hour/time.Minute, d%time.Minute/time.Second
	switch {
	case days > 0:
		return fmt.Sprintf("%dd %dh %dm", days, hours, minutes)
	case hours > 0:
		return fmt.Sprintf("%dh %dm", hours, minutes)
	}
	return fmt.Sprintf("%dm %ds", minutes, seconds)
}

// Seconds is Duration for seconds that may be more than a time.Duration holds.
func Seconds(s float64) string {
	const most = 1e9 // about 30 years; a time.Duration holds nine times as much
	if s > most {
		return fmt.Sprintf("%.3gs", s)
	}
	return Duration(time.Duration(s * float64(time.Second)))
}

// Nanoseconds writes a measured duration with four significant digits and its unit: "12.34 ms".
func Nanoseconds(ns float64) string {
	const nano = 9
	u := UnitOf("s")
	p := u.fitting(ns / 1e9)
	return u.named(digits(scaled(ns, p.power+nano)), p) // scaled once: no double rounding
}

// Bytes writes a number of bytes: "1.5 MiB".
func Bytes(n int64) string {
	value, unit := float64(n), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if value < 1024 {
			break
		}
		value, unit = value/1024, next
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}

// Count writes a number with its noun: "1 slot", "2 slots".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// PlainLine returns the text as one line, with control and deceptive characters replaced.
func PlainLine(s string) string { return replace(s, "") }

// Plain is PlainLine, but keeps line ends and tabs.
func Plain(s string) string { return replace(s, "\n\t") }

// Printable reports whether Plain would return s unchanged.
func Printable(s string) bool { return Plain(s) == s }

func replace(s, keep string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || unicode.IsPrint(r) || strings.ContainsRune(keep, r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

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

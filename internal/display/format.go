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

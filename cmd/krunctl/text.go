package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"krund/internal/display"
)

// visible makes s fit for a terminal: what is not printable (control
// characters, escape sequences, direction marks, broken UTF-8) is shown as an
// escape such as \x1b, so that no benchmark can write to the screen; and the
// middle of a text that is too long for people is left out.
func visible(s string) string { return display.Clip(escaped(s), display.MaxMessage) }

func escaped(s string) string {
	if strings.IndexFunc(s, hidden) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case !hidden(r):
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

func hidden(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }

// long writes a duration of minutes to weeks: "3d 4h 10m", "2m 5s", "0.4s".
func long(d time.Duration) string {
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

// short writes a measured duration in nanoseconds with four digits and its
// unit: "12.34ms".
func short(ns float64) string {
	for _, u := range []struct {
		ns   float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}} {
		if ns >= u.ns || -ns >= u.ns {
			return digits(ns/u.ns) + u.name
		}
	}
	return digits(ns) + "ns"
}

// digits writes v with four significant digits, and never with an exponent.
func digits(v float64) string {
	places := 3
	for limit := 10.0; places > 0 && (v >= limit || -v >= limit); limit *= 10 {
		places--
	}
	return fmt.Sprintf("%.*f", places, v)
}

// size writes a number of bytes: "1.5 MiB".
func size(bytes int64) string {
	value, unit := float64(bytes), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if value < 1024 {
			break
		}
		value, unit = value/1024, next
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}

// plural writes a number with its noun: "1 slot", "2 slots".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// secondsText writes nanoseconds as seconds, exactly: "0.000012345".
func secondsText(ns int64) string {
	sign, abs := "", uint64(ns)
	if ns < 0 {
		sign, abs = "-", -uint64(ns)
	}
	return fmt.Sprintf("%s%d.%09d", sign, abs/1e9, abs%1e9)
}

func itoa(n int) string { return strconv.Itoa(n) }

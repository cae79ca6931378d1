package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// durationShape is the syntax of time.ParseDuration without a sign.
var durationShape = regexp.MustCompile(`^(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`)

// ParseDuration parses a duration in Go's syntax ("1h30m", "250ms"), optionally preceded by whole
// days ("2d", "1d12h"). Negative durations are errors.
func ParseDuration(s string) (time.Duration, error) {
	var days time.Duration
	rest := s
	if head, tail, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(head, 10, 32)
		if err != nil {
			return 0, errors.New("not a duration")
		}
		if n > uint64(math.MaxInt64/day) {
			return 0, errors.New("too long")
		}
		days, rest = time.Duration(n)*day, tail
	}
	if days != 0 && rest == "" || s == "0d" {
		return days, nil
	}
	if strings.HasPrefix(s, "-") {
		return 0, errors.New("negative")
	}
	if !durationShape.MatchString(rest) {
		return 0, errors.New("not a duration")
	}
	part, err := time.ParseDuration(rest)
	if err != nil { // the syntax is valid
		return 0, errors.New("too long")
	}
	if days > math.MaxInt64-part {
		return 0, errors.New("too long")
	}
	return days + part, nil
}

// sizeUnits are the units of sizes: powers of 1024 with an i, powers of 1000 without.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"", 1}, {"B", 1},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
}

// ParseSize parses an integer number of bytes with an optional unit ("2GiB", "8 MiB", "1GB",
// "4096").
func ParseSize(s string) (int64, error) {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	number, unit := s[:digits], strings.TrimPrefix(s[digits:], " ")
	if strings.HasPrefix(s, "-") {
		return 0, errors.New("negative")
	}
	if number == "" {
		return 0, errors.New("not a size")
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, errors.New("too large")
	}
	for _, u := range sizeUnits {
		if u.name != unit {
			continue
		}
		if n > math.MaxInt64/u.bytes {
			return 0, errors.New("too large")
		}
		return n * u.bytes, nil
	}
	return 0, fmt.Errorf("not a size: there is no unit %q", unit)
}

// FormatSize formats a number of bytes exactly, in the syntax of the configuration: "2GiB",
// "1536MiB", "1000". ParseSize is its inverse.
func FormatSize(bytes int64) string {
	best, unit := bytes, ""
	for _, u := range sizeUnits {
		if strings.HasSuffix(u.name, "iB") && bytes != 0 && bytes%u.bytes == 0 {
			best, unit = bytes/u.bytes, u.name
		}
	}
	return strconv.FormatInt(best, 10) + unit
}

// likelySize guesses the size that an unknown unit meant: "2G" and "2gib" mean "2GiB".
func likelySize(s string) (string, bool) {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits == 0 {
		return "", false
	}
	unit := strings.TrimSpace(s[digits:])
	for _, u := range sizeUnits {
		if u.name == unit {
			return "", false
		}
		if len(u.name) == 3 && (strings.EqualFold(u.name, unit) || strings.EqualFold(u.name[:1], unit)) {
			return s[:digits] + u.name, true
		}
	}
	return "", false
}

// Quote returns text as a TOML string. The escapes of JSON are among those of TOML.
func Quote(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // a string can be encoded
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

// QuoteList returns texts as a TOML array.
func QuoteList(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = Quote(t)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// some is whole, except that "none" or 0 means no limit and is returned as 0.
func (s *section) some(name string, normal, least, most int64) int64 {
	n := s.get(name, fmt.Sprint(normal))
	if n == nil {
		return normal
	}
	v, isInt := n.value.(int64)
	switch {
	case n.value == none || isInt && v == 0:
		return 0
	case !isInt || v < least || v > most:
		s.bad(n, name, fmt.Sprintf(`write a number from %d to %d, without quotes, or "none"`, least, most))
		return normal
	}
	return v
}

// number reads a number that check accepts, not necessarily an integer; want describes those
// numbers.
func (s *section) number(name string, normal float64, check func(float64) bool, want string) float64 {
	n := s.get(name, fmt.Sprint(normal))
	if n == nil {
		return normal
	}
	var v float64
	switch value := n.value.(type) {
	case float64:
		v = value
	case int64:
		v = float64(value)
	default:
		s.bad(n, name, "write a number without quotes, such as "+fmt.Sprint(normal))
		return normal
	}
	if math.IsNaN(v) || math.IsInf(v, 0) || !check(v) {
		s.bad(n, name, "write "+want)
		return normal
	}
	return v
}

// none is how a file spells "no limit", in addition to 0.
const none = "none"

// duration reads a duration of at least least. With unlimited, "none" is read as 0.
func (s *section) duration(name, normal string, least time.Duration, unlimited bool) time.Duration {
	n := s.get(name, strconv.Quote(normal))
	if n == nil {
		return mustDuration(normal)
	}
	text, ok := n.value.(string)
	if v, isInt := n.value.(int64); isInt && v == 0 {
		text, ok = "0s", true
	}
	if !ok {
		s.bad(n, name, durationAdvice(n, unlimited))
		return mustDuration(normal)
	}
	if unlimited && text == none {
		return 0
	}
	v, err := ParseDuration(text)
	if err != nil {
		s.add(n.line, fmt.Sprintf("%s is %s, which is %v", join(s.path, name), quoteShort(text), err),
			durationAdvice(n, unlimited))
		return mustDuration(normal)
	}
	if v < least {
		s.bad(n, name, fmt.Sprintf("write at least %q", least))
		return mustDuration(normal)
	}
	return v
}

func durationAdvice(n *node, unlimited bool) string {
	advice := `write a duration with a unit, such as "30s", "5m" or "1h30m"`
	if v, ok := n.value.(int64); ok && v > 0 {
		advice = fmt.Sprintf(`write it with a unit, such as "%ds"`, v)
	}
	if unlimited {
		advice += `, or "none"`
	}
	return advice
}

// mustDuration parses a duration of the schema itself.
func mustDuration(s string) time.Duration {
	v, err := ParseDuration(s)
	if err != nil {
		panic("config: default " + s + ": " + err.Error())
	}
	return v
}

// size reads a number of bytes up to most. With unlimited, "none" is read as 0.
func (s *section) size(name, normal string, most int64, unlimited bool) int64 {
	n := s.get(name, strconv.Quote(normal))
	if n == nil {
		return mustSize(normal)
	}
	var v int64
	var err error
	switch value := n.value.(type) {
	case int64:
		v = value
		s.unitless[join(s.path, name)] = true
		if v < 0 {
			err = fmt.Errorf("negative")
		}
	case string:
		if unlimited && value == none {
			return 0
		}
		v, err = ParseSize(value)
	default:
		s.bad(n, name, sizeAdvice("", unlimited))
		return mustSize(normal)
	}
	if err == nil && v > most {
		err = fmt.Errorf("more than %d bytes", most)
	}
	if err != nil {
		text, _ := n.value.(string)
		s.add(n.line, fmt.Sprintf("%s is %s, which is %v", join(s.path, name), n.describe(), err),
			sizeAdvice(text, unlimited))
		return mustSize(normal)
	}
	return v
}

func sizeAdvice(text string, unlimited bool) string {
	if near, ok := likelySize(text); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if unlimited {
		return `write a size, such as "2GiB", "512MiB" or "none"`
	}
	return `write a size, such as "64KiB" or "1MiB"`
}

func mustSize(s string) int64 {
	v, err := ParseSize(s)
	if err != nil {
		panic("config: default " + s + ": " + err.Error())
	}
	return v
}

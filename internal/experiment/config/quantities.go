package config

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

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

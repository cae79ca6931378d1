package display

import (
	"math"
	"strconv"
	"strings"
)

// Unit writes measured values. Its zero value writes plain numbers.
//
// Every output for people uses it, so that a value looks the same everywhere: four significant
// digits, and the SI prefix that fits the value.
type Unit struct {
	base   string // of the values: "s", "cycles", "B/op"; "" for a count
	prefix prefix
	fixed  bool // prefix is used for all values
}

// prefix is an SI prefix and its power of ten.
type prefix struct {
	letter string
	power  int
}

// prefixes are those in use, from the smallest.
var prefixes = [...]prefix{{"n", -9}, {"µ", -6}, {"m", -3}, {"", 0}, {"k", 3}, {"M", 6}, {"G", 9}, {"T", 12},
	{"P", 15}, {"E", 18}}

// UnitOf returns the unit for values in base, each with the prefix that fits it.
func UnitOf(base string) Unit { return Unit{base: base} }

// fits reports whether the prefix is usual with the unit: seconds have no kiloseconds, counts no
// thousandths.
func fits(p prefix, base string) bool {
	switch base {
	case "s":
		return p.power <= 0
	case "J", "W", "Hz":
		return true
	}
	return p.power >= 0
}

// For returns the unit with the prefix that fits the given magnitude, for all values, as an axis
// needs it.
func (u Unit) For(magnitude float64) Unit {
	if !u.fixed {
		u.prefix, u.fixed = u.fitting(magnitude), true
	}
	return u
}

// Name returns the name of a unit from For: "ms"; "" for a count without prefix.
func (u Unit) Name() string { return u.prefix.letter + u.base }

// Scale converts a value to the unit Name.
func (u Unit) Scale(v float64) float64 { return scaled(v, u.prefix.power) }

// scaled divides by a power of ten; both operands are exact, so that 5e7 ns is 50 ms to the digit.
func scaled(v float64, power int) float64 {
	if power < 0 {
		return v * math.Pow10(-power)
	}
	return v / math.Pow10(power)
}

// fitting returns the largest prefix that does not exceed the value as it is printed.
func (u Unit) fitting(v float64) prefix {
	if u.fixed {
		return u.prefix
	}
	e := exponent(v)
	best := prefix{}
	found := false
	for _, p := range prefixes {
		if fits(p, u.base) && (!found || p.power <= e) {
			best, found = p, true
		}
	}
	return best
}

// exponent is that of a number rounded to four significant digits: 3 for 1234 and for 999.96. It is
// 0 for 0, NaN and the infinities.
func exponent(v float64) int {
	_, e, ok := strings.Cut(strconv.FormatFloat(v, 'e', 3, 64), "e")
	n, err := strconv.Atoi(e)
	if !ok || err != nil || v == 0 {
		return 0
	}
	return n
}

// Value writes a value with its unit: "12.34 ms"; "" for NaN.
func (u Unit) Value(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	p := u.fitting(v)
	return u.named(digits(scaled(v, p.power)), p)
}

// Short writes a round value with as few digits as it has: "5 ms".
func (u Unit) Short(v float64) string {
	p := u.fitting(v)
	return u.named(strconv.FormatFloat(scaled(v, p.power), 'g', 4, 64), p)
}

// Range writes a value with two others in brackets, in the unit that fits the first: "12.34 ms
// (11.02, 14.50)".
func (u Unit) Range(v, low, high float64) string {
	p := u.fitting(v)
	return u.Value(v) + " (" + digits(scaled(low, p.power)) + ", " + digits(scaled(high, p.power)) + ")"
}

// Interval writes a mean to the precision of half the width of its interval, which has two
// significant digits: "201.6 ±4.4 ms".
func (u Unit) Interval(mean, half float64) string {
	p := u.fitting(mean)
	m, h := scaled(mean, p.power), scaled(half, p.power)
	const least = -11 // exponent; so that 12 digits after the decimal point have both of h
	if !(h > 0) || h < math.Abs(m)*1e-6 || max(exponent(m), exponent(h)) > most || exponent(h) < least {
		return u.named(strconv.FormatFloat(m, 'g', 6, 64)+" ±"+strconv.FormatFloat(h, 'g', 2, 64), p)
	}
	places := min(max(1-int(math.Floor(math.Log10(h))), 0), 12)
	return u.named(strconv.FormatFloat(m, 'f', places, 64)+" ±"+strconv.FormatFloat(h, 'f', places, 64), p)
}

func (u Unit) named(number string, p prefix) string {
	if name := p.letter + u.base; name != "" {
		return number + " " + name
	}
	return number
}

// Fixed writes a number with this many digits after the decimal point, and with an exponent if it
// is very large.
func Fixed(v float64, places int) string {
	if exponent(v) > most {
		return strconv.FormatFloat(v, 'e', 3, 64)
	}
	return strconv.FormatFloat(v, 'f', places, 64)
}

// most is the exponent of the largest numbers that are written in full: their digits are exact.
const most = 15

// digits writes a number with four significant digits and all digits before the decimal point, and
// with an exponent only if it is very small or very large.
func digits(v float64) string {
	const significant, least = 4, -5
	switch e := exponent(v); {
	case v == 0:
		return "0"
	case e < least || e > most:
		return strconv.FormatFloat(v, 'e', significant-1, 64)
	default:
		return strconv.FormatFloat(v, 'f', max(significant-1-e, 0), 64)
	}
}

package sysroot

import "strings"

// Compare orders names naturally: runs of digits by value, everything else by byte, so that hwmon9
// precedes hwmon10. Names that differ only in leading zeros are ordered by byte. It is a total
// order for slices.SortFunc.
func Compare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		nx, ny := digits(x), digits(y)
		if nx == 0 || ny == 0 {
			if x[0] != y[0] {
				return int(x[0]) - int(y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		if c := compareNumbers(x[:nx], y[:ny]); c != 0 {
			return c
		}
		x, y = x[nx:], y[ny:]
	}
	if c := len(x) - len(y); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// digits returns the number of leading digits of s.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// compareNumbers compares two runs of digits of any length by value.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if c := len(a) - len(b); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

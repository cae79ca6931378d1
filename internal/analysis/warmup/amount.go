package warmup

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Amount is a number of iterations, or a percentage of their total.
type Amount struct {
	Value   float64
	Percent bool
}

// ParseAmount parses "200" or "10%".
func ParseAmount(s string) (Amount, error) {
	text, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || !(v > 0) || v > math.MaxInt32:
		return Amount{}, fmt.Errorf("%q: write a number of iterations (200) or a percentage (10%%)", s)
	case percent && v > 100:
		return Amount{}, fmt.Errorf("%q is more than all iterations", s)
	case !percent && v != math.Trunc(v):
		return Amount{}, fmt.Errorf("%q is not a whole number of iterations", s)
	}
	return Amount{Value: v, Percent: percent}, nil
}

// String returns the form that ParseAmount parses.
func (a Amount) String() string {
	s := strconv.FormatFloat(a.Value, 'g', -1, 64)
	if a.Percent {
		return s + "%"
	}
	return s
}

// MarshalText returns the text of String.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText parses text with ParseAmount.
func (a *Amount) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAmount(string(text))
	return err
}

// Of returns the number of iterations out of n; a percentage is truncated to an integer as in
// warmup_stats (int(0.1*n)).
func (a Amount) Of(n int) int {
	if a.Percent {
		return int(a.Value / 100 * float64(n))
	}
	return int(a.Value)
}

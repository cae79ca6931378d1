package results

import (
	"fmt"
	"strconv"
)

// Label is the name of a column, with its core: "aperf_core3".
func (c Column) Label() string {
	if c.Core == nil {
		return c.Name
	}
	return fmt.Sprintf("%s_core%d", c.Name, *c.Core)
}

// Text is value i of a column, exactly; "" when it is missing.
func (c Column) Text(i int) string {
	switch {
	case i < len(c.Counts):
		return CountText(c.Counts[i])
	case i < len(c.Values):
		return ValueText(uint64(c.Values[i])) //nolint:gosec // and back
	}
	return ""
}

// CountText is the value of a counter; "" when it is missing.
func CountText(v uint64) string {
	if v == MissingCount {
		return ""
	}
	return strconv.FormatUint(v, 10)
}

// ValueText is the value of a user column, as a Packed holds it; "" when it is missing.
func ValueText(v uint64) string {
	if int64(v) == Missing { //nolint:gosec // it was one
		return ""
	}
	return StampText(v)
}

// StampText is a time, as a Packed holds it.
func StampText(v uint64) string { return strconv.FormatInt(int64(v), 10) } //nolint:gosec // it was one

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
	case i < len(c.Counts) && c.Counts[i] != MissingCount:
		return strconv.FormatUint(c.Counts[i], 10)
	case i < len(c.Values) && c.Values[i] != Missing:
		return strconv.FormatInt(c.Values[i], 10)
	}
	return ""
}

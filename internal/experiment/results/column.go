package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Kind is the kind of a column.
type Kind string

// The kinds of columns.
const (
	KindCounter Kind = "counter" // a processor or kernel counter, read by libkrun
	KindUser    Kind = "user"    // named and set by the benchmark or its runner
)

// Missing is the value of a user column in an iteration that did not set it; null in JSON.
const Missing int64 = math.MinInt64

// MissingCount is the value of a counter in an iteration in which it could not be read; null in
// JSON. No counter reaches this value: at ten counts per nanosecond that takes thirty years.
const MissingCount uint64 = 1 << 63

// Total is the count of a counter over all iterations of an execution, from before the first one
// until the runner was done.
type Total struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`  // "" for plain counts
	Core  *int    `json:"core"`  // processor of a per-core counter; nil otherwise
	Value *uint64 `json:"value"` // nil if it could not be read
}

// Column is a series of integers in addition to the wall times, with one value per complete
// iteration. In JSON, both kinds have their numbers in "values".
type Column struct {
	Name string
	Unit string // "" for plain counts
	Kind Kind
	Core *int // processor of a per-core counter; nil for a total

	// of a counter: increments during the iterations, possibly MissingCount; nil for user columns
	Counts []uint64
	Values []int64 // of a user column, possibly Missing; nil for counters
	// of a counter: the least that an iteration without work counts, which is the readings; nil if
	// unknown, and in older records
	Empty *uint64
}

// Len returns the number of values.
func (c Column) Len() int {
	if c.Kind == KindCounter {
		return len(c.Counts)
	}
	return len(c.Values)
}

// Float returns value i, or NaN if it is missing. Integers beyond 2^53 are rounded.
func (c Column) Float(i int) float64 {
	switch {
	case c.Kind == KindCounter && c.Counts[i] == MissingCount:
		return math.NaN()
	case c.Kind == KindCounter:
		return float64(c.Counts[i])
	case c.Values[i] == Missing:
		return math.NaN()
	}
	return float64(c.Values[i])
}

// columnJSON is Column in a file. Values is encoded by hand, because it is most of the size of a
// record.
type columnJSON struct {
	Name   string          `json:"name"`
	Unit   string          `json:"unit"`
	Kind   Kind            `json:"kind"`
	Core   *int            `json:"core"`
	Empty  *uint64         `json:"empty,omitempty"`
	Values json.RawMessage `json:"values"`
}

// MarshalJSON encodes c as specified in the package documentation.
func (c Column) MarshalJSON() ([]byte, error) {
	j := columnJSON{Name: c.Name, Unit: c.Unit, Kind: c.Kind, Core: c.Core, Empty: c.Empty}
	switch c.Kind {
	case KindCounter:
		if c.Values != nil {
			return nil, fmt.Errorf("column %s: a counter has Counts, not Values", c.Name)
		}
		j.Values = appendList(c.Counts, appendCount)
	case KindUser:
		if c.Counts != nil {
			return nil, fmt.Errorf("column %s: a user column has Values, not Counts", c.Name)
		}
		j.Values = appendList(c.Values, appendValue)
	default:
		return nil, fmt.Errorf("column %s: kind %q is neither counter nor user", c.Name, c.Kind)
	}
	return json.Marshal(j)
}

// appendList appends a JSON list, or null for nil.
func appendList[T any](list []T, format func([]byte, T, int) []byte) []byte {
	if list == nil {
		return []byte("null")
	}
	const usual = 8 // bytes of a number with its comma
	text := make([]byte, 0, 2+usual*len(list))
	text = append(text, '[')
	for i, v := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = format(text, v, 10)
	}
	return append(text, ']')
}

func appendCount(text []byte, v uint64, base int) []byte {
	if v == MissingCount {
		return append(text, "null"...)
	}
	return strconv.AppendUint(text, v, base)
}

func appendValue(text []byte, v int64, base int) []byte {
	if v == Missing {
		return append(text, "null"...)
	}
	return strconv.AppendInt(text, v, base)
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (c *Column) UnmarshalJSON(text []byte) error {
	var j columnJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	*c = Column{Name: j.Name, Unit: j.Unit, Kind: j.Kind, Core: j.Core, Empty: j.Empty}
	var err error
	switch j.Kind {
	case KindCounter:
		c.Counts, err = parseCounts(j.Values)
	case KindUser:
		c.Values, err = parseValues(j.Values)
	default:
		return fmt.Errorf("column %s: kind %q is neither counter nor user", j.Name, j.Kind)
	}
	if err != nil {
		return fmt.Errorf("column %s: %w", j.Name, err)
	}
	return nil
}

var null = []byte("null")

func parseCounts(text []byte) ([]uint64, error) { return parseList(text, MissingCount) }

func parseValues(text []byte) ([]int64, error) { return parseList(text, Missing) }

// parseList parses a list in which null means missing; encoding/json alone would turn it into zero.
func parseList[T int64 | uint64](text []byte, missing T) ([]T, error) {
	if !bytes.Contains(text, null) || bytes.Equal(text, null) {
		var values []T
		err := json.Unmarshal(text, &values)
		return values, err
	}
	var list []*T
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	values := make([]T, len(list))
	for i, v := range list {
		values[i] = missing
		if v != nil {
			values[i] = *v
		}
	}
	return values, nil
}

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

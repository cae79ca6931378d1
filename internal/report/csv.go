package report

import (
	"math"
	"reflect"
	"strconv"
	"strings"

	"krund/internal/analysis/warmup"
)

// csvRows is a table for programs: the header, and a row for each item. columns are paths of JSON
// names in an item, such as steady.ratio.low, separated by white space. A path is the head of its
// column, too, unless it is written HEAD=PATH. "#" is the length of a list. What is not there, and
// with finite a number that could not be computed, is empty.
func csvRows[T any](columns string, finite bool, items []T) [][]string {
	paths := strings.Fields(columns)
	heads := make([]string, len(paths))
	for i, column := range paths {
		heads[i], paths[i], _ = strings.Cut(column, "=")
		if paths[i] == "" {
			paths[i] = column
		}
	}
	rows := [][]string{heads}
	for i := range items {
		row := make([]string, len(paths))
		for k, path := range paths {
			row[k] = csvCell(reflect.ValueOf(items[i]), path, finite)
		}
		rows = append(rows, row)
	}
	return rows
}

// csvCell returns the text of the value at a path below v.
func csvCell(v reflect.Value, path string, finite bool) string {
	for v.Kind() == reflect.Pointer {
		v = v.Elem() // of a nil pointer the zero Value
	}
	name, rest, _ := strings.Cut(path, ".")
	switch {
	case !v.IsValid():
		return ""
	case path == "":
		return csvText(v, finite)
	case path == "#":
		return strconv.Itoa(v.Len())
	case v.Kind() == reflect.Map:
		v = v.MapIndex(reflect.ValueOf(name))
	default:
		v = jsonMember(v, name)
	}
	return csvCell(v, rest, finite)
}

// jsonMember returns the field that JSON has under a name, which may be in an embedded struct.
func jsonMember(v reflect.Value, name string) reflect.Value {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
			return v.Field(i)
		}
		if inner := reflect.Indirect(v.Field(i)); field.Anonymous && inner.Kind() == reflect.Struct {
			if found := jsonMember(inner, name); found.IsValid() {
				return found
			}
		}
	}
	return reflect.Value{}
}

// csvText writes a value with all its digits. Of warnings it has the codes, each once.
func csvText(v reflect.Value, finite bool) string {
	switch x := v.Interface().(type) {
	case []warmup.Warning:
		return codes(x)
	case []string:
		return strings.Join(x, "; ")
	case []int:
		return numberList(x)
	case bool:
		return strconv.FormatBool(x)
	}
	switch {
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case !v.CanFloat():
		return v.String()
	case finite && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)):
		return ""
	}
	return exact(v.Float())
}

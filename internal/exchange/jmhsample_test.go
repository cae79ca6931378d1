package exchange

import (
	"errors"
	"strings"
	"testing"

	"krund/rig/must"
)

func TestReadJMHSampleRefuses(t *testing.T) {
	for histogram, want := range map[string]string{
		"[[[[1]]]]":          "fork 1, iteration 1",
		"[[[[1,2]],[]]]":     "fork 1, iteration 2: it has no calls",
		"[[[[-1,2]]]]":       "is not a time",
		"[[[[1,0.5]]]]":      "is not a time",
		"[[[[1,1e300]]]]":    "is not a time",
		"[[[[1e308,9e15]]]]": "too large",
		`[[[["a",1]]]]`:      "is of type string",
		"[[[[1e400,1]]]]":    "is 1e400, which is out of range",
		"[[[{\"1\":2}]]]":    "is of type object",
	} {
		text := `[{"benchmark":"b","mode":"sample","primaryMetric":{"scoreUnit":"s/op","rawDataHistogram":` +
			histogram + `}}]`
		_, err := ReadJMH(strings.NewReader(text), ImportOptions{})
		must.Be(t, errors.Is(err, ErrFormat) && strings.Contains(err.Error(), want), histogram, err, "want",
			want)
	}
	text := `[{"benchmark":"b","mode":"sample","primaryMetric":{"scoreUnit":"ops/s","rawDataHistogram":[[[[1,1]]]]}}]`
	must.Refused(ReadJMH(strings.NewReader(text), ImportOptions{}))(t, "not one of time")
}

func TestPlanned(t *testing.T) {
	for text, want := range map[string]float64{"10 s": 10, "100 ms": 0.1, "": 1, "1 day": 86400, "-1 s": 1,
		"NaN s": 1, "1 parsec": 1} {
		must.Equal(t, planned(text), want)
	}
}

package exchange

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"krund/internal/analysis/similarity"
)

func TestReadRatings(t *testing.T) {
	got, err := ReadRatings(strings.NewReader("key,R1,R2\na:b:c,similar,dissimilar\nd,, similar\n"))
	want := similarity.Ratings{Raters: []string{"R1", "R2"}, Subjects: []similarity.Subject{
		{Key: "a:b:c", Said: []similarity.Verdict{similarity.Similar, similarity.Dissimilar}},
		{Key: "d", Said: []similarity.Verdict{"", similarity.Similar}},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                                       "no table",
		"benchmark,R1\n":                         "line 1: the header",
		"key\n":                                  "line 1: the header",
		"key,R1\n":                               "no key is rated",
		"key,R1\na,\n":                           "no key is rated",
		"key,R1\na,yes\n":                        "line 2: \"yes\" is neither",
		"key,R1\na,similar\na,dissimilar\n":      "line 3: the key \"a\" has a line already",
		"key,R1\na\n":                            "wrong number of fields",
		"key,R1\n\"a,similar\n":                  "extraneous or missing",
		"key" + strings.Repeat(",r", 101) + "\n": "1 to 100 raters",
		"key,R1\n" + strings.Repeat("a", 4001) + ",similar\n": "has 4001 bytes",
	} {
		if _, err := ReadRatings(strings.NewReader(text)); !errors.Is(err, ErrFormat) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

func FuzzReadRatings(f *testing.F) {
	f.Add("key,R1,R2\na:b:c,similar,dissimilar\nd,,similar\n")
	f.Add("key,R1\na,yes\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ReadRatings(strings.NewReader(text))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Error(err)
			}
			return
		}
		similarity.ScoreOf(nil, list) // accepts what is read
	})
}

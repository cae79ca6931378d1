package exchange

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"krund/internal/analysis/similarity"
	"krund/internal/durable"
)

// Limits of a file of ratings.
const (
	mostRaters   = 100
	mostSubjects = 1_000_000
)

// ReadRatings reads a CSV table of people's verdicts: a header with "key" and the names of the
// raters, then for each key (or benchmark) "similar", "dissimilar" or nothing of each. The errors
// wrap ErrFormat and name the line, or are those of r.
func ReadRatings(r io.Reader) (list similarity.Ratings, err error) {
	t, err := newTable(r, "the ratings")
	if err != nil {
		return list, err
	}
	if t.head[0] != "key" || len(t.head) < 2 || len(t.head) > mostRaters+1 {
		return list, t.wrong(fmt.Errorf("line 1: the header must be key and the names of 1 to %d raters",
			mostRaters))
	}
	list.Raters = t.head[1:]
	seen, rated := map[string]bool{}, false
	err = t.each(func(row []string) error {
		s := similarity.Subject{Key: row[0]}
		err := tooLong("key", s.Key)
		if err == nil && seen[s.Key] {
			err = fmt.Errorf("the key %.80q has a line already; a rater has a column", s.Key)
		}
		seen[s.Key] = true
		for _, text := range row[1:] {
			v := similarity.Verdict(strings.TrimSpace(text))
			known := []similarity.Verdict{"", similarity.Similar, similarity.Dissimilar}
			if !slices.Contains(known, v) {
				err = fmt.Errorf("%.40q is neither similar nor dissimilar nor empty", text)
			}
			s.Said = append(s.Said, v)
			rated = rated || v != ""
		}
		if err == nil && len(list.Subjects) == mostSubjects {
			err = fmt.Errorf("there are more than %d keys", mostSubjects)
		}
		list.Subjects = append(list.Subjects, s)
		return err
	})
	if err == nil && !rated {
		err = t.wrong(errors.New("no key is rated"))
	}
	return list, err
}

// ReadRatingsFile reads the named file with ReadRatings.
func ReadRatingsFile(name string) (similarity.Ratings, error) {
	return readNamed(name, "the ratings",
		func(f durable.File) (similarity.Ratings, error) { return ReadRatings(f) })
}

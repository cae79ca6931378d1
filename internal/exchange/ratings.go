package exchange

import (
	"encoding/csv"
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
	in := csv.NewReader(r)
	head, err := in.Read()
	if err != nil {
		return list, fmt.Errorf("read the ratings: %w: no table: %w", ErrFormat, err)
	}
	head[0] = strings.TrimPrefix(head[0], byteOrderMark)
	if head[0] != "key" || len(head) < 2 || len(head) > mostRaters+1 {
		return list, fmt.Errorf("read the ratings: %w: line 1: the header must be key and the names of 1 to "+
			"%d raters", ErrFormat, mostRaters)
	}
	list.Raters = head[1:]
	seen, rated := map[string]bool{}, false
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			if !rated {
				return list, fmt.Errorf("read the ratings: %w: no key is rated", ErrFormat)
			}
			return list, nil
		}
		if syntax := (*csv.ParseError)(nil); errors.As(err, &syntax) {
			return list, fmt.Errorf("read the ratings: %w: %w", ErrFormat, err)
		}
		if err != nil {
			return list, fmt.Errorf("read the ratings: %w", err)
		}
		s := similarity.Subject{Key: row[0]}
		err = tooLong("key", s.Key)
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
		if err != nil {
			line, _ := in.FieldPos(0)
			return list, fmt.Errorf("read the ratings: %w: line %d: %w", ErrFormat, line, err)
		}
		list.Subjects = append(list.Subjects, s)
	}
}

// ReadRatingsFile reads the named file with ReadRatings.
func ReadRatingsFile(name string) (list similarity.Ratings, err error) {
	file, err := durable.OpenUserFile(name)
	if err != nil {
		return list, fmt.Errorf("read the ratings: %w", err)
	}
	defer func() {
		if closed := file.Close(); err == nil {
			err = closed
		}
	}()
	if list, err = ReadRatings(file); err != nil {
		return list, fmt.Errorf("%s: %w", name, err)
	}
	return list, nil
}

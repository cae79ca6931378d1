package similarity

import (
	"errors"
	"fmt"
)

// ErrRatings reports that a table of ratings cannot be used.
var ErrRatings = errors.New("invalid ratings")

// Agreement is the agreement between raters (Fleiss, "Measuring nominal scale agreement among many
// raters", Psychological Bulletin 76, 1971).
type Agreement struct {
	Kappa    float64 // 1: perfect agreement, 0: chance agreement, negative: below chance
	Observed float64 // share of the pairs of ratings that agree
	Expected float64 // share expected by chance
}

// Kappa computes the agreement of ratings[subject][category], the number of raters that assigned a
// subject to a category. All subjects have the same number of raters, at least two. When all
// ratings are in one category, Kappa is 1. The error wraps ErrRatings.
func Kappa(ratings [][]int) (Agreement, error) {
	raters, err := countRaters(ratings)
	if err != nil {
		return Agreement{}, err
	}
	var a Agreement
	totals := make([]int, len(ratings[0]))
	for _, row := range ratings {
		squares := 0.0
		for category, n := range row {
			totals[category] += n
			squares += float64(n) * float64(n)
		}
		a.Observed += (squares - float64(raters)) / (float64(raters) * float64(raters-1)) / float64(
			len(ratings))
	}
	used := 0
	for _, n := range totals {
		share := float64(n) / (float64(raters) * float64(len(ratings)))
		a.Expected += share * share
		if n > 0 {
			used++
		}
	}
	a.Kappa = 1
	if used > 1 {
		a.Kappa = (a.Observed - a.Expected) / (1 - a.Expected)
	}
	return a, nil
}

func countRaters(ratings [][]int) (int, error) {
	if len(ratings) == 0 {
		return 0, fmt.Errorf("%w: no subjects", ErrRatings)
	}
	raters := 0
	for i, row := range ratings {
		sum := 0
		for _, n := range row {
			if n < 0 || n > 1<<30 {
				return 0, fmt.Errorf("%w: subject %d has %d ratings in a category", ErrRatings, i+1, n)
			}
			sum += n
		}
		if i == 0 {
			raters = sum
		}
		if sum != raters || len(row) != len(ratings[0]) {
			return 0, fmt.Errorf("%w: subject %d has %d ratings in %d categories, the first %d in %d",
				ErrRatings, i+1, sum, len(row), raters, len(ratings[0]))
		}
	}
	if raters < 2 {
		return 0, fmt.Errorf("%w: agreement needs two ratings of each subject", ErrRatings)
	}
	return raters, nil
}

// Strength is Landis and Koch's label for a kappa ("The measurement of observer agreement for
// categorical data", Biometrics 33, 1977).
func Strength(kappa float64) string {
	switch {
	case kappa < 0:
		return "poor"
	case kappa <= 0.2:
		return "slight"
	case kappa <= 0.4:
		return "fair"
	case kappa <= 0.6:
		return "moderate"
	case kappa <= 0.8:
		return "substantial"
	}
	return "almost perfect"
}

// Confusion is a confusion matrix of a method against known truth; positive is dissimilar.
type Confusion struct {
	TruePositive  int `json:"true_positives"`
	FalseNegative int `json:"false_negatives"`
	FalsePositive int `json:"false_positives"`
	TrueNegative  int `json:"true_negatives"`
}

// Add counts a subject.
func (c *Confusion) Add(dissimilar, said bool) {
	switch {
	case dissimilar && said:
		c.TruePositive++
	case dissimilar:
		c.FalseNegative++
	case said:
		c.FalsePositive++
	default:
		c.TrueNegative++
	}
}

// Sensitivity is the true positive rate, Specificity the true negative rate, Accuracy the share of
// correct decisions, and Flagged the share of subjects called dissimilar. Each is NaN when its
// denominator is 0.
func (c Confusion) Sensitivity() float64 {
	return share(c.TruePositive, c.TruePositive+c.FalseNegative)
}

// Specificity is described at Sensitivity.
func (c Confusion) Specificity() float64 {
	return share(c.TrueNegative, c.TrueNegative+c.FalsePositive)
}

// Accuracy is described at Sensitivity.
func (c Confusion) Accuracy() float64 { return share(c.TruePositive+c.TrueNegative, c.all()) }

// Flagged is described at Sensitivity.
func (c Confusion) Flagged() float64 { return share(c.TruePositive+c.FalsePositive, c.all()) }

func (c Confusion) all() int {
	return c.TruePositive + c.FalseNegative + c.FalsePositive + c.TrueNegative
}

func share(n, of int) float64 { return float64(n) / float64(of) }

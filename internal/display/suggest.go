package display

import "strings"

// Nearest returns the candidate nearest to name, and false if none is near enough: about one
// mistake in three letters.
func Nearest(name string, candidates []string) (string, bool) {
	best, least := "", len(name)/3+1
	for _, c := range candidates {
		if d := Distance(strings.ToLower(name), strings.ToLower(c)); d < least || d == least && best == "" {
			best, least = c, d
		}
	}
	return best, best != "" && least < len(best)
}

// Distance returns the number of insertions, deletions, replacements and swaps of adjacent letters
// that turn a into b: the optimal string alignment distance.
func Distance(a, b string) int {
	const most = 64 // longer names take too long
	if len(a) > most || len(b) > most {
		return most
	}
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		last := row
		row = make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before = last
	}
	return row[len(b)]
}

package main

import (
	"path/filepath"
	"slices"
	"testing"
)

// oddFile writes a file of Krun in which some keys cannot be judged.
func oddFile(t *testing.T, dir string) string {
	t.Helper()
	slower := seconds(9, 0, 900)
	for i := range slower {
		slower[i] *= 5
	}
	return krunResults(t, filepath.Join(dir, "odd_results.json"), map[string][][]float64{
		"alike:C:default-c": {seconds(1, 30, 900), seconds(2, 30, 900), seconds(3, 32, 900)},
		"constant:C:default-c": {slices.Repeat([]float64{0.25}, 400), slices.Repeat([]float64{0.25},
			400)},
		"one:C:default-c":   {seconds(5, 20, 900), {}},
		"short:C:default-c": {seconds(6, 0, 40), seconds(7, 0, 50)},
		"unlike:C:default-c": {seconds(8, 0, 900), slower, seconds(10, 0, 800),
			seconds(11, 0, 30)},
		"zero:C:default-c":     {make([]float64, 400), make([]float64, 400)},
		"none:C:default-c\x1b": {},
	})
}

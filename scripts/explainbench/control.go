//go:build linux

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/explain"
	"krund/internal/analysis/warmup"
	"krund/internal/durable"
	records "krund/internal/reading/experiment"
)

// draws is how often the evidence of each key is shifted.
const draws = 10

// control prints how many keys of the experiments get any explanation when the evidence of each
// execution is shifted by a random number of iterations, draws times each. Keys without outliers
// and changepoints are left out.
func control(out io.Writer, experiments []string) error {
	total, explained := 0, 0
	for _, path := range experiments {
		keys, with, err := controlled(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: with shifted evidence %d of %d keys get any explanation\n", path, with, keys)
		total, explained = total+keys, explained+with
	}
	fmt.Fprintf(out, "shifted evidence: %d of %d keys get any explanation, %s\n", explained, total,
		ratio(explained, total))
	return nil
}

// controlled counts the keys of one experiment, each as often as it was shifted, and those that get
// any explanation.
func controlled(path string) (keys, with int, err error) {
	silent := func(string) (func(warmup.Progress), func()) { return func(warmup.Progress) {}, func() {} }
	reader := records.Reader{FS: durable.OS(), NoPerformance: true, Workers: runtime.NumCPU(),
		Message: func(string, ...any) {}, Empty: func(string, string) {}, Progress: silent}
	in, doc, series, err := reader.Keyed(path, "")
	if err != nil {
		return 0, 0, err
	}
	for draw := range uint64(draws) {
		shifted := func(pair, execution int) (dataset.Execution, error) {
			e, err := series(pair, execution)
			random := rand.New(rand.NewPCG(draw, uint64(pair)<<32+uint64(execution)))
			return explain.Shifted(&e, random.IntN(max(1, len(e.Starts)))), err
		}
		result, err := explain.Explain(in.Data.Info, doc, explain.Default(), reader.Workers, shifted)
		if err != nil {
			return 0, 0, err
		}
		for i := range result.Keys {
			k := &result.Keys[i]
			if k.Outliers.Total+k.Changepoints.Total == 0 {
				continue
			}
			keys++
			with += min(1, len(k.Statements))
		}
	}
	return keys, with, nil
}

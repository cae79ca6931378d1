package main

import (
	"encoding/csv"
	"fmt"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
)

// leftOut is an execution that cannot be used, and why.
type leftOut struct {
	Execution int    `json:"execution"`
	Problem   string `json:"problem"`
}

// keySeries is the executions of a key as series.
type keySeries struct {
	key     string
	names   []string // benchmark, VM, variant
	numbers []int    // of the executions
	series  [][]float64
	out     []leftOut
}

// seriesOf takes a column of the completed executions of a key.
func seriesOf(p *dataset.Pair, column string) keySeries {
	s := keySeries{key: p.Key.String(), names: []string{p.Key.Benchmark, p.Key.VM, p.Key.Variant}, out: []leftOut{}}
	for i := range p.Executions {
		e := &p.Executions[i]
		values, _, _, problem := warmup.Series(e, column)
		if problem != "" {
			s.out = append(s.out, leftOut{e.Number, problem})
			continue
		}
		s.numbers = append(s.numbers, e.Number)
		s.series = append(s.series, values)
	}
	return s
}

// numberOf turns indexes of series into numbers of executions.
func (s *keySeries) numberOf(index []int) []int {
	numbers := make([]int, len(index))
	for i, k := range index {
		numbers[i] = s.numbers[k]
	}
	return numbers
}

// sourceJSON says where the data of a document comes from.
type sourceJSON struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Machine    string `json:"machine"`
	Experiment string `json:"experiment"`
}

func sourceOf(d *dataset.Dataset) sourceJSON { return newSource(d.Info) }

func newSource(i dataset.Info) sourceJSON {
	return sourceJSON{Name: i.Source, Kind: i.Format, Machine: i.Machine, Experiment: i.Experiment}
}

// printLeftOut lists, for a key, what was not used.
func (a *app) printLeftOut(key string, out []leftOut) {
	for _, o := range out {
		a.print("  %s\n", visible(fmt.Sprintf("%s: execution %d was left out: %s", key, o.Execution, o.Problem)))
	}
}

// parallel calls do(0) to do(n-1) on so many goroutines. Each has a result of
// its own, so that their number does not matter.
func parallel(n, workers int, do func(int)) {
	queue := make(chan int)
	done := make(chan struct{})
	workers = min(max(workers, 1), max(n, 1))
	for range workers {
		go func() {
			for i := range queue {
				do(i)
			}
			done <- struct{}{}
		}()
	}
	for i := range n {
		queue <- i
	}
	close(queue)
	for range workers {
		<-done
	}
}

// printing is how a command that looks at the keys of its arguments one by one prints what it finds.
type printing[D any] struct {
	json, csv bool
	table     func(D)
	rows      func(w *csv.Writer, doc D, header bool) error
}

// lookAtEach reads the arguments of a command, has each looked at, and prints what was found in it.
func lookAtEach[D any](a *app, args []string, input analyzeOptions, look func(*dataset.Dataset) (D, error), p printing[D]) error {
	table := csv.NewWriter(a.stdout)
	for i, arg := range args {
		in, err := a.analysisInput(arg, input)
		if err != nil {
			return err
		}
		doc, err := look(in.data)
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		switch {
		case p.json:
			err = a.printJSON(doc)
		case p.csv:
			err = p.rows(table, doc, i == 0)
		default:
			if i > 0 {
				a.print("\n")
			}
			p.table(doc)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

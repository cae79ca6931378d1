package main

import (
	"fmt"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
	"krund/internal/experiment"
)

// printing is how a command prints a document.
type printing[D any] struct {
	json, csv bool
	table     func(D)
	rows      func(doc D, w display.CSV, header bool) error
	judged    func(D) int // number of keys that could be judged
}

// lookAtEach reads the arguments of a command, makes a document of each with look, and prints it.
// If no key of any document could be judged, the error is errUnjudged.
func lookAtEach[D any](
	a *app,
	args []string,
	input experiment.Options,
	look func(*dataset.Dataset) (D, error),
	p printing[D],
) error {
	input.Clean = true
	table := display.NewCSV(a.stdout)
	judged := 0
	for i, arg := range args {
		in, err := a.reader(1).Read(arg, input)
		if err != nil {
			return err
		}
		doc, err := look(in.Data)
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		judged += p.judged(doc)
		switch {
		case p.json:
			err = a.printJSON(doc)
		case p.csv:
			err = p.rows(doc, table, i == 0)
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
	if judged == 0 && len(a.empty) == 0 { // else that is the error
		return fmt.Errorf("%w: no key has executions that can be used; the output says why", errUnjudged)
	}
	return nil
}

// count returns how many elements of a list are of a kind.
func count[T any](list []T, is func(T) bool) int {
	n := 0
	for _, v := range list {
		if is(v) {
			n++
		}
	}
	return n
}

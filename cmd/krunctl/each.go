package main

import (
	"encoding/csv"
	"fmt"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment"
)

// printing is how a command prints a document.
type printing[D any] struct {
	json, csv bool
	table     func(D)
	rows      func(doc D, w *csv.Writer, header bool) error
}

// lookAtEach reads the arguments of a command, makes a document of each with look, and prints it.
func lookAtEach[D any](
	a *app,
	args []string,
	input experiment.Options,
	look func(*dataset.Dataset) (D, error),
	p printing[D],
) error {
	input.Clean = true
	table := csv.NewWriter(a.stdout)
	for i, arg := range args {
		in, err := a.reader(1).Read(arg, input)
		if err != nil {
			return err
		}
		doc, err := look(in.Data)
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
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
	return nil
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/reading/experiment"
)

// toOutput calls write with the file that -o names, or with standard output.
func (a *app) toOutput(file string, write func(io.Writer) error) error {
	if file == "" || isStdout(file) {
		return write(a.stdout)
	}
	return durable.WriteUserFile(file, write)
}

// canWrite returns the error that toOutput would give, before the work is done that it is for. It
// changes nothing.
func canWrite(file string) error {
	info, err := os.Stat(file)
	if file == "" || isStdout(file) || durable.IsDescriptor(file) ||
		err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil
	}
	tried := errors.New("nothing to write yet")
	if err := durable.WriteUserFile(file, func(io.Writer) error { return tried }); !errors.Is(err, tried) {
		return err
	}
	return nil
}

// toText writes a text to the file that -o names, or to standard output.
func (a *app) toText(file string, text []byte) error {
	return a.toOutput(file, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// isStdout reports whether -o names standard output. A command then prints nothing else there.
func isStdout(output string) bool {
	return slices.Contains([]string{"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}, output)
}

// needsDirectory returns an error if -o names standard output or another open file.
func needsDirectory(output string) error {
	if isStdout(output) || durable.IsDescriptor(output) {
		return usageError(fmt.Errorf("%s: the output is a directory with several files; name one", output))
	}
	return nil
}

// printing is how a command prints documents.
type printing[D any] struct {
	json, csv bool
	table     func(D)
	rows      func(D) [][]string // of the CSV; the first is the header
}

// print prints document i of a command, from 0.
func (p printing[D]) print(a *app, i int, doc D) error {
	switch {
	case p.json:
		return a.printJSON(doc)
	case p.csv:
		rows := p.rows(doc)
		if i > 0 { // the header is written once
			rows = rows[1:]
		}
		return display.NewCSV(a.stdout).WriteAll(rows)
	}
	if i > 0 {
		a.print("\n")
	}
	p.table(doc)
	return nil
}

// lookAtEach reads the arguments of a command, makes a document of each with look, and prints it.
// judged returns the number of keys of a document that could be judged; if there are none in any,
// the error is errUnjudged.
func lookAtEach[D any](
	a *app,
	args []string,
	input experiment.Selection,
	look func(*dataset.Dataset) (D, error),
	p printing[D],
	judged func(D) int,
) error {
	input.Clean = true
	keys := 0
	for i, arg := range args {
		in, err := a.reader(1).Read(arg, input)
		if err != nil {
			return err
		}
		doc, err := look(in.Data)
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		keys += judged(doc)
		if err := p.print(a, i, doc); err != nil {
			return err
		}
	}
	if keys == 0 && len(a.empty) == 0 { // else that is the error
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

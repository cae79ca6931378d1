package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"krund/internal/durable"
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

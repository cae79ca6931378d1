package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/boot/doctor"
	"krund/internal/durable"
	"krund/internal/exchange/krunconfig"
	"krund/internal/experiment/config"
)

const importConfigHelp = `Import-config converts a configuration of Krun, NAME.krun, to one of krund, and
prints it. What it could not convert, or not exactly, is listed on standard error:
read that list before the first run.

The file is a Python program. It is evaluated without access to the system, except
that execfile reads files below its directory: what only the machine knows is named,
with its line, and so is each statement that has no counterpart. sys.platform and the
name of the machine are those of this one.

A file that exists is replaced only with --force.

An experiment NAME.toml needs the directory NAME.krun: choose another name, or move
the old file away. docs/from-krun.md explains each key, and how to build benchmarks.

EXAMPLES
  krunctl import-config old.krun -o study.toml
  krund check --try study.toml
` + exitHelp

func importConfigCommand(a *app) *cobra.Command {
	var output string
	var force bool
	c := &cobra.Command{
		Use:   "import-config NAME.krun",
		Short: "Convert a configuration of Krun",
		Long:  importConfigHelp,
		Args:  arguments(1, 1, "one configuration of Krun"),
		RunE:  func(_ *cobra.Command, args []string) error { return a.importConfig(args[0], output, force) },
	}
	c.Flags().StringVarP(&output, "output", "o", "-", "file to write; - is standard output")
	c.Flags().BoolVar(&force, "force", false, "replace the file if it exists")
	return c
}

func (a *app) importConfig(name, output string, force bool) error {
	if in, err := os.Stat(name); err == nil {
		if out, err := os.Stat(output); err == nil && os.SameFile(in, out) {
			return usageError(fmt.Errorf("-o %s is the configuration of Krun; name another file", output))
		}
	}
	if isRegular(output) && !force {
		return usageError(fmt.Errorf("%s exists; name another file, or give --force to replace it", output))
	}
	text, err := durable.ReadSmallFile(a.fsys, name, krunconfig.MaxText)
	if err != nil {
		return fmt.Errorf("read the configuration of Krun: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return err
	}
	platform := runtime.GOOS
	if platform == "linux" {
		platform = "linux2" // in Python 2
	}
	converted, err := krunconfig.Convert(krunconfig.Program{Text: string(text), Dir: dir, Host: a.host,
		Platform: platform, Read: func(file string) ([]byte, error) {
			below, err := durable.Inside(durable.OS(), dir)
			if err != nil {
				return nil, err
			}
			return durable.ReadSmallFile(below, filepath.Join(dir, file), krunconfig.MaxText)
		}})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := a.toOutput(output, func(w io.Writer) error {
		_, err := io.WriteString(w, converted.TOML)
		return err
	}); err != nil {
		return err
	}
	for _, left := range converted.Left {
		a.talk("%s: %s", name, left)
	}
	var mistakes config.Errors
	if isStdout(output) || durable.IsDescriptor(output) { // the experiment has the name of its file
		output = strings.TrimSuffix(filepath.Base(name), ".krun") + ".toml"
	}
	if _, err := config.Parse(output, []byte(converted.TOML), a.host, doctor.Settings()); errors.As(err,
		&mistakes) {
		a.talk("what was converted needs corrections:\n%s", mistakes.Error())
	}
	return nil
}

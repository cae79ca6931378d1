package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/boot/doctor"
	"krund/internal/durable"
	"krund/internal/exchange/krunconfig"
	"krund/internal/experiment/config"
)

// importConfig converts a configuration of Krun; output "" is standard output.
func (a *app) importConfig(ctx context.Context, name, output string) error {
	output = cmp.Or(output, "-")
	if in, err := os.Stat(name); err == nil {
		if out, err := os.Stat(output); err == nil && os.SameFile(in, out) {
			return usageError(fmt.Errorf("-o %s is the configuration of Krun; name another file", output))
		}
	}
	if isRegular(output) {
		return usageError(fmt.Errorf("%s exists; name another file, or remove it", output))
	}
	converted, err := krunconfig.ConvertFile(ctx, name, a.host)
	if err != nil {
		return err
	}
	if err := a.toText(output, []byte(converted.TOML)); err != nil {
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

// convertKrunCommand is the process that importConfig starts.
func convertKrunCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    krunconfig.Command + " NAME HOST",
		Short:  "Convert the configuration of Krun on standard input, with bounded memory (internal)",
		Hidden: true,
		Args:   arguments(2, 2, "a name and a host"),
		RunE: func(_ *cobra.Command, args []string) error {
			return krunconfig.Worker(args[0], args[1], a.stdin, a.stdout)
		},
	}
}

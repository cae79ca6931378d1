package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"krund/internal/display"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the formats that it reads",
		Args:  arguments(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			a.print("krunctl %s (%s/%s, %s); schedule format %d, record format %d\n", display.Version(),
				runtime.GOOS, runtime.GOARCH, runtime.Version(), schedule.Version, results.Format)
			return nil
		},
	}
}

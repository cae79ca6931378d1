// Command krunhub connects machines that measure: it receives their records, gives them
// experiments, and shows both to people. It never measures; krund does.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"krund/internal/display"
	"krund/packaging/manual"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs krunhub with the given arguments until ctx ends, and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use: "krunhub COMMAND", Short: "Connect machines that run experiments of krund",
		Long: rootHelp, SilenceErrors: true, SilenceUsage: true, Version: display.Version(),
	}
	root.AddCommand(serveCommand(stdout, stderr), adminTokenCommand(stdout, stderr), mcpCommand(),
		manual.Command())
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		_, _ = fmt.Fprintf(stderr, "krunhub: %s\n", display.Terminal(err.Error()))
		return 1
	}
	return 0
}

const rootHelp = `krunhub connects the machines of a lab: they ship their records to it, and it gives
them experiments. People and programs submit, watch and compare experiments in one
place.

  krunhub serve --listen :8642    on one computer; prints an address and a token
  krunctl hub join URL                on each machine that measures
  krunhub admin-token             when no admin has a token any more
  krunhub mcp                     for programs that speak the Model Context Protocol

Pages in a browser show machines, queue, experiments with live progress, reports,
comparisons, history and alerts. krunctl makes the reports: it must be beside krunhub,
or in the PATH. docs/hub.md describes set-up, roles, backup and upgrade.

FILES
  krunhub.data/hub.sqlite    the embedded database
  krunhub.data/blobs/        records and bundles, by their SHA-256
  krunhub.data/experiments/  directories and reports, which can be made again
  krunhub.data/hub.toml      who is notified, and how machines are restarted

EXAMPLES
  krunhub serve              for this computer only, to try it
  krunhub completion bash    print a script that completes commands

EXIT STATUS
  0  success; serve: it was asked to end
  1  wrong usage, or something could not be done; standard error says what`

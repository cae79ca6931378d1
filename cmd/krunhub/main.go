// Command krunhub connects machines that measure: it receives their records, gives them
// experiments, and shows both to people. It never measures; krund does.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/display"
	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/machine/sysroot"
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
  krunctl hub join URL            on each machine that measures
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

const adminTokenHelp = `Admin-token prints a new token with the role admin, for a hub whose admins have lost
theirs. It works beside a hub that runs and without one; --data and --database are those
of "krunhub serve". Who may change the hub's database may do this; no token of the hub is
needed. The user of the token is made or, if there is one of that name, becomes an admin.

The token ends after ` + setupDays + ` days: log in with it, make your own under Tokens, and revoke it.

EXAMPLES
  krunhub admin-token --data /var/lib/krunhub
  krunhub admin-token --database postgres://krunhub@db/krunhub --user ada`

// setupLife is how long a token lasts that is for making others: the first one, and those of
// admin-token. They are printed, and stay in logs.
const (
	setupDays = "7"
	setupLife = 7 * 24 * time.Hour
)

func adminTokenCommand(stdout, stderr io.Writer) *cobra.Command {
	var data, location, user string
	c := &cobra.Command{
		Use: "admin-token", Short: "Print a token with the role admin", Long: adminTokenHelp,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if location == "" {
				location = embedded(data)
			}
			return adminToken(c.Context(), location, user, stdout, stderr)
		},
	}
	c.Flags().StringVar(&data, "data", "krunhub.data", "directory of the hub, with the embedded database")
	c.Flags().StringVar(&location, "database", "", "postgres://... if the hub has that database")
	c.Flags().StringVar(&user, "user", "admin", "name of the user whom the token belongs to")
	return c
}

// embedded returns the path of the database in a data directory.
func embedded(data string) string { return filepath.Join(data, "hub.sqlite") }

// adminToken makes a token of an admin, whom it makes one if necessary, and prints it.
func adminToken(ctx context.Context, location, user string, stdout, stderr io.Writer) error {
	if !api.ValidName(user) {
		return fmt.Errorf("--user %.40q is empty, too long, or not printable", user)
	}
	db, err := database.Attach(ctx, location, sysroot.RealClock{}.Now)
	if err != nil {
		return fmt.Errorf("%w; --data and --database must be those of the hub", err)
	}
	err = db.Update(ctx, func(tx *sql.Tx) error {
		err := db.LockAccess(ctx, tx)
		if err == nil {
			err = db.AddUser(ctx, tx, database.User{Name: user, Role: access.Admin})
		}
		if err == nil {
			err = db.SetRole(ctx, tx, user, access.Admin)
		}
		if err != nil {
			return err
		}
		return printToken(ctx, db, tx, database.Token{Owner: user, Label: "admin-token"}, stdout)
	})
	if err == nil {
		_, err = fmt.Fprintf(stderr, "This token of %s has the role admin, and ends after %s days. Log in "+
			"with it, make your own under Tokens, and revoke it.\n", user, setupDays)
	}
	return errors.Join(err, db.Close())
}

// printToken makes a token of an admin that is for making others. It is printed before it is
// stored, so that none is lost.
func printToken(ctx context.Context, db *database.DB, tx *sql.Tx, t database.Token, stdout io.Writer) error {
	t.Role, t.Expires = access.Admin, db.Now().Add(setupLife)
	token, err := db.AddToken(ctx, tx, t)
	if err == nil {
		_, err = fmt.Fprintln(stdout, token)
	}
	return err
}

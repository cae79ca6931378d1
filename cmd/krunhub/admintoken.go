package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/machine/sysroot"
)

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

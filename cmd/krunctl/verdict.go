package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/hub/api"
	"krund/internal/hub/submit"
)

const verdictHelp = `Verdict compares the arms of an experiment on a hub, or two experiments, as krunctl
compare does: it fetches what the machines have shipped and compares it here. Options,
formats and exit status are those of compare; executions of an experiment that several
machines share are compared within machines.

ENVIRONMENT
  KRUNHUB_URL      address of the hub, if --hub is not given
  KRUNHUB_TOKEN    a token with the role reader or user

EXAMPLES
  krunctl verdict 3v0c5n7xk2m9q4rt
  krunctl verdict --format markdown 3v0c5n7xk2m9q4rt > comment.md
  krunctl verdict --format junit -o verdict.xml 3v0c5n7xk2m9q4rt
  krunctl verdict 5k2f8x0d3v7c1n9m 3v0c5n7xk2m9q4rt     before, after

EXIT STATUS
  0  no key got worse; with --fail-on changed: no key changed
  1  a key got worse (changed), or something could not be done
  2  wrong usage
  3  no key got worse (changed), but it cannot be judged; see krunctl compare
  4  an experiment has not ended`

func verdictCommand(a *app) *cobra.Command {
	var hub string
	var o compareOptions
	c := comparing(a, &o)
	compare := c.RunE
	c.Use, c.Short, c.Long = "verdict ID | BEFORE-ID AFTER-ID", "Compare the arms of an experiment on a hub",
		verdictHelp
	c.Args = arguments(1, 2, "the id of an experiment with arms, or of two experiments")
	c.RunE = func(c *cobra.Command, ids []string) error {
		client, err := a.hubClient(hub)
		if err != nil {
			return err
		}
		dir, err := os.MkdirTemp("", "krunctl-verdict-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // it is temporary
		var dirs, names []string
		for i, id := range ids {
			one := filepath.Join(dir, fmt.Sprint(i))
			name, err := submit.Fetch(contextOf(c), client, id, one)
			if err != nil {
				return err
			}
			one = filepath.Join(one, name)
			dirs, o.names = append(dirs, one), append(o.names, name+" ("+id+")")
			names = append(names, one, o.names[i])
		}
		replace := strings.NewReplacer(names...)
		a.stderr = renaming{a.stderr, replace}
		err = compare(c, dirs)
		if message(err) == "" { // success, or a verdict
			return err
		}
		return renamed{err, replace}
	}
	hubFlag(c, &hub)
	return c
}

// renaming writes messages in which temporary directories have the names of their experiments.
type renaming struct {
	io.Writer
	replace *strings.Replacer
}

func (r renaming) Write(text []byte) (int, error) {
	if _, err := r.replace.WriteString(r.Writer, string(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// renamed is an error with such a message.
type renamed struct {
	error
	replace *strings.Replacer
}

func (r renamed) Error() string { return r.replace.Replace(r.error.Error()) }
func (r renamed) Unwrap() error { return r.error }

const requestHelp = `Request asks the machines that run an experiment of a hub to hold, resume or stop it.
They follow when they report next: after the running process execution. A part that
no machine has begun is held or stopped at once.

EXAMPLES
  krunctl request stop 3v0c5n7xk2m9q4rt
` + exitHelp

func requestCommand(a *app) *cobra.Command {
	var hub string
	c := &cobra.Command{
		Use: "request hold|resume|stop ID", Short: "Hold, resume or stop an experiment on a hub",
		Long: requestHelp, Args: arguments(2, 2, "hold, resume or stop, and the experiment's id"),
		RunE: func(c *cobra.Command, args []string) error {
			switch args[0] {
			case api.RequestHold, api.RequestResume, api.RequestStop:
			default:
				return usageError(fmt.Errorf("the request must be hold, resume or stop, not %q", args[0]))
			}
			client, err := a.hubClient(hub)
			if err != nil {
				return err
			}
			return client.Request(contextOf(c), args[1], args[0])
		},
	}
	hubFlag(c, &hub)
	return c
}

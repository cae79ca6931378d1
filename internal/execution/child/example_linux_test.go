package child_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"krund/internal/execution/child"
)

// The first call of main has been child.Stage.
func ExampleRunner_Run() {
	run, err := child.Runner{}.Run(context.Background(), child.Command{
		Path:   "/bin/sh",
		Args:   []string{"sh", "-c", `echo "$GREETING from $(pwd)"; sleep 1000 & exit 3`},
		Env:    []string{"GREETING=hello", "PATH=/usr/bin:/bin"},
		Dir:    "/usr",
		Limits: child.Limits{Heap: 1 << 30, Timeout: time.Minute},
	})
	if err != nil {
		fmt.Fprintln(os.Stdout, "krund could not do it:", err)
		return
	}
	if run.NotStarted != nil {
		fmt.Fprintln(os.Stdout, run.NotStarted)
		return
	}
	fmt.Fprint(os.Stdout, run.Stdout.Text)
	fmt.Fprintln(os.Stdout, "exit status", *run.Exit, "strays", run.Strays, "environment of", run.EnvBytes,
		"bytes")
	// Output:
	// hello from /usr
	// exit status 3 strays 1 environment of 34 bytes
}

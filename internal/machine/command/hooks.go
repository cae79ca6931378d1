package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"krund/internal/durable/trust"
)

// Hooks are the hooks of one configuration.
type Hooks struct {
	BeforeArgv [][]string
	AfterArgv  [][]string
	// Environ is the commands' whole environment, the same however krund was started; nil is that
	// of this process.
	Environ []string
	Timeout time.Duration // per command
	Log     *slog.Logger
	Trust   func(trust.Verdict) error // judges the path of each program before each run, for root; see Cmd
}

// Before runs the hooks in order and stops at the first that fails. Its error names the command and
// quotes the last line it printed. variables are added to the environment.
func (s Hooks) Before(ctx context.Context, variables []string) error {
	for i, argv := range s.BeforeArgv {
		if err := s.run(ctx, "before", argv, variables); err != nil {
			return fmt.Errorf("hook %d before the execution: %w", i+1, err)
		}
	}
	return nil
}

// After runs every hook, even after a failure, and joins their errors. Its hooks restore the
// machine (network, services), so after an interruption the caller passes a context of its own.
// variables are added to the environment.
func (s Hooks) After(ctx context.Context, variables []string) error {
	var errs []error
	for i, argv := range s.AfterArgv {
		if err := s.run(ctx, "after", argv, variables); err != nil {
			errs = append(errs, fmt.Errorf("hook %d after the execution: %w", i+1, err))
		}
	}
	return errors.Join(errs...)
}

func (s Hooks) run(ctx context.Context, when string, argv, variables []string) error {
	environ := s.Environ
	if environ == nil {
		environ = os.Environ()
	}
	out, err := Run(ctx, Cmd{Argv: argv, Env: slices.Concat(environ, variables),
		Timeout: s.Timeout, Trust: s.Trust})
	if err != nil {
		return err
	}
	s.Log.Debug("hook ran", "when", when, "argv", argv, "output", out)
	return nil
}

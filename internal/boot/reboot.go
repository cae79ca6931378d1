package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// A RebootMethod is one way to restart the machine. Ask returns nil when the restart is under way.
type RebootMethod struct {
	Name string
	Ask  func(context.Context) error
}

// Rebooter restarts the machine by the first method that works. It asks the init system first, so
// that services stop and file systems are unmounted in order. It restarts the machine by a system
// call only if nothing else answers.
type Rebooter struct {
	Methods []RebootMethod
	// Faster contains the methods that do not restart the hardware, by config.RebootKexec and
	// RebootSoft. When one fails, the hardware is restarted, and the record of the next boot says
	// so.
	Faster map[string]RebootMethod
	Log    *slog.Logger
}

// Reboot restarts the machine in one of the ways of config.RebootModes. It tries the methods in
// order, and returns nil as soon as one is accepted; the init system then ends the process within
// moments. The error joins those of all methods that were tried. Once ctx has ended, Reboot tries
// no further method: krund is being stopped, alone or by the restart, and neither may force the
// machine.
func (r Rebooter) Reboot(ctx context.Context, kind string) error {
	var errs []error
	methods := r.Methods
	if faster, ok := r.Faster[kind]; ok {
		methods = append([]RebootMethod{faster}, methods...)
	}
	for _, method := range methods {
		if ctx.Err() != nil {
			return fmt.Errorf("reboot: %w", errors.Join(append(errs, context.Cause(ctx))...))
		}
		err := method.Ask(ctx)
		if err == nil {
			r.Log.Info("reboot under way", "by", method.Name)
			return nil
		}
		r.Log.Warn("reboot refused", "by", method.Name, "error", err)
		errs = append(errs, fmt.Errorf("%s: %w", method.Name, err))
	}
	return fmt.Errorf("reboot: %w; restart the machine by hand to continue", errors.Join(errs...))
}

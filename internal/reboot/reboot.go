// Package reboot restarts the machine: the last line of one boot. It asks the init system first, so that services stop and file systems are
// unmounted in order, and forces the kernel's hand only when nobody else answers. Start reading at Machine.Reboot.
package reboot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// A Way is one method of restarting; Ask returns nil when the restart is under way.
type Way struct {
	Name string
	Ask  func(context.Context) error
}

// Machine restarts the machine by the first of its ways that works.
type Machine struct {
	Ways []Way
	Log  *slog.Logger
}

// Reboot tries the ways in order. It returns nil as soon as one has been accepted; the process is then ended from outside within moments.
// Its error joins those of all ways that were tried. Once ctx has ended no further way is: somebody stops krund, or the restart is under way and
// stops it with everything else, and in neither case may the machine be forced.
func (m Machine) Reboot(ctx context.Context) error {
	var errs []error
	for _, way := range m.Ways {
		if ctx.Err() != nil {
			return fmt.Errorf("reboot: %w", errors.Join(append(errs, context.Cause(ctx))...))
		}
		err := way.Ask(ctx)
		if err == nil {
			m.Log.Info("reboot under way", "by", way.Name)
			return nil
		}
		m.Log.Warn("reboot refused", "by", way.Name, "error", err)
		errs = append(errs, fmt.Errorf("%s: %w", way.Name, err))
	}
	return fmt.Errorf("reboot: %w; restart the machine by hand to go on", errors.Join(errs...))
}

//go:build !linux

package boot

import (
	"context"
	"log/slog"
)

// ReadOffset is nil: the system has no clock that also counts the time of suspension.
var ReadOffset func() (ClockOffset, error)

// KeepAwake does nothing: there is no logind.
func KeepAwake(context.Context, *slog.Logger) (release func()) { return func() {} }

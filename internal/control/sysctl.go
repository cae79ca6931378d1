package control

import (
	"context"
	"errors"
	"strings"

	"krund/internal/host"
	"krund/internal/sysroot"
)

// errNoVariable says that the system has no such sysctl variable.
var errNoVariable = errors.New("no such variable")

// sysctlGet reads a variable with sysctl(8). For one that does not exist, or has no value on this
// machine, OpenBSD's says so on standard error, prints nothing and exits with 0 (sysctl.c, parse);
// an empty value is an empty line. It exits with 0 also when the kernel refuses a new value, so
// that only reading back tells.
func sysctlGet(ctx context.Context, c host.Commands, name string) (string, error) {
	if c == nil {
		return "", errNoVariable
	}
	out, err := c.Output(ctx, "sysctl", "-n", name)
	text := strings.TrimSpace(string(out))
	if err != nil {
		return "", errors.Join(errNoVariable, err)
	}
	if len(out) == 0 {
		return "", errNoVariable
	}
	// Whoever joins the two outputs gets the message.
	if strings.HasSuffix(text, "value is not available") || strings.HasPrefix(text, "sysctl: ") {
		return "", errNoVariable
	}
	return text, nil
}

// sysctlSet writes a variable and reads it back.
func sysctlSet(ctx context.Context, c host.Commands, name, value string) (string, error) {
	if _, err := c.Output(ctx, "sysctl", name+"="+value); err != nil {
		return "", err
	}
	got, err := sysctlGet(ctx, c, name)
	if err == nil && got != value {
		err = &sysroot.Mismatch{Name: name, Wrote: value, Read: got}
	}
	return got, err
}

// sysctlApplier changes variables of sysctl(8).
type sysctlApplier struct{ commands host.Commands }

func (a sysctlApplier) do(ctx context.Context, s Step) (string, error) {
	return sysctlSet(ctx, a.commands, s.Target, s.New)
}

func (a sysctlApplier) undo(ctx context.Context, s Step) (Outcome, error) {
	if now, err := sysctlGet(ctx, a.commands, s.Target); err == nil && now == s.Old {
		return Already, nil
	}
	if _, err := sysctlSet(ctx, a.commands, s.Target, s.Old); err != nil {
		return Failed, err
	}
	return Restored, nil
}

package control

import (
	"context"
	"errors"
	"strings"

	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// errNoVariable means that the system has no such sysctl variable.
var errNoVariable = errors.New("no such variable")

// sysctlGet reads a variable with sysctl(8). For a variable that does not exist, or has no value on
// this machine, OpenBSD's sysctl reports that on standard error, prints nothing on standard output
// and exits with 0 (sysctl.c, parse); an empty value is an empty line. It exits with 0 even if the
// kernel rejects a new value, so only reading the variable back detects that.
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
	// If the two outputs are joined, text is that message.
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

func (a sysctlApplier) restore(ctx context.Context, s Step) (Restoration, error) {
	now, err := sysctlGet(ctx, a.commands, s.Target)
	return back(err == nil && now == s.Old, nil, func() error {
		_, err := sysctlSet(ctx, a.commands, s.Target, s.Old)
		return err
	})
}

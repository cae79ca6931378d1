package msr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"krund/internal/machine/command"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
)

// deviceRemedy explains why a device cannot be used. tried is whether the kernel module was to be
// loaded, and loading how that failed; nil: it did not fail.
func deviceRemedy(root sysroot.Root, err error, tried bool, loading error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENXIO):
		switch {
		case !tried:
			return err.Error() + ": " + probe.PlatformOf(host.Host{Root: root}).Remedy("msr")
		case loading != nil:
			return fmt.Sprintf("%v: the kernel module msr is not loaded and could not be: %v", err, loading)
		}
		return err.Error() + ": the kernel module msr is loaded, but there is no device: " +
			"is the core online, and the processor an x86?"
	case errors.Is(err, fs.ErrPermission):
		return err.Error() + ": needs root and CAP_SYS_RAWIO"
	case errors.Is(err, syscall.EIO):
		return err.Error() + ": the processor, or the hypervisor that shows it, has no such register"
	}
	return err.Error()
}

// loader makes the devices appear if it can. The error is why not; whether that matters is known
// when they are opened.
type loader func(ctx context.Context, root sysroot.Root, core int) error

// modprobe loads the kernel modules that make the devices. Its failure to load cpuid is ignored:
// without it only a width is unknown.
func modprobe(ctx context.Context, root sysroot.Root, core int) error {
	if !root.IsMachine() {
		return errors.New("modprobe msr was not tried")
	}
	var failed error
	for _, module := range []string{"cpuid", "msr"} {
		failed = nil
		if !root.Exists(fmt.Sprintf("/dev/cpu/%d/%s", core, module)) {
			failed = loadModule(ctx, "/sbin/modprobe", module)
		}
	}
	return failed
}

// loadModule runs modprobe; the error quotes the first line it printed.
func loadModule(ctx context.Context, program, module string) error {
	out, err := command.Run(ctx, command.Cmd{Argv: []string{program, module}, KeepGroup: true})
	if line, _, _ := strings.Cut(strings.TrimSpace(out), "\n"); err != nil && line != "" {
		return fmt.Errorf("%s %s: %s", program, module, line)
	}
	return err
}

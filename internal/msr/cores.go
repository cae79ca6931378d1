package msr

import (
	"errors"
	"fmt"

	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// online returns the cores to count on: the wanted ones, or all.
func online(root sysroot.Root, want Want) ([]int, error) {
	if len(want.Cores) > 0 {
		return want.Cores, nil
	}
	cores, err := host.Host{Root: root}.Online()
	if err != nil {
		return nil, fmt.Errorf("find the online cores: %w", err)
	}
	if len(cores) == 0 {
		return nil, errors.New("no core is online")
	}
	return cores, nil
}

// watchdog reports whether the kernel's NMI watchdog runs. It uses a counter of every core: fixed
// counter 1 where there is one.
func watchdog(root sysroot.Root) bool {
	n, err := root.ReadInt("/proc/sys/kernel/nmi_watchdog")
	return err == nil && n != 0
}

// watchdogOff is the remedy.
const watchdogOff = "the NMI watchdog holds a counter of every core: set kernel.nmi_watchdog = 0"

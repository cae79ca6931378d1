package msr

import (
	"fmt"
	"strconv"
	"strings"

	"krund/internal/machine/sysroot"
)

// maxCores bounds core numbers; Linux is built for at most 8192.
const maxCores = 8192

// parseCores reads the kernel's list format, "0-3,8": ascending numbers without
// repetition. An empty text is no core.
func parseCores(text string) ([]int, error) {
	var list []int
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		from, to, ranged := strings.Cut(part, "-")
		first, err := strconv.ParseUint(from, 10, 16)
		last := first
		if err == nil && ranged {
			last, err = strconv.ParseUint(to, 10, 16)
		}
		if err != nil || last < first || last >= maxCores ||
			len(list) > 0 && int(first) <= list[len(list)-1] {
			return nil, fmt.Errorf("%q is not a list of cores", text)
		}
		for core := first; core <= last; core++ {
			list = append(list, int(core))
		}
	}
	return list, nil
}

// online returns the cores to count on: the wanted ones, or all.
func online(root sysroot.Root, want Want) ([]int, error) {
	if len(want.Cores) > 0 {
		return want.Cores, nil
	}
	text, err := root.Read("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, fmt.Errorf("find the online cores: %w", err)
	}
	cores, err := parseCores(text)
	if err == nil && len(cores) == 0 {
		err = fmt.Errorf("no core is online")
	}
	return cores, err
}

// watchdog reports whether the kernel's NMI watchdog runs. It uses a counter of every core: fixed
// counter 1 where there is one.
func watchdog(root sysroot.Root) bool {
	n, err := root.ReadInt("/proc/sys/kernel/nmi_watchdog")
	return err == nil && n != 0
}

// watchdogOff is the remedy.
const watchdogOff = "the NMI watchdog holds a counter of every core: set kernel.nmi_watchdog = 0"

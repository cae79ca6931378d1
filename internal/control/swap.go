package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/sysroot"
)

// swapReserve is the free memory in bytes that must remain after the content of swap has moved to
// memory.
const swapReserve = 256 << 20

// A swapArea is a line of /proc/swaps.
type swapArea struct {
	device   string
	used     int64 // bytes
	priority int
}

// swap switches every swap area off, if the content fits into memory.
var swap = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "swap", Policy: setting.Off,
		Brief: "no swap",
		Why:   "reading a page from disk takes longer than many an in-process iteration",
		What:  "`swapoff` of every area",
		Notes: "not applied if the content of swap does not fit into memory",
	},
	targets: []target{{kind: KindSwap, name: filepath.IsAbs, values: from(isNumber)}},
	plan:    fixed(planSwaps),
}

func planSwaps(_ context.Context, m *Machine) Plan {
	text, err := m.Root.Read("/proc/swaps")
	if errors.Is(err, fs.ErrNotExist) && m.Root.Exists("/proc/meminfo") {
		return ok("absent", "off", "the kernel does not support swap")
	}
	if err != nil {
		return unreadable("off", err)
	}
	areas, err := parseSwaps(text)
	memory, err2 := m.ReadMeminfo()
	if err := cmp.Or(err, err2); err != nil {
		return unreadable("off", err)
	}
	return planSwap(areas, memory["MemAvailable"])
}

// parseSwaps reads /proc/swaps: a heading, then "Filename Type Size Used Priority" with sizes in
// KiB. White space in names is written as \040 and the like.
func parseSwaps(text string) ([]swapArea, error) {
	var areas []swapArea
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "Filename" {
			continue
		}
		if len(fields) < 5 {
			return nil, fmt.Errorf("/proc/swaps: line %q has %d fields instead of 5", clip(line), len(fields))
		}
		used, err1 := strconv.ParseInt(fields[3], 10, 64)
		priority, err2 := strconv.Atoi(fields[4])
		if err1 != nil || err2 != nil || used < 0 || used > 1<<50 {
			return nil, fmt.Errorf("/proc/swaps: line %q: size, used or priority is not a number", clip(line))
		}
		areas = append(areas, swapArea{device: sysroot.Unescape(fields[0]), used: used * 1024,
			priority: priority})
	}
	return areas, nil
}

func planSwap(areas []swapArea, available int64) Plan {
	if len(areas) == 0 {
		return ok("off", "off")
	}
	var steps []Step
	var used int64
	var names []string
	for _, a := range areas {
		used += a.used
		names = append(names, a.device)
		steps = append(steps, Step{Kind: KindSwap, Target: a.device, Old: strconv.Itoa(a.priority),
			New: "off"})
	}
	found := strings.Join(names, ", ")
	gone := func(device string) bool { return strings.HasSuffix(device, " (deleted)") }
	if i := slices.IndexFunc(names, gone); i >= 0 {
		return cannot(found, "off", names[i]+": the file is deleted, so it could not be switched on again",
			"switch it off by hand: swapoff -a")
	}
	if used+swapReserve > available {
		return cannot(found, "off", fmt.Sprintf("%s in swap do not fit into %s of free memory", mib(used),
			mib(available)), "stop services that hold memory, or reboot")
	}
	return willSet(found, "off", steps...)
}

// swapApplier switches swap areas.
type swapApplier struct{ m *Machine }

// active reports whether a device is in /proc/swaps.
func (a swapApplier) active(device string) (bool, error) {
	text, err := a.m.Root.Read("/proc/swaps")
	if err != nil {
		return false, err
	}
	areas, err := parseSwaps(text)
	for _, area := range areas {
		if area.device == device {
			return true, err
		}
	}
	return false, err
}

func (a swapApplier) do(_ context.Context, s Step) (string, error) {
	if err := a.m.Swap.Off(s.Target); err != nil {
		return "", fmt.Errorf("switch swap %s off: %w", s.Target, err)
	}
	active, err := a.active(s.Target)
	if err == nil && active {
		err = fmt.Errorf("switch swap %s off: still in /proc/swaps", s.Target)
	}
	return "off", err
}

func (a swapApplier) restore(_ context.Context, s Step) (Restoration, error) {
	active, err := a.active(s.Target)
	return back(active, err, func() error {
		priority, err := strconv.Atoi(s.Old)
		if err == nil {
			err = a.m.Swap.On(s.Target, priority)
		}
		if err != nil {
			return fmt.Errorf("switch swap %s on with priority %q: %w", s.Target, s.Old, err)
		}
		return nil
	})
}

package control

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"krund/internal/experiment/config/setting"
)

const biasFiles = "/sys/devices/system/cpu/cpu[0-9]*/power/energy_perf_bias"

// energyPerfBias sets the energy performance bias of every online CPU (MSR_IA32_ENERGY_PERF_BIAS;
// docs.kernel.org, admin-guide/pm/intel_epb). It comes after frequency, because a driver may change
// the bias along with the governor.
var energyPerfBias = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "energy_perf_bias", Policy: setting.Off,
		Brief: "the energy performance bias as configured",
		Why: "a bias toward saving energy lets the processor lower its frequency and use deeper idle " +
			"states",
		Options: []setting.Option{{
			Name: "value", Default: "performance", Shape: biasForm, Example: "performance",
			Values: "name or `\"0\"` to `\"15\"`",
			Doc: "`\"performance\"` (0), `\"balance-performance\"` (4), `\"normal\"` (6), " +
				"`\"balance-power\"` (8), `\"power\"` (15), or a number",
		}},
		What:  "`/sys/devices/system/cpu/cpu*/power/energy_perf_bias`",
		Notes: "Intel processors; where others have `energy_performance_preference`, `frequency` sets it",
	},
	targets: files(isBias, biasFiles),
	plan:    planBias,
}

// biasForm matches values in the configuration; biasNames maps the kernel's names to numbers
// (arch/x86/kernel/cpu/intel_epb.c). The kernel accepts both and shows numbers.
var (
	biasForm = regexp.MustCompile(
		`^(performance|balance-performance|normal|balance-power|power|[0-9]|1[0-5])$`)
	biasNames = map[string]string{
		"performance": "0", "balance-performance": "4", "normal": "6", "balance-power": "8", "power": "15",
	}
)

// isBias reports whether a text is a bias as the kernel shows it.
func isBias(text string) bool {
	n, err := strconv.ParseUint(text, 10, 8)
	return err == nil && n <= 15
}

func planBias(_ context.Context, m *Machine, d setting.Demand, _ Request) Plan {
	wanted := d.Text("value")
	if number, named := biasNames[wanted]; named {
		wanted = number
	}
	paths, err := m.Root.Glob(biasFiles)
	if err != nil {
		return unreadable(wanted, err)
	}
	if len(paths) == 0 {
		return ok("absent", wanted, "the processor has no energy performance bias")
	}
	var found []string
	var steps []Step
	for _, path := range paths {
		value, err := m.Root.Read(path)
		if err == nil && !isBias(value) {
			err = fmt.Errorf("read %s: %q is not a bias", path, clip(value))
		}
		if err != nil {
			return unreadable(wanted, err)
		}
		if !slices.Contains(found, value) {
			found = append(found, value)
		}
		if value != wanted {
			steps = append(steps, Step{Kind: KindFile, Target: path, Old: value, New: wanted})
		}
	}
	return willSet(strings.Join(found, ", "), wanted, steps...)
}

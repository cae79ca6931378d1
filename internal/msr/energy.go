package msr

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"krund/internal/experiment/results"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// Energy is the reading of one energy counter of the power capping interface
// (RAPL): a package, its cores, its memory.
type Energy struct {
	Zone string // the kernel's: intel-rapl:0:1
	Name string // package-0, core, dram, ...
	UJ   uint64 // microjoules since an arbitrary start
	Most uint64 // the counter wraps to 0 after this value

	// Limit is the highest power limit that the kernel shows for the zone or its parent, in
	// microwatts; 0: none is shown.
	Limit uint64
}

// ReadEnergy reads all energy counters, in the kernel's order. Without such counters the list is
// empty; one that cannot be read is left out and named in the error (from Linux 5.10 on only root
// may read them).
func ReadEnergy(root sysroot.Root) ([]Energy, error) {
	const directory = "/sys/class/powercap"
	found, err := root.Glob(directory + "/*/energy_uj")
	if err != nil {
		return nil, err
	}
	var list []Energy
	var first error
	for _, name := range found {
		e, err := readZone(root, path.Dir(name))
		if err != nil {
			if first == nil {
				first = fmt.Errorf("energy: %w", err)
			}
			continue
		}
		list = append(list, e)
	}
	return list, first
}

func readZone(root sysroot.Root, dir string) (Energy, error) {
	name, err1 := root.Read(dir + "/name")
	now, err2 := root.ReadInt(dir + "/energy_uj")
	most, err3 := root.ReadInt(dir + "/max_energy_range_uj")
	if err := cmp.Or(err1, err2, err3); err != nil {
		return Energy{}, err
	}
	if now < 0 || most <= 0 || now > most {
		return Energy{}, fmt.Errorf("%s: %d of at most %d microjoules", dir, now, most)
	}
	return Energy{Zone: path.Base(dir), Name: strings.TrimSpace(name), UJ: uint64(now), Most: uint64(most),
		Limit: powerLimit(root, dir)}, nil
}

// powerLimit returns the highest power limit in a zone's directory or in that of its parent zone:
// intel-rapl:0 for intel-rapl:0:1.
func powerLimit(root sysroot.Root, dir string) uint64 {
	found, err := root.Glob(dir + "/constraint_*_power_limit_uw")
	if err != nil {
		return 0
	}
	var most int64
	for _, name := range found {
		if limit, err := root.ReadInt(name); err == nil {
			most = max(most, limit)
		}
	}
	if at := strings.LastIndexByte(path.Base(dir), ':'); most == 0 && at > 0 &&
		strings.Count(path.Base(dir), ":") > 1 {
		return powerLimit(root, path.Join(path.Dir(dir), path.Base(dir)[:at]))
	}
	return uint64(most)
}

// Bounds of the power of a zone, in microwatts. No current package uses more than usualPower, nor
// mostPower for minutes: a limit beyond it is none (desktop boards set 4095 W). Limits may be
// exceeded for a moment, hence the margin.
const (
	usualPower  = 500e6
	mostPower   = 1000e6
	limitMargin = 1.25
)

// longest is the least time that a zone's counter can need to wrap around.
func (e Energy) longest() time.Duration {
	power := usualPower
	if e.Limit > 0 {
		power = min(limitMargin*float64(e.Limit), mostPower)
	}
	const most = float64(math.MaxInt64 / 2)
	return time.Duration(min(float64(e.Most)/power*float64(time.Second), most))
}

// EnergyUsed is how much each zone used between two readings that are took apart: the zones in both
// readings, in the order of after. It handles a counter that wrapped around once. The use is
// unknown when took is long enough to wrap around completely (262 kJ in 9 minutes at 500 W, or by
// the zone's power limits), and then left to Power.Complete: krund does not read the counter in
// between, because that would disturb the benchmark.
func EnergyUsed(before, after []Energy, took time.Duration) []results.Energy {
	old := make(map[string]Energy, len(before))
	for _, e := range before {
		old[e.Zone] = e
	}
	var list []results.Energy
	for _, e := range after {
		b, ok := old[e.Zone]
		if !ok || b.Name != e.Name || b.Most != e.Most {
			continue
		}
		u, used := results.Energy{Zone: e.Zone, Name: e.Name}, e.UJ-b.UJ
		if e.UJ < b.UJ {
			used += e.Most + 1
		}
		if u.UJ = &used; took > e.longest() {
			u.UJ, u.Reason = nil, fmt.Sprintf("the counter ends at %.0f J "+
				"and may have wrapped around more than once in %s",
				float64(e.Most)/1e6, took.Round(time.Second))
		}
		list = append(list, u)
	}
	return list
}

// Power is perf's view of the energy counters: the kernel reads them before they wrap around, by a
// timer on one CPU of each package every few minutes (Linux 6.12, arch/x86/events/rapl.c:296-325).
type Power []powerCounter

// powerCounter counts one event of the PMU "power" in one package.
type powerCounter struct {
	event   string
	zones   []string // names of the zone of its package: with and without the die
	microJ  float64  // of one count
	counter *os.File
}

// powerEvents are the events of a package's zones by their names in the power capping interface.
var powerEvents = map[string]string{"core": "energy-cores", "uncore": "energy-gpu", "dram": "energy-ram",
	"psys": "energy-psys"}

// OpenPower opens what perf has; none without that PMU, or without the right to open it.
func OpenPower(root sysroot.Root) Power { return openPower(root, openEvent) }

func openPower(root sysroot.Root, open opener) Power {
	const pmu = devices + "/power/"
	kind, err := root.ReadInt(pmu + "type")
	cpus, cpusErr := host.Host{Root: root}.ReadCPUs(pmu + "cpumask")
	files, globErr := root.Glob(pmu + "events/energy-*")
	if errors.Join(err, cpusErr, globErr) != nil {
		return nil
	}
	var list Power
	for _, file := range files {
		text, err := root.Read(file)
		config, eventErr := parseEvent(text)
		scale, scaleErr := root.Read(file + ".scale") // Joules
		joule, numberErr := strconv.ParseFloat(scale, 64)
		if errors.Join(err, eventErr, scaleErr, numberErr) != nil || !(joule > 0 && joule < 1) {
			continue // energy-pkg.scale itself, energy-pkg.unit
		}
		for _, cpu := range cpus {
			topology := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/", cpu)
			pkg, err := root.ReadInt(topology + "physical_package_id")
			if err != nil {
				continue
			}
			zones := []string{fmt.Sprintf("package-%d", pkg)}
			if die, err := root.ReadInt(topology + "die_id"); err == nil {
				zones = append(zones, fmt.Sprintf("package-%d-die-%d", pkg, die))
			}
			f, err := open(event{path.Base(file), uint32(kind), config}, eventOptions{core: cpu})
			if err == nil {
				list = append(list, powerCounter{path.Base(file), zones, 1e6 * joule, f})
			}
		}
	}
	return list
}

// Complete gives the zones whose use is unknown what perf counted since OpenPower, and closes p.
func (p Power) Complete(used []results.Energy) []results.Energy {
	names := map[string]string{}
	for _, z := range used {
		names[z.Zone] = z.Name
	}
	for _, c := range p {
		raw := make([]byte, 8*4)
		n, err := c.counter.Read(raw)
		if err = errors.Join(err, c.counter.Close()); err != nil || n != len(raw) {
			continue
		}
		uj := uint64(float64(binary.NativeEndian.Uint64(raw[24:])) * c.microJ)
		for i, z := range used {
			event, parent := powerEvents[z.Name], z.Name
			if at := strings.LastIndexByte(z.Zone, ':'); event == "" {
				event = "energy-pkg"
			} else if at > 0 && z.Name != "psys" {
				parent = names[z.Zone[:at]]
			}
			if z.UJ == nil && c.event == event && (z.Name == "psys" || slices.Contains(c.zones, parent)) {
				used[i].UJ, used[i].Reason = &uj, ""
			}
		}
	}
	return used
}

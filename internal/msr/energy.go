package msr

import (
	"fmt"
	"path"
	"strings"

	"krund/internal/sysroot"
)

// Energy is the reading of one energy counter of the power capping interface
// (RAPL): a package, its cores, its memory.
type Energy struct {
	Zone string // the kernel's: intel-rapl:0:1
	Name string // package-0, core, dram, ...
	UJ   uint64 // microjoules since some time
	Most uint64 // the counter goes on from 0 after this value
}

// ReadEnergy reads all energy counters, in the kernel's order. No such counter
// is an empty list; one that cannot be read is left out and told in the error
// (from Linux 5.10 on only root may read them).
func ReadEnergy(root sysroot.Root) ([]Energy, error) {
	const folder = "/sys/class/powercap"
	found, err := root.Glob(folder + "/*/energy_uj")
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
	name, err := root.Read(dir + "/name")
	if err != nil {
		return Energy{}, err
	}
	now, err := root.ReadInt(dir + "/energy_uj")
	if err != nil {
		return Energy{}, err
	}
	most, err := root.ReadInt(dir + "/max_energy_range_uj")
	if err != nil {
		return Energy{}, err
	}
	if now < 0 || most <= 0 || now > most {
		return Energy{}, fmt.Errorf("%s: %d of at most %d microjoules", dir, now, most)
	}
	return Energy{Zone: path.Base(dir), Name: strings.TrimSpace(name), UJ: uint64(now), Most: uint64(most)}, nil
}

// EnergyUsed is how many microjoules each zone used between two readings: those
// of the zones that are in both, in the order of after, with the amount in UJ. A
// counter that went past its end once is allowed for: at 200 W one of 262 kJ does
// so every 22 minutes, so readings should be closer than that.
func EnergyUsed(before, after []Energy) []Energy {
	old := make(map[string]Energy, len(before))
	for _, e := range before {
		old[e.Zone] = e
	}
	var list []Energy
	for _, e := range after {
		b, ok := old[e.Zone]
		if !ok || b.Name != e.Name || b.Most != e.Most {
			continue
		}
		if e.UJ >= b.UJ {
			e.UJ -= b.UJ
		} else {
			e.UJ += e.Most + 1 - b.UJ
		}
		list = append(list, e)
	}
	return list
}

package execution

import (
	"time"

	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
	"krund/internal/msr"
)

// energy measures what the machine uses until the returned function is called. The result is nil if
// the machine does not report it; zones that cannot be read are omitted.
func energy(root sysroot.Root, now func() time.Time) func() []results.Energy {
	before, _ := msr.ReadEnergy(root)
	power := msr.OpenPower(root)
	begin := now()
	return func() []results.Energy {
		took := now().Sub(begin)
		after, _ := msr.ReadEnergy(root)
		return power.Complete(msr.EnergyUsed(before, after, took))
	}
}

package control

// Controls returns the controls of Linux in the order of work; taking back goes the other way.
//
// Sibling threads go first, because the rest concerns the CPUs that stay. Governor, turbo, limits: see governor.go and frequency.go. Swap comes before
// overcommit, which counts it. Services stop before interrupts are moved (irqbalance) and CPUs shielded. The network goes last and comes
// back first.
func Controls(s Settings) []Control {
	return []Control{
		smt(s.SMT),
		frequencyGovernor(s.Frequency),
		turbo(s.Turbo),
		frequencyLimits(s.Frequency),
		cstates(s.CStates),
		tickless(s.Tickless, s.CPUs),
		isolcpus(s.Isolcpus),
		perfRate(s.PerfRate),
		nmiWatchdog(s.NMIWatchdog),
		aslr(s.ASLR),
		swap(s.Swap),
		overcommit(s.Overcommit, s.Heap, s.Swap.Policy.Changes()),
		thp(s.THP),
		ksm(s.KSM),
		numaBalancing(s.NUMABalancing),
		writeback(s.Writeback),
		statInterval(s.StatInterval),
		rtThrottle(s.RTThrottle),
		services(s.Services),
		irqAffinity(s.IRQAffinity, s.CPUs),
		shield(s.Shield, s.CPUs),
		network(s.Network),
	}
}

// Environment returns what the controls want in the environment of a benchmark: nothing on Linux.
func Environment(Settings) []string { return nil }

package control

// Settings says what every control wants and under which policy. Defaults fills it as the warmup study had it.
type Settings struct {
	CPUs string // the CPUs that benchmarks run on, in list form; "" is all online ones but the lowest
	Heap int64  // bytes of memory that a benchmark may use, for which overcommit keeps room; 0 asks for none

	// Linux.
	SMT           SMTSettings
	Frequency     FrequencySettings
	Turbo         TurboSettings
	CStates       CStatesSettings
	Tickless      TicklessSettings
	Isolcpus      IsolcpusSettings
	PerfRate      PerfRateSettings
	NMIWatchdog   NMIWatchdogSettings
	ASLR          ASLRSettings
	Swap          SwapSettings
	Overcommit    OvercommitSettings
	THP           THPSettings
	KSM           KSMSettings
	NUMABalancing NUMABalancingSettings
	Writeback     WritebackSettings
	StatInterval  StatIntervalSettings
	RTThrottle    RTThrottleSettings
	IRQAffinity   IRQAffinitySettings
	Shield        ShieldSettings

	// OpenBSD.
	APM    APMSettings
	Malloc MallocSettings

	// Both.
	Services ServicesSettings
	Network  NetworkSettings
}

// Defaults returns the settings of the warmup study ("Virtual Machine Warmup Blows Hot and Cold", section 3.5): what Krun set or insisted on
// is required, what it did not touch is off. In between are a few that it left to the firmware, or that take nothing away (apply).
func Defaults() Settings {
	return Settings{
		SMT:           SMTSettings{Policy: Apply}, // hyper-threading was off in the firmware
		Frequency:     FrequencySettings{Policy: Require},
		Turbo:         TurboSettings{Policy: Require},
		CStates:       CStatesSettings{Policy: Off},
		Tickless:      TicklessSettings{Policy: Require},
		Isolcpus:      IsolcpusSettings{Policy: Require},
		PerfRate:      PerfRateSettings{Policy: Require, Rate: 1, Percent: 1},
		NMIWatchdog:   NMIWatchdogSettings{Policy: Apply},
		ASLR:          ASLRSettings{Policy: Require, Value: 2},
		Swap:          SwapSettings{Policy: Off},
		Overcommit:    OvercommitSettings{Policy: Require, Mode: 2},
		THP:           THPSettings{Policy: Off, Enabled: "never"},
		KSM:           KSMSettings{Policy: Off},
		NUMABalancing: NUMABalancingSettings{Policy: Off},
		Writeback:     WritebackSettings{Policy: Off},
		StatInterval:  StatIntervalSettings{Policy: Off, Seconds: 120},
		RTThrottle:    RTThrottleSettings{Policy: Off, Runtime: -1},
		IRQAffinity:   IRQAffinitySettings{Policy: Off},
		Shield:        ShieldSettings{Policy: Off, Type: "root"},
		APM:           APMSettings{Policy: Require},
		Malloc:        MallocSettings{Policy: Require, Flags: "cfgrux"},
		Services:      ServicesSettings{Policy: Off},
		Network:       NetworkSettings{Policy: Off},
	}
}

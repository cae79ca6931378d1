package control

import "krund/internal/setting"

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
		SMT:           SMTSettings{Policy: setting.Apply}, // hyper-threading was off in the firmware
		Frequency:     FrequencySettings{Policy: setting.Require},
		Turbo:         TurboSettings{Policy: setting.Require},
		CStates:       CStatesSettings{Policy: setting.Off},
		Tickless:      TicklessSettings{Policy: setting.Require},
		Isolcpus:      IsolcpusSettings{Policy: setting.Require},
		PerfRate:      PerfRateSettings{Policy: setting.Require, Rate: 1, Percent: 1},
		NMIWatchdog:   NMIWatchdogSettings{Policy: setting.Apply},
		ASLR:          ASLRSettings{Policy: setting.Require, Value: 2},
		Swap:          SwapSettings{Policy: setting.Off},
		Overcommit:    OvercommitSettings{Policy: setting.Require, Mode: 2},
		THP:           THPSettings{Policy: setting.Off, Enabled: "never"},
		KSM:           KSMSettings{Policy: setting.Off},
		NUMABalancing: NUMABalancingSettings{Policy: setting.Off},
		Writeback:     WritebackSettings{Policy: setting.Off},
		StatInterval:  StatIntervalSettings{Policy: setting.Off, Seconds: 120},
		RTThrottle:    RTThrottleSettings{Policy: setting.Off, Runtime: -1},
		IRQAffinity:   IRQAffinitySettings{Policy: setting.Off},
		Shield:        ShieldSettings{Policy: setting.Off, Type: "root"},
		APM:           APMSettings{Policy: setting.Require},
		Malloc:        MallocSettings{Policy: setting.Require, Flags: "cfgrux"},
		Services:      ServicesSettings{Policy: setting.Off},
		Network:       NetworkSettings{Policy: setting.Off},
	}
}

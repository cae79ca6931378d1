#!/bin/sh
# Builds the archives of machines beside this script: ./build.sh
#
# They are made from the documented formats of the kernel's files (docs.kernel.org: admin-guide/pm,
# admin-guide/sysctl, admin-guide/cgroup-v2, hwmon/sysfs-interface, ABI/testing), the drivers' sources
# (the lines are in the comment of each archive; Linux 6.1 is Debian's 6.1.192, 6.12 is 6.12.117) and the
# values of processors of each kind, not captured. Each tree holds only files that krund reads.
set -eu
cd "$(dirname "$0")"
export LC_ALL=C
T=
trap 'rm -rf "$trees"' EXIT
trees=$(mktemp -d)

f() { # f FILE TEXT: a file of the tree in $T
	mkdir -p "$T/$(dirname "$1")"
	printf '%s\n' "$2" >"$T/$1"
}

tree() { # tree NAME ABOUT LINES: LINES is which source lines the frequency files are derived from
	pack
	to=${into:-.}
	T=$trees/$1
	mkdir "$T"
	cat >"$T.txtar" <<END
$2

Built by build.sh from the documented formats of the kernel's files, not captured from a machine.

$3

END
}

pack() { # writes the archive of the tree in $T; its comment has what machines.Unpack reads
	[ -n "$T" ] || return 0
	(
		cd "$T"
		find . -type l -printf 'link %P %l\n' | sort
		printf 'bytes dev/cpu_dma_latency %s\n' "$(od -An -tx1 dev/cpu_dma_latency | tr -d ' \n')"
		find . -type f ! -path ./dev/cpu_dma_latency -printf '%P\n' | sort | while read -r file; do
			printf -- '-- %s --\n' "$file"
			cat "$file"
		done
	) >>"$T.txtar"
	mkdir -p more
	cp "$T.txtar" "$to"
}

cpus() { # cpus N: what every machine with N CPUs has
	last=$(($1 - 1))
	C=sys/devices/system/cpu
	for x in online present possible; do f $C/$x "0-$last"; done
	f $C/isolated ''
	f proc/meminfo 'MemTotal:       16301828 kB
MemFree:        11022532 kB
MemAvailable:   14510880 kB
SwapTotal:       1000444 kB
SwapFree:        1000444 kB
CommitLimit:     9151356 kB
Committed_AS:    1203344 kB
HugePages_Total:       0
Hugepagesize:       2048 kB'
	f proc/swaps 'Filename				Type		Size		Used		Priority
/dev/sda5                               partition	1000444		0		-2'
	f proc/sys/kernel/randomize_va_space 2
	f proc/sys/kernel/nmi_watchdog 1
	f proc/sys/kernel/perf_event_max_sample_rate 100000
	f proc/sys/kernel/perf_cpu_time_max_percent 25
	f proc/sys/kernel/sched_rt_runtime_us 950000
	f proc/sys/kernel/numa_balancing 0
	f proc/sys/kernel/timer_migration 1
	f proc/sys/kernel/random/boot_id 2f4b0a51-6e1d-4c0e-9f7c-1c9f3a6d7e10
	f proc/sys/vm/overcommit_memory 0
	f proc/sys/vm/overcommit_ratio 50
	f proc/sys/vm/dirty_writeback_centisecs 500
	f proc/sys/vm/stat_interval 1
	f proc/sys/vm/compaction_proactiveness 20
	f proc/sys/kernel/soft_watchdog 1
	f proc/sys/vm/min_free_kbytes 67584
	f sys/kernel/mm/ksm/run 0
	f sys/kernel/mm/transparent_hugepage/enabled 'always [madvise] never'
	f sys/kernel/mm/transparent_hugepage/defrag 'always defer defer+madvise [madvise] never'
	f sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs 10000
	f sys/class/net/eth0/queues/rx-0/rps_cpus "$(printf %x $(((1 << $1) - 1)))" # set by hand: the default is 0
	f sys/class/net/lo/queues/rx-0/rps_cpus 0
	for i in 0 16 24; do
		f proc/irq/$i/smp_affinity_list "0-$last"
		f proc/irq/$i/effective_affinity_list 0
	done
	f proc/irq/default_smp_affinity "$(printf %x $(((1 << $1) - 1)))"
	f sys/fs/cgroup/cgroup.controllers 'cpuset cpu io memory pids'
	f sys/fs/cgroup/cgroup.subtree_control 'cpu memory pids'
	f sys/fs/cgroup/cgroup.procs 1
	f sys/devices/virtual/workqueue/cpumask "$(printf %x $(((1 << $1) - 1)))"
	f sys/devices/virtual/workqueue/writeback/cpumask "$(printf %x $(((1 << $1) - 1)))"
	f sys/devices/system/clocksource/clocksource0/current_clocksource tsc
	f sys/devices/system/clocksource/clocksource0/available_clocksource 'tsc hpet acpi_pm '
	f etc/default/grub 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"'
	f proc/self/cgroup '0::/system.slice/krund@a.service'
	f sys/fs/cgroup/system.slice/cpu.weight 100
	f sys/fs/cgroup/system.slice/krund@a.service/cpu.weight 100
	mkdir -p "$T/dev"
	printf '\000\224\065\167' >"$T/dev/cpu_dma_latency" # 2000000000: no limit
}

debian() {
	f etc/os-release 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
ID=debian'
	f proc/sys/kernel/osrelease 6.1.0-18-amd64
	f boot/config-6.1.0-18-amd64 'CONFIG_NO_HZ_COMMON=y
CONFIG_NO_HZ_FULL=y
CONFIG_HZ_250=y'
}

trixie() {
	f etc/os-release 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"
ID=debian'
	f proc/sys/kernel/osrelease 6.12.38+deb13-amd64
	f sys/fs/cgroup/cpuset.cpus.isolated ''
}

fedora() {
	f etc/os-release 'NAME="Fedora Linux"
ID=fedora'
	f proc/sys/kernel/osrelease 6.8.5-301.fc40.x86_64
}

cpuinfo() { # cpuinfo N VENDOR FAMILY MODEL STEPPING MICROCODE NAME FLAGS
	mkdir -p "$T/proc"
	for n in $(seq 0 $(($1 - 1))); do
		printf 'processor\t: %s\nvendor_id\t: %s\ncpu family\t: %s\nmodel\t\t: %s\nmodel name\t: %s\nstepping\t: %s\nmicrocode\t: %s\nflags\t\t: %s\n\n' \
			"$n" "$2" "$3" "$4" "$7" "$5" "$6" "$8"
	done >"$T/proc/cpuinfo"
}

topology() { # topology CPU CORE SIBLINGS
	f $C/cpu$1/topology/physical_package_id 0
	f $C/cpu$1/topology/core_id "$2"
	f $C/cpu$1/topology/thread_siblings_list "$3"
}

policy() { # policy N DRIVER GOVERNOR "GOVERNORS" MIN MAX HWMIN HWMAX
	P=$C/cpufreq/policy$1
	f $P/affected_cpus "$1"
	f $P/scaling_driver "$2"
	f $P/scaling_governor "$3"
	f $P/scaling_available_governors "$4"
	f $P/scaling_min_freq "$5"
	f $P/scaling_max_freq "$6"
	f $P/cpuinfo_min_freq "$7"
	f $P/cpuinfo_max_freq "$8"
}

smt() { # smt CONTROL ACTIVE
	f $C/smt/control "$1"
	f $C/smt/active "$2"
}

hwmon() { # hwmon N DEVICE NAME: then s for its sensors; DEVICE is below sys/devices
	H=sys/devices/$2/hwmon/hwmon$1
	f "$H/name" "$3"
	ln -s "../../../$(basename "$2")" "$T/$H/device"
	mkdir -p "$T/sys/class/hwmon"
	ln -s "../../devices/$2/hwmon/hwmon$1" "$T/sys/class/hwmon/hwmon$1"
}

s() { # s INDEX MILLICELSIUS [LABEL]
	f "$H/temp$1_input" "$2"
	if [ $# -gt 2 ]; then f "$H/temp$1_label" "$3"; fi
}

throttle() { # throttle CPU
	for x in core package; do f $C/cpu$1/thermal_throttle/${x}_throttle_count 0; done
}

idle() { # idle CPU NAME:LATENCY...: the states of cpuidle, in microseconds
	n_idle=0 cpu_idle=$1
	shift
	for x in "$@"; do
		f $C/cpu$cpu_idle/cpuidle/state$n_idle/name "${x%:*}"
		f $C/cpu$cpu_idle/cpuidle/state$n_idle/latency "${x#*:}"
		n_idle=$((n_idle + 1))
	done
}

percent() { # percent MIN [STATES TURBO]: the files of intel_pstate for all CPUs; hybrids do not have the last two
	f $C/intel_pstate/max_perf_pct 100
	f $C/intel_pstate/min_perf_pct "$1"
	if [ $# -gt 1 ]; then
		f $C/intel_pstate/num_pstates "$2"
		f $C/intel_pstate/turbo_pct "$3"
	fi
}

capacity() { # capacity CPU NOMINAL_MHZ HIGHEST NOMINAL: what the firmware says in CPPC
	f $C/cpu$1/acpi_cppc/nominal_freq "$2"
	f $C/cpu$1/acpi_cppc/highest_perf "$3"
	f $C/cpu$1/acpi_cppc/nominal_perf "$4"
}

dmi() { # dmi SYS_VENDOR PRODUCT BIOS_VENDOR BIOS_VERSION BIOS_DATE
	D=sys/class/dmi/id
	f $D/sys_vendor "$1"
	f $D/product_name "$2"
	f $D/bios_vendor "$3"
	f $D/bios_version "$4"
	f $D/bios_date "$5"
}

interrupts() { # interrupts N
	mkdir -p "$T/proc"
	{
		head='    ' zero='' big=''
		for n in $(seq 0 $(($1 - 1))); do
			head="$head       CPU$n"
			zero="$zero          0"
			big="$big     $((100000 + n))"
		done
		printf '%s\n' "$head"
		printf '  0:%s   IO-APIC   2-edge      timer\n' "$zero"
		printf ' 24:%s   PCI-MSI 512000-edge      ahci[0000:00:17.0]\n' "$big"
		printf 'NMI:%s   Non-maskable interrupts\nLOC:%s   Local timer interrupts\n' "$zero" "$big"
		printf 'TRM:%s   Thermal event interrupts\nTHR:%s   Threshold APIC interrupts\nMCE:%s   Machine check exceptions\n' "$zero" "$zero" "$zero"
		printf 'ERR:          0\nMIS:          0\n'
	} >"$T/proc/interrupts"
}

# --- Intel, acpi-cpufreq: the kind of machine that the warmup study used, booted with intel_pstate=disable nohz_full=1-3.
tree intel-acpi-cpufreq 'Intel desktop (Haswell, 4 cores, hyper-threading off in the firmware), Debian 12, intel_pstate=disable nohz_full=1-3' \
'Linux 6.1: cpufreq/boost exists because acpi-cpufreq sets .set_boost (drivers/cpufreq/acpi-cpufreq.c, acpi_cpufreq_boost_init) and no policyN/boost
(drivers/cpufreq/cpufreq.c has none); no scaling_boost_frequencies (acpi_cpufreq_attr); cpuinfo_max_freq is the highest of the table, turbo entry
included, since Haswell has no CPPC. Idle states: drivers/idle/intel_idle.c, hsw_cstates.'
cpus 4
debian
interrupts 4
cpuinfo 4 GenuineIntel 6 60 3 0x28 'Intel(R) Core(TM) i7-4790 CPU @ 3.60GHz' 'fpu tsc msr apic constant_tsc arch_perfmon nonstop_tsc aperfmperf est ida arat epb pln pts'
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-amd64 root=/dev/sda1 ro quiet intel_pstate=disable nohz_full=1-3'
f $C/nohz_full 1-3
smt notsupported 0
f $C/cpufreq/boost 1
for n in 0 1 2 3; do
	policy $n acpi-cpufreq ondemand 'conservative ondemand userspace powersave performance schedutil' 800000 3601000 800000 3601000
	f $P/scaling_available_frequencies '3601000 3600000 3400000 2800000 1600000 800000 '
	f $C/cpu$n/power/energy_perf_bias 6
	topology $n $n $n
	throttle $n
	idle $n POLL:0 C1:2 C1E:10 C3:33 C6:133
done
hwmon 0 platform/coretemp.0 coretemp
s 1 41000 'Package id 0'
s 2 39000 'Core 0'
s 3 40000 'Core 1'
dmi 'Dell Inc.' 'OptiPlex 9020' 'Dell Inc.' A25 05/30/2019

# --- Intel, intel_pstate active with HWP.
tree intel-pstate-active 'Intel desktop (Coffee Lake, 2 of its cores with 2 threads each), Fedora 40, intel_pstate active with HWP' \
'drivers/cpufreq/intel_pstate.c of Linux 6.12: base_frequency is the guaranteed level (show_base_frequency, 912-929), num_pstates 43 = 50 - 8 + 1 and
turbo_pct 33 (1447-1492), min_perf_pct 16 = 800/5000, cpuinfo_max_freq the turbo one. MPERF counts at MSR_PLATFORM_INFO[15:8] (2092) = 36, here
the same as base_frequency. Idle states: drivers/idle/intel_idle.c, skl_cstates.'
cpus 4
fedora
interrupts 4
cpuinfo 4 GenuineIntel 6 158 13 0xf8 'Intel(R) Core(TM) i9-9900K CPU @ 3.60GHz' 'fpu tsc msr apic ht constant_tsc arch_perfmon aperfmperf est ida arat epb pln pts hwp hwp_notify hwp_act_window hwp_epp'
f proc/cmdline 'BOOT_IMAGE=(hd0,gpt2)/vmlinuz-6.8.5-301.fc40.x86_64 root=UUID=0a1b ro rhgb quiet'
f $C/nohz_full ''
smt on 1
f $C/intel_pstate/status active
f $C/intel_pstate/no_turbo 0
f $C/intel_pstate/hwp_dynamic_boost 1
percent 16 43 33
for n in 0 1 2 3; do
	policy $n intel_pstate powersave 'performance powersave' 800000 5000000 800000 5000000
	f $P/base_frequency 3600000
	f $P/energy_performance_preference balance_performance
	f $P/energy_performance_available_preferences 'default performance balance_performance balance_power power'
	throttle $n
	idle $n POLL:0 C1:2 C1E:10 C3:70 C6:85
done
topology 0 0 0,2
topology 1 1 1,3
topology 2 0 0,2
topology 3 1 1,3
hwmon 0 virtual/thermal/thermal_zone0 acpitz
s 1 27800
hwmon 1 pci0000:00/0000:00:1d.0/0000:3d:00.0/nvme/nvme0 nvme
s 1 38850 Composite
hwmon 10 platform/coretemp.0 coretemp
s 1 45000 'Package id 0'
s 2 44000 'Core 0'
dmi 'ASUS' 'System Product Name' 'American Megatrends Inc.' 2004 11/02/2021

# --- Intel client whose firmware has lowered the guaranteed frequency (configurable TDP).
tree intel-ctdp 'Intel laptop (Tiger Lake, 2 of its cores, hyper-threading off in the firmware) at its lower configurable TDP, Debian 12, intel_pstate active' \
'drivers/cpufreq/intel_pstate.c of Linux 6.1: with HWP the highest level without turbo is that of the configured TDP (core_get_max_pstate, tdp_ratio) and
base_frequency the guaranteed one (1.2 GHz), while MPERF counts at MSR_PLATFORM_INFO[15:8] = 28 (core_get_max_pstate_physical): APERF/MPERF of a core
held at its base frequency is 1.2/2.8 = 0.43. min_perf_pct 8 = 400/4700; num_pstates 44 = 47 - 4 + 1, turbo_pct 80. Idle states:
drivers/idle/intel_idle.c, tgl is not listed there: ACPI states.'
cpus 2
debian
interrupts 2
cpuinfo 2 GenuineIntel 6 140 1 0xb6 '11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz' 'fpu tsc msr apic constant_tsc arch_perfmon nonstop_tsc aperfmperf est ida arat epb pln pts hwp hwp_notify hwp_act_window hwp_epp'
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-amd64 root=/dev/nvme0n1p2 ro quiet nohz_full=1'
f $C/nohz_full 1
smt notsupported 0
f $C/intel_pstate/status active
f $C/intel_pstate/no_turbo 0
f $C/intel_pstate/hwp_dynamic_boost 0
percent 8 44 80
for n in 0 1; do
	policy $n intel_pstate powersave 'performance powersave' 400000 4700000 400000 4700000
	f $P/base_frequency 1200000
	f $P/energy_performance_preference balance_performance
	f $P/energy_performance_available_preferences 'default performance balance_performance balance_power power'
	topology $n $n $n
	throttle $n
	idle $n POLL:0 C1_ACPI:1 C2_ACPI:253 C3_ACPI:1048
done
hwmon 3 platform/coretemp.0 coretemp
s 1 43000 'Package id 0'
dmi 'Dell Inc.' 'XPS 13 9310' 'Dell Inc.' 3.16.0 03/02/2023

# --- Intel server.
tree intel-server 'Intel server (Skylake-SP, 2 packages with 2 of their cores each, hyper-threading off in the firmware), Debian 12, intel_pstate active' \
'drivers/cpufreq/intel_pstate.c of Linux 6.1, as of intel-pstate-active: base_frequency 2.4 GHz, MPERF at the same rate; num_pstates 28 = 37 - 10 + 1,
turbo_pct 47, min_perf_pct 27 = 1000/3700. hwp_dynamic_boost is on by default on servers of this model (intel_pstate_hwp_boost_ids). Idle states:
drivers/idle/intel_idle.c, skx_cstates. Uncore: one directory for each die (uncore-frequency-common.c:198). Cache: show_doms in
arch/x86/kernel/cpu/resctrl/ctrlmondata.c of Linux 6.1:470.'
cpus 4
f sys/fs/resctrl/schemata '    MB:0=100;1=100
    L3:0=7ff;1=7ff'
f sys/fs/resctrl/info/L3/cbm_mask 7ff
f sys/fs/resctrl/info/L3/min_cbm_bits 1
for n in 0 1; do
	for x in min max; do
		f $C/intel_uncore_frequency/package_0${n}_die_00/${x}_freq_khz $([ $x = min ] && echo 1200000 || echo 2400000)
	done
done
debian
interrupts 4
cpuinfo 4 GenuineIntel 6 85 4 0x2007006 'Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz' 'fpu tsc msr apic constant_tsc arch_perfmon nonstop_tsc aperfmperf est ida arat epb pln pts hwp hwp_act_window hwp_epp hwp_pkg_req'
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-amd64 root=/dev/sda2 ro quiet nohz_full=1-3'
f $C/nohz_full 1-3
f proc/sys/kernel/numa_balancing 1
smt notsupported 0
f $C/intel_pstate/status active
f $C/intel_pstate/no_turbo 0
f $C/intel_pstate/hwp_dynamic_boost 1
percent 27 28 47
for n in 0 1 2 3; do
	policy $n intel_pstate performance 'performance powersave' 1000000 3700000 1000000 3700000
	f $P/base_frequency 2400000
	f $P/energy_performance_preference performance
	f $P/energy_performance_available_preferences 'default performance balance_performance balance_power power'
	throttle $n
	idle $n POLL:0 C1:2 C1E:10 C6:133
	topology $n $((n / 2)) $n
	f $C/cpu$n/topology/physical_package_id $((n % 2))
done
hwmon 0 platform/coretemp.0 coretemp
s 1 42000 'Package id 0'
hwmon 1 platform/coretemp.1 coretemp
s 1 44000 'Package id 1'
dmi 'Dell Inc.' 'PowerEdge R740' 'Dell Inc.' 2.19.1 06/04/2023

# --- Intel, intel_pstate passive (intel_cpufreq), without HWP.
tree intel-cpufreq-passive 'Intel desktop (Sandy Bridge, 2 cores), Debian 12, intel_pstate=passive, no HWP' \
'drivers/cpufreq/intel_pstate.c of Linux 6.1: num_pstates 22 = 37 - 16 + 1, turbo_pct 19, min_perf_pct 43 = 1600/3700; before Linux 6.10 no_turbo lowers
what limits may be, and not cpuinfo_max_freq. Idle states: drivers/idle/intel_idle.c, snb_cstates.'
cpus 2
debian
interrupts 2
cpuinfo 2 GenuineIntel 6 42 7 0x2f 'Intel(R) Core(TM) i5-2500 CPU @ 3.30GHz' 'fpu tsc msr apic constant_tsc arch_perfmon aperfmperf est ida arat epb pln pts'
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-amd64 root=/dev/sda1 ro quiet intel_pstate=passive'
f $C/nohz_full '(null)'
smt notsupported 0
f $C/intel_pstate/status passive
f $C/intel_pstate/no_turbo 0
percent 43 22 19
for n in 0 1; do
	policy $n intel_cpufreq schedutil 'conservative ondemand userspace powersave performance schedutil' 1600000 3700000 1600000 3700000
	f $C/cpu$n/power/energy_perf_bias 6
	topology $n $n $n
	throttle $n
	idle $n POLL:0 C1:2 C1E:10 C3:80
done
hwmon 0 platform/coretemp.0 coretemp
s 1 35000 'Package id 0'
dmi 'Gigabyte Technology Co., Ltd.' 'H67MA-UD2H-B3' 'Award Software International, Inc.' F5 03/27/2012

# --- AMD, amd-pstate: what its modes show by the kernel.
zen3() { # zen3 DRIVER GOVERNOR "GOVERNORS": four CPUs, two cores with two threads each
	cpus 4
	interrupts 4
	cpuinfo 4 AuthenticAMD 25 33 2 0xa20120a 'AMD Ryzen 7 5800X 8-Core Processor' 'fpu tsc msr apic ht constant_tsc nonstop_tsc aperfmperf rapl cpb hw_pstate rdpru cppc'
	f $C/nohz_full ''
	smt on 1
	for n in 0 1 2 3; do
		policy $n "$1" "$2" "$3" 550000 4850000 550000 4850000
		f $P/amd_pstate_max_freq 4850000
		f $P/amd_pstate_lowest_nonlinear_freq 1700000
		f $P/amd_pstate_highest_perf 166
		if [ "$1" = amd-pstate-epp ]; then
			f $P/energy_performance_preference balance_performance
			f $P/energy_performance_available_preferences 'default performance balance_performance balance_power power'
		fi
		capacity $n 3800 166 130
		idle $n POLL:0 C1:1 C2:18
	done
	topology 0 0 0,2
	topology 1 1 1,3
	topology 2 0 0,2
	topology 3 1 1,3
	hwmon 2 pci0000:00/0000:00:18.3 k10temp
	s 1 48250 Tctl
	s 3 46000 Tccd1
	dmi 'Micro-Star International Co., Ltd.' 'MS-7C56' 'American Megatrends International, LLC.' A.80 01/18/2022
}

boosts() { # boosts: the switches of Linux 6.12, the driver's and those of the policies
	f $C/cpufreq/boost 1
	for n in 0 1 2 3; do f $C/cpufreq/policy$n/boost 1; done
}

tree amd-pstate-epp 'AMD desktop (Zen 3, 2 of its cores with 2 threads each), Debian with Linux 6.5: amd-pstate-epp without a boost file' \
'drivers/cpufreq/amd-pstate.c as Linux 6.3 to 6.7 have it: the driver amd-pstate-epp has no .set_boost, so there is no cpufreq/boost, and it writes the
highest level to the processor whatever scaling_max_freq says. nominal_freq is in MHz (drivers/acpi/cppc_acpi.c:184).'
zen3 amd-pstate-epp powersave 'performance powersave'
debian
f proc/sys/kernel/osrelease 6.5.0-0.deb12.4-amd64
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.5.0-0.deb12.4-amd64 root=/dev/nvme0n1p2 ro quiet amd_pstate=active'
f $C/amd_pstate/status active

tree amd-pstate-passive 'AMD desktop (Zen 3, 2 of its cores with 2 threads each), Debian 12 (Linux 6.1): amd-pstate passive, its only mode there' \
'drivers/cpufreq/amd-pstate.c of Linux 6.1: .set_boost (651) and boost_enabled (444-455), so cpufreq/boost is 1; no amd_pstate directory, no energy
preference, no policyN/boost (drivers/cpufreq/cpufreq.c). With boost off cpuinfo_max_freq is the nominal frequency (419-440).'
zen3 amd-pstate schedutil 'conservative ondemand userspace powersave performance schedutil'
debian
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-amd64 root=/dev/nvme0n1p2 ro quiet amd_pstate=passive'
f $C/cpufreq/boost 1

tree amd-pstate-epp-6.12 'AMD desktop (Zen 3, 2 of its cores with 2 threads each), Debian 13 (Linux 6.12): amd-pstate-epp' \
'drivers/cpufreq/amd-pstate.c of Linux 6.12: both drivers set .set_boost (1681, 1698), so cpufreq/boost exists (drivers/cpufreq/cpufreq.c:2975) and
policyN/boost (cpufreq.c:1101); the maximum is applied (1489-1527), with boost off as a share of the nominal level; MAX_PERF is written again when a CPU
comes online and on resume (1584-1607). amd_pstate/prefcore, and amd_pstate_prefcore_ranking and amd_pstate_hw_prefcore of the policies.'
zen3 amd-pstate-epp powersave 'performance powersave'
trixie
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.12.38+deb13-amd64 root=/dev/nvme0n1p2 ro quiet'
f $C/amd_pstate/status active
f $C/amd_pstate/prefcore enabled
boosts

tree amd-pstate-guided-6.12 'AMD desktop (Zen 3, 2 of its cores with 2 threads each), Debian 13 (Linux 6.12): amd-pstate guided' \
'drivers/cpufreq/amd-pstate.c of Linux 6.12, as of amd-pstate-epp-6.12; in the guided mode the driver is amd-pstate, with the governors of cpufreq and
without an energy preference (amd_pstate_attr, 1343-1350).'
zen3 amd-pstate schedutil 'conservative ondemand userspace powersave performance schedutil'
trixie
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.12.38+deb13-amd64 root=/dev/nvme0n1p2 ro quiet amd_pstate=guided'
f $C/amd_pstate/status guided
f $C/amd_pstate/prefcore enabled
boosts

# --- AMD, acpi-cpufreq.
tree amd-acpi-cpufreq 'AMD server (Zen, 2 cores, SMT off in the firmware), Debian 12, acpi-cpufreq' \
'drivers/cpufreq/acpi-cpufreq.c of Linux 6.1: acpi_cpufreq_attr has cpb and no scaling_boost_frequencies; boost is a switch of the processor that changes
neither the table nor the limits (set_boost); cpuinfo_max_freq is the highest of the table, since this firmware has no CPPC (only with CPPC it is
above, acpi-cpufreq.c:848-866 of Linux 6.12).'
cpus 2
debian
interrupts 2
cpuinfo 2 AuthenticAMD 23 1 2 0x8001250 'AMD EPYC 7351P 16-Core Processor' 'fpu tsc msr apic constant_tsc nonstop_tsc aperfmperf cpb hw_pstate'
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-amd64 root=/dev/sda1 ro quiet isolcpus=1'
f $C/nohz_full ''
f $C/isolated 1
smt notsupported 0
f $C/cpufreq/boost 1
for n in 0 1; do
	policy $n acpi-cpufreq schedutil 'conservative ondemand userspace powersave performance schedutil' 1200000 2400000 1200000 2400000
	f $P/scaling_available_frequencies '2400000 1800000 1200000 '
	f $P/cpb 1
	topology $n $n $n
	idle $n POLL:0 C1:1 C2:400
done
hwmon 0 pci0000:00/0000:00:18.3 k10temp
s 1 38625 Tdie
hwmon 1 pci0000:00/0000:00:19.3 k10temp
s 1 39000 Tdie
dmi 'Supermicro' 'AS -1013S-MTR' 'American Megatrends Inc.' 1.1c 10/04/2018

# --- Hybrid processor.
tree intel-hybrid 'Intel laptop (Alder Lake: CPU 0-1 performance cores, 2-3 efficient cores), Fedora 40, intel_pstate active' \
'drivers/cpufreq/intel_pstate.c of Linux 6.12: each kind of core has its own base_frequency (912-929); no num_pstates and turbo_pct on hybrids (1768); MPERF of
all cores counts at MSR_PLATFORM_INFO[15:8] = 17 (949-953), so APERF/MPERF of an efficient core held at its base frequency is 1.2/1.7 = 0.71.
The kinds of cores: arch/x86/events/intel/core.c (cpu_core, cpu_atom). Idle states: drivers/idle/intel_idle.c, adl_l_cstates, where C1 is not usable.'
cpus 4
fedora
interrupts 4
cpuinfo 4 GenuineIntel 6 154 3 0x430 '12th Gen Intel(R) Core(TM) i5-1240P' 'fpu tsc msr apic constant_tsc arch_perfmon aperfmperf est ida arat epb pln pts hwp hwp_notify hwp_act_window hwp_epp hwp_pkg_req hfi'
f proc/cmdline 'BOOT_IMAGE=(hd0,gpt2)/vmlinuz-6.8.5-301.fc40.x86_64 root=UUID=0a1b ro rhgb quiet nohz_full=1-3'
f $C/nohz_full 1-3
smt notsupported 0
f $C/intel_pstate/status active
f $C/intel_pstate/no_turbo 0
percent 9
f sys/devices/cpu_core/cpus 0-1
f sys/devices/cpu_atom/cpus 2-3
for n in 0 1 2 3; do
	max=4400000 base=1700000
	if [ $n -ge 2 ]; then max=3300000 base=1200000; fi
	policy $n intel_pstate powersave 'performance powersave' 400000 $max 400000 $max
	f $P/base_frequency $base
	f $P/energy_performance_preference balance_power
	f $P/energy_performance_available_preferences 'default performance balance_performance balance_power power'
	topology $n $n $n
	throttle $n
	idle $n POLL:0 C1E:2 C6:170 C8:200 C10:230
done
hwmon 5 platform/coretemp.0 coretemp
s 1 52000 'Package id 0'
dmi LENOVO 21AHCTO1WW LENOVO 'N3MET12W (1.11 )' 02/21/2023

# --- KVM guest.
tree kvm-guest 'KVM guest with 2 CPUs and no frequency driver, Debian 12' \
'A guest has no cpufreq driver, as the processor shows no EIST, HWP or CPPC, and no cpuidle states unless it may use MWAIT (drivers/idle/intel_idle.c,
intel_idle_init) or haltpoll (drivers/cpuidle/cpuidle-haltpoll.c).'
cpus 2
debian
interrupts 2
cpuinfo 2 GenuineIntel 6 85 7 0x1 'Intel Xeon Processor (Cascadelake)' 'fpu tsc msr apic constant_tsc hypervisor arat'
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-amd64 root=/dev/vda1 ro quiet'
f $C/nohz_full ''
smt notsupported 0
f sys/devices/system/clocksource/clocksource0/current_clocksource kvm-clock
f sys/devices/system/clocksource/clocksource0/available_clocksource 'kvm-clock tsc acpi_pm '
f proc/sys/kernel/nmi_watchdog 0
for n in 0 1; do topology $n $n $n; done
dmi QEMU 'Standard PC (Q35 + ICH9, 2009)' SeaBIOS 1.16.2-debian-1.16.2-1 04/01/2014

# --- arm64.
tree arm64 'arm64 server (Neoverse N1, 2 cores), Debian 12, cppc_cpufreq' \
'drivers/cpufreq/cppc_cpufreq.c of Linux 6.1: .set_boost (829), so cpufreq/boost exists (drivers/cpufreq/cpufreq.c) and is 0, whether the firmware has levels
above the nominal one (682) or not; cpuinfo_max_freq is the nominal frequency while boost is off (642-650). smt/control is notimplemented
(kernel/cpu.c:2590). Idle state 0 is WFI (drivers/cpuidle/cpuidle-psci.c:360). Interrupts: arch/arm64/kernel/smp.c (IPI), no TRM, THR and MCE.'
cpus 2
debian
f sys/devices/system/clocksource/clocksource0/current_clocksource arch_sys_counter
f sys/devices/system/clocksource/clocksource0/available_clocksource 'arch_sys_counter '
mkdir -p $T/proc
cat >$T/proc/interrupts <<END
           CPU0       CPU1
 11:     100000     100001     GICv3  27 Level     arch_timer
 24:     100000          0   ITS-MSI 524288 Edge      ahci[0000:00:17.0]
IPI0:       512        498       Rescheduling interrupts
IPI1:       100         90       Function call interrupts
Err:          0
END
for n in 0 1; do
	printf 'processor\t: %s\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics cpuid\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n\n' $n
done >$T/proc/cpuinfo
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-arm64 root=/dev/sda2 ro quiet'
f $C/nohz_full ''
rm $T/proc/sys/kernel/nmi_watchdog
smt notimplemented 0
f $C/cpufreq/boost 0
for n in 0 1; do
	policy $n cppc_cpufreq ondemand 'conservative ondemand userspace powersave performance schedutil' 1000000 3000000 1000000 3000000
	capacity $n 3000 300 300
	f $C/cpu$n/cpu_capacity 1024
	topology $n $n $n
	idle $n WFI:1 LPI-1:50
done
Z=sys/class/thermal/thermal_zone0
f $Z/type soc-thermal
f $Z/temp 41500
dmi WIWYNN 'Mt.Jade Motherboard' 'Ampere(R)' 1.08 09/15/2021

# --- Machines of 2026, in more/: what differs from the ones above, and is judged by its own tests.
into=more

nodes() { # nodes LIST...: the CPUs of each NUMA node
	n_node=0
	for x in "$@"; do
		f sys/devices/system/node/node$n_node/cpulist "$x"
		n_node=$((n_node + 1))
	done
}

l3() { # l3 LIST CPU...: the CPUs that share the last-level cache of each CPU
	shared=$1
	shift
	for x in "$@"; do
		f $C/cpu$x/cache/index3/level 3
		f $C/cpu$x/cache/index3/shared_cpu_list "$shared"
		f $C/cpu$x/cache/index3/size 32768K
	done
}

arm() { # arm N PART: /proc/cpuinfo, /proc/interrupts, clock and threads of an arm64 machine
	mkdir -p "$T/proc"
	for n in $(seq 0 $(($1 - 1))); do
		printf 'processor\t: %s\nBogoMIPS\t: 2100.00\nFeatures\t: fp asimd evtstrm aes sha2 crc32 atomics cpuid sve\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: %s\nCPU revision\t: 1\n\n' "$n" "$2"
	done >"$T/proc/cpuinfo"
	{
		printf '     '
		for n in $(seq 0 $(($1 - 1))); do printf '       CPU%s' "$n"; done
		printf '\n 11:'
		for n in $(seq 0 $(($1 - 1))); do printf ' %10s' "$((100000 + n))"; done
		printf '     GICv3  27 Level     arch_timer\n 24:'
		for n in $(seq 0 $(($1 - 1))); do printf ' %10s' 7; done
		printf '   ITS-MSI 524288 Edge      nvme0q0\n'
	} >"$T/proc/interrupts"
	f sys/devices/system/clocksource/clocksource0/current_clocksource arch_sys_counter
	f sys/devices/system/clocksource/clocksource0/available_clocksource 'arch_sys_counter '
	f $C/nohz_full ''
	smt notimplemented 0
	for n in $(seq 0 $(($1 - 1))); do topology $n $n $n; done
}

tree graviton 'Virtual machine on Graviton 3 (Neoverse V1, 4 of its CPUs), Debian 13' \
'A guest without cpufreq, cpuidle, hwmon and thermal zones; DMI names the vendor, /proc/cpuinfo has no flag of a hypervisor
(arch/arm64/kernel/cpuinfo.c of Linux 6.12).'
cpus 4
trixie
arm 4 0xd40
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.12.38+deb13-cloud-arm64 root=/dev/nvme0n1p1 ro'
nodes 0-3
l3 0-3 0 1 2 3
dmi 'Amazon EC2' c7g.xlarge 'Amazon EC2' 1.0 11/1/2018

tree raspberry-pi 'Raspberry Pi 5 (Cortex-A76, 4 cores), Raspberry Pi OS 13, cpufreq-dt' \
'drivers/cpufreq/cpufreq-dt.c of Linux 6.12: a table of levels, no boost; no DMI, no GRUB: the command line is in /boot/firmware/cmdline.txt.
The temperature is the thermal zone of the processor. AMU and CPPC are not there.'
cpus 4
trixie
rm $T/etc/default/grub
f boot/firmware/cmdline.txt 'console=tty1 root=PARTUUID=5b0a-02 rootfstype=ext4 rootwait'
f etc/os-release 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"
ID=debian'
f proc/sys/kernel/osrelease 6.12.34+rpt-rpi-2712
arm 4 0xd0b
f proc/cmdline 'console=tty1 root=PARTUUID=5b0a-02 rootfstype=ext4 rootwait'
for n in 0 1 2 3; do
	policy $n cpufreq-dt ondemand 'conservative ondemand userspace powersave performance schedutil' 1500000 2400000 1500000 2400000
	f $P/scaling_available_frequencies '1500000 1600000 1700000 1800000 1900000 2000000 2100000 2200000 2300000 2400000 '
	f $C/cpu$n/cpu_capacity 1024
done
l3 0-3 0 1 2 3
f sys/class/thermal/thermal_zone0/type cpu-thermal
f sys/class/thermal/thermal_zone0/temp 48200

tree epyc-nps4 'AMD EPYC 9554, 2 sockets with 4 nodes each (NPS4), 16 of its cores, SMT off in the firmware, Debian 13, amd-pstate-epp' \
'arch/x86/mm/numa.c and drivers/base/node.c of Linux 6.12: a node directory with cpulist for each quarter of a socket; each has its own last-level
caches (drivers/base/cacheinfo.c). drivers/cpufreq/amd-pstate.c: boost in each policy.'
cpus 16
trixie
interrupts 16
cpuinfo 16 AuthenticAMD 25 17 1 0xa101148 'AMD EPYC 9554 64-Core Processor' 'fpu tsc msr apic constant_tsc nonstop_tsc aperfmperf cpb hw_pstate cppc'
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.12.38+deb13-amd64 root=/dev/sda1 ro quiet'
f $C/nohz_full ''
smt notsupported 0
nodes 0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15
for n in $(seq 0 15); do
	policy $n amd-pstate-epp powersave 'performance powersave' 1500000 3760000 400000 3760000
	f $P/boost 1
	f $P/energy_performance_preference balance_performance
	capacity $n 3100 255 211
	f $P/amd_pstate_max_freq 3760000
	f $C/cpu$n/topology/physical_package_id $((n / 8))
	f $C/cpu$n/topology/core_id $n
	f $C/cpu$n/topology/thread_siblings_list $n
	l3 "$((n / 2 * 2))-$((n / 2 * 2 + 1))" $n
	idle $n POLL:0 C1:1 C2:800
done
f $C/cpufreq/boost 1
dmi Supermicro 'AS -2125HS-TNR' 'American Megatrends International, LLC.' 1.8 04/12/2024

tree intel-lpe 'Intel laptop (Meteor Lake: 4 of its performance, 4 efficient and 2 low-power efficient cores, no SMT), Fedora 42, intel_pstate' \
'arch/x86/events/intel/core.c of Linux 6.12: cpu_core, cpu_atom and cpu_lowpower; the low-power cores have no L3 (drivers/base/cacheinfo.c has
no index3 for them).'
cpus 10
fedora
f proc/sys/kernel/osrelease 6.14.0-63.fc42.x86_64
interrupts 10
cpuinfo 10 GenuineIntel 6 170 4 0x20 'Intel(R) Core(TM) Ultra 7 155H' 'fpu tsc msr apic constant_tsc nonstop_tsc arch_perfmon aperfmperf est ida arat epb pln pts hwp hwp_epp'
f proc/cmdline 'BOOT_IMAGE=(hd0,gpt2)/vmlinuz-6.14.0-63.fc42.x86_64 root=UUID=0a1b ro rhgb quiet'
f $C/nohz_full ''
smt notsupported 0
f sys/devices/cpu_core/cpus 0-3
f sys/devices/cpu_atom/cpus 4-7
f sys/devices/cpu_lowpower/cpus 8-9
f $C/intel_pstate/status active
f $C/intel_pstate/no_turbo 0
percent 8
for n in $(seq 0 9); do
	max=4800000 base=3800000
	[ $n -lt 4 ] || max=3800000 base=2600000
	[ $n -lt 8 ] || max=2500000 base=2100000
	policy $n intel_pstate powersave 'performance powersave' 400000 $max 400000 $max
	f $P/base_frequency $base
	f $P/energy_performance_preference balance_performance
	topology $n $n $n
	[ $n -ge 8 ] || l3 0-7 $n
	throttle $n
	idle $n POLL:0 C1_ACPI:1 C2_ACPI:127 C3_ACPI:1048
done
hwmon 3 platform/coretemp.0 coretemp
s 1 43000 'Package id 0'
dmi 'LENOVO' '21KC' 'LENOVO' 1.20 03/02/2025

tree scx-6.18 'AMD desktop (Zen 5, 4 of its cores with their threads off in the firmware), CachyOS with Linux 6.18 and a scheduler of sched_ext' \
'kernel/sched/ext.c of Linux 6.18: /sys/kernel/sched_ext/state and root/ops. kernel/sched/debug.c: fair servers. mm/huge_memory.c: a switch for
each size of huge pages.'
cpus 4
f etc/os-release 'NAME="CachyOS Linux"
ID=cachyos
ID_LIKE=arch'
rm $T/etc/default/grub
f etc/kernel/cmdline 'root=UUID=0a1b rw quiet'
f proc/sys/kernel/osrelease 6.18.2-2-cachyos
interrupts 4
cpuinfo 4 AuthenticAMD 26 68 0 0xb404023 'AMD Ryzen 7 9700X 8-Core Processor' 'fpu tsc msr apic constant_tsc nonstop_tsc aperfmperf cpb hw_pstate cppc'
f proc/cmdline 'root=UUID=0a1b rw quiet'
f $C/nohz_full ''
smt notsupported 0
f sys/kernel/sched_ext/state enabled
f sys/kernel/sched_ext/root/ops lavd
f proc/self/sched 'krund (17, #threads: 5)
se.slice                                     :              2800000'
f proc/self/status 'Name:	krund
Seccomp:	0
Speculation_Store_Bypass:	thread vulnerable
SpeculationIndirectBranch:	conditional enabled'
f sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled '[always] inherit madvise never'
f sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled 'always [inherit] madvise never'
for n in 0 1 2 3; do
	policy $n amd-pstate-epp performance 'performance powersave' 3000000 5550000 600000 5550000
	f $P/boost 1
	f $P/energy_performance_preference performance
	f $P/amd_pstate_max_freq 5550000
	capacity $n 3800 196 134
	topology $n $n $n
	l3 0-3 $n
	idle $n POLL:0 C1:1 C2:18 C3:350
	f sys/kernel/debug/sched/fair_server/cpu$n/runtime 50000000
done
f $C/cpufreq/boost 1
hwmon 2 pci0000:00/0000:00:18.3 k10temp
s 1 44000 Tctl
dmi ASUS 'PRIME X870-P' 'American Megatrends Inc.' 1203 05/20/2025

tree container 'Container on a KVM guest with 4 CPUs, of which it may use 2-3, and 1.5 of them, Ubuntu 24.04' \
'cgroup v2 with a namespace: the group of the container is / (kernel/cgroup/namespace.c); cpuset.cpus.effective and cpu.max are those of the
container. /sys and /proc/sys are read-only.'
cpus 4
f etc/os-release 'PRETTY_NAME="Ubuntu 24.04.2 LTS"
ID=ubuntu
ID_LIKE=debian'
rm $T/etc/default/grub
rm -r $T/sys/fs/cgroup/system.slice
f .dockerenv ''
f proc/self/cgroup '0::/'
f proc/sys/kernel/osrelease 6.8.0-60-generic
f sys/fs/cgroup/cpuset.cpus.effective 2-3
f sys/fs/cgroup/cpu.max '150000 100000'
f sys/fs/cgroup/cpu.stat 'usage_usec 5000
nr_periods 10
nr_throttled 3'
f sys/fs/cgroup/cpu.weight 100
interrupts 4
cpuinfo 4 GenuineIntel 6 143 8 0x1 'Intel Xeon Processor (SapphireRapids)' 'fpu tsc msr apic constant_tsc nonstop_tsc hypervisor arat'
f proc/cmdline 'BOOT_IMAGE=/vmlinuz-6.8.0-60-generic root=/dev/vda1 ro'
f $C/nohz_full ''
smt notsupported 0
for n in 0 1 2 3; do
	topology $n $n $n
	l3 0-3 $n
done
nodes 0-3
dmi QEMU 'Standard PC (Q35 + ICH9, 2009)' SeaBIOS 1.16.2 04/01/2014


# --- Machines that nobody had in mind when the sentences were written.

tree altra 'Ampere Altra (Neoverse N1, 4 of its 80 cores), Ubuntu 24.04 on bare metal, cppc_cpufreq' \
'drivers/cpufreq/cppc_cpufreq.c of Linux 6.8; no SMT (kernel/cpu.c: notimplemented), no L3 in cacheinfo (the system cache is not described),
idle states of ACPI (LPI).'
cpus 4
f etc/os-release 'PRETTY_NAME="Ubuntu 24.04.2 LTS"
ID=ubuntu
ID_LIKE=debian'
f proc/sys/kernel/osrelease 6.8.0-60-generic
f boot/config-6.8.0-60-generic 'CONFIG_HZ_250=y
CONFIG_NO_HZ_COMMON=y
CONFIG_NO_HZ_IDLE=y
# CONFIG_NO_HZ_FULL is not set'
f proc/modules 'nvme 57344 3 - Live 0x0000000000000000'
arm 4 0xd0c
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.8.0-60-generic root=UUID=0a1b ro'
rm $T/proc/sys/kernel/nmi_watchdog $T/$C/nohz_full
f $C/cpufreq/boost 0
for n in 0 1 2 3; do
	policy $n cppc_cpufreq ondemand 'conservative ondemand userspace powersave performance schedutil' 1000000 3000000 1000000 3000000
	capacity $n 3000 300 300
	f $C/cpu$n/cpu_capacity 1024
	idle $n LPI-0:1 LPI-1:50
done
nodes 0-3
dmi WIWYNN 'Mt.Jade Motherboard' 'Ampere(R)' 2.10 09/15/2023

tree graviton4 'Virtual machine on Graviton 4 (Neoverse V2, two nodes, 4 of its CPUs), Amazon Linux 2023' \
'As of graviton; the largest sizes of the family have two sockets. Amazon Linux has GRUB 2 with BLS entries and grubby.'
cpus 4
f etc/os-release 'NAME="Amazon Linux"
ID="amzn"
ID_LIKE="fedora"'
f proc/sys/kernel/osrelease 6.1.141-155.222.amzn2023.aarch64
f boot/config-6.1.141-155.222.amzn2023.aarch64 'CONFIG_HZ_100=y
CONFIG_NO_HZ_COMMON=y
CONFIG_NO_HZ_IDLE=y
# CONFIG_NO_HZ_FULL is not set'
f proc/modules 'ena 151552 0 - Live 0x0000000000000000'
arm 4 0xd4f
f proc/cmdline 'BOOT_IMAGE=(hd0,gpt1)/boot/vmlinuz-6.1.141-155.222.amzn2023.aarch64 root=UUID=0a1b ro'
rm $T/proc/sys/kernel/nmi_watchdog $T/$C/nohz_full
nodes 0-1 2-3
l3 0-1 0 1
l3 2-3 2 3
dmi 'Amazon EC2' m8g.48xlarge 'Amazon EC2' 1.0 11/1/2018

tree strix-point 'AMD laptop (Strix Point: CPU 0-3 Zen 5 and 4-7 Zen 5c, each with its L3; two threads a core), Arch Linux with Linux 6.16' \
'drivers/cpufreq/amd-pstate.c of Linux 6.16: the same driver for both kinds, of which each has its own highest frequency; arch/x86/kernel/acpi/cppc.c
sets the capacity by it (since 6.13). The L3 of the compact cores is smaller. systemd-boot with entries. On battery.'
cpus 8
f etc/os-release 'NAME="Arch Linux"
ID=arch'
rm $T/etc/default/grub
f boot/loader/loader.conf 'default arch.conf'
f boot/loader/entries/arch.conf 'title Arch Linux
linux /vmlinuz-linux
initrd /initramfs-linux.img
options root=UUID=0a1b rw'
f proc/sys/kernel/osrelease 6.16.4-arch1-1
f proc/modules 'k10temp 16384 0 - Live 0x0000000000000000'
interrupts 8
cpuinfo 8 AuthenticAMD 26 36 0 0xb204032 'AMD Ryzen AI 9 HX 370 w/ Radeon 890M' 'fpu tsc msr apic ht constant_tsc nonstop_tsc aperfmperf rapl cpb hw_pstate cppc amd_hfi'
f proc/cmdline 'root=UUID=0a1b rw initrd=\initramfs-linux.img'
f $C/nohz_full ''
smt on 1
f $C/amd_pstate/status active
f $C/amd_pstate/prefcore enabled
for n in 0 1 2 3 4 5 6 7; do
	max=5157895 high=196 cap=1024
	if [ $n -ge 4 ]; then max=3306316 high=126 cap=658; fi
	policy $n amd-pstate-epp powersave 'performance powersave' 605000 $max 605000 $max
	f $P/boost 1
	f $P/energy_performance_preference balance_performance
	f $P/amd_pstate_max_freq $max
	f $P/amd_pstate_lowest_nonlinear_freq 1114000
	f $P/amd_pstate_prefcore_ranking $high
	capacity $n 2000 $high 76
	f $C/cpu$n/cpu_capacity $cap
	idle $n POLL:0 C1:1 C2:18 C3:350
	topology $n $((n / 2)) "$((n / 2 * 2))-$((n / 2 * 2 + 1))"
done
l3 0-3 0 1 2 3
l3 4-7 4 5 6 7
for n in 4 5 6 7; do f $C/cpu$n/cache/index3/size 8192K; done
f $C/cpufreq/boost 1
f sys/firmware/acpi/platform_profile balanced
f sys/class/power_supply/ACAD/online 0
hwmon 2 pci0000:00/0000:00:18.3 k10temp
s 1 44000 Tctl
dmi ASUSTeK 'ASUS Zenbook S 16' 'American Megatrends International, LLC.' 309 03/20/2025

tree xeon-snc4 'Intel Xeon 6430 (Sapphire Rapids, 2 sockets with SNC4, 16 of its cores, Speed Select base frequencies), RHEL 9, SMT off in the firmware' \
'drivers/cpufreq/intel_pstate.c of RHEL 9 (as Linux 6.6); SST-BF gives some cores a higher base_frequency. SNC4 makes four nodes of a socket, whose
cores share one L3. Uncore: one directory for each die.'
cpus 16
f etc/os-release 'NAME="Red Hat Enterprise Linux"
ID="rhel"
ID_LIKE="fedora"'
f proc/sys/kernel/osrelease 5.14.0-503.el9.x86_64
f boot/config-5.14.0-503.el9.x86_64 'CONFIG_HZ_1000=y
CONFIG_NO_HZ_COMMON=y
CONFIG_NO_HZ_FULL=y'
f proc/modules 'intel_uncore_frequency 16384 0 - Live 0x0000000000000000'
interrupts 16
cpuinfo 16 GenuineIntel 6 143 8 0x2b000603 'Intel(R) Xeon(R) Gold 6430' 'fpu tsc msr apic constant_tsc nonstop_tsc arch_perfmon aperfmperf est ida arat epb pln pts hwp hwp_act_window hwp_epp hwp_pkg_req tsc_adjust avx512f'
f proc/cmdline 'BOOT_IMAGE=(hd0,gpt2)/vmlinuz-5.14.0-503.el9.x86_64 root=/dev/mapper/rhel-root ro crashkernel=1G'
f $C/nohz_full ''
f proc/sys/kernel/numa_balancing 1
smt off 0
f $C/intel_pstate/status active
f $C/intel_pstate/no_turbo 0
f $C/intel_pstate/hwp_dynamic_boost 1
percent 23 27 48
nodes 0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15
for n in $(seq 0 15); do
	base=2100000
	[ $((n % 2)) = 0 ] || base=2400000
	policy $n intel_pstate performance 'performance powersave' 800000 3400000 800000 3400000
	f $P/base_frequency $base
	f $P/energy_performance_preference performance
	f $P/energy_performance_available_preferences 'default performance balance_performance balance_power power'
	f $C/cpu$n/topology/physical_package_id $((n / 8))
	f $C/cpu$n/topology/core_id $((n % 8))
	f $C/cpu$n/topology/thread_siblings_list $n
	throttle $n
	idle $n POLL:0 C1:1 C1E:2 C6:290
done
l3 0-7 0 1 2 3 4 5 6 7
l3 8-15 8 9 10 11 12 13 14 15
for n in 0 1; do
	f $C/intel_uncore_frequency/package_0${n}_die_00/min_freq_khz 800000
	f $C/intel_uncore_frequency/package_0${n}_die_00/max_freq_khz 2500000
done
hwmon 0 platform/coretemp.0 coretemp
s 1 42000 'Package id 0'
dmi 'Dell Inc.' 'PowerEdge R760' 'Dell Inc.' 2.3.5 09/10/2024

tree power9 'IBM POWER9 partition (PowerVM, 1 core with 4 threads), Debian 13' \
'arch/powerpc/kernel/setup-common.c, show_cpuinfo, and irq.c, arch_show_interrupts (two rows LOC) of Linux 6.12; the hypervisor is PowerVM
(/proc/device-tree/ibm,partition-name). No cpufreq, cpuidle of pseries.'
cpus 4
trixie
f proc/sys/kernel/osrelease 6.12.38+deb13-powerpc64le
f proc/modules 'ibmveth 40960 0 - Live 0x0000000000000000'
mkdir -p $T/proc
{
	for n in 0 1 2 3; do
		printf 'processor\t: %s\ncpu\t\t: POWER9 (architected), altivec supported\nclock\t\t: 2500.000000MHz\nrevision\t: 2.2 (pvr 004e 1202)\n\n' $n
	done
	printf 'timebase\t: 512000000\nplatform\t: pSeries\nmodel\t\t: IBM,9009-22A\nmachine\t\t: CHRP IBM,9009-22A\nMMU\t\t: Radix\n'
} >$T/proc/cpuinfo
cat >$T/proc/interrupts <<END
           CPU0       CPU1       CPU2       CPU3
 16:          0          0          0          0      XIVE 2101760 Edge      IPI
 18:        120          0          0          0      XIVE 3 Level     ibmvscsi
LOC:     100000     100001     100002     100003   Local timer interrupts for timer event device
BCT:          0          0          0          0   Broadcast timer interrupts for timer event device
LOC:        500        500        500        500   Local timer interrupts for others
SPU:          5          0          0          0   Spurious interrupts
END
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinux-6.12.38+deb13-powerpc64le root=/dev/sda3 ro quiet'
f proc/device-tree/ibm,partition-name 'lpar7'
f $C/nohz_full ''
f sys/devices/system/clocksource/clocksource0/current_clocksource timebase
f sys/devices/system/clocksource/clocksource0/available_clocksource 'timebase '
smt on 1
for n in 0 1 2 3; do
	topology $n 0 0-3
	idle $n snooze:0 CEDE:12
done
nodes 0-3

tree s390x 'IBM Z LPAR (2 CPUs), SLES 15' \
'arch/s390/kernel/processor.c, show_cpuinfo, and irq.c of Linux 6.4; the clock source is tod. No cpufreq, cpuidle without a directory of states of
the firmware.'
cpus 2
f etc/os-release 'NAME="SLES"
ID="sles"
ID_LIKE="suse"'
f proc/sys/kernel/osrelease 6.4.0-150600.23-default
f boot/config-6.4.0-150600.23-default 'CONFIG_HZ_100=y
CONFIG_NO_HZ_COMMON=y
CONFIG_NO_HZ_IDLE=y'
f proc/modules 'zfcp 1 0 - Live 0x0000000000000000'
mkdir -p $T/proc
cat >$T/proc/cpuinfo <<END
vendor_id       : IBM/S390
# processors    : 2
bogomips per cpu: 3033.00
max thread id   : 0
features	: esan3 zarch stfle msa ldisp eimm dfp edat etf3eh highgprs te vx vxd vxe gs vxe2 vxp sort dflt sie
processor 0: version = FF,  identification = 0A0B0C,  machine = 8561
processor 1: version = FF,  identification = 0A0B0C,  machine = 8561

cpu number      : 0
cpu MHz dynamic : 5200
cpu MHz static  : 5200

cpu number      : 1
cpu MHz dynamic : 5200
cpu MHz static  : 5200
END
cat >$T/proc/interrupts <<END
           CPU0       CPU1
EXT:     100000     100001
I/O:        900        901
AIO:          0          0
CLK:      99000      99001   [EXT] Clock Comparator
EXC:          5          6   [EXT] External Call
END
f proc/cmdline 'root=/dev/disk/by-path/ccw-0.0.0200-part1 rd.zdev=no-auto'
rm $T/etc/default/grub
f etc/zipl.conf '[defaultboot]
defaultmenu = menu'
f sys/devices/system/clocksource/clocksource0/current_clocksource tod
f sys/devices/system/clocksource/clocksource0/available_clocksource 'tod '
rm $T/proc/sys/kernel/nmi_watchdog $T/proc/sys/kernel/soft_watchdog
smt notsupported 0
for n in 0 1; do topology $n $n $n; done
nodes 0-1

tree container-v1 'Docker on CentOS 7 (control groups of version 1), 4 CPUs, quota of 2 CPUs, bare metal' \
'Documentation/admin-guide/cgroup-v1 of Linux 3.10: cpu.cfs_quota_us, cpuset. /sys is read-only, /sys/fs/cgroup shows the group of the container.'
cpus 4
f etc/os-release 'NAME="Alpine Linux"
ID=alpine'
rm $T/etc/default/grub
rm -r $T/sys/fs/cgroup
f .dockerenv ''
f proc/self/cgroup '4:cpuset:/docker/9c0e
3:cpu,cpuacct:/docker/9c0e
1:name=systemd:/docker/9c0e'
f proc/self/cpuset /docker/9c0e
f sys/fs/cgroup/cpuset/cpuset.effective_cpus 0-3
ln -s cpu,cpuacct $T/sys/fs/cgroup/cpu
f sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us 200000
f sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us 100000
f sys/fs/cgroup/cpu,cpuacct/cpu.shares 1024
f sys/fs/cgroup/cpu,cpuacct/cpu.stat 'nr_periods 10
nr_throttled 3
throttled_time 120000000'
f proc/sys/kernel/osrelease 3.10.0-1160.el7.x86_64
f proc/modules 'overlay 91659 1 - Live 0x0000000000000000'
interrupts 4
cpuinfo 4 GenuineIntel 6 79 1 0xb000040 'Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz' 'fpu tsc msr apic constant_tsc nonstop_tsc arch_perfmon aperfmperf est ida arat epb pln pts'
f proc/cmdline 'BOOT_IMAGE=/vmlinuz-3.10.0-1160.el7.x86_64 root=/dev/sda1 ro'
f $C/nohz_full ''
rm -r $T/sys/devices/virtual/workqueue $T/proc/sys/vm/compaction_proactiveness
f $C/intel_pstate/no_turbo 0
percent 39 19 48
for n in 0 1 2 3; do
	policy $n intel_pstate powersave 'performance powersave' 1200000 3000000 1200000 3000000
	topology $n $n $n
	l3 0-3 $n
	idle $n POLL:0 C1-BDW:2 C1E-BDW:10 C3-BDW:40 C6-BDW:133
done
nodes 0-3
dmi 'Dell Inc.' 'PowerEdge R430' 'Dell Inc.' 2.9.1 12/05/2020

tree wsl2 'WSL 2 on a laptop (4 CPUs, two threads a core), Ubuntu 24.04' \
'The kernel of Microsoft (github.com/microsoft/WSL2-Linux-Kernel, 5.15): a guest of Hyper-V with the boot loader of Windows, whose command line is
in .wslconfig; no DMI tables.'
cpus 4
f etc/os-release 'PRETTY_NAME="Ubuntu 24.04.2 LTS"
ID=ubuntu
ID_LIKE=debian'
rm $T/etc/default/grub
f proc/sys/kernel/osrelease 5.15.167.4-microsoft-standard-WSL2
f proc/version 'Linux version 5.15.167.4-microsoft-standard-WSL2 (root@f9c826d3017f)'
interrupts 4
cpuinfo 4 GenuineIntel 6 140 1 0xffffffff '11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz' 'fpu tsc msr apic ht constant_tsc arch_perfmon rep_good hypervisor'
f proc/cmdline 'initrd=\initrd.img WSL_ROOT_INIT=1 panic=-1 nr_cpus=4 hv_utils.timesync_implicit=1 console=hvc0 debug pty.legacy_count=0'
f sys/devices/system/clocksource/clocksource0/current_clocksource hyperv_clocksource_tsc_page
f sys/devices/system/clocksource/clocksource0/available_clocksource 'hyperv_clocksource_tsc_page acpi_pm '
f proc/sys/kernel/nmi_watchdog 0
smt on 1
topology 0 0 0-1
topology 1 0 0-1
topology 2 1 2-3
topology 3 1 2-3
l3 0-3 0 1 2 3

tree rt-isolated 'AMD server (EPYC 7313P, 4 of its cores, SMT off in the firmware), Debian 12 with the real-time kernel, isolcpus and nohz_full on CPU 2-3' \
'kernel/sched/isolation.c of Linux 6.1: isolcpus=domain,managed_irq; PREEMPT_RT. Its idle states and frequencies are those of acpi-cpufreq.'
cpus 4
debian
f proc/sys/kernel/osrelease 6.1.0-18-rt-amd64
f boot/config-6.1.0-18-rt-amd64 'CONFIG_PREEMPT_RT=y
CONFIG_HZ_250=y
CONFIG_NO_HZ_COMMON=y
CONFIG_NO_HZ_FULL=y'
f proc/sys/kernel/version '#1 SMP PREEMPT_RT Debian 6.1.76-1 (2024-02-01)'
f proc/modules 'msr 16384 0 - Live 0x0000000000000000'
rm $T/sys/kernel/mm/transparent_hugepage/enabled $T/sys/kernel/mm/transparent_hugepage/defrag
rm -r $T/sys/kernel/mm/transparent_hugepage $T/proc/sys/kernel/numa_balancing
interrupts 4
cpuinfo 4 AuthenticAMD 25 1 1 0xa0011d5 'AMD EPYC 7313P 16-Core Processor' 'fpu tsc msr apic constant_tsc nonstop_tsc aperfmperf rapl cpb hw_pstate'
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-rt-amd64 root=/dev/sda1 ro quiet isolcpus=domain,managed_irq,2-3 nohz_full=2-3 rcu_nocbs=2-3'
f $C/nohz_full 2-3
f $C/isolated 2-3
smt notsupported 0
f $C/cpufreq/boost 1
for n in 0 1 2 3; do
	policy $n acpi-cpufreq schedutil 'conservative ondemand userspace powersave performance schedutil' 1500000 3000000 1500000 3000000
	f $P/scaling_available_frequencies '3000000 1900000 1500000 '
	f $P/cpb 1
	topology $n $n $n
	l3 0-3 $n
	idle $n POLL:0 C1:1 C2:800
done
nodes 0-3
hwmon 0 pci0000:00/0000:00:18.3 k10temp
s 1 38625 Tctl
dmi Supermicro 'H12SSL-i' 'American Megatrends Inc.' 2.8 02/27/2024

tree kvm-steal 'KVM guest of a hosting company (2 CPUs on a shared host), Debian 13, no frequency driver' \
'/proc/stat with stolen time (kernel/sched/cputime.c); cpuidle_haltpoll.'
cpus 2
trixie
f proc/modules 'virtio_net 1 0 - Live 0x0000000000000000'
interrupts 2
cpuinfo 2 AuthenticAMD 25 1 1 0x1000065 'AMD EPYC-Milan Processor' 'fpu tsc msr apic constant_tsc nonstop_tsc hypervisor tsc_known_freq'
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.12.38+deb13-cloud-amd64 root=/dev/vda1 ro'
f proc/stat 'cpu  9000 0 3000 80000 100 0 50 9000 0 0
cpu0 4500 0 1500 40000 50 0 25 4500 0 0
cpu1 4500 0 1500 40000 50 0 25 4500 0 0
ctxt 1
btime 1'
f $C/nohz_full ''
smt notsupported 0
f sys/devices/system/clocksource/clocksource0/current_clocksource kvm-clock
f sys/devices/system/clocksource/clocksource0/available_clocksource 'kvm-clock tsc acpi_pm '
f proc/sys/kernel/nmi_watchdog 0
for n in 0 1; do
	topology $n $n $n
	idle $n 'POLL:0' 'haltpoll:1'
done
nodes 0-1
dmi Hetzner vServer Hetzner 20171111 11/11/2017

tree visionfive2 'StarFive VisionFive 2 (JH7110: 4 SiFive U74 cores), Debian 13' \
'arch/riscv/kernel/cpu.c, c_show, and irq.c of Linux 6.12; drivers/cpufreq/cpufreq-dt.c: one policy for all cores, a table of levels (jh7110.dtsi),
no boost; drivers/hwmon/sfctemp.c; no DMI, no idle states in the device tree, no L3. U-Boot reads /boot/extlinux/extlinux.conf, which
u-boot-menu writes from /etc/default/u-boot. The kernel has no hard lockup detector.'
cpus 4
trixie
rm $T/etc/default/grub
f etc/default/u-boot '# U_BOOT_PARAMETERS="ro quiet"'
f boot/extlinux/extlinux.conf 'default l0
label l0
	menu label Debian GNU/Linux 13 (trixie) 6.12.38+deb13-riscv64
	linux /boot/vmlinux-6.12.38+deb13-riscv64
	append root=UUID=0a1b ro quiet'
f proc/sys/kernel/osrelease 6.12.38+deb13-riscv64
f boot/config-6.12.38+deb13-riscv64 'CONFIG_HZ_250=y
CONFIG_NO_HZ_COMMON=y
CONFIG_NO_HZ_IDLE=y
# CONFIG_NO_HZ_FULL is not set'
f proc/modules 'sfctemp 12288 0 - Live 0x0000000000000000'
mkdir -p $T/proc
for n in 0 1 2 3; do
	printf 'processor\t: %s\nhart\t\t: %s\nisa\t\t: rv64imafdc_zicntr_zicsr_zifencei_zihpm_zba_zbb\nmmu\t\t: sv39\nuarch\t\t: sifive,u74-mc\nmvendorid\t: 0x489\nmarchid\t\t: 0x8000000000000007\nmimpid\t\t: 0x4210427\n\n' $n $((n + 1))
done >$T/proc/cpuinfo
cat >$T/proc/interrupts <<END
           CPU0       CPU1       CPU2       CPU3
 10:     100000     100001     100002     100003  RISC-V INTC   5 Edge      riscv-timer
 12:        700          0          0          0  SiFive PLIC  75 Edge      dw-mci
IPI0:       512        498        500        501  Rescheduling interrupts
IPI1:       100         90         95         91  Function call interrupts
END
f proc/cmdline 'root=UUID=0a1b ro quiet'
f sys/firmware/devicetree/base/model 'StarFive VisionFive 2 v1.3B'
f sys/devices/system/clocksource/clocksource0/current_clocksource riscv_clocksource
f sys/devices/system/clocksource/clocksource0/available_clocksource 'riscv_clocksource '
rm $T/proc/sys/kernel/nmi_watchdog $T/proc/sys/kernel/numa_balancing
smt notimplemented 0
policy 0 cpufreq-dt schedutil 'conservative ondemand userspace powersave performance schedutil' 375000 1500000 375000 1500000
f $P/affected_cpus '0 1 2 3'
f $P/scaling_available_frequencies '375000 500000 750000 1500000 '
for n in 0 1 2 3; do
	topology $n $n $n
	f $C/cpu$n/cpu_capacity 1024
	f $C/cpu$n/cache/index2/level 2
	f $C/cpu$n/cache/index2/shared_cpu_list 0-3
	f $C/cpu$n/cache/index2/size 2048K
done
hwmon 0 platform/soc/120e0000.temperature-sensor sfctemp
s 1 52340

tree m7i-metal 'AWS m7i.metal-24xl (Xeon 8488C, 2 of its 48 cores with 2 threads each), Amazon Linux 2023, mitigations=off' \
'drivers/cpufreq/intel_pstate.c of Linux 6.1, as of intel-pstate-active. The firmware is the owner'"'"'s: a tenant has no menu. DMI names Amazon EC2, and
the product has .metal in its name; the processor has no flag of a hypervisor. Idle states: drivers/idle/intel_idle.c, spr_cstates. The
kernel has no driver for the uncore, and no CONFIG_NO_HZ_FULL.'
cpus 4
f etc/os-release 'NAME="Amazon Linux"
ID="amzn"
ID_LIKE="fedora"'
f proc/sys/kernel/osrelease 6.1.141-155.222.amzn2023.x86_64
f boot/config-6.1.141-155.222.amzn2023.x86_64 'CONFIG_HZ_250=y
CONFIG_NO_HZ_COMMON=y
CONFIG_NO_HZ_IDLE=y
# CONFIG_NO_HZ_FULL is not set
# CONFIG_INTEL_UNCORE_FREQ_CONTROL is not set'
f proc/modules 'ena 180224 0 - Live 0x0000000000000000'
interrupts 4
cpuinfo 4 GenuineIntel 6 143 8 0x2b000620 'Intel(R) Xeon(R) Platinum 8488C' 'fpu tsc msr apic ht constant_tsc nonstop_tsc arch_perfmon aperfmperf est ida arat epb pln pts hwp hwp_act_window hwp_epp hwp_pkg_req tsc_adjust avx512f'
f proc/cmdline 'BOOT_IMAGE=(hd0,gpt1)/boot/vmlinuz-6.1.141-155.222.amzn2023.x86_64 root=UUID=0a1b ro console=tty0 console=ttyS0,115200n8 nvme_core.io_timeout=4294967295 selinux=1 quiet mitigations=off'
f sys/devices/system/cpu/vulnerabilities/spectre_v2 'Vulnerable; IBPB: disabled; STIBP: disabled'
rm $T/$C/nohz_full 2>/dev/null || :
smt on 1
f $C/intel_pstate/status active
f $C/intel_pstate/no_turbo 0
f $C/intel_pstate/hwp_dynamic_boost 1
percent 21 31 47
for n in 0 1 2 3; do
	policy $n intel_pstate performance 'performance powersave' 800000 3800000 800000 3800000
	f $P/base_frequency 2400000
	f $P/energy_performance_preference performance
	f $P/energy_performance_available_preferences 'default performance balance_performance balance_power power'
	f $C/cpu$n/power/energy_perf_bias 6
	throttle $n
	idle $n POLL:0 C1:1 C1E:2 C6:290
	topology $n $((n % 2)) "$((n % 2)),$((n % 2 + 2))"
done
l3 0-3 0 1 2 3
nodes 0-3
hwmon 0 platform/coretemp.0 coretemp
s 1 42000 'Package id 0'
dmi 'Amazon EC2' m7i.metal-24xl 'Amazon EC2' 1.0 10/16/2017

pack

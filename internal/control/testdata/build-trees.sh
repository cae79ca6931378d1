#!/bin/sh
# Builds the machine trees beside this script: ./build-trees.sh
#
# They are made from the documented formats of the kernel's files (docs.kernel.org: admin-guide/pm, admin-guide/sysctl, admin-guide/cgroup-v2,
# hwmon/sysfs-interface, ABI/testing) and the values of processors of each kind, not captured. Each tree holds only files that krund reads.
set -eu
cd "$(dirname "$0")"

f() { # f FILE TEXT: a file of the tree in $T
	mkdir -p "$T/$(dirname "$1")"
	printf '%s\n' "$2" >"$T/$1"
}

tree() { # tree NAME ABOUT
	T=$1
	rm -rf "$T"
	mkdir -p "$T"
	cat >"$T/README" <<END
$2

Built by ../build-trees.sh from the documented formats of the kernel's files, not captured from a machine.
END
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
	f proc/sys/kernel/random/boot_id 2f4b0a51-6e1d-4c0e-9f7c-1c9f3a6d7e10
	f proc/sys/vm/overcommit_memory 0
	f proc/sys/vm/overcommit_ratio 50
	f proc/sys/vm/dirty_writeback_centisecs 500
	f proc/sys/vm/stat_interval 1
	f proc/sys/vm/min_free_kbytes 67584
	f sys/kernel/mm/ksm/run 0
	f sys/kernel/mm/transparent_hugepage/enabled 'always [madvise] never'
	f sys/kernel/mm/transparent_hugepage/defrag 'always defer defer+madvise [madvise] never'
	for i in 0 16 24; do
		f proc/irq/$i/smp_affinity_list "0-$last"
		f proc/irq/$i/effective_affinity_list 0
	done
	f proc/irq/default_smp_affinity "$(printf %x $(((1 << $1) - 1)))"
	f sys/fs/cgroup/cgroup.controllers 'cpuset cpu io memory pids'
	f sys/fs/cgroup/cgroup.subtree_control 'cpu memory pids'
	f sys/fs/cgroup/cgroup.procs 1
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
tree intel-acpi-cpufreq 'Intel desktop (Haswell, 4 cores, hyper-threading off in the firmware), Debian 12, intel_pstate=disable nohz_full=1-3'
cpus 4
debian
interrupts 4
cpuinfo 4 GenuineIntel 6 60 3 0x28 'Intel(R) Core(TM) i7-4790 CPU @ 3.60GHz' 'fpu tsc msr apic constant_tsc arch_perfmon nonstop_tsc aperfmperf est ida arat'
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
done
hwmon 0 platform/coretemp.0 coretemp
s 1 41000 'Package id 0'
s 2 39000 'Core 0'
s 3 40000 'Core 1'
dmi 'Dell Inc.' 'OptiPlex 9020' 'Dell Inc.' A25 05/30/2019

# --- Intel, intel_pstate active with HWP.
tree intel-pstate-active 'Intel desktop (Coffee Lake, 2 of its cores with 2 threads each), Fedora 40, intel_pstate active with HWP'
cpus 4
fedora
interrupts 4
cpuinfo 4 GenuineIntel 6 158 13 0xf8 'Intel(R) Core(TM) i9-9900K CPU @ 3.60GHz' 'fpu tsc msr apic ht constant_tsc arch_perfmon aperfmperf est ida arat hwp hwp_notify hwp_act_window hwp_epp'
f proc/cmdline 'BOOT_IMAGE=(hd0,gpt2)/vmlinuz-6.8.5-301.fc40.x86_64 root=UUID=0a1b ro rhgb quiet'
f $C/nohz_full ''
smt on 1
f $C/intel_pstate/status active
f $C/intel_pstate/no_turbo 0
f $C/intel_pstate/hwp_dynamic_boost 1
for n in 0 1 2 3; do
	policy $n intel_pstate powersave 'performance powersave' 800000 5000000 800000 5000000
	f $P/base_frequency 3600000
	f $P/energy_performance_preference balance_performance
	f $P/energy_performance_available_preferences 'default performance balance_performance balance_power power'
	throttle $n
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

# --- Intel, intel_pstate passive (intel_cpufreq), without HWP.
tree intel-cpufreq-passive 'Intel desktop (Sandy Bridge, 2 cores), Debian 12, intel_pstate=passive, no HWP'
cpus 2
debian
interrupts 2
cpuinfo 2 GenuineIntel 6 42 7 0x2f 'Intel(R) Core(TM) i5-2500 CPU @ 3.30GHz' 'fpu tsc msr apic constant_tsc arch_perfmon aperfmperf est ida arat'
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-amd64 root=/dev/sda1 ro quiet intel_pstate=passive'
f $C/nohz_full '(null)'
smt notsupported 0
f $C/intel_pstate/status passive
f $C/intel_pstate/no_turbo 0
f $C/intel_pstate/num_pstates 22
f $C/intel_pstate/turbo_pct 19
for n in 0 1; do
	policy $n intel_cpufreq schedutil 'conservative ondemand userspace powersave performance schedutil' 1600000 3700000 1600000 3700000
	f $C/cpu$n/power/energy_perf_bias 6
	topology $n $n $n
	throttle $n
done
hwmon 0 platform/coretemp.0 coretemp
s 1 35000 'Package id 0'
dmi 'Gigabyte Technology Co., Ltd.' 'H67MA-UD2H-B3' 'Award Software International, Inc.' F5 03/27/2012

# --- AMD, amd-pstate active, on a kernel without boost switch for it.
tree amd-pstate-epp 'AMD desktop (Zen 3, 2 of its cores with 2 threads each), Debian with Linux 6.5: amd-pstate-epp without a boost file'
cpus 4
debian
interrupts 4
cpuinfo 4 AuthenticAMD 25 33 2 0xa20120a 'AMD Ryzen 7 5800X 8-Core Processor' 'fpu tsc msr apic ht constant_tsc nonstop_tsc aperfmperf rapl cpb hw_pstate rdpru cppc'
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.5.0-0.deb12.4-amd64 root=/dev/nvme0n1p2 ro quiet amd_pstate=active'
f $C/nohz_full ''
smt on 1
f $C/amd_pstate/status active
for n in 0 1 2 3; do
	policy $n amd-pstate-epp powersave 'performance powersave' 550000 4850000 550000 4850000
	f $P/energy_performance_preference balance_performance
	f $P/energy_performance_available_preferences 'default performance balance_performance balance_power power'
	f $P/amd_pstate_max_freq 4850000
	f $P/amd_pstate_lowest_nonlinear_freq 1700000
	f $C/cpu$n/acpi_cppc/nominal_freq 3800
done
topology 0 0 0,2
topology 1 1 1,3
topology 2 0 0,2
topology 3 1 1,3
hwmon 2 pci0000:00/0000:00:18.3 k10temp
s 1 48250 Tctl
s 3 46000 Tccd1
dmi 'Micro-Star International Co., Ltd.' 'MS-7C56' 'American Megatrends International, LLC.' A.80 01/18/2022

# --- AMD, acpi-cpufreq.
tree amd-acpi-cpufreq 'AMD server (Zen, 2 cores, SMT off in the firmware), Debian 12, acpi-cpufreq'
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
	policy $n acpi-cpufreq schedutil 'conservative ondemand userspace powersave performance schedutil' 1200000 2400000 1200000 2900000
	f $P/scaling_available_frequencies '2400000 1800000 1200000 '
	f $P/scaling_boost_frequencies '2900000 '
	topology $n $n $n
done
hwmon 0 pci0000:00/0000:00:18.3 k10temp
s 1 38625 Tdie
hwmon 1 pci0000:00/0000:00:19.3 k10temp
s 1 39000 Tdie
dmi 'Supermicro' 'AS -1013S-MTR' 'American Megatrends Inc.' 1.1c 10/04/2018

# --- Hybrid processor.
tree intel-hybrid 'Intel laptop (Alder Lake: CPU 0-1 performance cores, 2-3 efficient cores), Fedora 40, intel_pstate active'
cpus 4
fedora
interrupts 4
cpuinfo 4 GenuineIntel 6 154 3 0x430 '12th Gen Intel(R) Core(TM) i5-1240P' 'fpu tsc msr apic constant_tsc arch_perfmon aperfmperf est ida arat hwp hwp_notify hwp_act_window hwp_epp hybrid'
f proc/cmdline 'BOOT_IMAGE=(hd0,gpt2)/vmlinuz-6.8.5-301.fc40.x86_64 root=UUID=0a1b ro rhgb quiet nohz_full=1-3'
f $C/nohz_full 1-3
smt notsupported 0
f $C/intel_pstate/status active
f $C/intel_pstate/no_turbo 0
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
done
hwmon 5 platform/coretemp.0 coretemp
s 1 52000 'Package id 0'
dmi LENOVO 21AHCTO1WW LENOVO 'N3MET12W (1.11 )' 02/21/2023

# --- KVM guest.
tree kvm-guest 'KVM guest with 2 CPUs and no frequency driver, Debian 12'
cpus 2
debian
interrupts 2
cpuinfo 2 GenuineIntel 6 85 7 0x1 'Intel Xeon Processor (Cascadelake)' 'fpu tsc msr apic constant_tsc hypervisor arat'
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-amd64 root=/dev/vda1 ro quiet'
f $C/nohz_full ''
smt notsupported 0
f proc/sys/kernel/nmi_watchdog 0
for n in 0 1; do topology $n $n $n; done
dmi QEMU 'Standard PC (Q35 + ICH9, 2009)' SeaBIOS 1.16.2-debian-1.16.2-1 04/01/2014

# --- arm64.
tree arm64 'arm64 server (Neoverse N1, 2 cores), Debian 12, cppc_cpufreq'
cpus 2
debian
interrupts 2
mkdir -p $T/proc
for n in 0 1; do
	printf 'processor\t: %s\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics cpuid\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n\n' $n
done >$T/proc/cpuinfo
f proc/cmdline 'BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-arm64 root=/dev/sda2 ro quiet'
f $C/nohz_full ''
rm $T/proc/sys/kernel/nmi_watchdog
smt notsupported 0
for n in 0 1; do
	policy $n cppc_cpufreq ondemand 'conservative ondemand userspace powersave performance schedutil' 1000000 3000000 1000000 3000000
	f $C/cpu$n/acpi_cppc/nominal_freq 3000
	topology $n $n $n
done
Z=sys/class/thermal/thermal_zone0
f $Z/type soc-thermal
f $Z/temp 41500
dmi WIWYNN 'Mt.Jade Motherboard' 'Ampere(R)' 1.08 09/15/2021

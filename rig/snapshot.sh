# Prints the state of the machine, one line per value, in a stable order. For unreadable values it
# prints the reason, which is also state.
export LC_ALL=C SYSTEMD_COLORS=0 SYSTEMD_PAGER=

values() { find "$@" -type f -perm /u+r 2>&1 | sort | xargs -r -d '\n' grep -aH '' 2>&1; }
titled() { local t=$1; shift; "$@" 2>&1 | sort | sed "s|^|$t: |"; }

values /sys/devices/system/cpu /proc/sys/kernel /proc/sys/vm /sys/kernel/mm/transparent_hugepage \
  /sys/kernel/mm/ksm
values /proc/irq/default_smp_affinity $(ls -d /proc/irq/*/smp_affinity_list)

# Processor registers that krund may write, and the latency request.
for cpu in /dev/cpu/[0-9]*/msr; do
  value=$(dd if=$cpu bs=8 count=1 skip=$((0x1a0)) iflag=skip_bytes 2>/dev/null | od -An -tx8)
  echo "$cpu 0x1a0: $value"
done
echo "/dev/cpu_dma_latency: $(od -An -td4 -N4 /dev/cpu_dma_latency)"

titled swap awk '{ print $1, $2, $3, $5 }' /proc/swaps
titled module cut -d' ' -f1 /proc/modules
titled mount cut -d' ' -f1-4 /proc/mounts
titled group find /sys/fs/cgroup -type d
values $(find /sys/fs/cgroup -maxdepth 2 -name 'cgroup.subtree_control' -o \
  -maxdepth 2 -name 'cpuset.cpus*' | sort)

titled link ip -o -d link
titled address ip -o addr
titled route4 ip -4 route show table all
titled route6 ip -6 route show table all
titled rule4 ip -4 rule
titled rule6 ip -6 rule
titled neighbour ip neigh show nud permanent
titled multicast ip maddr
values /proc/sys/net/ipv4/conf /proc/sys/net/ipv6/conf

titled unit systemctl list-units --all --plain --no-legend --full
titled unitfile systemctl list-unit-files --no-legend --full
titled property systemctl show -p AllowedCPUs,CPUAffinity init.scope system.slice user.slice
# Threads that the kernel binds itself (PF_NO_SETAFFINITY) are excluded: only the kernel can bind
# them, and it moves some of them. mapfile reads a status in one piece: `read` seeks back after each
# line, the kernel then writes the text anew (traverse in fs/seq_file.c), and where the thread has
# changed from "I (idle)" to "R (running)" meanwhile, the line begins at another place.
bound() {
  local dir stat status line name
  for dir in ${PROC:-/proc}/[0-9]*; do
    { read -r stat <$dir/stat; } 2>/dev/null || continue
    set -- ${stat##*) }
    (($7 & 0x04000000)) && continue
    mapfile -t status <$dir/status
    for line in "${status[@]}"; do
      case $line in
      Name:*) name=${line#*$'\t'} ;;
      Cpus_allowed_list:*) echo "$name ${line#*$'\t'}" ;;
      esac
    done
  done 2>/dev/null # the process has just ended
}
titled affinity bound

titled file find /etc /root /home /srv /var/tmp /tmp /dev/shm -xdev -printf '%p %y %m %U:%G %l\n'
titled runfile find /run -maxdepth 1 -printf '%p %y %m %U:%G %l\n'
titled account grep -H '' /etc/passwd /etc/group /etc/shadow /etc/gshadow /etc/subuid /etc/subgid
find /etc /root /home -xdev -type f | grep -vE '^/etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$' |
  sort | xargs -r -d '\n' sha256sum
titled process ps -e -o user:20=,comm= --sort=comm

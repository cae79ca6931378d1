#!/bin/sh
# present.sh IN.toml OUT.toml: IN, which has skip = [], without the VMs whose program this machine
# lacks, and it names them.
set -eu
PATH=/usr/local/bin:/usr/bin:/bin # as krund's
skip=
for pair in $(awk -F'"' '/^\[vms\./ { split($0, at, /[].[]/); vm = at[3] }
	/^path = / { print vm ":" $2 }' "$1"); do
	command -v "${pair#*:}" >/dev/null 2>&1 || {
		echo "without ${pair%%:*}: there is no ${pair#*:}"
		skip="$skip\"*:${pair%%:*}:*\", "
	}
done
sed "s|^skip = \[\]|skip = [${skip%, }]|" "$1" >"$2"

#!/bin/sh
# Runs a command with its temporary files in memory, if there is room for them, else on the disk:
# tests sync and remove some 100,000 small files, for which they would wait as long as they compute.
# The directory stays, so that Go finds the results of the last tests in its cache.
set -eu
need=6000000 # KiB; tests and their programs use a third of it
dir=/dev/shm/test-$(id -u)
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] &&
	[ "$(df -Pk /dev/shm | awk 'END { print $4 }')" -gt $need ] &&
	[ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -gt $need ] &&
	mkdir -p "$dir" 2>/dev/null && [ ! -L "$dir" ] && [ -O "$dir" ] &&
	chmod 1777 "$dir" && # as /tmp: some tests run programs as other users
	cp /bin/true "$dir/true" && "$dir/true" 2>/dev/null; then # it is not mounted noexec
	exec env -u GOTMPDIR TMPDIR="$dir" "$@"
fi
exec "$@"

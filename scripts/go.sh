#!/bin/sh
# go.sh prints the name of Go's command: "go" if the PATH has it, otherwise its path where go.dev's
# instructions put it, for a PATH without it, such as that of sudo. It prints "go" if there is none.
home=${HOME:-/root}
[ -z "${SUDO_USER:-}" ] || home=$(getent passwd "$SUDO_USER" | cut -d: -f6)
if ! command -v go >/dev/null 2>&1; then
	for dir in /usr/local/go "$home/go" "$home/.local/go" "$home"/sdk/go*; do
		[ ! -x "$dir/bin/go" ] || { echo "$dir/bin/go"; exit; }
	done
fi
echo go

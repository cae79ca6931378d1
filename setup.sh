#!/bin/sh
# Checks what krund's build, demo and tests need besides Go and git: a C compiler with libc headers
# and sanitizers, make, and Python 3. As root with apt or dnf it installs missing packages;
# otherwise it names them.
set -eu

missing=
command -v cc >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 || missing="$missing cc"
command -v make >/dev/null 2>&1 || missing="$missing make"
[ -x /usr/bin/python3 ] || [ -x /usr/local/bin/python3 ] || missing="$missing python3"
if [ -z "$missing" ]; then
	probe=$(mktemp -d)
	trap 'rm -rf "$probe"' EXIT
	printf '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n' >"$probe/a.c"
	cc -fsanitize=address,undefined "$probe/a.c" -o "$probe/a" 2>/dev/null || missing="$missing sanitizers"
fi

# install installs the missing packages, or says how.
install() {
	if command -v apt-get >/dev/null 2>&1; then
		install="apt-get install -y --no-install-recommends gcc libc6-dev make python3"
		update="apt-get update"
	elif command -v dnf >/dev/null 2>&1; then
		install="dnf install -y gcc glibc-devel libasan libubsan libtsan make python3"
		update=true
	else
		echo "setup: missing:$missing; install a C compiler with its sanitizers, make and python3" >&2
		exit 1
	fi
	if [ "$(id -u)" != 0 ]; then
		echo "setup: missing:$missing; run: sudo make setup" >&2
		echo "setup: or, as root: $update && $install" | sed 's/true && //' >&2
		exit 1
	fi
	echo "setup: installing missing packages:$missing"
	DEBIAN_FRONTEND=noninteractive
	export DEBIAN_FRONTEND
	$update >/dev/null
	$install </dev/null
}
[ -z "$missing" ] || install

go=$("$(dirname "$0")/scripts/go.sh")
version=$(sed -n 's/^go /version /p' "$(dirname "$0")/go.mod")
if ! command -v "$go" >/dev/null 2>&1; then
	echo "setup: Go is missing; see https://go.dev/doc/install ($version or later)" >&2
	exit 1
fi
if [ "$(id -u)" != 0 ] && ! why=$(cd "$(dirname "$0")" && "$go" list -m 2>&1); then
	echo "setup: $("$go" version) cannot build krund; see https://go.dev/doc/install ($version or" \
		"later): $why" >&2
	exit 1
fi

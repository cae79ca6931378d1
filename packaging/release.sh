#!/bin/sh
# Builds the release: a .tar.gz to unpack in /, a .deb and an .rpm. It is called by make release:
#
#   SOURCE_DATE_EPOCH=SECONDS release.sh DIRECTORY VERSION GO NFPM MAKE...
#
# The same sources, compiler and SOURCE_DATE_EPOCH give the same bytes.
set -eu
umask 022
export LC_ALL=C SOURCE_DATE_EPOCH
out=$1 VERSION=$2 go=$3 nfpm=$4
shift 4
ARCH=$($go env GOARCH)
export VERSION ARCH
here=$(cd "$(dirname "$0")" && pwd)

rm -rf "$out"
mkdir -p "$out"

# stage PREFIX DIRECTORY: an installation in which all files have the same modification time
stage() {
	"$@" >"$out/$directory.log" 2>&1 || { cat "$out/$directory.log" >&2; exit 1; }
	find "$out/$directory" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

directory=package
stage "$@" install PREFIX=/usr DESTDIR="$out/package"
# The packages depend on the lowest sufficient version of the C library.
needed=$(find "$out/package" -type f \
	\( -name runner-c -o -name runner-command -o -name '*.so' -o -name '*.node' \) -exec objdump -T {} + |
	sed -n 's/.*(\?GLIBC_\([0-9.]*\))\? .*/\1/p' | sort -uV | tail -n 1)
GLIBC=$needed
export GLIBC
find "$out/package/usr/share/man" -type f -exec gzip -9n {} +
find "$out/package" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
cp "$here/nfpm.yaml" "$here/reload.sh" "$here/remove.sh" "$out/package"
touch -d "@$SOURCE_DATE_EPOCH" "$out/package/nfpm.yaml" "$out/package/reload.sh" "$out/package/remove.sh"

directory=hub
stage "$@" -o build install-hub PREFIX=/usr DESTDIR="$out/hub"
find "$out/hub/usr/share/man" -type f -exec gzip -9n {} +
find "$out/hub" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
cp "$here/nfpm-hub.yaml" "$out/hub/nfpm.yaml"
cp "$here/reload.sh" "$out/hub"
touch -d "@$SOURCE_DATE_EPOCH" "$out/hub/nfpm.yaml" "$out/hub/reload.sh"

for package in package hub; do
	for kind in deb rpm; do
		(cd "$out/$package" && $go run "$nfpm" package -f nfpm.yaml -p "$kind" -t "$out")
	done
done

directory=tar
stage "$@" -o build install install-hub PREFIX=/usr/local DESTDIR="$out/tar"
# Without directories: unpacking must not change existing ones.
(cd "$out/tar" && find . -type f -o -type l | sort |
	tar --create --no-recursion --files-from=- --owner=0 --group=0 --numeric-owner --format=gnu) |
	gzip -9n >"$out/krund-$VERSION-linux-$ARCH.tar.gz"
(cd "$out" && sha256sum ./*.tar.gz ./*.deb ./*.rpm | tee SHA256SUMS)

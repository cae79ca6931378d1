#!/bin/bash
# build-image.sh makes the rig's disk image, or finds the one made before from the same inputs, and
# prints its directory as the only line on stdout. Progress goes to stderr.
#
#   rig/build-image.sh [-k]     -k: only print the directory that these inputs lead to
#
# Exit status: 0 image is there; 77 it cannot be built here, the reason is on stderr (no root, a
# tool missing); 1 the build broke.
# Environment: KRUND_RIG_CACHE  directory of all images,
#                               default ${XDG_CACHE_HOME:-~/.cache}/krund-rig
#              KRUND_RIG_MIRROR Debian mirror, default the one mmdebstrap knows
#              KRUND_RIG_SUITE  release of Debian, default bookworm (12)
#              KRUND_RIG_MSR=0  leave out the rigmsr module (needs no compiler and kernel headers)
set -euo pipefail
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin
here=$(cd "$(dirname "$0")" && pwd)
cache=${KRUND_RIG_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/krund-rig}
: "${KRUND_RIG_MSR:=1}" "${KRUND_RIG_MIRROR:=}" "${KRUND_RIG_SUITE:=bookworm}"
export KRUND_RIG_MSR KRUND_RIG_MIRROR KRUND_RIG_SUITE

say() { printf 'rig-image: %s\n' "$*" >&2; }
cannot() { say "cannot build the image: $*"; exit 77; }

# The name of an image is the hash of everything that decides its content, except the state of the
# Debian archive.
inputs() {
  (cd "$here" && find build-image.sh image rigmsr ! -type d | sort | xargs sha256sum
    echo "msr=$KRUND_RIG_MSR suite=$KRUND_RIG_SUITE") | sha256sum | cut -c1-16
}

image=$cache/$(inputs)
if [ "${1:-}" = -k ]; then echo "$image"; exit 0; fi
if [ -e "$image/complete" ]; then say "using $image"; echo "$image"; exit 0; fi

[ "$(uname -sm)" = "Linux x86_64" ] || cannot "it is for Linux on x86_64, this is $(uname -sm)"
[ "$(id -u)" = 0 ] || cannot "it needs root (the image's files belong to root); run: sudo $0"
missing=
for tool in mmdebstrap:mmdebstrap mke2fs:e2fsprogs cpio:cpio modprobe:kmod depmod:kmod xz:xz-utils \
  zstd:zstd flock:util-linux; do
  command -v "${tool%%:*}" >/dev/null || [[ $missing == *" ${tool##*:}"* ]] || missing+=" ${tool##*:}"
done
[ -z "$missing" ] || cannot "missing tools; run: apt-get install$missing"

mkdir -p "$cache"
exec 9>"$cache/lock"
flock -n 9 || { say "another build is running, waiting for it"; flock -w 1200 9 || exit 1; }
if [ -e "$image/complete" ]; then say "using $image"; echo "$image"; exit 0; fi

work=$(mktemp -d "$cache/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
say "building $image"
start=$SECONDS
mkdir "$work/out"
"$here/image/build.sh" "$work/tree" "$work/out" >&2
if [ "$KRUND_RIG_MSR" = 0 ]; then
  echo "left out by KRUND_RIG_MSR=0" >"$work/out/rigmsr.missing"
elif ! "$here/rigmsr/build.sh" "$work/tree" "$work/out/rigmsr.ko" >&2 2>"$work/rigmsr.log"; then
  tail -n 1 "$work/rigmsr.log" >"$work/out/rigmsr.missing"
  say "no rigmsr module: $(cat "$work/out/rigmsr.missing")"
fi
touch "$work/out/complete"
rm -rf "$image"
mv "$work/out" "$image"
say "built in $((SECONDS - start)) s, $(du -sm "$image" | cut -f1) MB"
echo "$image"

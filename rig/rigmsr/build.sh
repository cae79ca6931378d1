#!/bin/bash
# build.sh TREE OUT.ko: builds the rigmsr module for the kernel of the image that ../image/build.sh
# has just made in TREE, against Debian's headers, unpacked and not installed. Needs the compiler
# that the kernel was built with, gcc-12, and make. The last line on stderr is the reason when it
# cannot.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$1 out=$2
release=$(basename "$tree".kernel/lib/modules/*)
for tool in gcc-12 make; do
  command -v $tool >/dev/null || {
    echo "$tool is not installed; run: apt-get install gcc-12 make, and build the image again" >&2
    exit 1
  }
done
headers=$tree.headers
for deb in "$tree.debs"/linux-headers-*.deb "$tree.debs"/linux-kbuild-*.deb; do
  dpkg-deb -x "$deb" "$headers"
done
src=$headers/usr/src/linux-headers-$release
# The packages name each other by absolute paths: move these into the scratch directory.
find "$src" -maxdepth 1 \( -name Makefile -o -name .kernelvariables \) \
  -exec sed -i "s#/usr/src/#$headers/usr/src/#g; s#/usr/lib/#$headers/usr/lib/#g" {} +
mkdir -p "$headers/module"
cp "$here/rigmsr.c" "$headers/module/"
echo 'obj-m := rigmsr.o' >"$headers/module/Makefile"
env -u MAKEFLAGS -u MAKELEVEL make -s --no-print-directory -C "$src" M="$headers/module" modules
strip -g "$headers/module/rigmsr.ko"
cp "$headers/module/rigmsr.ko" "$out"

#!/bin/bash
# build.sh TREE OUT: builds the guest's root file system in TREE and the image in OUT. Called by
# ../build-image.sh, which checks the tools.
#   OUT/root.img   ext4, whole disk
#   OUT/vmlinux    the Debian kernel as ELF
#   OUT/kernel     its version
#   OUT/config     its configuration
#   OUT/initrd.img
#   OUT/rig.aml    ACPI table
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$1 out=$2 suite=$KRUND_RIG_SUITE size=1024M
list() { sed 's/#.*//' "$here/$1" | awk 'NF { print $1 }'; }
last=$SECONDS
lap() { printf 'rig-image: %-28s %4d s\n' "$1" $((SECONDS - last)) >&2; last=$SECONDS; }

# userland makes TREE, and unpacks the kernel package in TREE.kernel: unpacked, never installed, so
# that no initramfs is built for it and the 300 MB of its modules stay outside the image. Downloads
# go through the new system's apt, whatever the host's own sources are.
userland() {
  mkdir -p "$tree.kernel" "$tree.debs"
  export RIG_DEBS=$tree.debs
  # shellcheck disable=SC2016 # expanded by the hook's shell
  mmdebstrap --quiet --variant=minbase --include="$(list packages | paste -sd,)" \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/zoneinfo/*' \
    --aptopt='APT::Install-Recommends "0"' \
    --customize-hook='export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
      kernel=$(apt-cache depends linux-image-amd64 | awk "/Depends: linux-image-/ { print \$2; exit }")
      version=${kernel#linux-image-}
      headers="linux-headers-$version linux-headers-${version%-amd64}-common linux-kbuild-6.1"
      [ "$KRUND_RIG_MSR" = 0 ] && headers=
      cd "$RIG_DEBS" && apt-get download -qq "$kernel" busybox-static $headers' \
    "$suite" "$tree" ${KRUND_RIG_MIRROR:+"$KRUND_RIG_MIRROR"}
  # Debian 13 has everything below /usr; tools of Debian 12 look for modules in /lib.
  mkdir -p "$tree.kernel"/usr/{lib,bin}
  ln -s usr/lib usr/bin "$tree.kernel/"
  for deb in "$tree.debs"/linux-image-*.deb "$tree.debs"/busybox-static_*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$tree.kernel"
  done
  release=$(basename "$tree.kernel"/lib/modules/*)
  depmod -b "$tree.kernel" "$release"
}

# word OFFSET FILE prints the little-endian 32-bit word there.
word() { od -An -tu4 -j"$1" -N4 "$2" | tr -d ' '; }

# kernel_elf takes the ELF file out of the bzImage (boot protocol: setup_sects at 0x1f1,
# payload_offset and payload_length at 0x248). QEMU starts it by PVH, and nothing has to be
# decompressed under emulation: 2 s less per boot.
kernel_elf() {
  local bz=$tree.kernel/boot/vmlinuz-$release setup
  setup=$(od -An -tu1 -j$((0x1f1)) -N1 "$bz" | tr -d ' ')
  # head ends before tail. The payload ends with four bytes that are not compressed data: the size.
  # So no status counts.
  tail -c +$(((setup + 1) * 512 + $(word $((0x248)) "$bz") + 1)) "$bz" |
    head -c "$(word $((0x24c)) "$bz")" >"$tree.payload" || true
  case $(head -c 4 "$tree.payload" | od -An -tx1 | tr -d ' \n') in
  28b52ffd) zstd -dcq <"$tree.payload" >"$out/vmlinux" || true ;; # Debian 13
  *) xz -dc --single-stream <"$tree.payload" >"$out/vmlinux" || true ;;
  esac
  [ "$(head -c 4 "$out/vmlinux" | od -An -tx1 | tr -d ' \n')" = 7f454c46 ] ||
    { echo "no ELF kernel in $bz" >&2; return 1; }
  cp "$tree.kernel/boot/config-$release" "$out/config"
  echo "$release" >"$out/kernel"
}

# module_files NAME... prints the files in load order, dependencies first, each once. Names that are
# built in print nothing.
module_files() {
  for m in "$@"; do modprobe -d "$tree.kernel" -S "$release" --show-depends "$m"; done |
    awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

initrd() {
  local dir=$tree.initrd n=10
  mkdir -p "$dir"/{bin,m,proc,sys,dev,root}
  cp "$tree.kernel/bin/busybox" "$dir/bin/"
  install -m 755 "$here/init" "$dir/init"
  for f in $(module_files virtio_pci virtio_blk crc32c_generic ext4); do
    case $f in *.xz) xz -dc "$f" ;; *) cat "$f" ;; esac >"$dir/m/$n.ko" # Debian 13 compresses them
    echo "/m/$n.ko" >>"$dir/modules"
    n=$((n + 1))
  done
  (cd "$dir" && find . | sort | cpio -o -H newc --quiet) >"$out/initrd.img"
}

guest_modules() {
  local from to=$tree/lib/modules/$release
  mkdir -p "$to" "$tree/boot"
  # shellcheck disable=SC2046 # a list of names
  module_files $(list modules) | while read -r from; do
    install -D -m 644 "$from" "$to${from#"$tree.kernel/lib/modules/$release"}"
  done
  cp "$tree.kernel/lib/modules/$release"/modules.{order,builtin,builtin.modinfo} "$to/"
  cp "$out/config" "$tree/boot/config-$release"
  # For a machine with a boot loader, which starts a kernel as Debian packs it.
  cp "$tree.kernel/boot/vmlinuz-$release" "$tree/boot/"
  cp "$out/initrd.img" "$tree/boot/initrd.img-$release"
  depmod -b "$tree" "$release"
}

settings() {
  local units=$tree/etc/systemd/system unit
  cp -a "$here/root/." "$tree/"
  chown -R --no-dereference root:root "$tree/etc/systemd" "$tree/etc/modules-load.d" "$tree/usr/local/rig"
  chmod 755 "$tree/usr/local/rig/agent"
  chroot "$tree" passwd -d root >/dev/null
  for unit in $(list masked); do ln -sf /dev/null "$units/$unit"; done
  # The generators cost 1.5 s of a boot; the initrd has mounted the root, and there is nothing else
  # for them to find.
  mkdir -p "$tree/etc/systemd/system-generators"
  for unit in "$tree"/lib/systemd/system-generators/*; do
    ln -sf /dev/null "$tree/etc/systemd/system-generators/${unit##*/}"
  done
  ln -sf /lib/systemd/system/multi-user.target "$units/default.target"
  rm -rf "$tree"/var/cache/apt/* "$tree"/var/lib/apt/lists/* "$tree"/var/log/*.log
}

userland; lap "userland and kernel package"
kernel_elf; lap "kernel"
initrd; lap "initrd"
guest_modules; settings; lap "settings"
cp "$here/rig.aml" "$out/rig.aml"
mke2fs -q -F -t ext4 -L rig -E lazy_itable_init=0,lazy_journal_init=0 -J size=8 -d "$tree" \
  "$out/root.img" "$size"
lap "file system"

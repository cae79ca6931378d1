package rig

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The boot disk in the guest, for a machine that has one (Options.BootDisk).
const (
	BootDisk      = "/dev/nvme0n1"
	BootPartition = "/dev/nvme0n1p1"
)

// BootFromDisk makes the firmware start the machine from its boot disk, from the next start on, as
// on real hardware. Before that, QEMU loads the image's kernel. The kernel arguments are then those
// of the boot loader, and Install has no effect.
func (m *Machine) BootFromDisk() {
	m.tb.Helper()
	m.mustBeOff("BootFromDisk")
	m.loader = true
}

func (m *Machine) bootDisk() string { return filepath.Join(m.dir, "boot.raw") }

// drives returns the disks of the next start.
func (m *Machine) drives() drives {
	d := drives{root: m.disk(), payload: m.payload, fromBoot: m.loader}
	if m.options.BootDisk {
		d.boot = m.bootDisk()
	}
	return d
}

// SmallDisk creates a disk with an empty ext4 file system that keeps no blocks for root, and
// returns the arguments of QEMU for it. The guest finds it by its serial number.
func SmallDisk(tb testing.TB, serial string, megabytes int64) []string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), serial+".img")
	out, err := exec.CommandContext(tb.Context(), "sh", "-c",
		`PATH=$PATH:/usr/sbin exec mke2fs -q -m 0 -t ext4 "$0" "$1"`, file, fmt.Sprint(megabytes, "M")).
		CombinedOutput()
	if err != nil {
		tb.Fatalf("mke2fs: %v: %s", err, out)
	}
	return []string{"-drive", "if=none,id=" + serial + ",format=raw,file=" + file, "-device",
		"virtio-blk-pci,drive=" + serial + ",serial=" + serial + ",addr=0x10"}
}

// makeBootDisk creates an empty disk with one Linux partition that starts at its second megabyte,
// as partitioning programs do, with room for a boot loader before it.
func makeBootDisk(path string) error {
	const (
		sector   = 512
		size     = 128 << 20
		first    = 2048
		table    = 446 // of the four primary partitions, 16 bytes each: MBR
		linux    = 0x83
		bootable = 0x80
	)
	mbr := make([]byte, sector)
	p := mbr[table:]
	p[0], p[4] = bootable, linux
	binary.LittleEndian.PutUint32(p[8:], first)
	binary.LittleEndian.PutUint32(p[12:], size/sector-first)
	mbr[510], mbr[511] = 0x55, 0xaa
	if err := os.WriteFile(path, mbr, 0o600); err != nil {
		return fmt.Errorf("create the boot disk: %w", err)
	}
	if err := os.Truncate(path, size); err != nil {
		return fmt.Errorf("create the boot disk: %w", err)
	}
	return nil
}

package rig

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
)

// The boot disk of a machine that has one (Options.BootDisk), in the guest.
const (
	BootDisk      = "/dev/nvme0n1"
	BootPartition = "/dev/nvme0n1p1"
)

// BootFromDisk lets the firmware start the machine from its boot disk, from the next start on, as it does on a machine of metal: until then QEMU hands the
// image's kernel over. The kernel's arguments are then the boot loader's matter, and Install has no effect.
func (m *Machine) BootFromDisk() {
	m.tb.Helper()
	m.mustBeOff("BootFromDisk")
	m.loader = true
}

func (m *Machine) bootDisk() string { return filepath.Join(m.dir, "boot.raw") }

// drives are the disks of the next start.
func (m *Machine) drives() drives {
	d := drives{root: m.disk(), payload: m.payload, fromBoot: m.loader}
	if m.options.BootDisk {
		d.boot = m.bootDisk()
	}
	return d
}

// makeBootDisk makes an empty disk with one partition for Linux, from its second megabyte on, as partitioning programs do; a boot loader goes before it.
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
		return fmt.Errorf("make the boot disk: %w", err)
	}
	if err := os.Truncate(path, size); err != nil {
		return fmt.Errorf("make the boot disk: %w", err)
	}
	return nil
}

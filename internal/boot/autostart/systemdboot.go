package autostart

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf16"

	"krund/internal/machine/sysroot"
)

// systemdBoot requests entries through the firmware variable LoaderEntryOneShot, using bootctl(1).
// The variables are specified by the Boot Loader Interface
// (https://systemd.io/BOOT_LOADER_INTERFACE); the kernel exposes them in efivarfs.
type systemdBoot struct {
	root sysroot.Root
	run  func(ctx context.Context, argv ...string) error
}

// variable returns the file of a variable of the Boot Loader Interface.
func variable(name string) string {
	return "/sys/firmware/efi/efivars/" + name + "-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
}

func findSystemdBoot(root sysroot.Root, run func(context.Context, ...string) error) (systemdBoot, bool) {
	s := systemdBoot{root, run}
	info, err := s.read("LoaderInfo")
	return s, err == nil && strings.HasPrefix(strings.Join(info, ""), "systemd-boot")
}

// read returns the texts of a variable: four bytes of attributes, then UTF-16 texts terminated by
// NUL.
func (s systemdBoot) read(name string) ([]string, error) {
	raw, err := s.root.ReadBytes(variable(name))
	if err != nil {
		return nil, err
	}
	const attributes = 4
	if len(raw) < attributes || len(raw)%2 != 0 {
		return nil, fmt.Errorf("%s is %d bytes long and cannot be a text", variable(name), len(raw))
	}
	var units []uint16
	for pair := range slices.Chunk(raw[attributes:], 2) {
		units = append(units, binary.LittleEndian.Uint16(pair))
	}
	text := strings.TrimRight(string(utf16.Decode(units)), "\x00")
	if text == "" {
		return nil, nil
	}
	return strings.Split(text, "\x00"), nil
}

func (s systemdBoot) asked() (string, error) {
	texts, err := s.read("LoaderEntryOneShot")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.Join(texts, ""), err
}

func (s systemdBoot) ask(ctx context.Context, name string) error {
	return s.run(ctx, "bootctl", "set-oneshot", name)
}

// check looks for the entry in the list that systemd-boot recorded at this boot, and for its file.
// It cannot read the arguments of a unified kernel image.
func (s systemdBoot) check(name string) error {
	names, err := s.read("LoaderEntries")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var entries []entry
	for _, dir := range []string{"/boot", "/efi", "/boot/efi"} {
		const file = "/loader/entries/"
		for _, suffix := range []string{"", ".conf"} {
			if text, err := s.root.ReadBytes(dir + file + name + suffix); err == nil {
				entries = append(entries, entry{id: name, kernel: options(string(text))})
			}
		}
	}
	if len(entries) == 0 && slices.Contains(names, name) {
		return nil
	}
	return fit(entries, name, "loader/entries/"+strings.TrimSuffix(name, ".conf")+".conf")
}

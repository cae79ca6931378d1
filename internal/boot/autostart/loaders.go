package autostart

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"krund/internal/machine/sysroot"
)

// grub requests entries through next_entry in GRUB's environment block, like grub-reboot(8).
type grub struct {
	root sysroot.Root
	run  func(ctx context.Context, argv ...string) error
	dir  string // of grubenv and grub.cfg
	tool string // grub-editenv(1)
}

// findGRUB searches the directories that distributions use: Fedora and openSUSE name everything
// grub2.
func findGRUB(root sysroot.Root, run func(context.Context, ...string) error) (grub, bool) {
	for _, g := range []grub{{root, run, "/boot/grub", "grub-editenv"}, {root, run, "/boot/grub2",
		"grub2-editenv"}} {
		if root.Exists(g.environment()) {
			return g, true
		}
	}
	return grub{}, false
}

func (g grub) environment() string { return g.dir + "/grubenv" }

func (g grub) asked() (string, error) {
	block, err := g.root.ReadBytes(g.environment())
	if err != nil {
		return "", err
	}
	entry, err := nextEntry(block)
	if err != nil {
		return "", fmt.Errorf("%s: %w", g.environment(), err)
	}
	return entry, nil
}

func (g grub) ask(ctx context.Context, name string) error {
	change := []string{"set", "next_entry=" + name}
	if name == "" {
		change = []string{"unset", "next_entry"}
	}
	return g.run(ctx, append([]string{g.tool, g.environment()}, change...)...)
}

// check reads GRUB's configuration: the entry must exist and have krund's kernel argument, the
// configuration must support next_entry, and GRUB must be able to clear it.
func (g grub) check(name string) error {
	main, err := g.root.ReadBytes(g.dir + "/grub.cfg")
	if err != nil {
		return fmt.Errorf("read GRUB's configuration: %w", err)
	}
	if !strings.Contains(string(main), "next_entry") {
		return fmt.Errorf("%s/grub.cfg does not support grub-reboot; regenerate it with grub-mkconfig "+
			"(update-grub) and GRUB_DEFAULT=saved or 0", g.dir)
	}
	entries := menu(string(main))
	switch custom, err := g.root.ReadBytes(g.dir + "/custom.cfg"); { // read by 41_custom
	case err == nil:
		entries = append(entries, menu(string(custom))...)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("read GRUB's configuration: %w", err)
	}
	if spec, err := g.root.ReadBytes("/boot/loader/entries/" + name + ".conf"); err == nil { // Fedora: blscfg
		entries = append(entries, entry{id: name, kernel: options(string(spec))})
	}
	if err := fit(entries, name, g.dir+"/custom.cfg"); err != nil {
		return err
	}
	return g.writable()
}

// writable returns an error if GRUB cannot write its environment block. GRUB writes only to plain
// disks and partitions, and not to file systems with data checksums or copy-on-write (GRUB manual,
// "Environment block").
func (g grub) writable() error {
	text, err := g.root.ReadBytes("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("find the file system of %s: %w", g.environment(), err)
	}
	m, ok := mountOf(string(text), g.environment())
	if !ok {
		return nil // a copy of a machine, or a root that is not in the table: assume that it is writable
	}
	const advice = "GRUB could not clear the request, and every boot would run the experiment: put /boot " +
		"on a plain partition with ext4, or set boot.entry = \"\""
	switch m.Kind {
	case "btrfs", "zfs", "bcachefs", "f2fs", "overlay":
		return fmt.Errorf("%s is on %s; %s", g.environment(), m.Kind, advice)
	}
	// The device is identified by its number, because a node under /dev/mapper may have any name.
	// Major numbers of md and the device mapper are dynamic, so /sys is consulted.
	block := "/sys/dev/block/" + m.Device
	for _, virtual := range []struct{ file, what string }{{"/dm", "LVM or encryption (device mapper)"},
		{"/md", "software RAID"}, {"/loop", "a loop device"}} {
		if g.root.Exists(block + virtual.file) {
			return fmt.Errorf("%s is on %s; %s", g.environment(), virtual.what, advice)
		}
	}
	return nil
}

// nextEntry reads next_entry from an environment block: 1024 bytes with comment lines, lines of
// NAME=VALUE in which backslashes and line ends in values are escaped by a backslash, and padding
// of '#'.
func nextEntry(block []byte) (string, error) {
	const signature = "# GRUB Environment Block\n"
	text, ok := strings.CutPrefix(string(block), signature)
	if !ok {
		return "", errors.New("not a GRUB environment block; create one with `grub-editenv - create`")
	}
	for text != "" {
		if text[0] == '#' { // a comment, or the padding, which has no line end
			_, text, _ = strings.Cut(text, "\n")
			continue
		}
		var line string
		line, text = environmentLine(text)
		if name, value, _ := strings.Cut(line, "="); name == "next_entry" {
			return value, nil
		}
	}
	return "", nil
}

// environmentLine returns the first line of text, unescaped, and the rest.
func environmentLine(text string) (line, rest string) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case text[i] == '\n':
			return b.String(), text[i+1:]
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String(), ""
}

// entry is a menu entry of a boot loader.
type entry struct {
	id     string
	kernel string // kernel arguments; "" if unknown
}

// fit returns an error if there is no entry of that name, or if it is not meant for krund.
func fit(entries []entry, name, file string) error {
	for _, e := range entries {
		if e.id != name {
			continue
		}
		// it contains a variable, which only GRUB can expand
		if HasArgument(e.kernel, EntryArgument) || strings.Contains(e.kernel, "$") {
			return nil
		}
		return fmt.Errorf("its kernel arguments are %s, without %s, by which krund recognizes its boots; "+
			"add it", strconv.Quote(e.kernel), EntryArgument)
	}
	return fmt.Errorf("the boot loader has no such entry; create one in %s as described in "+
		"docs/lab-machine.md, with --id %s and the kernel argument %s", file, name, EntryArgument)
}

// menu returns the entries of a GRUB configuration that have an --id (also as
// $menuentry_id_option). It parses line by line, which suffices for what grub-mkconfig and people
// write: neither an --id nor a kernel argument of an experiment has blanks.
func menu(text string) []entry {
	var entries []entry
	for line := range strings.Lines(text) {
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n;'\"", r) })
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "menuentry":
			entries = append(entries, entry{id: menuID(words[1:])})
		case "linux", "linux16", "linuxefi":
			if i := slices.Index(words, "#"); i >= 0 {
				words = words[:i]
			}
			if len(entries) > 0 && len(words) > 2 {
				entries[len(entries)-1].kernel = strings.Join(words[2:], " ")
			}
		}
	}
	return entries
}

// menuID returns the --id among the words after "menuentry"; "" if there is none.
func menuID(words []string) string {
	for i, w := range words {
		if id, ok := strings.CutPrefix(w, "--id="); ok && id != "" {
			return id
		}
		switch strings.TrimSuffix(w, "=") {
		case "--id", "$menuentry_id_option", "${menuentry_id_option}":
			return strings.Join(words[i+1:min(i+2, len(words))], "")
		}
	}
	return ""
}

// options returns the kernel arguments of a Boot Loader Specification entry, from its "options"
// lines.
func options(text string) string {
	var all []string
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "options" {
			all = append(all, fields[1:]...)
		}
	}
	return strings.Join(all, " ")
}

// mountOf returns the mount that contains a file: the last one with the longest mount point.
func mountOf(mountinfo, file string) (best sysroot.Mount, found bool) {
	for _, m := range sysroot.ParseMounts(mountinfo) {
		if within(file, m.Point) && len(m.Point) >= len(best.Point) {
			best, found = m, true
		}
	}
	return best, found
}

func within(file, dir string) bool {
	return dir == "/" || path.Clean(file) == dir || strings.HasPrefix(file, dir+"/")
}

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

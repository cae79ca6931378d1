package autostart

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"krund/internal/sysroot"
)

// grub asks GRUB by next_entry in its environment block, as grub-reboot(8) does.
type grub struct {
	root sysroot.Root
	run  func(ctx context.Context, argv ...string) error
	dir  string // of grubenv and grub.cfg
	tool string // grub-editenv(1)
}

// findGRUB looks where distributions put GRUB: Fedora and openSUSE call everything grub2.
func findGRUB(root sysroot.Root, run func(context.Context, ...string) error) (grub, bool) {
	for _, g := range []grub{{root, run, "/boot/grub", "grub-editenv"}, {root, run, "/boot/grub2", "grub2-editenv"}} {
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

// check reads GRUB's configuration: the entry must be there and carry krund's kernel argument, the configuration must heed next_entry, and GRUB must
// be able to clear it.
func (g grub) check(name string) error {
	main, err := g.root.ReadBytes(g.dir + "/grub.cfg")
	if err != nil {
		return fmt.Errorf("read GRUB's configuration: %w", err)
	}
	if !strings.Contains(string(main), "next_entry") {
		return fmt.Errorf("%s/grub.cfg does not heed grub-reboot; make it by grub-mkconfig (update-grub), with GRUB_DEFAULT=saved or 0", g.dir)
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

// writable says why GRUB could not write its environment block: it writes to plain disks and partitions only, and to no file system that keeps
// checksums of its files or moves what is written (GRUB manual, "Environment block").
func (g grub) writable() error {
	text, err := g.root.ReadBytes("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("find the file system of %s: %w", g.environment(), err)
	}
	m, ok := mountOf(string(text), g.environment())
	if !ok {
		return nil // a machine's copy, or a root that is not in the table: nothing speaks against it
	}
	const advice = "GRUB could not clear the request, and every boot would be the experiment's: put /boot on a plain partition with ext4, or set boot.entry = \"\""
	switch m.kind {
	case "btrfs", "zfs", "bcachefs", "f2fs", "overlay":
		return fmt.Errorf("%s is on %s; %s", g.environment(), m.kind, advice)
	}
	// The number is the device's; a node under /dev/mapper may have any name. Majors of md and of the device mapper are dynamic: /sys tells.
	block := "/sys/dev/block/" + m.device
	for _, virtual := range []struct{ file, what string }{{"/dm", "LVM or encryption (device mapper)"}, {"/md", "software RAID"}, {"/loop", "a loop device"}} {
		if g.root.Exists(block + virtual.file) {
			return fmt.Errorf("%s is on %s; %s", g.environment(), virtual.what, advice)
		}
	}
	return nil
}

// nextEntry reads next_entry from an environment block: 1024 bytes, lines of comments and of NAME=VALUE with a backslash before each backslash and
// line end of a value, and '#' to the end.
func nextEntry(block []byte) (string, error) {
	const signature = "# GRUB Environment Block\n"
	text, ok := strings.CutPrefix(string(block), signature)
	if !ok {
		return "", errors.New("this is no environment block of GRUB's; `grub-editenv - create` makes one")
	}
	for text != "" {
		if text[0] == '#' { // a comment, or the padding at the end, which has no line end
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

// environmentLine takes one line off text, without its escapes.
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

// entry is one of a loader's menu.
type entry struct {
	id     string
	kernel string // arguments of the kernel; "" unknown
}

// fit says why an entry of that name is missing, or not one of krund's.
func fit(entries []entry, name, file string) error {
	for _, e := range entries {
		if e.id != name {
			continue
		}
		if HasArgument(e.kernel, EntryArgument) || strings.Contains(e.kernel, "$") { // a variable: only GRUB knows
			return nil
		}
		return fmt.Errorf("its kernel arguments are %s, without %s, by which krund knows its boots; add that", strconv.Quote(e.kernel), EntryArgument)
	}
	return fmt.Errorf("the boot loader has no such entry; make one in %s as docs/lab-machine.md says, with --id %s and the kernel argument %s", file, name, EntryArgument)
}

// menu reads the entries of a configuration of GRUB's: their --id, also as $menuentry_id_option, or else their title. Only what it can understand
// line by line: that is what grub-mkconfig and people write.
func menu(text string) []entry {
	var entries []entry
	for line := range strings.Lines(text) {
		words := words(line)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "menuentry":
			entries = append(entries, entry{id: menuID(words[1:])})
		case "linux", "linux16", "linuxefi":
			if len(entries) > 0 && len(words) > 2 {
				entries[len(entries)-1].kernel = strings.Join(words[2:], " ")
			}
		}
	}
	return entries
}

// menuID is the name of an entry with these words after "menuentry".
func menuID(words []string) string {
	for i, w := range words {
		if id, ok := strings.CutPrefix(w, "--id="); ok {
			return id
		}
		if (w == "--id" || w == "$menuentry_id_option" || w == "${menuentry_id_option}") && i+1 < len(words) {
			return words[i+1]
		}
	}
	if len(words) > 0 {
		return words[0]
	}
	return ""
}

// words splits a line as GRUB's shell does: quotes keep blanks together, '#' begins a comment.
func words(line string) []string {
	var list []string
	var word strings.Builder
	var quote rune
	inside := false
	flush := func() {
		if inside {
			list = append(list, word.String())
		}
		word.Reset()
		inside = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inside = r, true
		case r == '#' && !inside:
			return list
		case strings.ContainsRune(" \t\r\n;", r):
			flush()
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	flush()
	return list
}

// options are the kernel arguments of an entry by the Boot Loader Specification: its lines "options".
func options(text string) string {
	var all []string
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "options" {
			all = append(all, fields[1:]...)
		}
	}
	return strings.Join(all, " ")
}

// mount is a line of mountinfo, proc_pid_mountinfo(5).
type mount struct{ device, point, kind string }

// mountOf finds the mount that a file is on: the last of those with the longest mount point.
func mountOf(mountinfo, file string) (mount, bool) {
	var best mount
	found := false
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		const least = 6 // id, parent, device, root, mount point, options
		if !ok || len(fields) < least || len(kind) == 0 {
			continue
		}
		point := strings.ReplaceAll(fields[4], `\040`, " ")
		if within(file, point) && len(point) >= len(best.point) {
			best, found = mount{device: fields[2], point: point, kind: kind[0]}, true
		}
	}
	return best, found
}

func within(file, dir string) bool {
	return dir == "/" || path.Clean(file) == dir || strings.HasPrefix(file, dir+"/")
}

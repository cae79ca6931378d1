package rig

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Disk reads the files of a machine that is off as the next boot would find them: after a power
// cut, the journal of the file system is replayed first, in a copy. The machine's own disk is never
// changed.
type Disk struct {
	m     *Machine
	image string
}

// Disk opens the disk of a machine that is off. It keeps showing the state at this moment.
func (m *Machine) Disk() *Disk {
	m.tb.Helper()
	m.mustBeOff("Disk")
	d, err := m.copyOfDisk(m.tb.TempDir())
	m.check(err)
	return d
}

// copyOfDisk copies the disk to dir.
func (m *Machine) copyOfDisk(dir string) (*Disk, error) {
	ctx, cancel := m.limit("copy the disk")
	defer cancel()
	d := &Disk{m: m, image: filepath.Join(dir, "disk.raw")}
	if err := copyDisk(ctx, m.disk(), d.image); err != nil {
		return nil, err
	}
	dirty, err := needsRecovery(d.image)
	if err == nil && dirty {
		err = replayJournal(ctx, d.image)
	}
	return d, err
}

// Offsets and values in an ext4 superblock: fs/ext4/ext4.h of the kernel.
const (
	superblock      = 1024
	offMagic        = superblock + 0x38
	offIncompat     = superblock + 0x60
	ext4Magic       = 0xef53
	incompatRecover = 0x4 // the journal contains changes that are not yet in the file system
)

// needsRecovery reports whether the image's journal must be replayed.
func needsRecovery(image string) (bool, error) {
	f, err := os.Open(image)
	if err != nil {
		return false, fmt.Errorf("read superblock: %w", err)
	}
	defer func() { _ = f.Close() }()
	var b [superblock + 0x64]byte
	if _, err := io.ReadFull(f, b[:]); err != nil {
		return false, fmt.Errorf("read superblock: %w", err)
	}
	if magic := int(b[offMagic]) | int(b[offMagic+1])<<8; magic != ext4Magic {
		return false, fmt.Errorf("read superblock: magic is %#x, want %#x: not ext4", magic, ext4Magic)
	}
	return b[offIncompat]&incompatRecover != 0, nil
}

func replayJournal(ctx context.Context, image string) error {
	out, err := exec.CommandContext(ctx, "e2fsck", "-y", "-E", "journal_only", image).CombinedOutput()
	if exit, is := errors.AsType[*exec.ExitError](err); is && exit.ExitCode() == 1 {
		return nil // 1: it changed something, as requested
	}
	if err != nil {
		return fmt.Errorf("replay the journal: %w: %s", err, out)
	}
	return nil
}

// quoteDebugfs quotes a path for a debugfs request. A quote is doubled; a line end cannot be
// represented.
func quoteDebugfs(name string) (string, error) {
	if strings.ContainsAny(name, "\n\x00") {
		return "", fmt.Errorf("%q: debugfs takes no such name", name)
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`, nil
}

// request runs one debugfs request with a guest path and, unless it is empty, a host path.
func (d *Disk) request(verb, name, host string) (string, error) {
	ctx, cancel := d.m.limit("read the disk")
	defer cancel()
	line := verb
	for _, arg := range []string{path.Clean("/" + name), host} {
		if arg == "" {
			continue
		}
		quoted, err := quoteDebugfs(arg)
		if err != nil {
			return "", err
		}
		line += " " + quoted
	}
	cmd := exec.CommandContext(ctx, "debugfs", "-R", line, d.image)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", line, err, stderr.String())
	}
	// debugfs always exits with 0. It prints its banner and its errors to stderr.
	_, complaint, _ := strings.Cut(stderr.String(), "\n")
	switch complaint = strings.TrimSpace(complaint); {
	case strings.Contains(complaint, "File not found"):
		return "", fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	case complaint != "":
		return "", fmt.Errorf("%s: %s", line, complaint)
	}
	return stdout.String(), nil
}

// Read returns the content of a file. If it is missing, the error is fs.ErrNotExist.
func (d *Disk) Read(name string) ([]byte, error) {
	dir, err := os.MkdirTemp(filepath.Dir(d.image), "read")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	to := filepath.Join(dir, "file")
	if _, err := d.request("dump", name, to); err != nil {
		return nil, err
	}
	return os.ReadFile(to)
}

// Text is Read for a file that must exist.
func (d *Disk) Text(name string) string {
	d.m.tb.Helper()
	data, err := d.Read(name)
	d.m.check(err)
	return string(data)
}

// Entry is one name in a directory of the disk.
type Entry struct {
	Name     string
	Mode     uint32 // as in stat(2): type and permissions
	UID, GID int
	Size     int64 // bytes; 0 for directories
}

// List returns the entries of a directory in disk order, without "." and "..".
func (d *Disk) List(name string) ([]Entry, error) {
	out, err := d.request("ls -p", name, "")
	if err != nil {
		return nil, err
	}
	return parseList(out)
}

// parseList decodes the output of debugfs's "ls -p": /inode/mode/uid/gid/name/size/ per line.
func parseList(out string) ([]Entry, error) {
	var entries []Entry
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			continue
		}
		f := strings.Split(line, "/")
		if len(f) != 8 {
			return nil, fmt.Errorf("parse debugfs line %q: %d fields, want 8", line, len(f))
		}
		e := Entry{Name: f[5]}
		mode, err1 := strconv.ParseUint(f[2], 8, 32)
		uid, err2 := strconv.Atoi(f[3])
		gid, err3 := strconv.Atoi(f[4])
		var err4 error
		if f[6] != "" {
			e.Size, err4 = strconv.ParseInt(f[6], 10, 64)
		}
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			return nil, fmt.Errorf("parse debugfs line %q: %w", line, err)
		}
		e.Mode, e.UID, e.GID = uint32(mode), uid, gid
		if e.Name != "." && e.Name != ".." {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// Dump copies a directory from the disk recursively, and returns the directory on the host.
func (d *Disk) Dump(name string) string {
	d.m.tb.Helper()
	to := d.m.tb.TempDir()
	_, err := d.request("rdump", name, to)
	d.m.check(err)
	return filepath.Join(to, path.Base(path.Clean("/"+name)))
}

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

// Environment variables of the suites. rig.mk sets all of them.
const (
	envImage    = "KRUND_RIG"          // image directory; if unset, every test that boots is skipped
	envRequired = "KRUND_RIG_REQUIRED" // if 1, a test that cannot boot fails instead
	envPatience = "KRUND_RIG_PATIENCE" // factor of every limit, for slow or busy hosts
	envPace     = "KRUND_RIG_PACE"     // boot time of this host relative to the reference; run.sh measures it
	envDeadline = "KRUND_RIG_DEADLINE" // Unix time in seconds when the run must be over; if unset, unbounded
	envSeed     = "KRUND_RIG_SEED"     // seed of all random choices; default 1
	envCuts     = "KRUND_RIG_CUTS"     // number of power cuts in campaigns
	envLogs     = "KRUND_RIG_LOGS"     // directory for the consoles, one file per machine
	envSummary  = "KRUND_RIG_SUMMARY"  // file with one line per test; see campaign.go
	envNice     = "KRUND_RIG_NICE"     // niceness of the machines; default 5
)

// Image is a directory created by build-image.sh.
type Image struct {
	Dir string
}

func (i Image) file(name string) string { return filepath.Join(i.Dir, name) }

// KernelVersion returns the version of the image's kernel, such as 6.1.0-56-amd64.
func (i Image) KernelVersion() (string, error) {
	text, err := os.ReadFile(i.file("kernel"))
	if err != nil {
		return "", fmt.Errorf("read kernel version of the image: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// FindImage returns the image that the environment names. It skips the test with the reason if this
// host cannot boot one.
func FindImage(tb testing.TB) Image {
	tb.Helper()
	image, err := findImage(os.Getenv(envImage), exec.LookPath)
	if err == nil {
		return image
	}
	if os.Getenv(envRequired) == "1" {
		tb.Fatalf("cannot boot machines here, and %s=1 asks for it: %v", envRequired, err)
	}
	tb.Skipf("boots no machine: %v", err)
	return Image{}
}

// The programs that are needed for booting and for reading a disk, with their Debian packages.
var programs = [...]struct{ name, pkg string }{
	{"qemu-system-x86_64", "qemu-system-x86 and seabios"}, {"debugfs", "e2fsprogs"}, {"e2fsck", "e2fsprogs"},
	{"cp", "coreutils"}, {"nice", "coreutils"},
}

func findImage(dir string, lookPath func(string) (string, error)) (Image, error) {
	if dir == "" {
		return Image{}, fmt.Errorf("%s is not set; run: make rig-smoke, or: make rig", envImage)
	}
	var errs []error
	if _, err := os.Stat(filepath.Join(dir, "complete")); err != nil {
		errs = append(errs, fmt.Errorf("no complete image in %s=%s; run: make rig-image", envImage, dir))
	}
	for _, p := range programs {
		if _, err := lookPath(p.name); err != nil {
			errs = append(errs, fmt.Errorf("%s not found; run: apt-get install %s", p.name,
				strings.ReplaceAll(p.pkg, " and ", " ")))
		}
	}
	return Image{Dir: dir}, errors.Join(errs...)
}

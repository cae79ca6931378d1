package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

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
	envSummary  = "KRUND_RIG_SUMMARY"  // file with one line per test; see summary.go
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

package rig

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ExperimentHome is the guest's directory of experiments. It contains benchmarks/ with all programs
// of the repository.
const ExperimentHome = "/srv/krund"

// UnitOf returns the unit that runs an experiment. For an empty name it is the template.
func UnitOf(experiment string) string { return "krund@" + experiment + ".service" }

// Krund creates a machine with krund from the repository's last make build, installed by make
// install as a user would, and all benchmarks. The unit announces its end (RunToEnd). The machine
// is off, and runs no experiment until the payload or a command enables one.
//
// The compiled benchmarks and runners are those of the host: they run in the guest as long as the
// host's C library is not newer than that of Debian 12.
func Krund(tb testing.TB, o Options) *Machine {
	tb.Helper()
	FindImage(tb) // before anything is required of the repository
	files, err := krundPayload(tb.Context(), tb.TempDir())
	if err != nil {
		tb.Fatalf("install krund in the machine: %v", err)
	}
	if o.Payload != nil {
		files.Merge(o.Payload)
	}
	o.Payload = files
	return New(tb, o)
}

// KrundUp is Krund for a machine that is on, and has started all services.
func KrundUp(tb testing.TB, o Options) *Machine {
	tb.Helper()
	m := Krund(tb, o)
	m.PowerOn()
	m.WaitUp()
	m.WaitRunning()
	return m
}

// krundPayload returns what Krund installs. dir is an empty directory for the installation.
func krundPayload(ctx context.Context, dir string) (*Payload, error) {
	root, err := repository()
	if err != nil {
		return nil, err
	}
	if err := install(ctx, root, dir); err != nil {
		return nil, err
	}
	var files Payload
	if err := files.Tree("/", dir); err != nil {
		return nil, err
	}
	if err := addBenchmarks(&files, root); err != nil {
		return nil, err
	}
	files.Announce(UnitOf(""))
	return &files, nil
}

// install runs make install without rebuilding.
func install(ctx context.Context, root, dir string) error {
	if _, err := os.Stat(filepath.Join(root, "build/bin/krund")); err != nil {
		return fmt.Errorf("%w; run: make build", err)
	}
	cmd := exec.CommandContext(ctx, "make", "-s", "-o", "build", "install", "DESTDIR="+dir)
	cmd.Dir = root
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MAKE") && !strings.HasPrefix(v, "MFLAGS=") { // variables of an outer make
			cmd.Env = append(cmd.Env, v)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make install: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// InstalledKrund is the path where Krund installs the daemon. A payload can replace the file with
// another build.
const InstalledKrund = "/usr/local/bin/krund"

// Build compiles another krund or krunctl for the guest, with additional arguments of go build such
// as -tags, and returns the file on the host, which has the program's name.
func Build(tb testing.TB, program string, arguments ...string) string {
	tb.Helper()
	root, err := repository()
	if err != nil {
		tb.Fatal(err)
	}
	goTool := os.Getenv("GO")
	goTool = cmp.Or(goTool, "go")
	to := filepath.Join(tb.TempDir(), program)
	cmd := exec.CommandContext(tb.Context(), goTool, slices.Concat([]string{"build", "-trimpath",
		"-ldflags=-s -w", "-o", to}, arguments, []string{"./cmd/" + program})...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("build %s: %v: %s", program, err, bytes.TrimSpace(out))
	}
	return to
}

// Benchmark files that an experiment needs.
var benchmarkFiles = [...]string{"benchmarks/*/c/bench.so", "benchmarks/*/python/bench.py"}

// addBenchmarks adds the repository's benchmarks beside the experiments. Each language must have
// some.
func addBenchmarks(files *Payload, root string) error {
	for _, pattern := range benchmarkFiles {
		found, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			return fmt.Errorf("find %s: %w", pattern, err)
		}
		if len(found) == 0 {
			return fmt.Errorf("no %s in %s; run: make build", pattern, root)
		}
		for _, name := range found {
			if err := files.Copy(path.Join(ExperimentHome, name), filepath.Join(root, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// repository returns the module's directory, searching upward from the working directory.
func repository() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		text, readErr := os.ReadFile(filepath.Join(dir, "go.mod"))
		if readErr == nil && strings.HasPrefix(string(text), "module krund\n") {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("not inside krund's repository: no go.mod with module krund above the " +
				"working directory")
		}
		dir = up
	}
	return "", err
}

// Experiment adds an experiment and returns its path in the guest. Its directory NAME.krun will be
// beside it.
func (p *Payload) Experiment(name, toml string) string {
	file := path.Join(ExperimentHome, name+".toml")
	p.Text(file, toml)
	return file
}

// Enable makes systemd start an experiment at every boot from the first on, like krunctl enable on
// a running machine. krund disables it itself when nothing is outstanding.
func (p *Payload) Enable(experiment string) {
	unit := UnitOf(experiment)
	p.Text("/etc/systemd/system/"+unit+".d/config.conf",
		"[Service]\nEnvironment=KRUND_CONFIG="+path.Join(ExperimentHome, experiment+".toml")+"\n")
	p.Link("/etc/systemd/system/multi-user.target.wants/"+unit, "/lib/systemd/system/"+UnitOf(""))
}

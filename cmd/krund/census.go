package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"krund/internal/boot/doctor"
	"krund/internal/control"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/execution/switches"
	"krund/internal/experiment/config"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/directory"
	"krund/internal/hub/joined"
	"krund/internal/machine/host"
	"krund/internal/machine/noise"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
)

// The shortest and the longest census.
const (
	leastCensus = 100 * time.Millisecond
	mostCensus  = time.Hour
)

// censusJSON is what krund census prints: what krunctl check --noise needs of this machine.
type censusJSON struct {
	noise.Census
	BootID      string            `json:"boot_id"`
	Krund       string            `json:"krund"`
	Virtual     string            `json:"virtual"`
	Fingerprint map[string]string `json:"fingerprint"`
}

// census is `krund census`: it measures the noise of this machine, with the settings that the
// configuration states.
func census(ctx context.Context, args []string, stdout, _ io.Writer) error {
	flags := flag.NewFlagSet("census", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	d := flags.Duration("time", 10*time.Second, "")
	list := flags.String("cpus", "", "")
	path, err := parseWithFile(flags, args)
	if err != nil {
		return err
	}
	if *d < leastCensus || *d > mostCensus {
		return usageError{fmt.Sprintf("--time must be from %s to %s, not %s", leastCensus, mostCensus, *d)}
	}
	cfg, err := loadConfig(path, false, false)
	if err != nil {
		return err
	}
	installed, err := findInstalled(path)
	if err != nil {
		return err
	}
	m := control.NewMachine(ctx, sysroot.New("/"))
	wishes := doctor.Of(cfg, config.RebootNone)
	out := censusJSON{BootID: m.Boot, Krund: display.Version(),
		Fingerprint: probe.ReadFingerprint(ctx, m.Host, nil)}
	if v := probe.DetectVirtualisation(ctx, m.Host); !v.None() {
		out.Virtual = v.String()
	}
	spin := filepath.Join(installed.Runners, "noise-spin")
	take := func() error { // the settings may switch sibling threads off
		cpus, err := censusCPUs(m, wishes.Control, *list)
		if err != nil {
			return usageError{"--cpus: " + err.Error()}
		}
		out.Census, err = noise.Take(ctx, m.Host, spin, cpus, *d, recorder(m.Root))
		return err
	}
	if err := under(ctx, m, wishes, cfg.Hostname, take); err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(out)
}

// recorder records the context switches of a census, as those of executions; nil without root.
func recorder(root sysroot.Root) noise.Recorder {
	if os.Geteuid() != 0 {
		return nil
	}
	return func(cpus host.CPUs) func(pid int) (map[int][]noise.Source, bool) {
		watch, err := switches.Open(root, cpus)
		return func(pid int) (map[int][]noise.Source, bool) {
			if err != nil {
				return nil, false
			}
			log, err := watch.Stop()
			if err != nil || log.Full != 0 {
				return nil, false
			}
			const most = 1 << 20
			runs, more := log.Others([]int{pid}, 0, math.MaxInt64, most)
			byCPU := map[int][]switches.Run{}
			for _, r := range runs {
				byCPU[r.CPU] = append(byCPU[r.CPU], r)
			}
			found := map[int][]noise.Source{}
			for cpu, list := range byCPU {
				for _, t := range switches.Sum(list) {
					found[cpu] = append(found[cpu], noise.Source{Kind: "thread", Count: t.Runs, NS: t.NS,
						Name: fmt.Sprintf("%s (%d)", display.PlainLine(t.Name), t.PID)})
				}
			}
			return found, more == 0
		}
	}
}

// under applies the settings that a configuration wants to change, if any, around work.
func under(ctx context.Context, m *control.Machine, w doctor.Wishes, name string, work func() error) error {
	changes := false
	for _, c := range control.Controls(w.Control) {
		changes = changes || c.Policy.Changes()
	}
	if !changes {
		return work()
	}
	if os.Geteuid() != 0 {
		return errors.New("settings of the machine are changed by root only; use sudo")
	}
	p := doctor.Prover{Machine: m, FS: durable.OS(), State: joined.StateDirectory, Host: name,
		Now: sysroot.RealClock{}.Now}
	findings, refused, err := p.Under(ctx, w, work)
	if refused {
		return errors.New(setting.Problems(findings)[0].String())
	}
	return err
}

// censusCPUs returns the CPUs of a list, or those that benchmarks run on.
func censusCPUs(m *control.Machine, r control.Request, list string) (host.CPUs, error) {
	cpus, online, err := m.PlannedCPUs(r)
	if err != nil {
		return nil, err
	}
	if list == "" {
		if len(cpus) == 0 {
			cpus = online // of a machine with one CPU
		}
		return cpus, nil
	}
	cpus, err = host.ParseCPUList(list)
	if err == nil && (len(cpus) == 0 || !online.Contains(cpus)) {
		err = fmt.Errorf("krund may use only %s", online)
	}
	return cpus, err
}

// keepCertificate copies the newest noise certificate of this machine to an experiment that has
// none yet.
func keepCertificate(f directory.Directory, name string, now func() map[string]string) error {
	if _, err := f.FS().Lstat(f.Noise()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := noise.Newest(durable.OS(), filepath.Join(joined.StateDirectory, noise.Directory))
	if err != nil || file == "" {
		return err
	}
	c, err := noise.Read(durable.OS(), file)
	if err != nil || c.Host != name {
		return err
	}
	if changed := noise.Changed(c, now()); len(changed) > 0 {
		return fmt.Errorf("that of %s is of another state of this machine: %s; make a new one with `krunctl "+
			"check --noise`", c.Date.Format(time.DateOnly), strings.Join(changed, ", "))
	}
	return noise.Copy(f.FS(), f.Noise(), c)
}

// Package certificate measures how much a machine disturbs a measurement: krund looks for gaps, and
// executes a fixed program again and again. Package noise has the result. Start reading at
// [Run.Certificate].
package certificate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/boot/doctor"
	"krund/internal/control"
	"krund/internal/durable"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/results"
	"krund/internal/machine/command"
	"krund/internal/machine/noise"
	"krund/internal/reading/experiment"
)

// Run is one measurement of a certificate.
type Run struct {
	FS         durable.FS
	Host       string // name of this machine
	Krund      string // path of the program
	Work       string // an empty directory
	Now        func() time.Time
	Say        func(format string, args ...any) // what it does, for people
	Time       time.Duration                    // how long to look for gaps
	CPUs       string                           // processors to look at; "": all but the lowest
	Executions int                              // of the fixed program; 0: no noise floor
	Compare    bool                             // measure again with the study's settings applied

	benchmarks string // directory
}

// The fixed program: some milliseconds per iteration, a second per execution.
const (
	noiseBenchmark  = "nbody"
	noiseParameter  = 50000
	noiseIterations = 200
)

// pairs is how many pairs of blocks Compare measures: as found, applied, as found, applied, ...
const pairs = 4

// Certificate measures once. With Compare it measures in pairs of blocks, each with a part of the
// time and of the executions, so that drift is not taken for an effect of the settings.
func (n *Run) Certificate(ctx context.Context) (c noise.Certificate, err error) {
	if n.benchmarks, err = noiseBenchmarks(n.Krund); err != nil && n.Executions > 0 {
		return c, err
	}
	c.Format, c.Date, c.Host = noise.Format, n.Now().UTC(), n.Host
	if !n.Compare {
		m, err := n.measurement(ctx, "plain", nil, &c)
		if err != nil {
			return c, err
		}
		c.Plain, err = n.joined([]block{m})
		return c, err
	}
	part := *n
	part.Time = n.Time / pairs
	if n.Executions > 0 {
		part.Executions = max((n.Executions+pairs-1)/pairs, leastInBlock)
	}
	var plain, controlled []block
	for i := range pairs {
		for _, side := range []struct {
			name     string
			settings []string
			to       *[]block
		}{{"plain", nil, &plain}, {"controlled", studySettings(), &controlled}} {
			m, err := part.measurement(ctx, fmt.Sprintf("%s-%d", side.name, i+1), side.settings, &c)
			if err != nil {
				return c, err
			}
			*side.to = append(*side.to, m)
		}
	}
	if c.Plain, err = n.joined(plain); err != nil {
		return c, err
	}
	second, err := n.joined(controlled)
	if err != nil {
		return c, err
	}
	c.Controlled = &second
	c.Effect, err = effect(plain, controlled)
	return c, err
}

// leastBoots is the least number of boots that say how much they differ: the upper end of the
// interval is then six times the deviation.
const leastBoots = 3

// Boots returns what differs between boots, from a certificate and those of earlier boots; nil if
// they are too few. The variance of the boots' means is that between boots, and a part of that
// between executions (Searle, Casella and McCulloch 1992, section 3.6: the analysis of variance of
// one random factor).
func Boots(c noise.Certificate, earlier []noise.Certificate) *noise.Boots {
	all := append([]noise.Certificate{c}, earlier...)
	n := float64(len(all))
	if len(all) < leastBoots || c.Plain.Floor == nil {
		return nil
	}
	var within, expected float64
	var means []float64
	for _, one := range all {
		f := one.Plain.Floor
		means = append(means, math.Log(f.MeanNS))
		within += f.SDLog * f.SDLog / n
		expected += f.SDLog * f.SDLog / float64(f.Executions) / n
	}
	between := max(stat.Variance(means, nil)-expected, 0)
	b := &noise.Boots{Boots: len(all), Since: all[len(all)-1].Date.UTC().Format(time.DateOnly),
		SDLog: math.Sqrt(between), Total: math.Sqrt(between + within)}
	total := compare.NoiseFloor{SDLog: b.Total}
	b.SDLow, b.SDHigh = total.Interval(len(all))
	b.Percent = 100 * total.Detectable(noise.SummaryAt)
	b.High = 100 * compare.NoiseFloor{SDLog: b.SDHigh}.Detectable(noise.SummaryAt)
	return b
}

// leastInBlock is the least number of executions of a block.
const leastInBlock = 3

// block is one measurement: the times are those of the iterations of each execution.
type block struct {
	census noise.Census
	times  [][]float64 // none without a floor
}

// joined is the measurement of several blocks.
func (n *Run) joined(blocks []block) (m noise.Measurement, err error) {
	var censuses []noise.Census
	var times [][]float64
	for _, b := range blocks {
		censuses, times = append(censuses, b.census), append(times, b.times...)
	}
	m.Census = noise.Merge(censuses)
	if n.Executions > 0 {
		m.Floor, err = floorOf(times)
	}
	return m, err
}

// effect compares the blocks of each pair; nil without executions.
func effect(plain, controlled []block) (*noise.Effect, error) {
	var sides [2][]compare.NoiseFloor
	for i, blocks := range [][]block{plain, controlled} {
		for _, b := range blocks {
			if len(b.times) == 0 {
				return nil, nil //nolint:nilnil // nothing was asked for
			}
			f, err := compare.NoiseFloorOf(b.times)
			if err != nil {
				return nil, fmt.Errorf("%d executions of %s: %w", len(b.times), noiseBenchmark, err)
			}
			sides[i] = append(sides[i], f)
		}
	}
	e := &noise.Effect{Pairs: len(plain)}
	e.Ratio, e.Low, e.High = compare.RatioOfPairs(sides[0], sides[1])
	return e, nil
}

// noiseBenchmarks returns the directory of the benchmarks that belong to krund, on an installed
// machine or in a build directory.
func noiseBenchmarks(krund string) (string, error) {
	prefix := filepath.Dir(filepath.Dir(krund))
	for _, dir := range []string{filepath.Join(prefix, "lib/krund/benchmarks"),
		filepath.Join(filepath.Dir(prefix), "benchmarks")} {
		if _, err := os.Stat(filepath.Join(dir, noiseBenchmark, "c/bench.so")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("the benchmark %s in C, which is executed again and again, is not installed with "+
		"%s; install all of krund, or use --executions 0", noiseBenchmark, krund)
}

// studySettings names what the study sets. Temperatures are not waited for.
func studySettings() []string {
	var names []string
	for _, d := range control.Defaults().Demands {
		if d.Policy != setting.Off {
			names = append(names, d.Name)
		}
	}
	return names
}

// measurement measures the census and the floor, with the settings applied. It completes c.
func (n *Run) measurement(ctx context.Context, name string, settings []string,
	c *noise.Certificate) (m block, err error) {
	file := filepath.Join(n.Work, name+".toml")
	if err := os.WriteFile(file, []byte(n.configuration(settings)), 0o600); err != nil {
		return m, fmt.Errorf("write the configuration: %w", err)
	}
	if m.census, err = n.census(ctx, file, c); err != nil {
		return m, err
	}
	if n.Executions > 0 {
		m.times, err = n.floor(ctx, file)
	}
	if len(settings) > 0 && err == nil {
		c.Applied, c.NotApplied = n.applied(file)
	}
	return m, err
}

// applied returns which settings krund has set, and which were not as wanted.
func (n *Run) applied(file string) (set, not []string) {
	all := experiment.Recorded(n.FS, experiment.DirectoryOf(file), "")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		short, control := strings.CutPrefix(name, "control.")
		status, _, _ := strings.Cut(all[name], ", ")
		switch {
		case !control:
		case status == string(setting.StatusSet):
			set = append(set, short)
		case !setting.Status(status).Fit():
			not = append(not, short)
		}
	}
	return set, not
}

// configuration returns an experiment that applies these settings and leaves all others alone.
func (n *Run) configuration(settings []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `[experiment]
iterations = %d
executions = %d
reboot = "none"
account = "caller"
benchmarks = %q
[temperature]
base_wait = "0s"
[counters]
sources = ["none"]
[vms.C]
runner = "c"
variants = ["default-c"]
[variants.default-c]
entry = "bench.so"
subfolder = "c"
[benchmarks]
%s = { parameter = %d }
[controls]
`, noiseIterations, max(n.Executions, 1), n.benchmarks, noiseBenchmark, noiseParameter)
	for _, d := range doctor.Settings() {
		policy := setting.Off
		if slices.Contains(settings, d.Name) {
			policy = setting.Apply
		}
		fmt.Fprintf(&b, "%s = %q\n", d.Name, policy)
	}
	return b.String()
}

// mostCensusBytes bounds what krund census prints.
const mostCensusBytes = 32 << 20

func (n *Run) census(ctx context.Context, file string, c *noise.Certificate) (noise.Census, error) {
	n.Say("looking for gaps for %s", n.Time)
	argv := []string{n.Krund, "census", "--time", n.Time.String()}
	if n.CPUs != "" {
		argv = append(argv, "--cpus", n.CPUs)
	}
	text, err := command.Run(ctx, command.Cmd{Argv: append(argv, file), Timeout: n.Time + 10*time.Minute,
		Output: mostCensusBytes, StdoutOnly: true, Interrupt: true})
	if err != nil {
		return noise.Census{}, interrupted(ctx, err)
	}
	var found struct {
		noise.Census
		BootID      string            `json:"boot_id"`
		Krund       string            `json:"krund"`
		Virtual     string            `json:"virtual"`
		Fingerprint map[string]string `json:"fingerprint"`
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return noise.Census{}, fmt.Errorf("read what krund census printed: %w", err)
	}
	c.BootID, c.Krund, c.Virtual, c.Fingerprint = found.BootID, found.Krund, found.Virtual, found.Fingerprint
	return found.Census, nil
}

// interrupted is err, or that ctx has ended.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return err
}

// floor executes the fixed program again and again.
func (n *Run) floor(ctx context.Context, file string) ([][]float64, error) {
	n.Say("executing %s %d times", noiseBenchmark, n.Executions)
	const perExecution = time.Minute
	if _, err := command.Run(ctx, command.Cmd{Argv: []string{n.Krund, "run", "--quiet", file},
		Timeout:    10*time.Minute + time.Duration(n.Executions)*perExecution,
		StdoutOnly: true, Interrupt: true}); err != nil {
		return nil, interrupted(ctx, err)
	}
	data, err := experiment.ReadResults(n.FS, filepath.Join(experiment.DirectoryOf(file), "results"), nil)
	if err != nil {
		return nil, err
	}
	return timesOf(data), nil
}

// floorAt are the numbers of executions for which a certificate has the detectable change.
var floorAt = []int{3, 5, 10, 30}

// timesOf returns the times of the completed executions.
func timesOf(data *dataset.Dataset) (times [][]float64) {
	for _, pair := range data.Pairs {
		for _, e := range pair.Executions {
			if e.Outcome != results.Completed {
				continue
			}
			values, _ := e.Values(dataset.Wall)
			times = append(times, values)
		}
	}
	return times
}

func floorOf(times [][]float64) (*noise.Floor, error) {
	f, err := compare.NoiseFloorOf(times)
	if err == nil && len(times) < compare.LeastForFloor {
		err = fmt.Errorf("no more completed, and a noise floor needs %d; use more --executions",
			compare.LeastForFloor)
	}
	if err != nil {
		return nil, fmt.Errorf("%d executions of %s: %w", len(times), noiseBenchmark, err)
	}
	const nanoseconds = 1e9 // wall times are in seconds
	floor := &noise.Floor{Benchmark: noiseBenchmark + ":C", Executions: len(times),
		Iterations: noiseIterations, MeanNS: f.Mean * nanoseconds, SDLog: f.SDLog, SDLow: f.SDLow,
		SDHigh: f.SDHigh, Differ: f.Differ, DifferLow: f.DifferLow, DifferHigh: f.DifferHigh,
		Strays: f.Strays, StraysLow: f.ShareLow, StraysHigh: f.ShareHigh}
	for _, level := range f.Levels {
		floor.LevelsNS = append(floor.LevelsNS, level*nanoseconds)
	}
	for _, executions := range floorAt {
		floor.Detectable = append(floor.Detectable, noise.Detectable{Executions: executions,
			Percent: 100 * f.Detectable(executions),
			High:    100 * compare.NoiseFloor{SDLog: f.SDHigh}.Detectable(executions)})
	}
	return floor, nil
}

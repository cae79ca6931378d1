package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig/must"
)

// inputOf makes what the words of testdata/commands.txt and goldens.txt stand for, in a directory.
// What krund has made is elsewhere, under an absolute name.
var inputOf = map[string]func(t *testing.T, dir string) string{
	"NEW": built(newExperiment), "MIXED": built(mixed), "COMPLETE": built(complete),
	"ERRORS": built(withErrors), "CLOCKED": built(clocked), "CALIBRATED": built(calibrated),
	"STARTED": built(started), "FAILED": built(func(t *testing.T) *builder {
		b := newExperiment(t)
		for range b.cfg.Slots() {
			b.run(results.Error)
		}
		return b
	}),
	"KRUN": krunFile, "KRUND": krundDirectory, "ODD": oddFile, "ANALYZED": analyzedByPaper,
	"AB":  func(t *testing.T, _ string) string { return armsDirectory(t, 1, 1) },
	"AB3": func(t *testing.T, _ string) string { return armsDirectory(t, 1.03, 1) },
	"ONE": constant(1), "TWO": constant(2),
	"RESTARTED-HARDWARE": restarted(results.RebootHardware),
	"RESTARTED-KEXEC":    restarted(results.RebootKexec), "RESTARTED-NONE": restarted(results.RebootNone),
	"RESTARTED": restarted(results.RebootHardware, results.RebootKexec, results.RebootSoft),
	"THREE":     slower("three.json", "x", "y", "z"), "OTHER": slower("other.json", "w"),
	"STOPPING": built(func(t *testing.T) *builder { return newExperimentOf(t, stoppingText) }),
	"SCHEDULE": func(t *testing.T, _ string) string { return newExperiment(t).path("schedule") },
	"CUTSCHEDULE": built(func(t *testing.T) *builder {
		b := mixed(t)
		b.must(os.Truncate(b.path("schedule"), 1100))
		return b
	}),
	"NOSCHEDULE": built(func(t *testing.T) *builder {
		b := complete(t)
		b.must(os.Remove(b.path("schedule")))
		return b
	}),
	"FIFO":    func(t *testing.T, dir string) string { return fifo(t, filepath.Join(dir, "x.csv")) },
	"PILOT":   func(t *testing.T, dir string) string { return pilotDirectory(t, dir, "pilot", 1, "noisy") },
	"JMH":     func(t *testing.T, dir string) string { return stepFile(t, dir, 1) },
	"JMH2":    func(t *testing.T, dir string) string { return stepFile(t, dir, 2) },
	"GO":      text("a.txt", goText(3, 100)),
	"UOPTIME": text("v1.csv", uoptimeText(1, 1)), "UOPTIME2": text("v2.csv", uoptimeText(2, 1.3)),
	"UOPTIME3": text("v3.csv", uoptimeText(3, 1.1)),
	"NOTES":    text("notes.txt", "x"), "BROKEN": text("broken.json", `{"wallclock_times": 5}`),
	"CRASHED": text("crash.json", `{"wallclock_times": {"a:b:c": [[], []]}}`),
	"BADCSV":  text("bad.csv", "b_name,ir_pos,sr_pos,it_pos,bed_pos,ns_per_op\nB,1,1,1,1,x\n"),
	"GZIP":    text("x.gz", "\x1f\x8bxx"),
	"PACKED": func(t *testing.T, dir string) string {
		packed := gzipped(t, uoptimeText(1, 1), 0)
		return writeText(t, filepath.Join(dir, "v.csv.gz"), string(packed))
	},
	"UNSTEADY":   text("none.csv", "benchmark,fork,classification,steady_state_starts\n"),
	"WRONG":      text("wrong.toml", "[experiment]\nexecutionss = 2\n"),
	"WRONGMUTE":  text("mute.toml", "[[mute]]\nkeys = \"a\"\n"),
	"THROUGHPUT": text("ops.json", `[{"benchmark":"x","primaryMetric":{"scoreUnit":"ops/s","rawData":[[1]]}}]`),
}

func built(experiment func(*testing.T) *builder) func(*testing.T, string) string {
	return func(t *testing.T, _ string) string { return experiment(t).dir() }
}

func text(name, content string) func(*testing.T, string) string {
	return func(t *testing.T, dir string) string { return writeText(t, filepath.Join(dir, name), content) }
}

func restarted(kinds ...string) func(*testing.T, string) string {
	return func(t *testing.T, _ string) string { return ladderDirectory(t, 1, 0, kinds...) }
}

// slower are results of hyperfine, each 25 % slower than the one before.
func slower(name string, commands ...string) func(*testing.T, string) string {
	var list []string
	for i, command := range commands {
		var times []string
		for k := range 10 {
			times = append(times, fmt.Sprint((1+0.25*float64(i))*(1+0.001*float64(k%3))))
		}
		list = append(list, fmt.Sprintf(`{"command":%q,"times":[%s]}`, command, strings.Join(times, ",")))
	}
	return text(name, `{"results":[`+strings.Join(list, ",")+`]}`)
}

// constant is an experiment of so many executions without noise.
func constant(executions int) func(*testing.T, string) string {
	return func(t *testing.T, _ string) string {
		return seriesDirectory(t, executions, func(slot int) ([]int64, string) {
			wall := make([]int64, 400)
			for i := range wall {
				wall[i] = 1e8 + int64(slot*1000+i%7)
			}
			return wall, results.RebootNone
		})
	}
}

func analyzedByPaper(t *testing.T, dir string) string {
	in := krundDirectory(t, dir)
	analyzed(t, "--mode", "paper", in).works(t)
	return in
}

// runLine runs a command of a file in a directory of its own, in which its inputs are.
func runLine(t *testing.T, command string) ran {
	t.Helper()
	dir, was := t.TempDir(), must.Get(os.Getwd())(t)
	t.Chdir(dir)
	defer t.Chdir(was)
	must.Do(t, os.Mkdir("TMP", 0o755))
	made, names := map[string]string{}, []string{}
	args := strings.Fields(command)
	for i, word := range args {
		name := strings.TrimSuffix(word, ".toml")
		make := inputOf[name]
		if make == nil {
			continue
		}
		if made[name] == "" {
			made[name] = make(t, dir)
			if within, err := filepath.Rel(dir, made[name]); err == nil && filepath.IsLocal(within) {
				made[name] = within // names are part of what is printed
			} else {
				names = append(names, filepath.Dir(made[name]), "TMP")
			}
		}
		if args[i] = made[name]; name != word {
			args[i] = strings.TrimSuffix(made[name], ".krun") + ".toml"
		}
	}
	r := krunctl(t, args...)
	r.stdout, r.stderr = strings.NewReplacer(names...).Replace(r.stdout),
		strings.NewReplacer(names...).Replace(r.stderr)
	return r
}

// eachLine calls test with the cells of each line of a file, which " | " separates.
func eachLine(t *testing.T, file string, test func(t *testing.T, cells []string)) {
	t.Helper()
	for line := range strings.Lines(string(must.Get(os.ReadFile(file))(t))) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			cells := strings.Split(line, " | ")
			t.Run(cells[0], func(t *testing.T) { test(t, cells) })
		}
	}
}

// TestCommands: see testdata/commands.txt.
func TestCommands(t *testing.T) {
	eachLine(t, "testdata/commands.txt", func(t *testing.T, cells []string) {
		r := runLine(t, cells[0])
		must.Be(t, strconv.Itoa(r.code) == cells[1] && strings.Contains(r.text(), cells[2]) &&
			(r.code != exitUsage || r.stdout == ""), r.text())
	})
}

// TestGoldens: see testdata/goldens.txt.
func TestGoldens(t *testing.T) {
	eachLine(t, "testdata/goldens.txt", func(t *testing.T, cells []string) {
		golden(t, cells[0], runLine(t, cells[1]).text())
	})
}

// Per nanosecond: a processor of 2 GHz.
const baseRate = 2

// withRatios gives a record APERF and MPERF of two cores: the first one is busy
// and has APERF/MPERF as given, iteration by iteration; the second one is idle.
func withRatios(rec results.Record, ratios ...float64) results.Record {
	busy, idle := 0, 1
	var a0, m0, a1, m1 []uint64
	for i, wall := range rec.WallNS {
		cycles := uint64(wall) * baseRate
		m0 = append(m0, cycles)
		a0 = append(a0, uint64(float64(cycles)*ratios[i%len(ratios)]))
		m1 = append(m1, cycles/10000)
		a1 = append(a1, cycles/20000) // a ratio of 0.5 that means nothing
	}
	rec.CounterSource, rec.CounterReason = "perf", "perf: available"
	rec.Columns = []results.Column{
		{Name: "aperf", Unit: "cycles", Kind: results.KindCounter, Core: &busy, Counts: a0},
		{Name: "mperf", Unit: "cycles", Kind: results.KindCounter, Core: &busy, Counts: m0},
		{Name: "aperf", Unit: "cycles", Kind: results.KindCounter, Core: &idle, Counts: a1},
		{Name: "mperf", Unit: "cycles", Kind: results.KindCounter, Core: &idle, Counts: m1},
	}
	return rec
}

// next appends a completed record of the next slot, as change makes it.
func (b *builder) next(change func(results.Record) results.Record) {
	b.t.Helper()
	slot, err := b.sched.Begin()
	b.must(err)
	b.append(change(b.record(slot, results.Completed)))
	b.must(b.sched.Finish(slot, schedule.Completed))
}

// TestAmperfLimits: the limits are those of the configuration.
func TestAmperfLimits(t *testing.T) {
	for limits, code := range map[string]int{"ratio_tolerance = 0.1": exitError,
		"ratio_tolerance = 0.6": exitOK, "ratio_tolerance = 0.1\nbusy_threshold = 1e12": exitOK} {
		b := clockedOf(newExperimentOf(t, experimentText+"[verdict]\n"+limits))
		krunctl(t, "show", "--counters", b.dir()).says(t, code, "", "", limits)
	}
}

// clocked has an execution at the base frequency, one without counters, one
// with turbo in each second iteration, and one that was throttled.
func clocked(t *testing.T) *builder { return clockedOf(newExperiment(t)) }

// clockedOf runs these executions.
func clockedOf(b *builder) *builder {
	b.next(func(r results.Record) results.Record { return withRatios(r, 1, 1.01) })
	b.next(func(r results.Record) results.Record { r.Columns = nil; return r })
	b.next(func(r results.Record) results.Record { return withRatios(r, 1, 1.25) })
	b.next(func(r results.Record) results.Record { return withRatios(r, 0.5) })
	return b
}

// calibrated has an execution of an idle machine, and two that keep a processor busy.
func calibrated(t *testing.T) *builder {
	b := newExperiment(t)
	resting := func(r results.Record) results.Record {
		r = withRatios(r, 1)
		r.Columns[0].Counts, r.Columns[1].Counts = r.Columns[2].Counts, r.Columns[3].Counts
		return r
	}
	working := func(r results.Record) results.Record {
		r = withRatios(r, 1, 1.004, 0.99)
		r.Columns = r.Columns[:2]
		return r
	}
	b.next(resting)
	b.next(working)
	b.next(working)
	return b
}

// started is an experiment whose n-th execution takes longer to start than the
// one before, and whose error has no say.
func started(t *testing.T) *builder {
	b := newExperiment(t)
	for i := range b.cfg.Slots() {
		slot, err := b.sched.Begin()
		b.must(err)
		outcome := results.Completed
		if i == 4 {
			outcome = results.Error
		}
		rec := b.record(slot, outcome)
		late := int64(i) * 100_000
		*rec.Startup.InitNS += late
		*rec.Startup.FirstNS += 2 * late
		for j := range rec.StartNS {
			rec.StartNS[j] += 2 * late
		}
		b.append(rec)
		flag := schedule.Completed
		if outcome == results.Error {
			flag = schedule.Error
		}
		b.must(b.sched.Finish(slot, flag))
	}
	return b
}

// stoppingText is an experiment that ends keys and executions early: 4 keys of 6 executions, of
// which 3 are needed at least, and 40 iterations, of which 2 to 8 steps of 4 are needed.
var stoppingText = strings.NewReplacer("executions = 2", "executions = 6\nseed = 5", "iterations = 4",
	"iterations = 40", "iterations = 3\n", "").Replace(experimentText) + `
[stop]
rules = ["halfwidth"]
halfwidth = 0.05
[stop.iterations]
criterion = "cv"
step = "4"
warmup_min = 5
warmup_max = 6
measure = 2
`

// TestStatusOfStoppedIterations: status has what was saved, and what is left.
func TestStatusOfStoppedIterations(t *testing.T) {
	b := newExperimentOf(t, stoppingText)
	slot, err := b.sched.Begin()
	b.must(err)
	r := b.record(slot, results.Completed)
	r.WallNS, r.StartNS, r.Columns = r.WallNS[:28], r.StartNS[:28], nil
	b.append(r)
	b.must(b.sched.Finish(slot, 'C'))
	text := krunctl(t, "status", b.dir()).stdout
	for _, want := range []string{"\nreboots      none\n",
		"the last 1 execution ran 28 of 40 iterations (stop.iterations)",
		"left         11 to 23 executions"} {
		must.Contain(t, text, want)
	}
}

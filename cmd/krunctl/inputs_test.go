package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"krund/internal/experiment/results"
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

// Command timepairs times pairs of commands with hyperfine and with `krunctl time`, which both
// inherit the same environment, and prints a table. The two commands of a pair do the same work,
// and a variable of the environment decides which of them is faster. It ends with status 1 if the
// tools disagree about the faster one of any pair.
//
//	timepairs [-runs N] KRUNCTL
//
// A pair whose programs are not installed is left out. `make time-pairs` runs it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"krund/internal/display"
	"krund/internal/trial"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	runs := flag.Int("runs", 10, "timed runs of each command, after one that is not timed")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	differ, err := run(ctx, os.Stdout, flag.Arg(0), *runs)
	if err != nil {
		fmt.Fprintln(os.Stderr, "timepairs:", err)
	}
	if differ > 0 || err != nil {
		os.Exit(1)
	}
}

// run prints the table and returns in how many pairs the tools differ.
func run(ctx context.Context, w io.Writer, krunctl string, runs int) (differ int, err error) {
	krunctl, err = filepath.Abs(krunctl)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "timepairs-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	if err := prepare(ctx, dir); err != nil {
		return 0, err
	}
	fmt.Fprintln(w, "| variable | A | B | hyperfine: A | B | krunctl time: A | B | with `--clean`: A | B |")
	fmt.Fprintln(w, "|---|---|---|---:|---:|---:|---:|---:|---:|")
	for _, p := range pairs(dir) {
		if missing := p.missing(); missing != "" {
			fmt.Fprintln(os.Stderr, "timepairs: left out:", p.name, "needs", missing)
			continue
		}
		t := timer{ctx: ctx, dir: dir, pair: p, runs: strconv.Itoa(runs)}
		other, err1 := t.hyperfine()
		own, err2 := t.krunctl(krunctl)
		clean, err3 := t.krunctl(krunctl, "--clean")
		if err := errors.Join(err1, err2, err3); err != nil {
			return differ, fmt.Errorf("%s: %w", p.name, err)
		}
		remark := ""
		if other.first() != own.first() {
			remark = " **differs**"
			differ++
		}
		fmt.Fprintf(w, "| `%s=%s`%s | `%s` | `%s` | %s | %s | %s |\n", p.name, p.shown(dir), remark, p.a, p.b,
			other.cells(), own.cells(), clean.cells())
	}
	return differ, nil
}

// times are the means of A and B in seconds.
type times [2]float64

// first reports whether A is the faster one.
func (t times) first() bool { return t[0] < t[1] }

// cells writes both, in one unit, the faster one in bold.
func (t times) cells() string {
	unit := display.UnitOf("s").For(min(t[0], t[1]))
	texts := [2]string{unit.Value(t[0]), unit.Value(t[1])}
	faster := 1
	if t.first() {
		faster = 0
	}
	texts[faster] = "**" + texts[faster] + "**"
	return texts[0] + " | " + texts[1]
}

// timer runs the tools on a pair.
type timer struct {
	ctx  context.Context
	dir  string
	pair pair
	runs string
}

// run runs a tool with the environment of the pair, which replaces variables of that name.
func (t timer) run(argv ...string) ([]byte, error) {
	c := exec.CommandContext(t.ctx, argv[0], argv[1:]...)
	c.Dir, c.Env = t.dir, append(os.Environ(), t.pair.name+"="+t.pair.value)
	var messages strings.Builder
	c.Stderr = &messages
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", display.ShellJoin(argv), err, messages.String())
	}
	return out, nil
}

func (t timer) hyperfine() (times, error) {
	file := filepath.Join(t.dir, "hyperfine.json")
	_, err := t.run("hyperfine", "--style", "none", "--warmup", "1", "--runs", t.runs, "--export-json", file,
		t.pair.a, t.pair.b)
	if err != nil {
		return times{}, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return times{}, err
	}
	var doc struct{ Results []struct{ Mean float64 } }
	if err := json.Unmarshal(text, &doc); err != nil || len(doc.Results) != 2 {
		return times{}, fmt.Errorf("hyperfine's JSON has %d results: %w", len(doc.Results), err)
	}
	return times{doc.Results[0].Mean, doc.Results[1].Mean}, nil
}

func (t timer) krunctl(path string, flags ...string) (times, error) {
	argv := append([]string{path, "time", "--warmup", "1", "--runs", t.runs, "--json"}, flags...)
	out, err := t.run(append(argv, t.pair.a, t.pair.b)...)
	if err != nil {
		return times{}, err
	}
	var answer trial.Answer
	if err := json.Unmarshal(out, &answer); err != nil || len(answer.Subjects) != 2 {
		return times{}, fmt.Errorf("krunctl's JSON has %d results: %w", len(answer.Subjects), err)
	}
	for _, r := range answer.Subjects {
		if len(r.Times) == 0 {
			return times{}, fmt.Errorf("%s: no time; is it too short: %t", r.Text, r.TooShort)
		}
	}
	return times{float64(answer.Subjects[0].Mean), float64(answer.Subjects[1].Mean)}, nil
}

// Command killtest kills krund, its guard, the stage and the benchmark with SIGKILL at random
// moments, restarts krund whenever it has ended, and compares krunctl's export with a log that the
// benchmark itself writes.
//
//	go run ./scripts/killtest [KILLS [SEED]]     50 kills by default; the seed repeats the choices
//
// It needs `make build`. check.go contains the checks, victims.go selects the processes to kill. A
// guard exists only if krund changes a setting: the test uses vm.dirty_writeback_centisecs, and
// without permission to write it no guard is killed. Benchmarks run as the caller: accounts are
// tested in the rig. Start reading at test.
package main

import (
	"bytes"
	"context"
	_ "embed" // the benchmarks and the configuration
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"krund/internal/machine/sysroot"
)

//go:embed experiment/bench.c
var benchC []byte

//go:embed experiment/bench.py
var benchPython []byte

//go:embed experiment/config.toml
var config string

// The size of the experiment: it ends, is checked, and is started again many times.
const (
	keys       = 2 * 2 // VMs, arms
	executions = 5
	iterations = 8
)

// setting is the setting that krund changes, so that it has a guard.
const setting = "/proc/sys/vm/dirty_writeback_centisecs"

// longestPause is the longest time between two kills.
const longestPause = 300 * time.Millisecond

// test is one complete run.
type test struct {
	out       io.Writer
	random    *rand.Rand
	work      string // working directory
	directory string // directory of the experiment
	before    string // value of the setting; "" if it cannot be changed here

	kills  map[string]int // by victim, in total
	round  map[string]int // by victim, in this experiment
	starts int
	rounds int
	rows   int // exported iterations that were found in the log

	unguarded bool           // a guard was killed as well, so only the next krund restores the setting
	announced map[int]string // outcome by slot, as printed by krund in this experiment
	size      int64          // size of the schedule
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "killtest:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) (err error) {
	numbers := []uint64{50, 2026}
	for i, arg := range args {
		if i >= len(numbers) {
			return errors.New("usage: killtest [KILLS [SEED]]")
		}
		if numbers[i], err = strconv.ParseUint(arg, 10, 31); err != nil {
			return fmt.Errorf("usage: killtest [KILLS [SEED]]: %w", err)
		}
	}
	work, err := os.MkdirTemp("", "killtest-")
	if err != nil {
		return err
	}
	t := &test{
		out: out, random: rand.New(rand.NewPCG(numbers[1], 0)),
		work: work, directory: filepath.Join(work, "test.krun"),
		kills: map[string]int{}, round: map[string]int{}, announced: map[int]string{},
	}
	if err := t.prepare(); err != nil {
		return err
	}
	err = t.killAll(int(numbers[0]))
	fmt.Fprintf(out, "seed %d: %d starts of krund, %d experiments, kills: %s; %d iterations exported\n",
		numbers[1], t.starts, t.rounds, t.tally(), t.rows)
	if err != nil {
		if t.before != "" { // krund may have failed to restore it
			err = errors.Join(err, os.WriteFile(setting, []byte(t.before), 0))
		}
		return fmt.Errorf("%w\n%s is kept for inspection", err, work)
	}
	fmt.Fprintln(out, "nothing lost, nothing twice, and the benchmark's own log agrees")
	return os.RemoveAll(work)
}

// prepare creates the experiment.
func (t *test) prepare() error {
	if text, err := os.ReadFile(setting); err == nil && os.WriteFile(setting, text, 0) == nil {
		t.before = strings.TrimSpace(string(text))
	}
	policy := "require"
	if t.before == "" || t.before == "0" {
		policy, t.before = "off", ""
		fmt.Fprintf(t.out, "no guard is killed: krund has none, because %s cannot be changed here\n", setting)
	}
	dir := filepath.Join(t.work, "benchmarks", "logs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text := strings.NewReplacer("EXECUTIONS", strconv.Itoa(executions), "ITERATIONS",
		strconv.Itoa(iterations),
		"\"LOG\"", strconv.Quote(t.log()), "WRITEBACK", policy).Replace(config)
	for name, content := range map[string][]byte{
		filepath.Join(dir, "bench.c"): benchC, filepath.Join(dir, "bench.py"): benchPython,
		t.config(): []byte(text), t.log(): nil,
	} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	compile := exec.CommandContext(context.Background(), cc, "-shared", "-fPIC", "-o", "bench.so", "bench.c")
	compile.Dir = dir
	out, err := compile.CombinedOutput()
	if err != nil {
		return fmt.Errorf("compile the benchmark: %w\n%s", err, out)
	}
	return nil
}

func (t *test) config() string { return filepath.Join(t.work, "test.toml") }
func (t *test) log() string    { return filepath.Join(t.work, "log") }

// killAll performs all kills and then lets krund finish.
func (t *test) killAll(kills int) error {
	for killed := 0; killed < kills; {
		k, err := t.start()
		if err != nil {
			return err
		}
		for killed < kills && k.alive() {
			pause(t.random, longestPause)
			if t.kill(k, t.choose()) {
				killed++
			}
		}
		if err := t.ended(k); err != nil {
			return err
		}
	}
	for before := t.rounds; t.rounds == before; { // finish the current experiment
		k, err := t.start()
		if err == nil {
			err = t.ended(k)
		}
		if err != nil {
			return err
		}
	}
	return t.nothingLeft()
}

// choose selects a victim, krund itself more often than each of the others.
func (t *test) choose() string {
	victims := []string{victimKrund, victimKrund, victimStage, victimBenchmark, victimAll}
	if t.before != "" {
		victims = append(victims, victimGuard)
	}
	return victims[t.random.IntN(len(victims))]
}

// krund is a started krund.
type krund struct {
	cmd    *exec.Cmd
	stdout bytes.Buffer
	done   chan struct{}
	killed map[string]bool // victims killed while it ran
}

func (k *krund) alive() bool {
	select {
	case <-k.done:
		return false
	default:
		return true
	}
}

// start starts krund. Its standard error is a file, because its guard shares it and may outlive it.
func (t *test) start() (*krund, error) {
	stderr, err := os.OpenFile(t.stderr(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer stderr.Close() //nolint:errcheck // krund has its own descriptor
	k := &krund{
		cmd:  exec.CommandContext(context.Background(), "build/bin/krund", "run", t.config()),
		done: make(chan struct{}), killed: map[string]bool{},
	}
	k.cmd.Stdout, k.cmd.Stderr = &k.stdout, stderr
	if err := k.cmd.Start(); err != nil {
		return nil, err
	}
	t.starts++
	go func() {
		defer close(k.done)
		_ = k.cmd.Wait() // see ProcessState
	}()
	return k, nil
}

func (t *test) stderr() string { return filepath.Join(t.work, "stderr") }

// ended waits for the end of krund and checks its status and output. If the experiment is finished,
// it is checked and the next one is started.
func (t *test) ended(k *krund) error {
	<-k.done
	if err := t.hear(k.stdout.String()); err != nil {
		return err
	}
	if err := t.sameSize(); err != nil {
		return err
	}
	said, err := os.ReadFile(t.stderr())
	if err != nil {
		return err
	}
	switch code := k.cmd.ProcessState.ExitCode(); {
	case code == -1 && (k.killed[victimKrund] || k.killed[victimAll]):
		t.unguarded = t.unguarded || k.killed[victimGuard] || k.killed[victimAll]
		if t.random.IntN(4) == 0 {
			return t.guardsGone() // otherwise the next krund has to deal with them
		}
		return nil
	case code == 0, code == 4: // 4: lost attempts may have used up those of a slot
		return t.finished()
	case code == 1 && bytes.Contains(said, []byte("is running this experiment")): // a guard is still running
		pause(t.random, longestPause/10)
		return nil
	case code == 1 && k.killed[victimGuard] && bytes.Contains(said, []byte("start the guard")):
		return nil
	default:
		return fmt.Errorf("krund ended with %s after kills of %v:\n%s", k.cmd.ProcessState, k.killed, said)
	}
}

// pause waits for a random time.
func pause(random *rand.Rand, most time.Duration) { sleep(time.Duration(random.Int64N(int64(most)))) }

// this context never ends
func sleep(d time.Duration) { _ = sysroot.RealClock{}.Sleep(context.Background(), d) }

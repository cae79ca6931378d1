// Command childbench prints what running a benchmark costs: the daemon's own processor time,
// context switches and size while a quiet benchmark runs, and the time that krund adds around a
// short one. It is run by make bench.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"krund/internal/execution/child"
)

func main() {
	child.Stage()
	quiet := flag.Duration("for", 10*time.Second, "how long the quiet benchmark runs")
	runs := flag.Int("runs", 50, "how often the short benchmark runs")
	flag.Parse()
	if err := bench(os.Stdout, *quiet, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "childbench:", err)
		os.Exit(1)
	}
}

func bench(w io.Writer, quiet time.Duration, runs int) error {
	sleep := child.Command{Path: "/bin/sleep", Args: []string{"sleep", fmt.Sprintf("%.3f", quiet.Seconds())}}
	if err := benchWait(w, "quiet benchmark", sleep); err != nil {
		return err
	}
	// A line about every millisecond, which is more than any iteration should print.
	const loop = "while :; do echo iteration; sleep 0.001; done"
	talk := child.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", loop}, Env: []string{"PATH=/usr/bin:/bin"},
		Limits: child.Limits{Timeout: quiet},
	}
	if err := benchWait(w, "benchmark that prints", talk); err != nil {
		return err
	}
	return benchShort(w, runs)
}

// benchWait measures the daemon while a benchmark runs.
func benchWait(w io.Writer, name string, c child.Command) error {
	run, err := child.Runner{}.Run(context.Background(), c)
	if err != nil {
		return err
	}
	if run.NotStarted != nil {
		return errors.New(run.NotStarted.String())
	}
	d := run.Daemon
	fmt.Fprintf(w, "%s: %v, %d bytes of output: daemon CPU %v, "+
		"switches %d voluntary %d involuntary, resident %.1f MiB\n",
		name, run.Wall.Round(time.Millisecond), run.Stdout.Bytes,
		d.CPU, d.VoluntarySwitches, d.InvoluntarySwitches, float64(d.RSS)/(1<<20))
	return nil
}

// benchShort measures, in medians, the three parts of a run of true(1): from the call until execve,
// the program itself, and from its end until Run returns. The last two are measured together,
// because only krund sees where one ends.
func benchShort(w io.Writer, runs int) error {
	file, err := os.CreateTemp("", "childbench-")
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	if err := errors.Join(os.Remove(file.Name()), file.Truncate(8)); err != nil {
		return err
	}
	var before, after []time.Duration
	for range runs {
		start := now()
		run, err := child.Runner{}.Run(context.Background(), child.Command{Path: "/bin/true", Stamp: file})
		end := now()
		if err != nil {
			return err
		}
		if run.NotStarted != nil {
			return errors.New(run.NotStarted.String())
		}
		var stamp [8]byte
		if _, err := file.ReadAt(stamp[:], 0); err != nil {
			return err
		}
		exec := int64(binary.NativeEndian.Uint64(stamp[:]))
		before = append(before, time.Duration(exec-start))
		after = append(after, time.Duration(end-exec))
	}
	fmt.Fprintf(w, "short benchmark, median of %d: call to execve %v, execve to return %v\n",
		runs, median(before), median(after))
	return nil
}

func median(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[len(sorted)/2]
}

// now is the clock of the stamp.
func now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(stampClock, &ts); err != nil {
		panic(err) // every system krund runs on has it
	}
	return ts.Nano()
}

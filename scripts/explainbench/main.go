//go:build linux

// Command explainbench runs the programs in benchmarks/causes, which slow down in known iterations
// for a known cause, with every VM of this machine, and scores what krunctl explain says about
// them. A case is a process execution. It also lets a task compete for the processor of a
// benchmark. At the end it shifts the evidence of all these records at random, after which nothing
// should be explained; with -control only that, of any experiments.
//
//	explainbench [-executions 4] [-seeds 21,46] [-keep DIR] BUILD
//	explainbench -control EXPERIMENT...
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/explain"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "explainbench:", err)
		os.Exit(1)
	}
}

// bench is one run of this program.
type bench struct {
	build, dir string
	seeds      []int
	executions int
	out        io.Writer
	measured   []string // experiments
}

func run(ctx context.Context, args []string, out io.Writer) error {
	b := bench{out: out}
	f := flag.NewFlagSet("explainbench", flag.ContinueOnError)
	f.IntVar(&b.executions, "executions", 4, "process executions of each program and seed")
	seeds := f.String("seeds", "21,46", "parameters of the programs")
	only := f.String("only", "", "only this VM")
	keep := f.String("keep", "",
		"keep the experiments in this directory; those of an earlier run are scored again")
	onlyControl := f.Bool("control", false, "only shift the evidence of these experiments")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *onlyControl {
		return control(out, f.Args())
	}
	for _, s := range strings.Split(*seeds, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			return fmt.Errorf("-seeds: %w", err)
		}
		b.seeds = append(b.seeds, n)
	}
	var err error
	if b.build, err = filepath.Abs(f.Arg(0)); err != nil {
		return err
	}
	b.dir = *keep
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "explainbench"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(b.dir) }()
	}
	if b.dir, err = filepath.Abs(b.dir); err != nil {
		return err
	}
	return b.all(ctx, *only)
}

// all runs every VM and prints the table.
func (b *bench) all(ctx context.Context, only string) error {
	table := map[[2]string]*score{}
	for _, vm := range vms {
		if _, err := exec.LookPath(vm.program); err != nil || only != "" && only != vm.name {
			continue
		}
		for _, competitor := range []bool{false, true} {
			x := experiment{bench: b, vm: vm, competitor: competitor}
			if err := x.run(ctx, table); err != nil {
				return fmt.Errorf("%s: %w", vm.name, err)
			}
			fmt.Fprintf(os.Stderr, "%s measured\n", vm.name)
		}
	}
	b.print(table)
	return control(b.out, b.measured)
}

// print prints the scores by cause and VM, and the totals.
func (b *bench) print(table map[[2]string]*score) {
	fmt.Fprintf(b.out, "%-11s %-9s %6s %6s %6s %6s %6s %10s %10s\n", "cause", "VM", "cases", "found", "right",
		"wrong", "silent", "precision", "recall")
	var total score
	line := func(cause, vm string, s *score) {
		fmt.Fprintf(b.out, "%-11s %-9s %6d %6d %6d %6d %6d %10s %10s\n", cause, vm, s.cases, s.found, s.right,
			s.wrong, s.found-s.right-s.wrong, ratio(s.right, s.right+s.wrong), ratio(s.right, s.found))
	}
	for _, cause := range causes {
		var sum score
		for _, vm := range vms {
			s := table[[2]string{cause.name, vm.name}]
			if s == nil {
				if !cause.absent(vm.name) {
					fmt.Fprintf(b.out, "%-11s %-9s not measured: no program, or no such VM here\n",
						cause.name, vm.name)
				}
				continue
			}
			line(cause.name, vm.name, s)
			sum.add(s)
		}
		line(cause.name, "all", &sum)
		total.add(&sum)
	}
	line("all", "all", &total)
	fmt.Fprintln(b.out, "the separate competitor, with and without iterations in which three executions or "+
		"more have outliers:")
	for _, which := range []string{everywhere, irregular} {
		var sum score
		for _, vm := range vms {
			sum.add(scoreOf(table, which, vm.name))
		}
		line(which, "all", &sum)
	}
	fmt.Fprintf(b.out, "named where nothing was injected (other programs of the machine may be the cause): "+
		"%d of %d outliers and changepoints\n", total.elsewhere, total.others)
}

func ratio(a, b int) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", float64(a)/float64(b))
}

// score counts cases.
type score struct {
	cases, found, right, wrong int
	others, elsewhere          int // findings where nothing was injected, and those with a cause
}

func (s *score) add(t *score) {
	s.cases += t.cases
	s.found += t.found
	s.right += t.right
	s.wrong += t.wrong
	s.others += t.others
	s.elsewhere += t.elsewhere
}

// judge adds an execution. A case is found if the analysis has an outlier or a changepoint where
// the cause was; right if most of them (of changepoints: one) have its name; wrong if most have
// another.
func (s *score) judge(x *explain.Execution, c cause, injected []int) {
	list := x.Outliers
	if c.step { // the iteration in which the VM compiles may be an outlier
		list = slices.Clone(x.Changepoints)
		for _, f := range x.Outliers {
			if f.Iteration >= injected[0]-early && f.Iteration <= injected[0]+early {
				list = append(list, f)
			}
		}
	}
	found, right, wrong := 0, 0, 0
	for i := range list {
		f := &list[i]
		named := f.Cause != "" && !f.Cause.Symptom()
		switch {
		case !c.covers(injected, f.Iteration):
			s.others++
			if named {
				s.elsewhere++
			}
			continue
		case f.Cause == c.cause:
			right++
		case named:
			wrong++
		}
		found++
	}
	s.cases++
	if found == 0 {
		return
	}
	s.found++
	switch {
	case 2*right >= found || c.step && right > 0:
		s.right++
	case 2*wrong >= found || c.step && wrong > 0:
		s.wrong++
	}
}

// explained runs krunctl explain.
func (b *bench) explained(ctx context.Context, dir string) (*explain.Document, error) {
	command := exec.CommandContext(ctx, filepath.Join(b.build, "bin/krunctl"), "explain", "--json", dir)
	command.Stderr = os.Stderr
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("krunctl explain %s: %w", dir, err)
	}
	var doc explain.Document
	return &doc, json.Unmarshal(text, &doc)
}

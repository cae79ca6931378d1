package pilot

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"krund/internal/analysis/enough"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/key"
	"krund/internal/reading/experiment"
)

// mark begins what Configuration has added.
const mark = "\n# What krunctl enough found in "

// Configuration returns the configuration of the experiment that is enough, at path: a copy of that
// of the pilot with other numbers of executions. For a change it is a new experiment, of one side;
// for a level the second stage, without the executions of the pilot, and without the keys of which
// these are enough. Keys without a number stay as they are. Unless anywhere, path must be beside
// the experiment.
func Configuration(fsys durable.FS, arg, path, host string, doc *enough.Document,
	change, anywhere bool) ([]byte, error) {
	dir := filepath.Dir(experiment.DirectoryOf(arg))
	own, err := filepath.Abs(dir)
	there, err2 := filepath.Abs(filepath.Dir(path))
	if !anywhere && (err != nil || err2 != nil || own != there) {
		return nil, experiment.Usage(fmt.Errorf("--write: paths in the configuration are relative to %s; "+
			"write it there", dir))
	}
	if !(experiment.Reader{FS: fsys}).IsExperiment(arg) {
		return nil, experiment.Usage(fmt.Errorf("--write: %s is no experiment of krund, which has a "+
			"configuration", arg))
	}
	e, err := experiment.Open(fsys, experiment.Parts(fsys, arg)[0])
	if err != nil {
		return nil, err
	}
	cfg, err := e.Config(host)
	if err != nil {
		return nil, err
	}
	text, err := durable.ReadFile(fsys, e.ConfigCopy())
	if err != nil {
		return nil, fmt.Errorf("read the experiment's configuration: %w", err)
	}
	text, _, _ = bytes.Cut(text, []byte(mark))
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s: docs/enough.md\n", mark, display.Terminal(arg))
	done, sizes, err := sizesOf(doc, change)
	if err != nil {
		return nil, err
	}
	if len(sizes) == 0 {
		return nil, errors.New("--write: there is nothing more to measure, or nothing is known; nothing is " +
			"written")
	}
	if len(done) > 0 {
		for i := len(cfg.Experiment.Skip) - 1; i >= 0; i-- {
			done = slices.Insert(done, 0, cfg.Experiment.Skip[i].String())
		}
		fmt.Fprint(&b, "[machines.\"*\".experiment]\nskip = [\n")
		for _, k := range done {
			fmt.Fprintf(&b, "  %q,\n", k)
		}
		fmt.Fprint(&b, "]\n")
	}
	for _, z := range sizes {
		fmt.Fprintf(&b, "[machines.\"*\".benchmarks.%q.vms.%q]\nexecutions = %d\n", z.benchmark, z.vm,
			z.executions)
	}
	text = append(text, b.String()...)
	if _, err := experiment.ParseText(path, string(text), host); err != nil {
		return nil, fmt.Errorf("--write: the configuration of %s cannot be extended: %w", arg, err)
	}
	return text, nil
}

// size is the number of executions of a benchmark in a VM: the largest of its variants and arms.
type size struct {
	benchmark, vm string
	executions    int
}

// sizesOf returns the numbers, and the keys that are measured often enough.
func sizesOf(doc *enough.Document, change bool) (done []string, sizes []size, err error) {
	for i := range doc.Keys {
		d := &doc.Keys[i]
		k, err := key.Parse(d.Key)
		if err != nil {
			return nil, nil, fmt.Errorf("--write: %w", err)
		}
		n := d.ForChange.Sure
		if !change {
			if d.ForLevel.TwoStages == 0 {
				continue
			}
			if n = d.ForLevel.TwoStages - d.Executions; n <= 0 {
				if k.Arm == "" { // arms of a block stay together
					done = append(done, d.Key)
				}
				continue
			}
		}
		if n == 0 {
			continue
		}
		at := slices.IndexFunc(sizes, func(z size) bool { return z.benchmark == k.Benchmark && z.vm == k.VM })
		if at < 0 {
			at = len(sizes)
			sizes = append(sizes, size{benchmark: k.Benchmark, vm: k.VM})
		}
		sizes[at].executions = max(sizes[at].executions, n)
	}
	return done, sizes, nil
}

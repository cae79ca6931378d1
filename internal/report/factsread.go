package report

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"krund/internal/durable"
	"krund/internal/machine/noise"
	"krund/internal/reading/experiment"
)

// FactsOf reads the facts in the records of the experiment arg, of each machine; nil for files of
// other tools. say gets what is left out.
func FactsOf(fsys durable.FS, in experiment.Input, arg string, say func(string, ...any)) (*Facts, error) {
	if in.Data.Format != experiment.Format {
		return nil, nil
	}
	parts := experiment.Parts(fsys, arg)
	if len(parts) == 1 {
		return factsOfPart(fsys, in, parts[0], say)
	}
	all := &Facts{}
	for _, part := range parts {
		facts, err := factsOfPart(fsys, in, part, say)
		if err != nil {
			return nil, err
		}
		if facts.Records > 0 {
			facts.Machine = experiment.MachineOf(part)
			all.Machines = append(all.Machines, facts)
		}
	}
	return all, nil
}

// factsOfPart reads the facts of one machine.
func factsOfPart(fsys durable.FS, in experiment.Input, arg string, say func(string, ...any)) (*Facts,
	error) {
	f, err := experiment.Open(fsys, arg)
	if err != nil {
		return nil, err
	}
	facts, err := ReadFacts(f.Reader(), in.Pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Dir(), err)
	}
	switch c, err := noise.Read(fsys, filepath.Join(f.Dir(), "noise.json")); {
	case err == nil:
		facts.Noise = c.Summary(facts.First)
	case !errors.Is(err, fs.ErrNotExist):
		say("the noise certificate is left out: %s", err)
	}
	return facts, nil
}

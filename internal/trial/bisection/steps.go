package bisection

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/sequential"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/key"
	"krund/internal/reading/experiment"
)

// Read reads the steps that were measured. waiting is the configuration of the one that has not
// ended. If *retry is set, a step of a hub that gave nothing is forgotten, so that it is measured
// again, and *retry is cleared. host is the name of this machine.
func (b *Bisection) Read(r experiment.Reader, host string, retry *bool) (versions []sequential.BisectVersion,
	steps int, waiting string, err error) {
	versions = make([]sequential.BisectVersion, len(b.Plan.Versions))
	for v := range versions {
		versions[v].Skip = b.Skipped(v)
	}
	for {
		file, exists := b.Step(steps + 1)
		if !exists {
			return versions, steps, "", nil
		}
		steps++
		cfg, err := experiment.ParseConfig(b.FS, file, host)
		if err != nil {
			return nil, 0, "", err
		}
		v, err := b.candidateOf(cfg, file)
		if err != nil {
			return nil, 0, "", err
		}
		dir, ended, err := b.measured(file)
		if err != nil {
			return nil, 0, "", err
		}
		if !ended {
			return versions, steps, file, nil
		}
		differences, err := differences(r, dir, b.Plan.Key)
		if err != nil {
			return nil, 0, "", err
		}
		versions[v].Differences = append(versions[v].Differences, differences...)
		if len(differences) > 0 || versions[v].Skip {
			continue
		}
		if *retry && b.Plan.To != "" {
			*retry = false
			return versions, steps, file, b.Forget(file)
		}
		if v == len(versions)-1 {
			again := "`krunctl run --again` it"
			if b.Plan.To != "" {
				again = "--retry"
			}
			return nil, 0, "", fmt.Errorf("%s: no block of %s was completed in both arms; find out why "+
				"(krunctl status %s), then %s", file, b.Plan.Key, display.ShellPath(dir), again)
		}
		versions[v].Skip = true
		if err := b.Skip(v, "no block of "+file+" was completed"); err != nil {
			return nil, 0, "", err
		}
	}
}

// candidateOf returns the version that a step measures.
func (b *Bisection) candidateOf(cfg *config.Config, file string) (int, error) {
	for _, arm := range cfg.Arms {
		if arm.Name == Candidate {
			if v := slices.Index(b.Plan.Versions, arm.Revision); v > 0 {
				return v, nil
			}
		}
	}
	return 0, fmt.Errorf("%s: the revision of [arms.%s] is no version of this bisection; the template needs "+
		`revision = "@CANDIDATE@" there`, file, Candidate)
}

// measured returns the directory of what was measured of a step, and whether all of its slots are
// final.
func (b *Bisection) measured(step string) (dir string, ended bool, err error) {
	if b.Plan.To != "" {
		dir = Results(step)
		_, err := b.FS.Lstat(dir)
		return dir, err == nil, nil
	}
	return Measured(b.FS, step)
}

// Measured returns the directory of what was measured with a configuration, and whether all of its
// slots are final.
func Measured(fsys durable.FS, file string) (dir string, ended bool, err error) {
	dir = directory.For(file)
	if _, err := fsys.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return dir, false, nil
	}
	e, err := experiment.Open(fsys, dir)
	if err != nil {
		return dir, false, err
	}
	s, err := e.OpenSchedule()
	if err != nil {
		return dir, false, err
	}
	sum, err := s.Summarize()
	return dir, sum.Outstanding+sum.Running == 0, errors.Join(err, s.Close())
}

// differences returns the differences of the logarithms of both arms in each complete block.
func differences(r experiment.Reader, dir, key string) ([]float64, error) {
	r.NoPerformance = true
	in, doc, err := r.Analyzed(dir, key, nil)
	if err != nil {
		return nil, err
	}
	blocks := map[string]map[block]float64{Good: {}, Candidate: {}}
	for i := range in.Data.Pairs {
		arm := in.Data.Pairs[i].Key.Arm
		if blocks[arm] == nil {
			continue
		}
		for _, e := range compare.Executions(&in.Data.Pairs[i], &doc.Pairs[i], doc.Parameters.Column) {
			if !(e.Value > 0) {
				return nil, fmt.Errorf("%s: a value of %s is not positive: no change is a percentage of it",
					dir, key)
			}
			blocks[arm][block{e.Machine, e.Number}] = math.Log(e.Value)
		}
	}
	byMachine := func(x, y block) int {
		return cmp.Or(cmp.Compare(x.machine, y.machine), cmp.Compare(x.number, y.number))
	}
	var list []float64
	for _, at := range slices.SortedFunc(maps.Keys(blocks[Good]), byMachine) {
		if candidate, ok := blocks[Candidate][at]; ok {
			list = append(list, candidate-blocks[Good][at])
		}
	}
	return list, nil
}

// block is one of a step. A part that another machine began anew has the numbers of the former one.
type block struct {
	machine string
	number  int
}

// CheckTemplate reports mistakes of the template before anything is written or built: the plan does
// not change afterwards. host is the name of the machine that measures.
func (p *Plan) CheckTemplate(fsys durable.FS, dir, host string) error {
	wanted, err := key.Parse(p.Key)
	if err != nil || wanted.Arm != "" {
		return experiment.Usage(fmt.Errorf("--key %.200q is not one key without an arm: "+
			"benchmark:vm:variant", p.Key))
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("find %s: %w", dir, err)
	}
	b := Bisection{FS: fsys, Dir: dir, Plan: *p}
	file, _ := b.Step(1) // with --to, its name has that of the directory
	text := p.Configuration(dir, len(p.Versions)-1)
	cfg, err := experiment.ParseText(file, text, host)
	if err != nil {
		return fmt.Errorf("--template makes a wrong configuration: %w", err)
	}
	for _, wanted.Arm = range []string{Good, Candidate} {
		if !slices.Contains(cfg.Keys(), wanted) {
			return experiment.Usage(fmt.Errorf("--template: its experiment has no key %s; it has %s", wanted,
				display.Clip(fmt.Sprint(cfg.Keys()), display.MaxMessage)))
		}
	}
	return nil
}

// Text is the answer in a sentence, or what is known before the end.
func (p *Plan) Text(d sequential.BisectDecision) string {
	names := p.Versions
	switch d.Action {
	case sequential.Found:
		return fmt.Sprintf("%s made %s %s, with a probability of %.3f; %s measured", culprit(names, d), p.Key,
			changeWords(d.Change), d.Probability, display.Count(d.Blocks, "block"))
	case sequential.Same:
		return fmt.Sprintf("%s and %s do not differ enough in %s: after %s nothing is shown", names[0],
			names[len(names)-1], p.Key, display.Count(d.Blocks, "block"))
	}
	text := display.Count(d.Blocks, "block") + " measured; "
	if d.Probability == 0 {
		return text + "it is not shown yet that " + names[len(names)-1] + " differs from " + names[0]
	}
	return text + fmt.Sprintf("most probable culprit: %s (%.3f)", culprit(names, d), d.Probability)
}

func culprit(names []string, d sequential.BisectDecision) string {
	return strings.Join(slices.Compact([]string{names[d.First], names[d.Last]}), " to ")
}

func changeWords(ratio float64) string {
	if ratio > 1 {
		return fmt.Sprintf("%.1f%% slower", 100*(ratio-1))
	}
	return fmt.Sprintf("%.1f%% faster", 100*(1-ratio))
}

// otherKeys is the place in a template of the keys that need not be measured.
const otherKeys = `["@OTHER_KEYS@"]`

// Confirmation returns the configuration of an experiment, to be written to file, that measures two
// versions again, and keys of an event with them: a template of a step with a null arm. A version's
// build must be where the template says. host is the name of the machine that measures.
func Confirmation(file, template, before, after string, keys []string, host string,
) (text string, cfg *config.Config, err error) {
	text = strings.NewReplacer(goodPlace, before, candidatePlace, after).Replace(template)
	// They come from records, and become text of a configuration, and parts of paths.
	if at := strings.IndexFunc(before+after, func(r rune) bool {
		return !unicode.IsPrint(r) || strings.ContainsRune("\"'\\@", r)
	}); at >= 0 || strings.Contains(before, "..") || strings.Contains(after, "..") {
		return "", nil, fmt.Errorf("the revisions %.100q and %.100q cannot be written into a configuration; "+
			"leave out the records that name them", before, after)
	}
	switch {
	case !strings.Contains(template, candidatePlace) || !strings.Contains(template, goodPlace):
		return "", nil, fmt.Errorf("the template needs revision = %q in [arms.%s], revision = %q in "+
			"[arms.%s], and paths with them", goodPlace, Good, candidatePlace, Candidate)
	case strings.Contains(template, goodBuildPlace) || strings.Contains(template, candidateBuildPlace):
		return "", nil, fmt.Errorf("the template has %s: nothing is built here; name the directories of "+
			"builds by %s and %s", candidateBuildPlace, goodPlace, candidatePlace)
	}
	parse := func(others string) (*config.Config, string, error) {
		text := strings.ReplaceAll(text, otherKeys, others)
		cfg, err := experiment.ParseText(file, text, host)
		if err != nil {
			err = fmt.Errorf("the template makes a wrong configuration: %w", err)
		}
		return cfg, text, err
	}
	cfg, all, err := parse("[]")
	if err != nil {
		return "", nil, err
	}
	if len(cfg.Arms) == 0 || cfg.Arms[0].Name != Good || !slices.ContainsFunc(cfg.Arms, config.Arm.Copy) {
		return "", nil, fmt.Errorf("the template needs [arms.%s] as the first arm, and one with null = "+
			"true: without it nobody knows what differs although nothing changed", Good)
	}
	var others []string
	found := false
	for _, k := range cfg.Keys() {
		k.Arm = ""
		name := k.String()
		if slices.Contains(keys, name) {
			found = true
		} else if q := strconv.Quote(name); !slices.Contains(others, q) {
			others = append(others, q)
		}
	}
	if !found {
		return "", nil, fmt.Errorf("the template's experiment has the keys %s, and none of the event's, %s: "+
			"a key is BENCHMARK:VM:VARIANT", display.Head(strings.Join(others, ", "), 200),
			display.Head(strings.Join(keys, ", "), 200))
	}
	if !strings.Contains(template, otherKeys) {
		return all, cfg, nil
	}
	cfg, text, err = parse("[" + strings.Join(others, ", ") + "]")
	return text, cfg, err
}

// CompareAgain compares both versions of such an experiment.
func CompareAgain(in experiment.Input, doc *warmup.Document) (*compare.Result, error) {
	g, err := compare.Choice{By: compare.ByArm, Base: Good, Only: []string{Candidate}}.Groups(
		compare.Side{Doc: doc, Data: in.Data})
	if err != nil {
		return nil, err
	}
	return compare.OfGroups(g, compare.Options{})
}

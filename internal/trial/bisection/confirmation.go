package bisection

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/warmup"
	"krund/internal/boot/doctor"
	"krund/internal/display"
	"krund/internal/experiment/config"
	"krund/internal/reading/experiment"
)

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
		whole, err := config.Expand(file, []byte(text))
		if err != nil {
			return nil, "", fmt.Errorf("the template makes a wrong configuration: %w", err)
		}
		cfg, err := config.Parse(file, whole, host, doctor.Settings())
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

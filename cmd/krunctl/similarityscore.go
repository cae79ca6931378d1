package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"

	"krund/internal/analysis/similarity"
	"krund/internal/exchange"
	"krund/internal/report"
)

// scoring are the flags that look at all keys of all arguments together.
type scoring struct {
	labels, groups, heatMap string

	group *regexp.Regexp
}

func (o *scoring) parse() (err error) {
	if o.heatMap != "" && isRegular(o.heatMap) {
		return fmt.Errorf("--heatmap: %s exists; name another file, or remove it", o.heatMap)
	}
	if o.group, err = regexp.Compile(o.groups); err != nil {
		return fmt.Errorf("--groups: %w", err)
	}
	return nil
}

// wanted reports whether one of the flags is given.
func (o *scoring) wanted() bool { return o.labels != "" || o.groups != "" || o.heatMap != "" }

// scored is the JSON of a scoring.
type scored struct {
	Format int                        `json:"format"`
	Score  *similarity.Score          `json:"score"`  // null without labels
	Groups []similarity.GroupAverages `json:"groups"` // null without groups
}

// similarityScore compares the verdicts with ratings, and averages the measures over groups of
// keys.
func (a *app) similarityScore(args []string, o similarityOptions) error {
	var ratings similarity.Ratings
	if o.labels != "" {
		var err error
		if ratings, err = exchange.ReadRatingsFile(o.labels); err != nil {
			return err
		}
	}
	var docs []*similarity.Document
	for _, arg := range args {
		in, err := a.reader(1).Read(arg, o.input)
		if err != nil {
			return err
		}
		doc, err := similarity.CompareKeys(in.Data, o.input.Column, o.settings, o.workers)
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		docs = append(docs, doc)
	}
	averages := similarity.AverageGroups(docs, func(k *similarity.KeyDocument) string {
		if o.groups == "" {
			return k.Key
		}
		return o.group.FindString(k.Key)
	})
	if len(averages) == 0 {
		return fmt.Errorf("%w: no key has two usable executions", errUnjudged)
	}
	var out scored
	out.Format = similarity.Format
	if o.labels != "" {
		for i, s := range ratings.Subjects {
			if exchange.IsBenchmark(s.Key) {
				ratings.Subjects[i].Key = exchange.PlainName(s.Key) // as in keys
			}
		}
		out.Score = similarity.ScoreOf(docs, ratings)
	}
	if o.groups != "" {
		out.Groups = averages
	}
	if o.heatMap != "" {
		draw := func(w io.Writer) error { return report.SimilarityHeatMap(w, averages) }
		if err := a.toOutput(o.heatMap, draw); err != nil {
			return err
		}
		if isStdout(o.heatMap) {
			return nil
		}
	}
	if o.json {
		return a.printJSON(out)
	}
	if out.Score != nil {
		report.SimilarityScoreText(a.stdout, out.Score, o.settings.Threshold)
	}
	if out.Groups != nil {
		if out.Score != nil {
			a.print("\n")
		}
		report.SimilarityGroupsText(a.stdout, out.Groups)
	}
	if out.Score != nil && out.Score.Missing == out.Score.Similar+out.Score.Dissimilar {
		return fmt.Errorf("%w: no key that all raters agree on is in the data", errUnjudged)
	}
	return nil
}

var errScoreCSV = errors.New("--labels, --groups and --heatmap have no CSV output; use --json")

package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/similarity"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// SimilarityText prints the similarity of the executions of each key, with at most most characters
// a line; 0: any number.
func SimilarityText(w io.Writer, most int, doc *similarity.Document) {
	rows := make([][]string, len(doc.Keys))
	verdicts := map[string]int{}
	for i := range doc.Keys {
		rows[i] = similarityRow(&doc.Keys[i])
		verdicts[similarityVerdict(&doc.Keys[i])]++
	}
	var counts []string
	for _, v := range slices.Sorted(maps.Keys(verdicts)) {
		counts = append(counts, fmt.Sprintf("%d %s", verdicts[v], v))
	}
	fmt.Fprintf(w, "%s: %s: %s; %s, threshold %v\n\n", display.Terminal(doc.Source.Source),
		display.Count(len(doc.Keys), "key"), strings.Join(counts, ", "), display.Terminal(doc.Column),
		doc.Threshold)
	display.NarrowTable(w, most, rowNames, []string{
		"benchmark", "VM", "variant", ">executions", ">M1 corr", ">M2 compr", ">M3 Fourier", ">M4 cosine",
		">M5 KS", ">above", ">clusters", "verdict", "outliers",
	}, rows)
	fmt.Fprint(w, "\nM1 to M5 are averages over all pairs; 0 is alike, 1 is not. Dissimilar: 3 of 5\n"+
		"above the threshold, and several clusters (SAME); unclear: one of the two\n(docs/similarity.md).\n")
	printIndented(w, similarityNotes(doc))
}

func similarityRow(k *similarity.KeyDocument) []string {
	executions := strconv.Itoa(len(k.Executions))
	if out := len(k.LeftOut); out > 0 {
		executions += fmt.Sprintf(" of %d", len(k.Executions)+out)
	}
	row := []string{k.Name.Benchmark, k.Name.VM, k.Name.VariantArm(), executions}
	if k.Averages == nil {
		return append(row, "", "", "", "", "", "", "", string(k.Verdict), "")
	}
	for _, v := range k.Averages.Measures() {
		row = append(row, fmt.Sprintf("%.3f", v))
	}
	return append(row, fmt.Sprintf("%d of 5", k.Above), strconv.Itoa(k.Same.Clusters), similarityVerdict(k),
		numberList(k.Outliers))
}

// similarityVerdict is what both rules say of a key, or "unclear".
func similarityVerdict(k *similarity.KeyDocument) string {
	if k.Averages != nil && k.Verdict != k.Same.Verdict {
		return "unclear"
	}
	return string(k.Verdict)
}

func numberList(numbers []int) string { return strings.Trim(fmt.Sprint(numbers), "[]") }

// similarityNotes returns notes on remedies, and on circumstances that weaken the results.
func similarityNotes(doc *similarity.Document) []string {
	var notes []string
	for i := range doc.Keys {
		k := &doc.Keys[i]
		note := func(format string, args ...any) {
			notes = append(notes, k.Key+": "+fmt.Sprintf(format, args...))
		}
		switch {
		case k.Averages == nil:
			note("%s; two are needed to compare", display.Count(len(k.Executions), "usable execution"))
		case len(k.Outliers) == 1:
			note("execution %d is unlike the others; without, the heuristic says %s", k.Outliers[0], k.Rest)
		case len(k.Outliers) > 1:
			note("executions %s are unlike the others; without, the heuristic says %s",
				numberList(k.Outliers), k.Rest)
		case k.Same.Clusters > 1:
			note("%s, none with more than half of the executions: no execution is the outlier",
				display.Count(k.Same.Clusters, "cluster"))
		}
		differs := func(n int) bool { return n != k.Compared }
		if k.Averages != nil && slices.ContainsFunc(k.Lengths, differs) {
			note("executions have different lengths; of each pair the first iterations count, %d of the "+
				"shortest", k.Compared)
		}
		notes = append(notes, leftOutNotes(k.Key, k.LeftOut)...)
	}
	return append(notes, doc.Problems...)
}

func leftOutNotes(key string, out []warmup.LeftOut) []string {
	notes := make([]string, len(out))
	for i, o := range out {
		notes[i] = fmt.Sprintf("%s: execution %d was left out: %s", key, o.Execution, o.Problem)
	}
	return notes
}

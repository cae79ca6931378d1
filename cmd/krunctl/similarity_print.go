package main

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/similarity"
)

// Format of the JSON of similarity. See docs/output.md.
const similarityFormat = 1

type (
	similarityJSON struct {
		Format    int                 `json:"format"`
		Source    sourceJSON          `json:"source"`
		Column    string              `json:"column"`
		Threshold float64             `json:"threshold"`
		Frames    int                 `json:"frames"`
		Alphabet  int                 `json:"alphabet"`
		Merge     float64             `json:"merge"`
		Linkage   string              `json:"linkage"`
		Keys      []similarityKeyJSON `json:"keys"`
		Problems  []string            `json:"problems"`
	}
	similarityKeyJSON struct {
		names      []string
		Key        string             `json:"key"`
		Executions []int              `json:"executions"` // numbers of those compared
		LeftOut    []leftOut          `json:"left_out"`
		Lengths    []int              `json:"lengths"`
		Compared   int                `json:"compared"`
		Verdict    similarity.Verdict `json:"verdict"`
		Averages   *measuresJSON      `json:"averages"` // null for fewer than two executions
		Above      int                `json:"above"`
		Outliers   []int              `json:"outliers"`
		Rest       similarity.Verdict `json:"verdict_of_rest"`
		Same       *sameJSON          `json:"same"` // likewise
		ByRun      []runJSON          `json:"by_execution"`
		Pairs      []pairJSON         `json:"pairs"`
	}
	measuresJSON struct {
		M1 float64 `json:"m1"`
		M2 float64 `json:"m2"`
		M3 float64 `json:"m3"`
		M4 float64 `json:"m4"`
		M5 float64 `json:"m5"`
	}
	runJSON struct {
		Execution int `json:"execution"`
		measuresJSON
	}
	pairJSON struct {
		A int `json:"a"`
		B int `json:"b"`
		measuresJSON
	}
	sameJSON struct {
		Verdict         similarity.Verdict `json:"verdict"`
		Clusters        int                `json:"clusters"`
		Cluster         []int              `json:"cluster_of_execution"`
		LastMerge       float64            `json:"last_merge"`
		Cosine          float64            `json:"cosine"`
		WaveHedges      float64            `json:"wave_hedges"`
		KumarHassebrook float64            `json:"kumar_hassebrook"`
		RMSE            float64            `json:"scaled_rmse"`
		Distances       [][]float64        `json:"distances"`
	}
)

func newMeasures(m similarity.Measures) measuresJSON {
	return measuresJSON{m[0], m[1], m[2], m[3], m[4]}
}

func newSimilarityKey(s *keySeries, r *similarity.Result) similarityKeyJSON {
	k := similarityKeyJSON{
		names: s.names, Key: s.key, Executions: append([]int{}, s.numbers...), LeftOut: s.out, Lengths: append([]int{}, r.Lengths...), Compared: r.Used,
		Verdict: r.Verdict, Above: r.Above, Outliers: s.numberOf(r.Outliers), Rest: r.Rest, ByRun: []runJSON{}, Pairs: []pairJSON{},
	}
	if r.Same == nil {
		return k
	}
	averages := newMeasures(r.Averages)
	k.Averages = &averages
	for i, m := range r.ByRun {
		k.ByRun = append(k.ByRun, runJSON{s.numbers[i], newMeasures(m)})
		for j := i + 1; j < len(s.numbers); j++ {
			k.Pairs = append(k.Pairs, pairJSON{s.numbers[i], s.numbers[j], newMeasures(r.Pair(i, j))})
		}
	}
	same := sameJSON{
		Verdict: similarity.Similar, Clusters: r.Same.Count, Cluster: make([]int, len(r.Same.Clusters)), LastMerge: r.Same.LastMerge,
		Cosine: r.Same.Means[0], WaveHedges: r.Same.Means[1], KumarHassebrook: r.Same.Means[2], RMSE: r.Same.Means[3], Distances: r.Same.Distances,
	}
	if r.Same.Dissimilar {
		same.Verdict = similarity.Dissimilar
	}
	for i, c := range r.Same.Clusters {
		same.Cluster[i] = c + 1
	}
	k.Same = &same
	return k
}

func (m *measuresJSON) all() similarity.Measures {
	return similarity.Measures{m.M1, m.M2, m.M3, m.M4, m.M5}
}

func (a *app) printSimilarity(doc *similarityJSON, o similarityOptions) {
	a.print("%s: %s of %s, threshold %v\n\n", visible(doc.Source.Name), visible(doc.Column), plural(len(doc.Keys), "key"), doc.Threshold)
	rows := make([][]string, len(doc.Keys))
	for i := range doc.Keys {
		rows[i] = similarityRow(&doc.Keys[i])
	}
	a.table([]string{
		"benchmark", "VM", "variant", ">executions", ">M1 corr", ">M2 compr", ">M3 Fourier", ">M4 cosine", ">M5 KS", "heuristic", "SAME", "outliers",
	}, rows)
	if o.matrix {
		for i := range doc.Keys {
			a.printMatrix(&doc.Keys[i], doc.Threshold)
		}
	}
	a.printSimilarityNotes(doc)
}

func similarityRow(k *similarityKeyJSON) []string {
	row := slices.Concat(k.names, []string{executionsCell(len(k.Executions), len(k.LeftOut))})
	if k.Averages == nil {
		return append(row, "", "", "", "", "", string(k.Verdict), string(k.Verdict), "")
	}
	for _, v := range k.Averages.all() {
		row = append(row, fmt.Sprintf("%.3f", v))
	}
	same := string(k.Same.Verdict)
	if k.Same.Clusters > 1 {
		same += " (" + plural(k.Same.Clusters, "cluster") + ")"
	}
	return append(row, fmt.Sprintf("%s (%d of 5)", k.Verdict, k.Above), same, list(k.Outliers))
}

// executionsCell is "3", or "3 of 4" where some were left out.
func executionsCell(used, out int) string {
	if out > 0 {
		return fmt.Sprintf("%d of %d", used, used+out)
	}
	return itoa(used)
}

func list(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = itoa(n)
	}
	return strings.Join(texts, " ")
}

// printMatrix prints how many measures are above the threshold for each pair.
func (a *app) printMatrix(k *similarityKeyJSON, threshold float64) {
	if k.Averages == nil {
		return
	}
	a.print("\n%s: measures above %v for each pair of executions\n\n", visible(k.Key), threshold)
	n := len(k.Executions)
	columns, rows := []string{""}, make([][]string, n)
	for i, number := range k.Executions {
		columns = append(columns, ">"+itoa(number))
		rows[i] = make([]string, n+1)
		rows[i][0], rows[i][i+1] = itoa(number), "."
	}
	next := 0
	for i := range n {
		for j := i + 1; j < n; j++ {
			above := itoa(k.Pairs[next].all().Above(threshold))
			rows[i][j+1], rows[j][i+1] = above, above
			next++
		}
	}
	a.table(columns, rows)
}

// printSimilarityNotes says what to do, and what weakens the results.
func (a *app) printSimilarityNotes(doc *similarityJSON) {
	a.print("\nDissimilarities are averages over all pairs, 0 is alike, 1 is not.\n")
	for i := range doc.Keys {
		k := &doc.Keys[i]
		if len(k.Outliers) > 0 {
			a.print("  %s\n", visible(fmt.Sprintf("%s: %s unlike the others; without, the heuristic says %s", k.Key, executionsAre(k.Outliers), k.Rest)))
		}
		if len(k.Outliers) == 0 && k.Same != nil && k.Same.Clusters > 1 {
			a.print("  %s\n", visible(fmt.Sprintf("%s: %s, none with more than half of the executions: no execution is the outlier", k.Key, plural(k.Same.Clusters, "cluster"))))
		}
		if k.Averages == nil {
			a.print("  %s\n", visible(fmt.Sprintf("%s: %s; two are needed to compare", k.Key, plural(len(k.Executions), "usable execution"))))
		}
		for _, n := range k.Lengths {
			if n != k.Compared && k.Averages != nil {
				a.print("  %s\n", visible(fmt.Sprintf("%s: executions have different lengths; of each pair the first iterations count, %d of the shortest", k.Key, k.Compared)))
				break
			}
		}
		a.printLeftOut(k.Key, k.LeftOut)
	}
	for _, p := range doc.Problems {
		a.print("  %s\n", visible(p))
	}
}

func executionsAre(numbers []int) string {
	if len(numbers) == 1 {
		return "execution " + itoa(numbers[0]) + " is"
	}
	return "executions " + list(numbers) + " are"
}

// similarityCSV writes a row for each key.
func similarityCSV(w *csv.Writer, doc *similarityJSON, header bool) error {
	if header {
		if err := w.Write([]string{
			"source", "key", "executions", "left_out", "compared", "m1", "m2", "m3", "m4", "m5", "above", "verdict", "same", "clusters", "last_merge", "outliers", "verdict_of_rest",
		}); err != nil {
			return err
		}
	}
	for i := range doc.Keys {
		k := &doc.Keys[i]
		row := []string{doc.Source.Name, k.Key, itoa(len(k.Executions)), itoa(len(k.LeftOut)), itoa(k.Compared), "", "", "", "", "", "", string(k.Verdict), string(k.Verdict), "", "", list(k.Outliers), string(k.Rest)}
		if k.Averages != nil {
			for j, v := range k.Averages.all() {
				row[5+j] = exactly(v)
			}
			row[10], row[12], row[13], row[14] = itoa(k.Above), string(k.Same.Verdict), itoa(k.Same.Clusters), exactly(k.Same.LastMerge)
		}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// exactly writes a number in the shortest form that reads back the same.
func exactly(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

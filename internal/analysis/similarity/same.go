package similarity

import "math"

// Same is the result of SAME, the authors' earlier method ("SAME" in section 2.3, which only
// summarizes it): four distances of each pair of executions are averaged, and the executions are
// clustered. The details are choices made here: 1-cosine; Wave-Hedges, the mean of |x-y|/max(x,y);
// Kumar-Hassebrook, 1 - <x,y>/(|x|^2+|y|^2-<x,y>); and the root mean squared error over the range
// of all executions.
type Same struct {
	Verdict  Verdict `json:"verdict"` // dissimilar: more than one cluster
	Clusters int     `json:"clusters"`
	// cluster of each execution, numbered from 1 by first occurrence
	Cluster []int `json:"cluster_of_execution"`
	// distance at which the last two clusters would merge
	LastMerge float64 `json:"last_merge"`
	// means of the four distances over all pairs
	Cosine          float64     `json:"cosine"`
	WaveHedges      float64     `json:"wave_hedges"`
	KumarHassebrook float64     `json:"kumar_hassebrook"`
	RMSE            float64     `json:"scaled_rmse"`
	Distances       [][]float64 `json:"distances"` // [execution][execution], the average of the four
}

func (s Options) same(runs []*run, width float64) *Same {
	n := len(runs)
	same := &Same{Distances: make([][]float64, n)}
	for i := range same.Distances {
		same.Distances[i] = make([]float64, n)
	}
	var means [4]float64
	pairs := float64(n*(n-1)) / 2
	for i := range runs {
		for j := range i {
			x, y := truncated(runs[j].values, runs[i].values)
			sum := 0.0
			for k, d := range distances(x, y, width) {
				sum += d
				means[k] += d / pairs
			}
			same.Distances[i][j], same.Distances[j][i] = sum/4, sum/4
		}
	}
	same.Cosine, same.WaveHedges, same.KumarHassebrook, same.RMSE = means[0], means[1], means[2], means[3]
	merges := cluster(same.Distances)
	same.Cluster, same.Clusters = cut(n, merges, s.Merge)
	same.LastMerge = merges[len(merges)-1].height
	same.Verdict = verdict(same.Clusters > 1)
	return same
}

func truncated(x, y []float64) (shortX, shortY []float64) {
	n := min(len(x), len(y))
	return x[:n], y[:n]
}

// distances are SAME's four distances of two series of equal length.
func distances(x, y []float64, width float64) [4]float64 {
	var xx, yy, xy, hedges, square float64
	for i, v := range x {
		w := y[i]
		xx += v * v
		yy += w * w
		xy += v * w
		d := v - w
		square += d * d
		if larger := max(math.Abs(v), math.Abs(w)); larger > 0 {
			hedges += math.Abs(d) / larger
		}
	}
	n := float64(len(x))
	four := [4]float64{undefined(xx == yy), hedges / n, 0, 0}
	if xx > 0 && yy > 0 {
		four[0] = 1 - xy/(math.Sqrt(xx)*math.Sqrt(yy))
	}
	if both := xx + yy - xy; both > 0 {
		four[2] = 1 - xy/both
	}
	if width > 0 {
		four[3] = math.Sqrt(square/n) / width
	}
	return four
}

// merge joins two clusters, which are identified by their smallest member.
type merge struct {
	into, from int
	height     float64
}

// cluster merges the two nearest clusters, by the mean distance between members, until one is left.
// Ties are resolved in favor of the first.
func cluster(distances [][]float64) []merge {
	n := len(distances)
	d := make([][]float64, n)
	size := make([]float64, n) // 0: merged into another
	for i := range d {
		d[i] = append([]float64(nil), distances[i]...)
		size[i] = 1
	}
	merges := make([]merge, 0, n)
	for range n - 1 {
		m := nearest(d, size)
		for k := range d {
			if k == m.into || k == m.from || size[k] == 0 {
				continue
			}
			a, b := d[m.into][k], d[m.from][k]
			joined := (a*size[m.into] + b*size[m.from]) / (size[m.into] + size[m.from])
			d[m.into][k], d[k][m.into] = joined, joined
		}
		size[m.into] += size[m.from]
		size[m.from] = 0
		merges = append(merges, m)
	}
	return merges
}

func nearest(d [][]float64, size []float64) merge {
	best := merge{into: -1}
	for i := range d {
		for j := i + 1; j < len(d); j++ {
			if size[i] > 0 && size[j] > 0 && (best.into < 0 || d[i][j] < best.height) {
				best = merge{i, j, d[i][j]}
			}
		}
	}
	return best
}

// cut numbers, from 1, the clusters that result when merging stops at the distance limit.
func cut(n int, merges []merge, limit float64) (labels []int, count int) {
	of := make([]int, n) // the smallest member of the cluster
	for i := range of {
		of[i] = i
	}
	for _, m := range merges {
		if m.height > limit {
			break
		}
		for i := range of {
			if of[i] == m.from {
				of[i] = m.into
			}
		}
	}
	labels = make([]int, n)
	for i, least := range of {
		if least == i {
			count++
			labels[i] = count
		} else {
			labels[i] = labels[least]
		}
	}
	return labels, count
}

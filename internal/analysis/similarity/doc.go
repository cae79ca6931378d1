// Package similarity reports whether the process executions of a key resemble each other, as
// series, by the two methods of
//
//	A. Bauer, M. Straesser, M. Leznik, L. Beierlieb, M. Hadry, N. Hudson,
//	K. Chard, S. Kounev, I. Foster: Searching for the Ground Truth: Assessing
//	the Similarity of Benchmarking Runs. ICPE '23 Companion.
//
// The recipe, which Of runs:
//
//  1. each pair of executions gets five dissimilarities, each from 0 (alike) to 1: correlation,
//     compression of their SAX words, distance of Fourier
//     coefficients, cosine, and the Kolmogorov-Smirnov statistic (section 3.1);
//  2. the heuristic averages each over all pairs of executions: they are
//     dissimilar when at least three averages are above 0.25 (Algorithm 1);
//  3. SAME clusters the executions by four other distances: they are dissimilar
//     when there is more than one cluster (section 2.3);
//  4. where a cluster has more than half of the executions, the others are named
//     as outliers, and the heuristic is applied to the cluster alone. This step
//     is krund's.
//
// Kappa and Confusion are how the paper judges reviewers and methods.
//
// The paper leaves open what "compression" is, and the details of SAME. What is done here, and why,
// stands with each function. Nothing reads a file or a clock, and nothing is random.
package similarity

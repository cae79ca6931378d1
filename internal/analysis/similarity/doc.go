// Package similarity compares the process executions of a key, as series, by the two methods of
//
//	A. Bauer, M. Straesser, M. Leznik, L. Beierlieb, M. Hadry, N. Hudson,
//	K. Chard, S. Kounev, I. Foster: Searching for the Ground Truth: Assessing
//	the Similarity of Benchmarking Runs. ICPE '23 Companion.
//
// Of runs these steps:
//
//  1. Each pair of executions gets five dissimilarities, each from 0 (alike) to 1: correlation,
//     compression of their SAX words, distance of Fourier coefficients, cosine, and the
//     Kolmogorov-Smirnov statistic (section 3.1).
//  2. The heuristic averages each over all pairs of executions. The executions are dissimilar when
//     at least three averages are above 0.25 (Algorithm 1).
//  3. SAME clusters the executions by four other distances. They are dissimilar when there is more
//     than one cluster (section 2.3).
//  4. If a cluster has more than half of the executions, the others are reported as outliers, and
//     the heuristic is applied to the cluster alone. This step is an addition of krund.
//
// Kappa and Confusion are the paper's measures of reviewers and methods.
//
// The paper specifies neither "compression" nor the details of SAME. The comment of each function
// describes the choice made here and the reason. Nothing reads a file or a clock, and nothing is
// random. Start reading at [Of].
package similarity

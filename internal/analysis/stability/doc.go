// Package stability determines where dynamic reconfiguration would have stopped a recorded
// benchmark: after how many warm-up iterations of an execution, and after how many executions. The
// method is that of
//
//	C. Laaber, S. Würsten, H. C. Gall, P. Leitner: Dynamically Reconfiguring
//	Software Microbenchmarks: Reducing Execution Time without Sacrificing
//	Result Quality. ESEC/FSE 2020.
//
// Of runs these steps for every criterion:
//
//  1. Cut divides a series into steps: the paper's iterations of one second, each a Histogram of
//     its calls. What the paper calls a fork is an execution.
//  2. Histogram.Inliers removes calls more than ten times above or below the median.
//  3. After each step the criterion is evaluated over all steps so far, from each of which 1000
//     calls are drawn: the coefficient of variation (CV), the relative width of a bootstrap
//     interval of the mean (RCIW), or the similarity to the previous step by Kullback-Leibler
//     divergence (KLD).
//  4. Rule.Warmup examines the last five values: when they are stable, warm-up ends, and the next
//     ten steps are the execution's measurement.
//  5. After each execution the criterion is evaluated over the measurements so far, and
//     Rule.Executions decides whether they are sufficient.
//  6. The result is compared with that of the full experiment: the ratio of means with a bootstrap
//     interval (an A/A test: both measured the same), the change rate |ratio-1|, and the time
//     saved.
//
// The authors have two implementations, which differ from each other and from the paper: see
// Profile. Draws depend only on Parameters.Seed and the position of the step. Nothing reads a file
// or a clock. Start reading at [Of].
package stability

// Package optimize finds the smallest number of repetitions of a benchmark whose result is stable
// enough. It implements µOpTime (Japke, Grambow, Laaber and Bermbach, "µOpTime: Statically Reducing
// the Execution Time of Microbenchmark Suites Using Stability Metrics", TOSEM 2025) as its authors'
// program computes it.
//
// A full experiment repeats each benchmark on a few levels, outermost first: executions and
// iterations in krund; suite runs, iterations and seconds in the paper's Go study. In order of use:
//
//  1. A Suite holds the measured values, each with its position on every level (FromDataset
//     converts an experiment).
//  2. A candidate is a number of repetitions for each level. Its data are the values at positions
//     within it: what a shorter experiment would have measured. Candidates of fewer than 3
//     repetitions are excluded (a level of duration does not count).
//  3. A candidate is stable when its Metric is below the threshold. The stable candidate with the
//     shortest duration is chosen; among equals the one with the smallest metric, then the first
//     in lexicographic order. If none is stable, the full configuration is chosen.
//  4. Optimize does this for every benchmark and reports the deviation of the chosen result from
//     the full one; Saved aggregates the savings, also for baselines.
//  5. Versions applies the choice of one version of a program to later ones, and counts the
//     performance changes that are then missed or falsely detected.
//
// For n values x with mean m and median d, B resamples of n values drawn uniformly and with
// replacement, and Q_p the p-quantile (R's type 7) over the resamples:
//
//	CV    = sqrt(sum (x-m)^2 / n) / m
//	RMAD  = median |x-d| / d
//	RCIW1 = (Q_99.5%(m*) - Q_0.5%(m*)) / m
//	RCIW2 = (Q_99.5%(t*) - Q_0.5%(t*)) s/sqrt(n) / m,  t* = (m*-m) / (s*/sqrt(n))
//	RCIW3 = (Q_99.5%(d*) - Q_0.5%(d*)) / d
//
// s and s* are standard deviations with n-1. The result of a configuration is the mean (CV, RCIW1,
// RCIW2) or the median (RMAD, RCIW3), with the interval between these quantiles (that of t*: m - Q
// s/sqrt(n)).
//
// Deviations from the authors' program, all of which Options.Published disables: RCIW3 follows the
// paper's definition (the program divides the width of RCIW1 by the median). RCIW2 needs 5 values
// and redraws resamples of equal values (the program sets their s* to 1e-6, which depends on the
// unit and inflates the interval). Changes count in both directions (the program counts slowdowns
// only). The random numbers differ from the authors'.
//
// Results do not depend on the number of workers: the draws of a candidate come from a generator
// keyed by seed, benchmark and candidate. Start reading at [Find].
package optimize
